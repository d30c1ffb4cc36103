/* Exceptions: the one that is raised, those being handled, where they passed, what led to them. */
#include "frames.h"
#include "types.h"
#include "values.h"

#include <string.h>

#define HANDLED_LIMIT   (1u << 16) /* Handlers of one thread that are looked at. */
#define CHAIN_LIMIT     16u        /* Causes and contexts of one exception. */
#define EXCEPTION_LIMIT 64u        /* Of one thread. */
#define TRACE_LIMIT     100u       /* Frames of a traceback that are kept. */
#define TRACE_WALK      20000u     /* Frames of a traceback that are passed. */

struct exception_list {
    struct python *python;
    struct python_exception items[EXCEPTION_LIMIT];
    size_t count;
};

/* ---- messages ---- */

static psc_addr read_object(struct python *python, psc_addr object, enum py_field field)
{
    psc_addr value;
    return py_read_u64(python, object, field, &value) == PSC_OK ? value : 0;
}

/* str() of an object: of a str itself, without quotes. */
static void add_plain(struct python *python, psc_addr object, struct text *text)
{
    const char *string = NULL;
    bool is_text = py_is_text(python, object);
    target_begin_text(python->target);
    if (is_text && py_read_string(python, object, VALUE_TEXT_LIMIT, &string) != PSC_OK)
        string = NULL;
    target_end_text(python->target);
    if (string)
        text_add_string(text, string);
    else
        value_add(python, object, text);
}

static bool is_kind_of(struct python *python, psc_addr type, const char *name)
{
    for (size_t i = 0; i < 32 && type; i++) {
        const struct py_type *known;
        if (py_type_find(python, type, &known) != PSC_OK)
            return false;
        if (!known->module && !strcmp(known->name, name))
            return true;
        type = read_object(python, type, PY_TYPE_BASE);
    }
    return false;
}

/* CPython, Objects/exceptions.c, OSError_str. False: as others do. */
static bool add_os_error(struct python *python, psc_addr object, struct text *text)
{
    psc_addr number = read_object(python, object, PY_OSERROR_ERRNO);
    psc_addr string = read_object(python, object, PY_OSERROR_TEXT);
    psc_addr file = read_object(python, object, PY_OSERROR_FILE);
    psc_addr file2 = read_object(python, object, PY_OSERROR_FILE2);
    if (!number || !string)
        return false;
    text_add_string(text, "[Errno ");
    add_plain(python, number, text);
    text_add_string(text, "] ");
    add_plain(python, string, text);
    if (!file)
        return true;
    text_add_string(text, ": ");
    value_add(python, file, text);
    if (file2) {
        text_add_string(text, " -> ");
        value_add(python, file2, text);
    }
    return true;
}

/* BaseException.__str__: nothing, the one argument, or the tuple of them; KeyError shows repr(). */
static void add_args(struct python *python, psc_addr args, bool quoted, struct text *text)
{
    psc_addr items;
    psc_addr first;
    size_t count;
    if (py_read_tuple(python, args, &count, &items) != PSC_OK) {
        text_add_string(text, "?");
        return;
    }
    if (count == 0)
        return;
    if (count > 1 || target_read_u64(python->target, items, &first) != PSC_OK)
        value_add(python, args, text);
    else if (quoted)
        value_add(python, first, text);
    else
        add_plain(python, first, text);
}

static const char *read_message(struct python *python, psc_addr object, psc_addr type)
{
    struct text text = {0};
    if ((is_kind_of(python, type, "OSError") || is_kind_of(python, type, "EnvironmentError")) &&
        add_os_error(python, object, &text))
        return value_keep(python, &text);
    psc_addr args = read_object(python, object, PY_EXC_ARGS);
    if (!args)
        return NULL;
    add_args(python, args, is_kind_of(python, type, "KeyError"), &text);
    return value_keep(python, &text);
}

/* What 2.7 can raise besides exceptions. */
static bool is_old_class(struct python *python, psc_addr object)
{
    psc_addr type;
    uint64_t flags;
    return python->types.class && py_read_type(python, object, &type, &flags) == PSC_OK &&
           type == python->types.class;
}

static const char *read_type_name(struct python *python, psc_addr type)
{
    const struct py_type *known;
    struct text text = {0};
    if (type && type == python->types.instance)
        return "instance";
    if (py_type_find(python, type, &known) == PSC_OK)
        py_type_add_name(known, &text);
    else if (is_old_class(python, type))
        value_add_old_name(python, type, &text);
    else
        return "?";
    const char *name = value_keep(python, &text);
    return name ? name : "?";
}

