/* Reading, while a living process stands still, what variables of its native frames lead to. */
#include "capture_private.h"

/* Native frames of one thread whose variables are read while the process waits. */
#define FRAME_LIMIT ((size_t)4096)

/* Frames that run Python code are never shown. */
static bool runs_python(const struct capture_sources *sources, psc_addr pc)
{
    const struct module *module = modules_find(sources->modules, pc);
    const struct python *python = sources->python;
    struct module_symbol symbol;
    return python && module == python_get_info(python)->module &&
           module_find_symbol(modules_find(sources->modules, pc), pc, &symbol) &&
           python_classify_function(python, symbol.name) != PYTHON_FUNCTION_OTHER;
}

static void read_frames(const struct capture_sources *sources, struct variables *variables,
                        const struct native_stack *stack)
{
    for (size_t i = 0; i < stack->count && i < FRAME_LIMIT; i++) {
        psc_addr pc = native_lookup_pc(&stack->frames[i]);
        if (modules_find(sources->modules, pc) && !runs_python(sources, pc) &&
            !variables_rehearse(variables, stack, i))
            return;
    }
}

void trace_rehearse_native(const struct capture_sources *sources)
{
    struct native *native;
    struct arena *arena = arena_create();
    struct variables *variables =
        variables_create(&(struct variables_input){.target = sources->target,
                                                   .modules = sources->modules,
                                                   .python = sources->python,
                                                   .arena = arena});
    if (arena && variables &&
        native_create(sources->target, sources->modules, PSC_UNWINDER_LIBUNWIND, &native, NULL) ==
            PSC_OK) {
        for (size_t i = 0; i < sources->target->thread_count; i++) {
            struct native_stack stack = {.keep_registers = true};
            // What cannot be read now is a gap when the stacks are merged.
            if (native_walk(native, i, &stack) == PSC_OK)
                read_frames(sources, variables, &stack);
            native_stack_deinit(&stack);
        }
        native_destroy(native);
    }
    variables_destroy(variables);
    arena_destroy(arena);
}
