/*
 * What is hidden: the interpreter's functions between those that people wrote, and Cython's
 * wrappers around the function that somebody wrote.
 */
#include "merge_private.h"

#include <string.h>

bool role_is_hidden(enum trace_role role)
{
    return role == TRACE_ROLE_EVALUATOR || role == TRACE_ROLE_PLUMBING ||
           role == TRACE_ROLE_TAKE_GIL || role == TRACE_ROLE_FOLDED || role == TRACE_ROLE_HANDLER;
}

static enum trace_role role_by_class(const struct roles *roles, const struct address_info *info,
                                     const struct address_level *level)
{
    switch ((enum python_function)level->python_function) {
    case PYTHON_FUNCTION_CALL:
        return TRACE_ROLE_PLUMBING;
    case PYTHON_FUNCTION_DISPATCH:
    case PYTHON_FUNCTION_ATTRIBUTE:
        return roles->user_inside ? TRACE_ROLE_PLUMBING : TRACE_ROLE_VISIBLE;
    case PYTHON_FUNCTION_EVALUATOR_STEP:
        return TRACE_ROLE_EVALUATOR;
    case PYTHON_FUNCTION_TAKE_GIL:
        return TRACE_ROLE_TAKE_GIL;
    case PYTHON_FUNCTION_COLLECT:
        return TRACE_ROLE_COLLECT;
    case PYTHON_FUNCTION_MAIN:
        return c_api_is_interpreter_file(info->module->name) ? TRACE_ROLE_PLUMBING
                                                             : TRACE_ROLE_VISIBLE;
    case PYTHON_FUNCTION_EVALUATOR:
        // Just entered or about to return: no Python frame belongs to it.
        return TRACE_ROLE_VISIBLE;
    case PYTHON_FUNCTION_OTHER:
        // A function of a stripped interpreter, outside of code that it runs for somebody.
        return !level->location->function && roles->user_inside && info->interpreter
                   ? TRACE_ROLE_PLUMBING
                   : TRACE_ROLE_VISIBLE;
    }
    return TRACE_ROLE_VISIBLE;
}

/* How far outward a kind stands, from the code that runs to the entry that Python calls. */
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
 * Without symbols a wrapper has the bare name that its method table tells, and no line: machine
 * code tells lines by error paths, and its only call is that of its function.
 */
static bool is_bare_wrapper(const struct address_info *info, const struct address_level *level,
                            const struct cython_name *inner)
{
    const char *function = level->cython.function;
    if (!info->cython_code || level->location->line || !function || !inner->function)
        return false;
    const char *dot = strrchr(inner->function, '.');
    return !strcmp(inner->function, function) ||
           (level->cython.kind == CYTHON_WRAPPER && dot && !strcmp(dot + 1, function));
}

/* A slot of a class that calls another one: from Cython 3.3 on tp_new calls a second function. */
static bool is_outer_slot(const struct cython_name *outer, const struct cython_name *inner)
{
    return outer->kind == CYTHON_SLOT && inner->kind == CYTHON_SLOT && outer->function &&
           inner->function && strcmp(outer->function, inner->function) != 0 &&
           cython_slot_calls(outer, inner);
}

/*
 * The slot of attributes asks for an attribute as every object does, and only then calls the
 * class's __getattr__() (Cython/Compiler/ModuleNode.py, generate_getattro_function()).
 */
static bool is_attribute_slot(const struct roles *roles, const struct address_level *level)
{
    const char *function = level->cython.function;
    const char *dot = function ? strrchr(function, '.') : NULL;
    return roles->generic_attribute && level->cython.kind == CYTHON_SLOT && dot &&
           !strncmp(dot + 1, "__getattr__", strlen("__getattr__"));
}

