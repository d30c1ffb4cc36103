/*
 * What a Cython function was called with, where its body does not have it any more: the wrapper
 * that Python called keeps references to the objects in `values`, in the order of the arguments,
 * until it returns (Cython/Compiler/Nodes.py, DefNodeWrapper, from Cython 3.1 on).
 */
#include "variables_private.h"

#include <string.h>

static bool is_function(const struct debug_scope *scope, const char *prefix)
{
    return scope->function && strstr(scope->function, prefix);
}

/* The wrapper around a body: the function that it was inlined into, or its caller. */
static const struct debug_scope *find_wrapper(struct variables *variables, size_t frame,
                                              const struct debug_scope *body, size_t *ret_frame)
{
    const struct debug_scopes *scopes = variables_find_scopes(variables, frame);
    if (!scopes || !scopes->count || !is_function(body, "__pyx_pf_"))
        return NULL;
    const struct debug_scope *last = &scopes->items[scopes->count - 1];
    *ret_frame = frame;
    if (body != last)
        return scopes->count >= 2 && body == last - 1 && is_function(last, "__pyx_pw_") ? last
                                                                                        : NULL;
    if (frame + 1 >= variables->stack->count ||
        variables->stack->frames[frame + 1].trust > NATIVE_TRUST_CFI ||
        variables->stack->frames[frame + 1].signal)
        return NULL;
    *ret_frame = frame + 1;
    scopes = variables_find_scopes(variables, frame + 1);
    const char *name = variables->level->frame_function;
    const char *outer_name = variables->level->caller_function;
    if (!scopes || scopes->count != 1 || !is_function(&scopes->items[0], "__pyx_pw_") || !name ||
        !outer_name || strcmp(name, outer_name) != 0)
        return NULL;
    return &scopes->items[0];
}

static const struct debug_variable *find_values(const struct debug_scope *wrapper)
{
    for (size_t i = 0; i < wrapper->count; i++) {
        const struct debug_variable *variable = &wrapper->variables[i];
        const struct debug_type *type = variable->type;
        if (strcmp(variable->name, "values") != 0 || !type || type->kind != DEBUG_KIND_ARRAY ||
            type->dimension_count != 1 || !type->dimensions[0])
            continue;
        const struct debug_type *item = debug_type_target(type);
        const struct debug_type *object =
            item && item->kind == DEBUG_KIND_POINTER ? debug_type_target(item) : NULL;
        return object && c_is_object(object) ? variable : NULL;
    }
    return NULL;
}

bool variables_add_passed(struct variables *variables, const struct frame_scope *body,
                          const struct debug_variable *argument, struct c_writer *writer)
{
    struct c_storage storage;
    size_t holder;
    uint8_t bytes[8];
    const struct debug_scope *wrapper = find_wrapper(variables, body->frame, body->scope, &holder);
    const struct debug_variable *kept = wrapper ? find_values(wrapper) : NULL;
    // `values` has all arguments but the first, which is self or the function; with *args or
    // **kwargs the counts differ.
    if (!kept || !writer->python || body->scope->argument_count != kept->type->dimensions[0] + 1 ||
        !argument->position || argument->position >= body->scope->argument_count ||
        variables_locate(variables, holder, kept, &storage) != NATIVE_LOCATION_FOUND ||
        c_read(writer, storage, 8 * ((uint64_t)argument->position - 1), bytes, sizeof(bytes)) !=
            C_READ_OK ||
        !load_u64(bytes))
        return false;
    python_add_value(writer->python, load_u64(bytes), writer->text);
    return true;
}
