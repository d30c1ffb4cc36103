/* Arguments and variables of native frames, by debug information. */
#include "variables_private.h"

#include <stdlib.h>
#include <string.h>

struct variables *variables_create(const struct variables_input *input)
{
    struct variables *variables = calloc(1, sizeof(*variables));
    if (!variables)
        return NULL;
    variables->input = *input;
    variables->bytes = VARIABLES_TEXT_LIMIT;
    return variables;
}

void variables_destroy(struct variables *variables)
{
    free(variables);
}

/*
 * What the debug information knows of a level. The levels that are shown may be fewer than the
 * calls that were inlined there: only the physical function is then known to be the same.
 */
static const struct debug_scope *find_scope(const struct variables *variables,
                                            const struct variables_level *level)
{
    const struct debug_scopes *scopes = variables_find_scopes(variables, level->frame);
    if (!scopes || !scopes->count)
        return NULL;
    if (scopes->count == level->level_count)
        return &scopes->items[level->level];
    return level->level + 1 == level->level_count ? &scopes->items[scopes->count - 1] : NULL;
}

/* ---- C ---- */

/* Without variables that are declared behind the line, which have no value yet. */
static void add_c_variables(struct variables *variables, const struct frame_scope *in,
                            uint32_t line)
{
    for (size_t i = 0; i < in->scope->count; i++) {
        const struct debug_variable *variable = &in->scope->variables[i];
        if (variable->argument || !line || variable->line <= line)
            variables_add(variables, in, variable,
                          arena_strdup(variables->input.arena, variable->name));
    }
}

/* ---- a frame ---- */

enum psc_status variables_read(struct variables *variables, const struct native_stack *stack,
                               const struct variables_level *level, const struct trace_locals **ret)
{
    variables->stack = stack;
    variables->level = level;
    const struct debug_scope *scope = find_scope(variables, level);
    if (!scope && !level->cython)
        return PSC_OK;
    if (!variables->bytes) {
        target_warn(variables->input.target, "values-limit",
                    "not all values are shown: what they may take in all is used up");
        return PSC_OK;
    }
    const struct frame_scope in = {level->frame, scope, level->cython};
    variables->count = 0;
    if (!scope)
        variables_add_closure_object(variables, level->frame, level->function);
    else if (level->cython)
        variables_add_cython(variables, &in);
    else
        add_c_variables(variables, &in, level->line);
    if (arena_is_exhausted(variables->input.arena))
        return PSC_ERR_MEMORY;
    if (!variables->count)
        return PSC_OK;
    struct trace_locals *locals = arena_alloc(variables->input.arena, sizeof(*locals));
    struct trace_local *items =
        arena_array(variables->input.arena, variables->count, sizeof(*items));
    if (!locals || !items)
        return PSC_ERR_MEMORY;
    memcpy(items, variables->items, variables->count * sizeof(*items));
    *locals = (struct trace_locals){items, variables->count};
    *ret = locals;
    return PSC_OK;
}
