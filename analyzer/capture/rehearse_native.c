/* Reading, while a living process stands still, what variables of its native frames lead to. */
#include "trace_private.h"

#include <stdlib.h>

/* Native frames of one thread whose variables are read while the process waits. */
#define FRAME_LIMIT ((size_t)4096)

/* The places of the frames of one thread, each once. */
struct rehearsal {
    const struct capture_sources *sources;
    struct psc_trace trace;      /* Only its arena is used. */
    struct address_info **table; /* Open addressing by pc. */
    size_t capacity;
    size_t bytes; /* Of text that may still be made. */
};

static struct address_info *find_place(struct rehearsal *rehearsal, psc_addr pc)
{
    size_t at = (size_t)hash_u64(pc) & (rehearsal->capacity - 1);
    while (rehearsal->table[at] && rehearsal->table[at]->pc != pc)
        at = (at + 1) & (rehearsal->capacity - 1);
    if (rehearsal->table[at])
        return rehearsal->table[at];
    struct address_info *info = arena_alloc(rehearsal->trace.arena, sizeof(*info));
    if (!info)
        return NULL;
    info->pc = pc;
    info->module = modules_find(rehearsal->sources->modules, pc);
    rehearsal->table[at] = info;
    return info;
}

/* Frames that run Python code are never shown. */
static bool runs_python(const struct rehearsal *rehearsal, const struct address_info *info)
{
    const struct python *python = rehearsal->sources->python;
    struct module_symbol symbol;
    return python && info->module == python_get_info(python)->module &&
           module_find_symbol(info->module, info->pc, &symbol) &&
           classify_interpreter_function(symbol.name, python_get_info(python)->hex >> 24 == 2) !=
               FUNCTION_OTHER;
}

static void read_frames(struct rehearsal *rehearsal, struct plan *plan)
{
    size_t count = plan->native.count < FRAME_LIMIT ? plan->native.count : FRAME_LIMIT;
    plan->native_info = calloc(count + 1, sizeof(*plan->native_info));
    struct c_values *values =
        c_values_create(&rehearsal->trace, rehearsal->sources, plan, &rehearsal->bytes);
    bool fine = plan->native_info && values;
    for (size_t i = 0; fine && i < count; i++) {
        plan->native_info[i] = find_place(rehearsal, native_lookup_pc(&plan->native.frames[i]));
        fine = plan->native_info[i];
    }
    plan->native.count = fine ? count : 0;
    for (size_t i = 0; i < plan->native.count && fine; i++)
        if (plan->native_info[i]->module && !runs_python(rehearsal, plan->native_info[i]))
            fine = c_values_rehearse(values, i);
    c_values_destroy(values);
}

static void read_thread(struct rehearsal *rehearsal, struct native *native, size_t index)
{
    struct plan plan = {.native = {.keep_registers = true}};
    rehearsal->capacity = 4 * FRAME_LIMIT;
    rehearsal->table = calloc(rehearsal->capacity, sizeof(*rehearsal->table));
    // What was not readable now is not later either: the merge says so.
    if (rehearsal->table && native_walk(native, index, &plan.native) == PSC_OK)
        read_frames(rehearsal, &plan);
    plan_deinit(&plan);
    free(rehearsal->table);
}

void trace_rehearse_native(const struct capture_sources *sources)
{
    struct rehearsal rehearsal = {.sources = sources, .bytes = C_VALUES_BYTES_LIMIT};
    struct native *native;
    rehearsal.trace.arena = arena_create();
    if (rehearsal.trace.arena && native_create(sources->target, sources->modules,
                                               PSC_UNWINDER_LIBUNWIND, &native, NULL) == PSC_OK) {
        for (size_t i = 0; i < sources->target->thread_count; i++)
            read_thread(&rehearsal, native, i);
        native_destroy(native);
    }
    arena_destroy(rehearsal.trace.arena);
}
