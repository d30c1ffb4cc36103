/*
 * What is hidden: the interpreter's machinery between what people wrote, and Cython's wrappers
 * around the function that they wrote.
 */
#include "trace_private.h"

#include <string.h>

bool role_is_hidden(enum trace_role role)
{
    return role == TRACE_ROLE_EVALUATOR || role == TRACE_ROLE_PLUMBING ||
           role == TRACE_ROLE_TAKE_GIL || role == TRACE_ROLE_FOLDED;
}

static enum trace_role role_by_class(const struct roles *roles, const struct place *place,
                                     const struct place_level *level)
{
    switch ((enum function_class)level->function_class) {
    case FUNCTION_CALL:
        return TRACE_ROLE_PLUMBING;
    case FUNCTION_DISPATCH:
        return roles->user_inside ? TRACE_ROLE_PLUMBING : TRACE_ROLE_VISIBLE;
    case FUNCTION_EVALUATOR_STEP:
        return TRACE_ROLE_EVALUATOR;
    case FUNCTION_TAKE_GIL:
        return TRACE_ROLE_TAKE_GIL;
    case FUNCTION_COLLECT:
        return TRACE_ROLE_COLLECT;
    case FUNCTION_MAIN:
        return strncmp(place->module->name, "python", strlen("python")) ? TRACE_ROLE_VISIBLE
                                                                        : TRACE_ROLE_PLUMBING;
    case FUNCTION_EVALUATOR:
        // Entering or leaving: it runs no Python frame now.
        return TRACE_ROLE_VISIBLE;
    case FUNCTION_OTHER:
        // A nameless function of a stripped interpreter, between two things people wrote; or of a
        // Cython module, its own or another's that was imported first: it only connects calls.
        return !level->location->function && roles->user_inside &&
                       (place->interpreter || (place->cython_code && roles->toward_python))
                   ? TRACE_ROLE_PLUMBING
                   : TRACE_ROLE_VISIBLE;
    }
    return TRACE_ROLE_VISIBLE;
}

/* From the code that runs to the entry that Python calls. */
static int cython_depth(enum cython_kind kind)
{
    switch (kind) {
    case CYTHON_C_FUNCTION:
    case CYTHON_GENERATOR:
        return 1;
    case CYTHON_BODY:
        return 2;
    case CYTHON_WRAPPER:
        return 3;
    case CYTHON_SLOT:
        return 4;
    case CYTHON_NONE:
    case CYTHON_MODULE:
    case CYTHON_PLUMBING:
        return 0;
    }
    return 0;
}

/*
 * Without symbols a wrapper is known by its method table's bare name, and has no line of its own:
 * its only call is that of its function.
 */
static bool is_bare_wrapper(const struct place *place, const struct place_level *level,
                            const struct cython_name *inner)
{
    const char *function = level->cython.function;
    if (!place->cython_code || level->location->line || !function || !inner->function)
        return false;
    const char *dot = strrchr(inner->function, '.');
    return !strcmp(inner->function, function) ||
           (level->cython.kind == CYTHON_WRAPPER && dot && !strcmp(dot + 1, function));
}

/* A wrapper right outside of its function is one call with it; recursion is not. */
static bool folds(const struct roles *roles, const struct place *place,
                  const struct place_level *level)
{
    const struct cython_name *outer = &level->cython, *inner = roles->inner;
    if (inner && roles->inner_module == place->module && is_bare_wrapper(place, level, inner))
        return true;
    int depth = cython_depth(outer->kind);
    if (!inner || !depth || cython_depth(inner->kind) >= depth ||
        roles->inner_module != place->module || !inner->function || !outer->function)
        return false;
    return !strcmp(inner->function, outer->function) || cython_slot_calls(outer, inner);
}

enum trace_role roles_take(struct roles *roles, const struct place *place,
                           const struct place_level *level, bool evaluator)
{
    bool physical = level == &place->levels[place->level_count - 1];
    enum trace_role role = physical && evaluator ? TRACE_ROLE_EVALUATOR
                           : level->plumbing     ? TRACE_ROLE_PLUMBING
                                                 : role_by_class(roles, place, level);
    if (role == TRACE_ROLE_VISIBLE && level->cython.kind != CYTHON_NONE) {
        if (folds(roles, place, level))
            role = TRACE_ROLE_FOLDED;
        roles->inner = &level->cython;
        roles->inner_module = place->module;
    } else if (role != TRACE_ROLE_PLUMBING) {
        roles->inner = NULL;
    }
    // What -X perf puts around each evaluator (CPython 3.12, Python/perf_trampoline.c).
    if (role == TRACE_ROLE_VISIBLE && !place->module && roles->behind_evaluator)
        role = TRACE_ROLE_PLUMBING;
    roles->behind_evaluator = role == TRACE_ROLE_EVALUATOR ||
                              (roles->behind_evaluator && level->function_class == FUNCTION_CALL);
    if (place->extension)
        roles->user_inside = true;
    roles->toward_python =
        place->interpreter || level->cython.kind != CYTHON_NONE || role == TRACE_ROLE_PLUMBING;
    return role;
}

void roles_pass_python(struct roles *roles)
{
    roles->user_inside = true;
    roles->inner = NULL;
    roles->toward_python = true;
}

void roles_pass_gap(struct roles *roles)
{
    roles->inner = NULL;
    roles->toward_python = false;
}