/* ---- tracebacks ---- */

/* The code that a traceback's frame object ran; `ret` has the frame that holds its names. */
static bool read_trace_frame(struct python *python, psc_addr trace, struct python_frame *ret)
{
    psc_addr object = read_object(python, trace, PY_TRACE_FRAME);
    psc_addr code;
    int32_t lasti;
    *ret =
        (struct python_frame){.address = object, .interpreter_id = -1, .kind = PYTHON_FRAME_CODE};
    if (py_read_i32(python, trace, PY_TRACE_LASTI, &lasti) != PSC_OK)
        return false;
    if (py_read_u64(python, object, PY_FRAMEOBJ_CODE, &code) != PSC_OK) {
        ret->address = read_object(python, object, PY_FRAMEOBJ_FRAME);
        code = read_object(python, ret->address, PY_FRAME_CODE);
    }
    ret->code = code & ~python->layout.rules->pointer_tag;
    ret->lasti = lasti;
    if (frame_is_compiled(python, object)) {
        ret->compiled = true;
        ret->lasti = -1;
        if (py_read_i32(python, trace, PY_TRACE_LINE, &ret->line) != PSC_OK || ret->line < 0)
            ret->line = 0;
    }
    const struct py_code *found = code_find(python, ret->code);
    return found && found->state == PY_CODE_VALID;
}

/* tb_lasti counts bytes in every version but 3.10, where the frame's unit is 2 bytes. */
static void read_traceback(struct python *python, psc_addr trace, struct python_exception *ret)
{
    struct python_frame frames[TRACE_LIMIT];
    struct py_cycle cycle = {0};
    size_t total = 0;
    while (py_is_object_address(trace) && total < TRACE_WALK && !py_cycle_met(&cycle, trace)) {
        if (!read_trace_frame(python, trace, &frames[total % TRACE_LIMIT]))
            break;
        total++;
        trace = read_object(python, trace, PY_TRACE_NEXT);
    }
    size_t count = total < TRACE_LIMIT ? total : TRACE_LIMIT;
    ret->traceback = count ? arena_array(python->arena, count, sizeof(*frames)) : NULL;
    if (!ret->traceback)
        return;
    for (size_t i = 0; i < count; i++)
        ret->traceback[i] = frames[(total - count + i) % TRACE_LIMIT];
    ret->traceback_count = count;
    ret->traceback_cut = total > count;
}

/* ---- chains ---- */

static bool is_listed(const struct exception_list *list, psc_addr object)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].object == object)
            return true;
    return false;
}

static bool is_exception(struct python *python, psc_addr object)
{
    return py_is_object_address(object) && py_has_flags(python, object, PY_FLAG_EXCEPTION);
}

static struct python_exception *add_exception(struct exception_list *list, psc_addr object,
                                              psc_addr trace, bool raised, enum python_link link)
{
    struct python *python = list->python;
    psc_addr type;
    if (list->count == EXCEPTION_LIMIT || is_listed(list, object))
        return NULL;
    struct python_exception *exception = &list->items[list->count++];
    *exception = (struct python_exception){.object = object, .raised = raised, .link = link};
    type = read_object(python, object, PY_OBJECT_TYPE);
    exception->type = read_type_name(python, type);
    exception->message = read_message(python, object, type);
    read_traceback(python, trace ? trace : read_object(python, object, PY_EXC_TRACE), exception);
    return exception;
}

/* As a traceback is printed: the cause, else the context, if it is not suppressed. */
static void add_chain(struct exception_list *list, psc_addr object, bool raised)
{
    struct python *python = list->python;
    for (size_t i = 0; i < CHAIN_LIMIT; i++) {
        enum python_link link = PYTHON_LINK_CAUSE;
        uint8_t suppressed = 0;
        psc_addr next = read_object(python, object, PY_EXC_CAUSE);
        if (!is_exception(python, next)) {
            link = PYTHON_LINK_CONTEXT;
            next = read_object(python, object, PY_EXC_CONTEXT);
            if (py_read_u8(python, object, PY_EXC_SUPPRESS, &suppressed) != PSC_OK)
                suppressed = 0;
        }
        if (suppressed || !is_exception(python, next) ||
            !add_exception(list, next, 0, raised, link))
            return;
        object = next;
    }
}

