/* Arguments and variables of native frames, by debug information. */
#include "frame_variables.h"

#include <stdlib.h>
#include <string.h>

/* Functions around a closure whose variables it has; attributes of one scope. */
#define CLOSURE_LIMIT 8u
/* Words of a frame among which a closure is looked for. */
#define WORD_LIMIT 1024u
/* Arguments of a generator that are put in order. */
#define ARGUMENT_LIMIT 64u

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

/* ---- places ---- */

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

/* ---- one variable ---- */

static struct c_writer make_writer(struct variables *variables, struct text *text, bool cython)
{
    return (struct c_writer){.target = variables->input.target,
                             .modules = variables->input.modules,
                             .python = variables->input.python,
                             .arena = variables->input.arena,
                             .text = text,
                             .cython = cython};
}

static bool is_named(const struct variables *variables, const char *name)
{
    for (size_t i = 0; i < variables->count; i++)
        if (!strcmp(variables->items[i].name, name))
            return true;
    return false;
}

/* Takes the text over. */
static void keep(struct variables *variables, const char *name, struct text *text)
{
    const char *kept = text->failed ? NULL
                                    : arena_strndup(variables->input.arena,
                                                    text->data ? text->data : "", text->size);
    variables->bytes -= text->size < variables->bytes ? text->size : variables->bytes;
    text_deinit(text);
    if (kept && name && variables->count < LOCAL_LIMIT)
        variables->items[variables->count++] = (struct trace_local){name, kept};
}

/* What is nowhere any more; of an argument, with what it was at first where that is known. */
static void add_lost(struct variables *variables, size_t native, const struct debug_scope *scope,
                     const struct debug_variable *variable, const char *why,
                     struct c_writer *writer)
{
    struct text *text = writer->text;
    text_printf(text, "<%s", why);
    if (writer->cython && variable->argument) {
        struct text passed = {0};
        struct c_writer inner = *writer;
        inner.text = &passed;
        if (arguments_add_passed(variables, native, scope, variable, &inner) && passed.size)
            text_printf(text, ", passed as %s", passed.data);
        text_deinit(&passed);
    }
    text_add_char(text, '>');
}

static void add_variable(struct variables *variables, size_t native,
                         const struct debug_scope *scope, const struct debug_variable *variable,
                         const char *name, bool cython)
{
    struct text text = {0};
    struct c_place place;
    struct c_writer writer = make_writer(variables, &text, cython);
    if (!variable->type) {
        text_add_string(&text, "<not known>");
        keep(variables, name, &text);
        return;
    }
    switch (variables_locate(variables, native, variable, &place)) {
    case NATIVE_LOCATION_FOUND:
        c_value_add(&writer, variable->type, place, 0);
        break;
    case NATIVE_LOCATION_LOST:
        add_lost(variables, native, scope, variable, "optimised out", &writer);
        break;
    case NATIVE_LOCATION_UNSAVED:
        add_lost(variables, native, scope, variable, "not saved", &writer);
        break;
    case NATIVE_LOCATION_UNREADABLE:
        text_add_string(&text, "<not readable>");
        break;
    case NATIVE_LOCATION_UNSUPPORTED:
        text_add_string(&text, "<not computable>");
        break;
    }
    keep(variables, name, &text);
}

/* ---- Cython ---- */

static bool is_object_pointer(const struct debug_type *type)
{
    const struct debug_type *target =
        type && type->kind == DEBUG_KIND_POINTER ? debug_type_target(type) : NULL;
    return target && c_is_object(target);
}

