/* Arguments and variables of Cython functions, by debug information. */
#include "variables_private.h"

#include <string.h>

/* Functions around a function, whose variables are shown too. */
#define CLOSURE_LIMIT 8u
/* Arguments of a generator that are put in order. */
#define ARGUMENT_LIMIT 64u

static bool is_object_pointer(const struct debug_type *type)
{
    const struct debug_type *target =
        type && type->kind == DEBUG_KIND_POINTER ? debug_type_target(type) : NULL;
    return target && c_is_object(target);
}

/* A pointer's value; false when it is not known. */
static bool read_pointer(struct variables *variables, const struct frame_scope *in,
                         const struct debug_variable *variable, uint64_t *ret)
{
    struct c_storage storage;
    uint8_t bytes[8];
    struct c_writer writer = variables_make_writer(variables, NULL, true);
    if (!variable->type || variable->type->kind != DEBUG_KIND_POINTER ||
        variables_locate(variables, in->frame, variable, &storage) != NATIVE_LOCATION_FOUND ||
        c_read(&writer, storage, 0, bytes, sizeof(bytes)) != C_READ_OK)
        return false;
    *ret = load_u64(bytes);
    return true;
}

static const struct debug_variable *find_variable(const struct debug_scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->count; i++)
        if (!strcmp(scope->variables[i].name, name))
            return &scope->variables[i];
    return NULL;
}

/* The object that holds variables which inner functions use too, or which outlive a yield. */
struct closure {
    const struct debug_type *type; /* NULL: there is none. */
    psc_addr object;
};

/* A generator's body has its scope in a variable, and the generator has it too. */
static struct closure find_closure(struct variables *variables, const struct frame_scope *in,
                                   const char *name)
{
    struct closure closure = {NULL, 0};
    struct debug_member member;
    const struct debug_variable *variable = find_variable(in->scope, name);
    const struct debug_variable *generator = find_variable(in->scope, "__pyx_generator");
    if (!variable || !variable->type || variable->type->kind != DEBUG_KIND_POINTER)
        return closure;
    const struct debug_type *type = debug_type_target(variable->type);
    bool found = read_pointer(variables, in, variable, &closure.object);
    if (!found && generator && read_pointer(variables, in, generator, &closure.object)) {
        const struct debug_type *target = debug_type_target(generator->type);
        found = target && c_find_member(target, "closure", &member) &&
                target_read_u64(variables->input.target, closure.object + member.offset,
                                &closure.object) == PSC_OK;
    }
    if (found && closure.object && type && c_is_object(type))
        closure.type = type;
    return closure;
}

static bool find_closure_member(struct variables *variables, const struct closure *closure,
                                const char *name, struct debug_member *ret)
{
    const struct debug_member *members;
    size_t count = closure->type ? debug_type_members(closure->type, &members) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *own =
            members[i].name ? cython_variable_name(members[i].name, variables->input.arena) : NULL;
        if (own && !strcmp(own, name)) {
            *ret = members[i];
            return true;
        }
    }
    return false;
}

static bool is_unbound(struct variables *variables, const struct debug_type *type, psc_addr address)
{
    uint64_t pointer;
    return is_object_pointer(type) &&
           target_read_u64(variables->input.target, address, &pointer) == PSC_OK && !pointer;
}

static void add_closure_member(struct variables *variables, const struct closure *closure,
                               const struct debug_member *member, const char *name)
{
    struct text text = {0};
    struct c_writer writer = variables_make_writer(variables, &text, true);
    psc_addr address = closure->object + member->offset;
    if (!member->type || is_unbound(variables, member->type, address) ||
        variables_has(variables, name))
        return;
    c_write_value(&writer, member->type, (struct c_storage){NULL, address});
    variables_add_text(variables, name, &text);
}

/* The variables of this scope, then those of the functions around it. */
static void add_closure(struct variables *variables, struct closure closure)
{
    for (size_t depth = 0; closure.type && depth < CLOSURE_LIMIT; depth++) {
        const struct debug_member *members;
        const struct debug_member *outer = NULL;
        size_t count = debug_type_members(closure.type, &members);
        for (size_t i = 0; i < count; i++) {
            const char *name = members[i].name
                                   ? cython_variable_name(members[i].name, variables->input.arena)
                                   : NULL;
            if (name)
                add_closure_member(variables, &closure, &members[i], name);
            else if (members[i].name && !strcmp(members[i].name, "__pyx_outer_scope"))
                outer = &members[i];
        }
        closure.type = NULL;
        if (outer && outer->type && outer->type->kind == DEBUG_KIND_POINTER &&
            target_read_u64(variables->input.target, closure.object + outer->offset,
                            &closure.object) == PSC_OK &&
            closure.object)
            closure.type = debug_type_target(outer->type);
        if (closure.type && !c_is_object(closure.type))
            closure.type = NULL;
    }
}

static bool is_unbound_variable(struct variables *variables, const struct frame_scope *in,
                                const struct debug_variable *variable)
{
    uint64_t pointer;
    return !variable->argument && is_object_pointer(variable->type) &&
           read_pointer(variables, in, variable, &pointer) && !pointer;
}

/*
 * A generator's arguments are in its scope, among other variables and sorted by name. Their order
 * is in the generator's code object.
 */
static void add_generator_arguments(struct variables *variables, const struct frame_scope *in,
                                    const struct closure *own)
{
    const char *names[ARGUMENT_LIMIT];
    struct debug_member member;
    psc_addr address;
    psc_addr code;
    struct python *python = variables->input.python;
    const struct debug_variable *generator = find_variable(in->scope, "__pyx_generator");
    if (!python || !own->type || !generator || !generator->type ||
        !read_pointer(variables, in, generator, &address))
        return;
    const struct debug_type *type = debug_type_target(generator->type);
    if (!type || !c_find_member(type, "gi_code", &member) ||
        target_read_u64(variables->input.target, address + member.offset, &code) != PSC_OK)
        return;
    size_t count = python_list_arguments(python, code, names, ARGUMENT_LIMIT);
    variables->arguments = true;
    for (size_t i = 0; i < count; i++)
        if (find_closure_member(variables, own, names[i], &member))
            add_closure_member(variables, own, &member, names[i]);
}

void variables_add_cython(struct variables *variables, const struct frame_scope *in)
{
    struct closure own = find_closure(variables, in, "__pyx_cur_scope");
    add_generator_arguments(variables, in, &own);
    for (size_t i = 0; i < in->scope->count; i++) {
        const struct debug_variable *variable = &in->scope->variables[i];
        const char *name = cython_variable_name(variable->name, variables->input.arena);
        struct debug_member member;
        if (!name || variables_has(variables, name))
            continue;
        // A variable that inner functions use too lives in the scope; the C variable is stale.
        variables->arguments = variable->argument;
        if (find_closure_member(variables, &own, name, &member))
            add_closure_member(variables, &own, &member, name);
        else if (!is_unbound_variable(variables, in, variable))
            variables_add(variables, in, variable, name);
    }
    variables->arguments = false;
    add_closure(variables, own);
    add_closure(variables, find_closure(variables, in, "__pyx_outer_scope"));
}
