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

struct c_values *c_values_create(struct psc_trace *trace, const struct capture_sources *sources,
                                 const struct plan *plan, size_t *bytes)
{
    struct c_values *values = calloc(1, sizeof(*values));
    if (!values)
        return NULL;
    values->trace = trace;
    values->sources = sources;
    values->plan = plan;
    values->arena = trace->arena;
    values->bytes = bytes;
    return values;
}

void c_values_destroy(struct c_values *values)
{
    free(values);
}

/* ---- places ---- */

/*
 * What the debug information knows of a level. The levels of a place may be fewer than the calls
 * that were inlined there: only the physical function is then known to be the same.
 */
static const struct debug_scope *scope_of(struct address_info *info, size_t level)
{
    const struct debug_scopes *scopes = variables_find_scopes(info);
    if (!scopes || !scopes->count)
        return NULL;
    if (scopes->count == info->level_count)
        return &scopes->items[level];
    return level + 1 == info->level_count ? &scopes->items[scopes->count - 1] : NULL;
}

/* ---- one variable ---- */

static struct c_writer make_writer(struct c_values *values, struct text *text, bool cython)
{
    return (struct c_writer){.target = values->sources->target,
                             .modules = values->sources->modules,
                             .python = values->sources->python,
                             .arena = values->arena,
                             .text = text,
                             .cython = cython};
}

static bool is_named(const struct c_values *values, const char *name)
{
    for (size_t i = 0; i < values->count; i++)
        if (!strcmp(values->items[i].name, name))
            return true;
    return false;
}

/* Takes the text over. */
static void keep(struct c_values *values, const char *name, struct text *text)
{
    const char *kept = text->failed
                           ? NULL
                           : arena_strndup(values->arena, text->data ? text->data : "", text->size);
    *values->bytes -= text->size < *values->bytes ? text->size : *values->bytes;
    text_deinit(text);
    if (kept && name && values->count < LOCAL_LIMIT)
        values->items[values->count++] = (struct trace_local){name, kept};
}

/* What is nowhere any more; of an argument, with what it was at first where that is known. */
static void add_lost(struct c_values *values, size_t native, const struct debug_scope *scope,
                     const struct debug_variable *variable, const char *why,
                     struct c_writer *writer)
{
    struct text *text = writer->text;
    text_printf(text, "<%s", why);
    if (writer->cython && variable->argument) {
        struct text passed = {0};
        struct c_writer inner = *writer;
        inner.text = &passed;
        if (arguments_add_passed(values, native, scope, variable, &inner) && passed.size)
            text_printf(text, ", passed as %s", passed.data);
        text_deinit(&passed);
    }
    text_add_char(text, '>');
}

static void add_variable(struct c_values *values, size_t native, const struct debug_scope *scope,
                         const struct debug_variable *variable, const char *name, bool cython)
{
    struct text text = {0};
    struct c_place place;
    struct c_writer writer = make_writer(values, &text, cython);
    if (!variable->type) {
        text_add_string(&text, "<not known>");
        keep(values, name, &text);
        return;
    }
    switch (variables_locate(values, native, variable, &place)) {
    case NATIVE_LOCATION_FOUND:
        c_value_add(&writer, variable->type, place, 0);
        break;
    case NATIVE_LOCATION_LOST:
        add_lost(values, native, scope, variable, "optimised out", &writer);
        break;
    case NATIVE_LOCATION_UNSAVED:
        add_lost(values, native, scope, variable, "not saved", &writer);
        break;
    case NATIVE_LOCATION_UNREADABLE:
        text_add_string(&text, "<not readable>");
        break;
    case NATIVE_LOCATION_UNSUPPORTED:
        text_add_string(&text, "<not computable>");
        break;
    }
    keep(values, name, &text);
}

/* ---- Cython ---- */

static bool is_object_pointer(const struct debug_type *type)
{
    const struct debug_type *target =
        type && type->kind == DEBUG_KIND_POINTER ? debug_type_target(type) : NULL;
    return target && c_is_object(target);
}