/* A pointer's value; false when it is not known. */
static bool read_pointer(struct variables *variables, size_t native,
                         const struct debug_variable *variable, uint64_t *ret)
{
    struct c_place place;
    uint8_t bytes[8];
    struct c_writer writer = make_writer(variables, NULL, true);
    if (!variable->type || variable->type->kind != DEBUG_KIND_POINTER ||
        variables_locate(variables, native, variable, &place) != NATIVE_LOCATION_FOUND ||
        c_read(&writer, place, 0, bytes, sizeof(bytes)) != C_READ_OK)
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

/* A generator's body has its scope in a variable, which is made from the generator. */
static struct closure find_closure(struct variables *variables, size_t native,
                                   const struct debug_scope *scope, const char *name)
{
    struct closure closure = {NULL, 0};
    struct debug_member member;
    const struct debug_variable *variable = find_variable(scope, name);
    const struct debug_variable *generator = find_variable(scope, "__pyx_generator");
    if (!variable || !variable->type || variable->type->kind != DEBUG_KIND_POINTER)
        return closure;
    const struct debug_type *type = debug_type_target(variable->type);
    bool found = read_pointer(variables, native, variable, &closure.object);
    if (!found && generator && read_pointer(variables, native, generator, &closure.object)) {
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
    struct c_writer writer = make_writer(variables, &text, true);
    psc_addr address = closure->object + member->offset;
    if (!member->type || is_unbound(variables, member->type, address) || is_named(variables, name))
        return;
    c_value_add(&writer, member->type, (struct c_place){NULL, address}, 0);
    keep(variables, name, &text);
}

/* Its own scope's variables, then those of the functions around it. */
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

static bool is_unbound_variable(struct variables *variables, size_t native,
                                const struct debug_variable *variable)
{
    uint64_t pointer;
    return !variable->argument && is_object_pointer(variable->type) &&
           read_pointer(variables, native, variable, &pointer) && !pointer;
}

/* A generator's arguments are in its scope, where they stand by the alphabet: its code object. */
static void add_generator_arguments(struct variables *variables, size_t native,
                                    const struct debug_scope *scope, const struct closure *own)
{
    const char *names[ARGUMENT_LIMIT];
    struct debug_member member;
    psc_addr address;
    psc_addr code;
    struct python *python = variables->input.python;
    const struct debug_variable *generator = find_variable(scope, "__pyx_generator");
    if (!python || !own->type || !generator || !generator->type ||
        !read_pointer(variables, native, generator, &address))
        return;
    const struct debug_type *type = debug_type_target(generator->type);
    if (!type || !c_find_member(type, "gi_code", &member) ||
        target_read_u64(variables->input.target, address + member.offset, &code) != PSC_OK)
        return;
    size_t count = python_list_arguments(python, code, names, ARGUMENT_LIMIT);
    for (size_t i = 0; i < count; i++)
        if (find_closure_member(variables, own, names[i], &member))
            add_closure_member(variables, own, &member, names[i]);
}

static void add_cython_variables(struct variables *variables, size_t native,
                                 const struct debug_scope *scope)
{
    struct closure own = find_closure(variables, native, scope, "__pyx_cur_scope");
    add_generator_arguments(variables, native, scope, &own);
    for (size_t i = 0; i < scope->count; i++) {
        const struct debug_variable *variable = &scope->variables[i];
        const char *name = cython_variable_name(variable->name, variables->input.arena);
        struct debug_member member;
        if (!name || is_named(variables, name))
            continue;
        // What an inner function uses too is no longer in the variable of that name.
        if (find_closure_member(variables, &own, name, &member))
            add_closure_member(variables, &own, &member, name);
        else if (!is_unbound_variable(variables, native, variable))
            add_variable(variables, native, scope, variable, name, true);
    }
    add_closure(variables, own);
    add_closure(variables, find_closure(variables, native, scope, "__pyx_outer_scope"));
}

/* The frame's part of the stack, and its registers. */
static size_t list_words(struct variables *variables, size_t native, uint64_t words[WORD_LIMIT])
{
    struct native_context context;
    const struct native_frame *frame = &variables->stack->frames[native];
    size_t count = 0;
    native_get_context(variables->input.target, variables->stack, native, &context);
    for (size_t i = 0; i < variables->input.target->machine->register_count; i++)
        if (context.known >> i & 1)
            words[count++] = context.registers.value[i];
    for (psc_addr at = frame->sp; at < frame->cfa && count < WORD_LIMIT; at += 8, count++)
        if (target_read_u64(variables->input.target, at, &words[count]) != PSC_OK)
            break;
    return count;
}

/*
 * Without debug information: the object that holds a closure's variables, when the frame has just
 * one. Returns 0 for none, or for several.
 */
static psc_addr find_closure_object(struct variables *variables, size_t native,
                                    const char *function)
{
    uint64_t words[WORD_LIMIT];
    size_t count = list_words(variables, native, words);
    psc_addr found = 0;
    unsigned best = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned rank = python_is_closure(variables->input.python, words[i], function);
        if (!rank || (best && rank > best))
            continue;
        found = rank == best && found != words[i] ? 0 : words[i];
        best = rank;
    }
    return found;
}

static void add_closure_object(struct variables *variables, size_t native, const char *function)
{
    struct text text = {0};
    psc_addr object =
        variables->input.python && function ? find_closure_object(variables, native, function) : 0;
    if (!object)
        return;
    python_add_value(variables->input.python, object, &text);
    keep(variables, "closure", &text);
}

/* ---- C ---- */

/* Variables that are declared further on hold nothing yet. */
static void add_c_variables(struct variables *variables, size_t native,
                            const struct debug_scope *scope, uint32_t line)
{
    for (size_t i = 0; i < scope->count; i++) {
        const struct debug_variable *variable = &scope->variables[i];
        if (variable->argument || !line || variable->line <= line)
            add_variable(variables, native, scope, variable,
                         arena_strdup(variables->input.arena, variable->name), false);
    }
}

/* ---- a frame ---- */

enum psc_status variables_read(struct variables *variables, const struct native_stack *stack,
                               const struct variables_level *level, const struct trace_locals **ret)
{
    size_t native = level->frame;
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
    variables->count = 0;
    if (!scope)
        add_closure_object(variables, native, level->function);
    else if (level->cython)
        add_cython_variables(variables, native, scope);
    else
        add_c_variables(variables, native, scope, level->line);
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

static void rehearse_closures(struct variables *variables, size_t native)
{
    uint64_t words[WORD_LIMIT];
    struct python *python = variables->input.python;
    size_t count = python ? list_words(variables, native, words) : 0;
    for (size_t i = 0; i < count; i++) {
        struct text text = {0};
        if (python_is_closure(python, words[i], NULL))
            python_add_value(python, words[i], &text);
        text_deinit(&text);
    }
}

bool variables_rehearse(struct variables *variables, const struct native_stack *stack,
                        size_t native)
{
    variables->stack = stack;
    variables->level = NULL;
    const struct debug_scopes *scopes = variables_find_scopes(variables, native);
    variables->count = 0;
    if (!variables->bytes)
        return true;
    if (!scopes)
        rehearse_closures(variables, native);
    for (size_t i = 0; scopes && i < scopes->count; i++) {
        const struct debug_scope *scope = &scopes->items[i];
        variables->count = 0;
        if (scope->function && strstr(scope->function, "__pyx_"))
            add_cython_variables(variables, native, scope);
        else
            add_c_variables(variables, native, scope, 0);
    }
    return !arena_is_exhausted(variables->input.arena);
}