static void add_with_chain(struct exception_list *list, psc_addr object, psc_addr trace,
                           bool raised)
{
    if (is_exception(list->python, object) &&
        add_exception(list, object, trace, raised, PYTHON_LINK_NONE))
        add_chain(list, object, raised);
}

/* ---- raised ---- */

/* Up to 3.11 the exception may not be made yet: a type, and what it will be made of. */
static void add_unmade(struct exception_list *list, psc_addr type, psc_addr value, psc_addr trace)
{
    struct python *python = list->python;
    struct text text = {0};
    if (list->count == EXCEPTION_LIMIT ||
        (!py_has_flags(python, type, PY_FLAG_TYPE) && !is_old_class(python, type)))
        return;
    struct python_exception *exception = &list->items[list->count++];
    *exception = (struct python_exception){.raised = true};
    exception->type = read_type_name(python, type);
    if (value && py_has_flags(python, value, PY_FLAG_TUPLE))
        add_args(python, value, is_kind_of(python, type, "KeyError"), &text);
    else if (value && is_kind_of(python, type, "KeyError"))
        value_add(python, value, &text);
    else if (value)
        add_plain(python, value, &text);
    exception->message = value_keep(python, &text);
    read_traceback(python, trace, exception);
}

static void add_raised(struct exception_list *list, psc_addr tstate)
{
    struct python *python = list->python;
    psc_addr value = read_object(python, tstate, PY_THREAD_RAISED_VALUE);
    psc_addr type = read_object(python, tstate, PY_THREAD_RAISED_TYPE);
    psc_addr trace = read_object(python, tstate, PY_THREAD_RAISED_TRACE);
    if (is_exception(python, value))
        add_with_chain(list, value, trace, true);
    else if (type)
        add_unmade(list, type, value, trace);
}

/* ---- handled ---- */

/* CPython 2.7, Python/ceval.c, set_exc_info(): a frame that catches keeps what was caught before.
 */
static void add_caught(struct exception_list *list, psc_addr tstate)
{
    struct python *python = list->python;
    psc_addr frame = read_object(python, tstate, PY_THREAD_FRAME);
    struct py_cycle cycle = {0};
    for (size_t i = 0; i < HANDLED_LIMIT && py_is_object_address(frame); i++) {
        if (py_cycle_met(&cycle, frame))
            return;
        add_with_chain(list, read_object(python, frame, PY_FRAMEOBJ_CAUGHT_VALUE),
                       read_object(python, frame, PY_FRAMEOBJ_CAUGHT_TRACE), false);
        frame = read_object(python, frame, PY_FRAMEOBJ_BACK);
    }
}

static void add_handled(struct exception_list *list, psc_addr tstate)
{
    struct python *python = list->python;
    psc_addr item = read_object(python, tstate, PY_THREAD_HANDLED);
    struct py_cycle cycle = {0};
    /* 3.6 and 2.7 have the newest only; in 3.6 older ones are its context. */
    if (python->layout.offset[PY_THREAD_HANDLED] == PY_NO_OFFSET)
        add_with_chain(list, read_object(python, tstate, PY_THREAD_HANDLED_VALUE),
                       read_object(python, tstate, PY_THREAD_HANDLED_TRACE), false);
    if (python->layout.offset[PY_FRAMEOBJ_CAUGHT_VALUE] != PY_NO_OFFSET)
        add_caught(list, tstate);
    for (size_t i = 0; i < HANDLED_LIMIT && py_is_object_address(item); i++) {
        if (py_cycle_met(&cycle, item))
            return;
        add_with_chain(list, read_object(python, item, PY_HANDLED_VALUE),
                       read_object(python, item, PY_HANDLED_TRACE), false);
        item = read_object(python, item, PY_HANDLED_PREVIOUS);
    }
}

enum psc_status python_read_exceptions(struct python *python, const struct python_thread *thread,
                                       struct python_exception **ret, size_t *ret_count)
{
    struct exception_list list = {.python = python};
    *ret = NULL;
    *ret_count = 0;
    add_raised(&list, thread->tstate);
    add_handled(&list, thread->tstate);
    if (!list.count)
        return PSC_OK;
    *ret = arena_array(python->arena, list.count, sizeof(**ret));
    if (!*ret)
        return PSC_ERR_MEMORY;
    memcpy(*ret, list.items, list.count * sizeof(*list.items));
    *ret_count = list.count;
    return PSC_OK;
}