/* A pointer's value; false when it is not known. */
static bool read_pointer(struct c_values *values, size_t native,
                         const struct debug_variable *variable, uint64_t *ret)
{
    struct c_place place;
    uint8_t bytes[8];
    struct c_writer writer = make_writer(values, NULL, true);
    if (!variable->type || variable->type->kind != DEBUG_KIND_POINTER ||
        variables_locate(values, native, variable, &place) != NATIVE_LOCATION_FOUND ||
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
static struct closure find_closure(struct c_values *values, size_t native,
                                   const struct debug_scope *scope, const char *name)
{
    struct closure closure = {NULL, 0};
    struct debug_member member;
    const struct debug_variable *variable = find_variable(scope, name);
    const struct debug_variable *generator = find_variable(scope, "__pyx_generator");
    if (!variable || !variable->type || variable->type->kind != DEBUG_KIND_POINTER)
        return closure;
    const struct debug_type *type = debug_type_target(variable->type);
    bool found = read_pointer(values, native, variable, &closure.object);
    if (!found && generator && read_pointer(values, native, generator, &closure.object)) {
        const struct debug_type *target = debug_type_target(generator->type);
        found = target && c_find_member(target, "closure", &member) &&
                target_read_u64(values->sources->target, closure.object + member.offset,
                                &closure.object) == PSC_OK;
    }
    if (found && closure.object && type && c_is_object(type))
        closure.type = type;
    return closure;
}

static bool find_closure_member(struct c_values *values, const struct closure *closure,
                                const char *name, struct debug_member *ret)
{
    const struct debug_member *members;
    size_t count = closure->type ? debug_type_members(closure->type, &members) : 0;
    for (size_t i = 0; i < count; i++) {
        const char *own =
            members[i].name ? cython_variable_name(members[i].name, values->arena) : NULL;
        if (own && !strcmp(own, name)) {
            *ret = members[i];
            return true;
        }
    }
    return false;
}

static bool is_unbound(struct c_values *values, const struct debug_type *type, psc_addr address)
{
    uint64_t pointer;
    return is_object_pointer(type) &&
           target_read_u64(values->sources->target, address, &pointer) == PSC_OK && !pointer;
}

static void add_closure_member(struct c_values *values, const struct closure *closure,
                               const struct debug_member *member, const char *name)
{
    struct text text = {0};
    struct c_writer writer = make_writer(values, &text, true);
    psc_addr address = closure->object + member->offset;
    if (!member->type || is_unbound(values, member->type, address) || is_named(values, name))
        return;
    c_value_add(&writer, member->type, (struct c_place){NULL, address}, 0);
    keep(values, name, &text);
}

/* Its own scope's variables, then those of the functions around it. */
static void add_closure(struct c_values *values, struct closure closure)
{
    for (size_t depth = 0; closure.type && depth < CLOSURE_LIMIT; depth++) {
        const struct debug_member *members;
        const struct debug_member *outer = NULL;
        size_t count = debug_type_members(closure.type, &members);
        for (size_t i = 0; i < count; i++) {
            const char *name =
                members[i].name ? cython_variable_name(members[i].name, values->arena) : NULL;
            if (name)
                add_closure_member(values, &closure, &members[i], name);
            else if (members[i].name && !strcmp(members[i].name, "__pyx_outer_scope"))
                outer = &members[i];
        }
        closure.type = NULL;
        if (outer && outer->type && outer->type->kind == DEBUG_KIND_POINTER &&
            target_read_u64(values->sources->target, closure.object + outer->offset,
                            &closure.object) == PSC_OK &&
            closure.object)
            closure.type = debug_type_target(outer->type);
        if (closure.type && !c_is_object(closure.type))
            closure.type = NULL;
    }
}

static bool is_unbound_variable(struct c_values *values, size_t native,
                                const struct debug_variable *variable)
{
    uint64_t pointer;
    return !variable->argument && is_object_pointer(variable->type) &&
           read_pointer(values, native, variable, &pointer) && !pointer;
}

/* A generator's arguments are in its scope, where they stand by the alphabet: its code object. */
static void add_generator_arguments(struct c_values *values, size_t native,
                                    const struct debug_scope *scope, const struct closure *own)
{
    const char *names[ARGUMENT_LIMIT];
    struct debug_member member;
    psc_addr address;
    psc_addr code;
    struct python *python = values->sources->python;
    const struct debug_variable *generator = find_variable(scope, "__pyx_generator");
    if (!python || !own->type || !generator || !generator->type ||
        !read_pointer(values, native, generator, &address))
        return;
    const struct debug_type *type = debug_type_target(generator->type);
    if (!type || !c_find_member(type, "gi_code", &member) ||
        target_read_u64(values->sources->target, address + member.offset, &code) != PSC_OK)
        return;
    size_t count = python_list_arguments(python, code, names, ARGUMENT_LIMIT);
    for (size_t i = 0; i < count; i++)
        if (find_closure_member(values, own, names[i], &member))
            add_closure_member(values, own, &member, names[i]);
}

static void add_cython_variables(struct c_values *values, size_t native,
                                 const struct debug_scope *scope)
{
    struct closure own = find_closure(values, native, scope, "__pyx_cur_scope");
    add_generator_arguments(values, native, scope, &own);
    for (size_t i = 0; i < scope->count; i++) {
        const struct debug_variable *variable = &scope->variables[i];
        const char *name = cython_variable_name(variable->name, values->arena);
        struct debug_member member;
        if (!name || is_named(values, name))
            continue;
        // What an inner function uses too is no longer in the variable of that name.
        if (find_closure_member(values, &own, name, &member))
            add_closure_member(values, &own, &member, name);
        else if (!is_unbound_variable(values, native, variable))
            add_variable(values, native, scope, variable, name, true);
    }
    add_closure(values, own);
    add_closure(values, find_closure(values, native, scope, "__pyx_outer_scope"));
}

/* The frame's part of the stack, and its registers. */
static size_t list_words(struct c_values *values, size_t native, uint64_t words[WORD_LIMIT])
{
    struct native_context context;
    const struct native_frame *frame = &values->plan->native.frames[native];
    size_t count = 0;
    native_get_context(&values->plan->native, native, &context);
    for (size_t i = 0; i < X86_COUNT; i++)
        if (context.known >> i & 1)
            words[count++] = context.registers.value[i];
    for (psc_addr at = frame->sp; at < frame->cfa && count < WORD_LIMIT; at += 8, count++)
        if (target_read_u64(values->sources->target, at, &words[count]) != PSC_OK)
            break;
    return count;
}

/*
 * Without debug information: the object that holds a closure's variables, when the frame has just
 * one. Returns 0 for none, or for several.
 */
static psc_addr find_closure_object(struct c_values *values, size_t native, const char *function)
{
    uint64_t words[WORD_LIMIT];
    size_t count = list_words(values, native, words);
    psc_addr found = 0;
    unsigned best = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned rank = python_is_closure(values->sources->python, words[i], function);
        if (!rank || (best && rank > best))
            continue;
        found = rank == best && found != words[i] ? 0 : words[i];
        best = rank;
    }
    return found;
}

static void add_closure_object(struct c_values *values, size_t native, const char *function)
{
    struct text text = {0};
    psc_addr object =
        values->sources->python && function ? find_closure_object(values, native, function) : 0;
    if (!object)
        return;
    python_add_value(values->sources->python, object, &text);
    keep(values, "closure", &text);
}

/* ---- C ---- */

/* Variables that are declared further on hold nothing yet. */
static void add_c_variables(struct c_values *values, size_t native, const struct debug_scope *scope,
                            uint32_t line)
{
    for (size_t i = 0; i < scope->count; i++) {
        const struct debug_variable *variable = &scope->variables[i];
        if (variable->argument || !line || variable->line <= line)
            add_variable(values, native, scope, variable,
                         arena_strdup(values->arena, variable->name), false);
    }
}

/* ---- a frame ---- */

enum psc_status c_values_read(struct c_values *values, size_t native, size_t level,
                              const struct trace_locals **ret)
{
    struct address_info *info = values->plan->native_info[native];
    const struct address_level *shown = &info->levels[level];
    const struct debug_scope *scope = scope_of(info, level);
    bool is_cython = shown->cython.kind != CYTHON_NONE;
    if (!scope && !is_cython)
        return PSC_OK;
    if (!*values->bytes) {
        target_warn(values->sources->target, "values-limit",
                    "not all values are shown: what they may take in all is used up");
        return PSC_OK;
    }
    values->count = 0;
    if (!scope)
        add_closure_object(values, native, shown->location->function);
    else if (is_cython)
        add_cython_variables(values, native, scope);
    else
        add_c_variables(values, native, scope, shown->location->line);
    if (arena_is_exhausted(values->arena))
        return PSC_ERR_MEMORY;
    if (!values->count)
        return PSC_OK;
    struct trace_locals *locals = arena_alloc(values->arena, sizeof(*locals));
    struct trace_local *items = arena_array(values->arena, values->count, sizeof(*items));
    if (!locals || !items)
        return PSC_ERR_MEMORY;
    memcpy(items, values->items, values->count * sizeof(*items));
    *locals = (struct trace_locals){items, values->count};
    *ret = locals;
    return PSC_OK;
}

static void rehearse_closures(struct c_values *values, size_t native)
{
    uint64_t words[WORD_LIMIT];
    struct python *python = values->sources->python;
    size_t count = python ? list_words(values, native, words) : 0;
    for (size_t i = 0; i < count; i++) {
        struct text text = {0};
        if (python_is_closure(python, words[i], NULL))
            python_add_value(python, words[i], &text);
        text_deinit(&text);
    }
}

bool c_values_rehearse(struct c_values *values, size_t native)
{
    const struct debug_scopes *scopes = variables_find_scopes(values->plan->native_info[native]);
    values->count = 0;
    if (!*values->bytes)
        return true;
    if (!scopes)
        rehearse_closures(values, native);
    for (size_t i = 0; scopes && i < scopes->count; i++) {
        const struct debug_scope *scope = &scopes->items[i];
        values->count = 0;
        if (scope->function && strstr(scope->function, "__pyx_"))
            add_cython_variables(values, native, scope);
        else
            add_c_variables(values, native, scope, 0);
    }
    return !arena_is_exhausted(values->arena);
}
