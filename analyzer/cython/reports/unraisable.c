/*
 * Functions that are declared `noexcept`: their errors go to sys.unraisablehook, with the
 * function's name, by __Pyx_WriteUnraisable(name, ...) (Cython/Utility/Exceptions.c). Where that
 * helper was inlined, or has the only name within it, it can not be told from such a function.
 */
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

/** Bytes of a function that are searched. */
#define SWEEP_LIMIT ((uint64_t)64 << 10)
/** Instructions from there to the end of the function. */
#define END_STEP_LIMIT 2000

struct naming {
    const char *name;
    bool several; /**< There are several names, or it is not where the function ends. */
};

/** "pkg.mod.function" */
static const char *qualified_name(const struct flow *flow, struct abstract_value value)
{
    const char *name =
        value.kind == ABSTRACT_CONSTANT ? code_string(&flow->image, value.number) : NULL;
    if (!name || *name == '.' || !strchr(name, '.'))
        return NULL;
    for (const char *at = name; *at; at++)
        if (!(*at & 0x80) && *at != '.' && *at != '_' && !(*at >= '0' && *at <= '9') &&
            !(*at >= 'A' && *at <= 'Z') && !(*at >= 'a' && *at <= 'z'))
            return NULL;
    return name;
}

static enum flow_verdict end_call(struct flow_exploration *exploration, struct flow_state *state,
                                  struct code_target target)
{
    (void)state;
    return flow_is_cleanup(exploration->flow, target) ? FLOW_PASS_FREE : FLOW_PASS_COUNTED;
}

/** Whether behind a call the function only releases objects: else it was inlined into another. */
static bool is_end(struct flow *flow, uint64_t behind)
{
    struct flow_exploration exploration = {.on_call = end_call, .step_limit = END_STEP_LIMIT};
    struct flow_state start;
    struct flow_state *found = NULL;
    flow_state_init(&start, flow->image.abi, behind);
    found = flow_explore_once(&exploration, flow, &start);
    free(found);
    return exploration.left && !exploration.cut_short;
}

static bool note_call(void *context, struct flow *flow, const struct flow_state *state,
                      const struct instruction *call)
{
    struct naming *naming = context;
    struct code_target target = flow_operand_target(flow, &call->to);
    const char *name = qualified_name(flow, flow_state_argument(state, 0, 8));
    if (!name || target.import || !reports_is_unraisable(flow, target))
        return true;
    naming->several |= (naming->name && strcmp(naming->name, name) != 0) ||
                       !is_end(flow, call->address + call->size);
    naming->name = name;
    return !naming->several;
}

const char *reports_find_unraisable_name(struct flow *flow, const struct code_function *function)
{
    struct naming naming = {0};
    flow_sweep(flow, function, SWEEP_LIMIT, note_call, &naming);
    return naming.several ? NULL : naming.name;
}
