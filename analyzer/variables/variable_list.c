/* The variables of one frame, as they are collected. */
#include "variables_private.h"

#include <string.h>

struct c_writer variables_make_writer(const struct variables *variables, struct text *text,
                                      bool cython)
{
    return (struct c_writer){.target = variables->input.target,
                             .modules = variables->input.modules,
                             .python = variables->input.python,
                             .arena = variables->input.arena,
                             .text = text,
                             .limits = c_limits_of(&variables->input.limits),
                             .cython = cython};
}

bool variables_has(const struct variables *variables, const char *name)
{
    for (size_t i = 0; i < variables->count; i++)
        if (!strcmp(variables->items[i].name, name))
            return true;
    return false;
}

void variables_add_text(struct variables *variables, const char *name, struct text *text)
{
    const char *kept = text->failed ? NULL
                                    : arena_strndup(variables->input.arena,
                                                    text->data ? text->data : "", text->size);
    variables->bytes -= text->size < variables->bytes ? text->size : variables->bytes;
    text_deinit(text);
    if (kept && name && variables->count < LOCAL_LIMIT)
        variables->items[variables->count++] =
            (struct trace_local){name, kept, variables->arguments};
}

/* Adds that a variable has no value here; of an argument, what it was when called, if known. */
static void add_lost(struct variables *variables, const struct frame_scope *in,
                     const struct debug_variable *variable, const char *why, struct text *text)
{
    text_printf(text, "<%s", why);
    if (in->cython && variable->argument) {
        struct text passed PSC_CLEANUP(text_deinit) = {0};
        struct c_writer writer = variables_make_writer(variables, &passed, true);
        if (variables_add_passed(variables, in, variable, &writer) && passed.size)
            text_printf(text, ", passed as %s", passed.data);
    }
    text_add_char(text, '>');
}

void variables_add(struct variables *variables, const struct frame_scope *in,
                   const struct debug_variable *variable, const char *name)
{
    struct text text = {0};
    struct c_storage storage;
    struct c_writer writer = variables_make_writer(variables, &text, in->cython);
    variables->arguments = variable->argument;
    if (!variable->type) {
        text_add_string(&text, "<not known>");
        variables_add_text(variables, name, &text);
        return;
    }
    switch (variables_locate(variables, in->frame, variable, &storage)) {
    case NATIVE_LOCATION_FOUND:
        c_write_value(&writer, variable->type, storage);
        break;
    case NATIVE_LOCATION_LOST:
        add_lost(variables, in, variable, "optimised out", &text);
        break;
    case NATIVE_LOCATION_UNSAVED:
        add_lost(variables, in, variable, "not saved", &text);
        break;
    case NATIVE_LOCATION_UNREADABLE:
        text_add_string(&text, "<not readable>");
        break;
    case NATIVE_LOCATION_UNSUPPORTED:
        text_add_string(&text, "<not computable>");
        break;
    }
    variables_add_text(variables, name, &text);
}
