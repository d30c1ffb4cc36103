/* The public calls for single values in a frame. */
#include "api.h"
#include "python.h"
#include "sized_struct.h"

#include <stdlib.h>
#include <string.h>

/* An interpreter for one question. */
struct question {
    struct arena *arena;
    struct python *python;
};

static void close_question(struct question *question)
{
    python_close(question->python);
    arena_destroy(question->arena);
}

static enum psc_status open_question(struct psc_target *target, struct question *ret,
                                     struct psc_error *err)
{
    *ret = (struct question){0};
    if (target->target->kind == TARGET_PROCESS)
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "process %d runs on: values in its frames can be read only while a "
                        "debugger holds it",
                        target->target->process.pid);
    ret->arena = arena_create();
    if (!ret->arena)
        return psc_fail_memory(err);
    enum psc_status status =
        python_open(target->target, target->modules, ret->arena, &ret->python, err);
    status = end_call(target->target, status, err);
    if (status != PSC_OK)
        close_question(ret);
    return status;
}

static enum psc_status write_all(psc_write_fn write, void *context, const char *text,
                                 struct psc_error *err)
{
    return write(context, text, strlen(text)) ? psc_fail(err, PSC_ERR_IO, "writing was stopped")
                                              : PSC_OK;
}

static enum psc_scope scope_of(enum python_scope scope)
{
    switch (scope) {
    case PYTHON_SCOPE_CLOSURE:
        return PSC_SCOPE_CLOSURE;
    case PYTHON_SCOPE_GLOBAL:
        return PSC_SCOPE_GLOBAL;
    case PYTHON_SCOPE_BUILTIN:
        return PSC_SCOPE_BUILTIN;
    case PYTHON_SCOPE_LOCAL:
        break;
    }
    return PSC_SCOPE_LOCAL;
}

enum psc_status psc_frame_value_within(struct psc_target *target, psc_addr frame, const char *what,
                                       const struct psc_value_limits *given, psc_write_fn write,
                                       void *context, enum psc_scope *ret, struct psc_error *err)
{
    struct question question;
    struct python_value value = {.scope = PYTHON_SCOPE_LOCAL};
    struct psc_value_limits limits = PSC_VALUE_LIMITS_INIT;
    if (!target || !what || !write)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_frame_value: target, what or write is NULL");
    enum psc_status status =
        sized_take(SIZED_TYPE(psc_value_limits, PSC_VALUE_LIMITS_INIT), given, &limits, err);
    if (status == PSC_OK)
        status = check_value_limits(&limits, err);
    if (status == PSC_OK)
        status = open_question(target, &question, err);
    if (status != PSC_OK)
        return status;
    python_limit_values(question.python, &(struct python_value_limits){.length = limits.length,
                                                                       .items = limits.items,
                                                                       .depth = limits.depth});
    status =
        end_call(target->target, python_read_value(question.python, frame, what, &value, err), err);
    if (status == PSC_OK)
        status = write_all(write, context, value.text, err);
    if (status == PSC_OK && ret)
        *ret = scope_of(value.scope);
    close_question(&question);
    return status;
}

enum psc_status psc_frame_value(struct psc_target *target, psc_addr frame, const char *what,
                                psc_write_fn write, void *context, enum psc_scope *ret,
                                struct psc_error *err)
{
    return psc_frame_value_within(target, frame, what, NULL, write, context, ret, err);
}

enum psc_status psc_frame_names(struct psc_target *target, psc_addr frame, const char *what,
                                psc_write_fn write, void *context, struct psc_error *err)
{
    struct question question;
    struct python_names names = {0};
    if (!target || !write)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_frame_names: target or write is NULL");
    enum psc_status status = open_question(target, &question, err);
    if (status != PSC_OK)
        return status;
    status =
        end_call(target->target, python_list_names(question.python, frame, what, &names, err), err);
    struct text text = {0};
    for (size_t i = 0; i < names.count; i++) {
        text_add_string(&text, names.items[i]);
        text_add_char(&text, '\n');
    }
    if (status == PSC_OK && text.failed)
        status = psc_fail_memory(err);
    if (status == PSC_OK && text.size)
        status = write_all(write, context, text.data, err);
    text_deinit(&text);
    free(names.items);
    close_question(&question);
    return status;
}
