/*
 * Functions that are declared `noexcept`: their errors go to sys.unraisablehook, with the
 * function's name, by __Pyx_WriteUnraisable(name, ...) (Cython/Utility/Exceptions.c). Where that
 * helper was inlined, or has the only name within it, it can not be told from such a function.
 */
#include "explore.h"

#include <stdlib.h>

/** Bytes of a function that are looked through. */
#define SWEEP_LIMIT ((uint64_t)64 << 10)
/** Instructions from there to the end of the function. */
#define END_STEP_LIMIT 2000

struct naming {
    const char *name;
    bool several; /**< Names; or it is not where the function ends. */
};

/** "pkg.mod.function" */
static const char *qualified_name(const struct machine *machine, struct value value)
{
    const char *name =
        value.kind == VALUE_CONSTANT ? machine_string(&machine->image, value.number) : NULL;
    if (!name || *name == '.' || !strchr(name, '.'))
        return NULL;
    for (const char *at = name; *at; at++)
        if (!(*at & 0x80) && *at != '.' && *at != '_' && !(*at >= '0' && *at <= '9') &&
            !(*at >= 'A' && *at <= 'Z') && !(*at >= 'a' && *at <= 'z'))
            return NULL;
    return name;
}

static enum machine_verdict end_call(struct machine_exploration *exploration,
                                     struct machine_state *state, struct machine_target target)
{
    (void)state;
    return machine_is_clean(exploration->machine, target) ? MACHINE_PASS_FREE
                                                          : MACHINE_PASS_COUNTED;
}

/** Whether the function only lets go of things behind a call: else it was inlined into another. */
static bool is_end(struct machine *machine, uint64_t behind)
{
    struct machine_exploration exploration = {.on_call = end_call, .step_limit = END_STEP_LIMIT};
    struct machine_state start;
    struct machine_state *found = NULL;
    machine_state_init(&start, behind);
    if (machine_exploration_init(&exploration, machine, &start))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    free(found);
    return exploration.left && !exploration.cut_short;
}

static bool note_call(void *context, struct machine *machine, const struct machine_state *state,
                      const struct instruction *call)
{
    struct naming *naming = context;
    struct machine_target target = machine_operand_target(machine, &call->to);
    const char *name = qualified_name(machine, state->registers[MACHINE_RDI]);
    if (!name || target.import || !machine_gives_up_error(machine, target))
        return true;
    naming->several |= (naming->name && strcmp(naming->name, name) != 0) ||
                       !is_end(machine, call->address + call->size);
    naming->name = name;
    return !naming->several;
}

const char *machine_find_unraisable_name(struct machine *machine,
                                         const struct machine_function *function)
{
    struct naming naming = {0};
    machine_sweep(machine, function, SWEEP_LIMIT, note_call, &naming);
    return naming.several ? NULL : naming.name;
}