/* Whether a wrapper and the function right inside of it are one call; recursion is two. */
static bool folds(const struct roles *roles, const struct address_info *info,
                  const struct address_level *level)
{
    const struct cython_name *outer = &level->cython, *inner = roles->inner;
    /* Only slots call by way of helpers: a function that runs a generator of its own name is two.
     */
    if (roles->inner_apart && outer->kind != CYTHON_SLOT)
        return false;
    if (inner && roles->inner_module == info->module && is_bare_wrapper(info, level, inner))
        return true;
    bool split = level->split && inner == &level[-1].cython;
    if (inner && roles->inner_module == info->module && (split || is_outer_slot(outer, inner)))
        return true;
    int depth = cython_depth(outer->kind);
    if (!inner || !depth || cython_depth(inner->kind) >= depth ||
        roles->inner_module != info->module || !inner->function || !outer->function)
        return false;
    return !strcmp(inner->function, outer->function) || cython_slot_calls(outer, inner) ||
           (!roles->inner_apart && !level->location->line && cython_slot_shares(outer, inner));
}

/* OpenMP's runtimes: gcc's libgomp, LLVM's and Intel's; wheels bring copies, libgomp-d22c30c5.so.
 */
static bool is_parallel_runtime(const struct address_info *info, const struct address_level *level)
{
    static const char *const modules[] = {"libgomp", "libomp", "libiomp"};
    static const char *const functions[] = {"GOMP_", "gomp_", "__kmp"};
    const char *function = level->location->function;
    for (size_t i = 0; info->module && i < PSC_ARRAY_SIZE(modules); i++)
        if (!strncmp(info->module->name, modules[i], strlen(modules[i])) ||
            (function && !strncmp(function, functions[i], strlen(functions[i]))))
            return true;
    return false;
}

/*
 * The body of a parallel block is a function of its own, which the runtime calls. On the thread
 * that began the block it stands right inside of the function whose block it is: that is one call.
 * Without symbols the body may have no name.
 */
static void follow_parallel(struct roles *roles, const struct address_info *info,
                            const struct address_level *level)
{
    const struct cython_name *name = &level->cython;
    roles->closes_parallel = false;
    roles->parallel_distance++;
    bool nameless = info->cython_code && !level->location->function;
    if ((name->kind != CYTHON_NONE && name->parallel) || nameless) {
        roles->parallel = level;
        roles->parallel_module = info->module;
        roles->parallel_distance = 0;
        return;
    }
    if (!roles->parallel || is_parallel_runtime(info, level))
        return;
    const char *block = roles->parallel->cython.function;
    roles->closes_parallel = roles->parallel_distance > 1 && name->kind != CYTHON_NONE &&
                             info->module == roles->parallel_module && name->function &&
                             (!block || !strcmp(name->function, block));
    if (!roles->closes_parallel)
        roles->parallel = NULL;
}

enum trace_role roles_take(struct roles *roles, const struct address_info *info,
                           const struct address_level *level, bool evaluator)
{
    follow_parallel(roles, info, level);
    bool physical = level == &info->levels[info->level_count - 1];
    enum trace_role role = physical && evaluator ? TRACE_ROLE_EVALUATOR
                           : level->plumbing || is_attribute_slot(roles, level)
                               ? TRACE_ROLE_PLUMBING
                               : role_by_class(roles, info, level);
    if (role == TRACE_ROLE_VISIBLE && level->cython.kind != CYTHON_NONE) {
        if (folds(roles, info, level))
            role = TRACE_ROLE_FOLDED;
        roles->inner = &level->cython;
        roles->inner_module = info->module;
        roles->inner_apart = false;
    } else if (role == TRACE_ROLE_PLUMBING) {
        roles->inner_apart = true;
    } else {
        roles->inner = NULL;
    }
    // What -X perf puts around each evaluator (CPython 3.12, Python/perf_trampoline.c).
    if (role == TRACE_ROLE_VISIBLE && !info->module && roles->behind_evaluator)
        role = TRACE_ROLE_PLUMBING;
    roles->behind_evaluator =
        role == TRACE_ROLE_EVALUATOR ||
        (roles->behind_evaluator && level->python_function == PYTHON_FUNCTION_CALL);
    if (info->extension)
        roles->user_inside = true;
    roles->generic_attribute = level->python_function == PYTHON_FUNCTION_ATTRIBUTE;
    return role;
}

void roles_pass_python(struct roles *roles)
{
    roles->parallel = NULL;
    roles->user_inside = true;
    roles->inner = NULL;
}

void roles_pass_gap(struct roles *roles)
{
    roles->parallel = NULL;
    roles->inner = NULL;
}
