/* Where variables of native frames are, and what arguments were when a function was entered. */
#include "variables_private.h"

#include <string.h>

/* Callers that are asked what an argument was. */
#define ENTRY_DEPTH_LIMIT 8u

/* ---- debug information ---- */

static struct module *find_module(const struct variables *variables, size_t frame, psc_addr *ret)
{
    *ret = native_lookup_pc(&variables->stack->frames[frame]);
    return modules_find(variables->input.modules, *ret);
}

const struct debug_scopes *variables_find_scopes(const struct variables *variables, size_t frame)
{
    psc_addr pc;
    struct module *module = find_module(variables, frame, &pc);
    return module ? module_find_variables(module, pc) : NULL;
}

/* Call sites are known by the address that is returned to. */
static const struct debug_call_site *call_site_of(const struct variables *variables, size_t frame)
{
    psc_addr pc;
    struct module *module = find_module(variables, frame, &pc);
    return module ? module_find_call_site(module, pc + 1) : NULL;
}

/* ---- what arguments were ---- */

/* A frame whose caller is asked. */
struct entry {
    struct variables *variables;
    size_t frame;
    unsigned depth;
};

static bool find_entry_value(void *context, const struct debug_expression *expression,
                             uint64_t *ret);

static enum native_location evaluate(struct variables *variables, size_t frame, unsigned depth,
                                     const struct debug_expression *expression, uint64_t *ret)
{
    struct native_context context;
    const struct debug_scopes *scopes = variables_find_scopes(variables, frame);
    struct entry entry = {variables, frame, depth};
    struct native_evaluation evaluation = {.context = &context,
                                           .frame_base = scopes ? scopes->frame_base : NULL,
                                           .enter = find_entry_value,
                                           .entry = &entry};
    native_read_context(variables->input.target, variables->stack, frame, &context);
    return native_evaluate(variables->input.target, &evaluation, expression, ret);
}

/* Tail calls leave no frame: the call site of the caller may call another function. */
static bool calls_function(struct variables *variables, size_t caller, unsigned depth,
                           const struct debug_call_site *site, size_t callee)
{
    uint64_t target;
    const struct debug_scopes *scopes = variables_find_scopes(variables, callee);
    if (!scopes || !scopes->count)
        return false;
    const char *name = scopes->items[scopes->count - 1].function;
    if (site->target)
        return site->target == scopes->entry;
    if (site->name)
        return name && !strcmp(site->name, name);
    return site->target_value &&
           evaluate(variables, caller, depth, site->target_value, &target) ==
               NATIVE_LOCATION_FOUND &&
           target == scopes->entry;
}

static bool find_entry_value(void *context, const struct debug_expression *expression,
                             uint64_t *ret)
{
    const struct entry *entry = context;
    struct variables *variables = entry->variables;
    const struct native_stack *stack = variables->stack;
    size_t caller = entry->frame + 1;
    if (entry->depth >= ENTRY_DEPTH_LIMIT || caller >= stack->count ||
        stack->frames[caller].trust > NATIVE_TRUST_CFI || stack->frames[caller].exact ||
        stack->frames[caller].signal)
        return false;
    const struct debug_call_site *site = call_site_of(variables, caller);
    if (!site || !calls_function(variables, caller, entry->depth + 1, site, entry->frame))
        return false;
    const struct debug_call_parameter *known = debug_call_site_find(site, expression);
    return known && evaluate(variables, caller, entry->depth + 1, known->value, ret) ==
                        NATIVE_LOCATION_FOUND;
}

/* ---- one variable ---- */

enum native_location variables_locate(struct variables *variables, size_t frame,
                                      const struct debug_variable *variable, struct c_storage *ret)
{
    struct native_context context;
    const struct debug_scopes *scopes = variables_find_scopes(variables, frame);
    struct entry entry = {variables, frame, 0};
    struct native_evaluation evaluation = {.context = &context,
                                           .frame_base = scopes ? scopes->frame_base : NULL,
                                           .enter = find_entry_value,
                                           .entry = &entry};
    struct native_value *value = &variables->value;
    *ret = (struct c_storage){value, 0};
    value->size = 0;
    if (variable->constant) {
        size_t size = variable->constant_size;
        if (size > NATIVE_VALUE_LIMIT)
            return NATIVE_LOCATION_UNSUPPORTED;
        memcpy(value->bytes, variable->constant, size);
        memset(value->known, 1, size);
        value->size = size;
        return NATIVE_LOCATION_FOUND;
    }
    if (!variable->location)
        return NATIVE_LOCATION_LOST;
    native_read_context(variables->input.target, variables->stack, frame, &context);
    enum native_location found = native_locate(variables->input.target, &evaluation,
                                               variable->location, variable->type->size, value);
    if (found == NATIVE_LOCATION_FOUND && value->in_memory)
        *ret = (struct c_storage){NULL, value->address};
    return found;
}
