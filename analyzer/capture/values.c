/* What Python frames and threads hold: exceptions, arguments and local names. */
#include "capture_private.h"

#include <stdlib.h>

/* ---- exceptions ---- */

static enum trace_link link_of(enum python_link link)
{
    switch (link) {
    case PYTHON_LINK_CAUSE:
        return TRACE_LINK_CAUSE;
    case PYTHON_LINK_CONTEXT:
        return TRACE_LINK_CONTEXT;
    case PYTHON_LINK_NONE:
        break;
    }
    return TRACE_LINK_NONE;
}

static bool copy_exception(struct capture *capture, const struct python_exception *from,
                           struct trace_exception *ret)
{
    size_t count = from->traceback_count;
    ret->type = from->type;
    ret->message = from->message;
    ret->raised = from->raised;
    ret->link = link_of(from->link);
    ret->traceback = arena_array(capture->trace->arena, count ? count : 1, sizeof(*ret->traceback));
    for (size_t i = 0; ret->traceback && i < count; i++) {
        ret->traceback[i] = symbolizer_python(capture->symbolizer, &from->traceback[i]);
        if (!ret->traceback[i])
            return false;
    }
    ret->traceback_count = count;
    ret->traceback_cut = from->traceback_cut;
    return ret->traceback != NULL;
}

static enum psc_status add_exceptions(struct capture *capture, const struct python_thread *python,
                                      struct trace_thread *thread)
{
    const struct thread_exceptions *found = &capture->exceptions[python - capture->python_threads];
    if (!found->count)
        return PSC_OK;
    size_t total = thread->exception_count + found->count;
    struct trace_exception *all = arena_array(capture->trace->arena, total, sizeof(*all));
    if (!all)
        return PSC_ERR_MEMORY;
    for (size_t k = 0; k < thread->exception_count; k++)
        all[k] = thread->exceptions[k];
    for (size_t k = 0; k < found->count; k++)
        if (!copy_exception(capture, &found->items[k], &all[thread->exception_count + k]))
            return PSC_ERR_MEMORY;
    thread->exceptions = all;
    thread->exception_count = total;
    return PSC_OK;
}

/* Those of the interpreter at work go before those of interpreters that run it. */
enum psc_status values_add_exceptions(struct capture *capture, const struct merged_stack *merged,
                                      struct trace_thread *thread)
{
    enum psc_status status = PSC_OK;
    for (int at_work = 1; capture->exceptions && at_work >= 0; at_work--)
        for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++) {
            const struct python_thread *python = merged->interpreters[i].thread;
            if ((python->interpreter_id == thread->interpreter_id) == at_work)
                status = add_exceptions(capture, python, thread);
        }
    return status;
}

/* ---- locals ---- */

struct python_value_limits value_limits_of(const struct psc_capture_options *options)
{
    return (struct python_value_limits){.length = options->value_length,
                                        .items = options->value_items,
                                        .depth = options->value_depth};
}

static enum psc_status add_python_locals(struct capture *capture, const struct python_frame *frame,
                                         const struct trace_locals **ret)
{
    struct python_local *found;
    size_t count;
    struct arena *arena = capture->trace->arena;
    enum psc_status status = read_frame_locals(capture, frame, &found, &count);
    if (status != PSC_OK || !count)
        return status;
    struct trace_locals *locals = arena_alloc(arena, sizeof(*locals));
    struct trace_local *items = arena_array(arena, count, sizeof(*items));
    if (!locals || !items)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct trace_local){found[i].name, found[i].value, found[i].argument};
    *locals = (struct trace_locals){items, count};
    *ret = locals;
    return PSC_OK;
}

/* The frames that an item of the merged stack became. */
static size_t frames_of(const struct merged_stack *merged, const struct merged_item *item)
{
    return item->kind == MERGED_NATIVE ? merged->native_info[item->is.native]->level_count : 1;
}

static const char *function_of(const struct merged_stack *merged, size_t native)
{
    if (native >= merged->native.count)
        return NULL;
    const struct address_info *info = merged->native_info[native];
    return info->levels[info->level_count - 1].location->function;
}

/* Of the levels of a native frame that are shown. */
static enum psc_status add_native_locals(struct capture *capture, const struct merged_stack *merged,
                                         size_t native, const struct trace_frame *frames,
                                         const struct trace_locals **ret)
{
    bool python_only = capture->options.locals == PSC_LOCALS_PYTHON;
    const struct address_info *info = merged->native_info[native];
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < info->level_count; i++) {
        const struct address_level *level = &info->levels[i];
        bool is_cython = level->cython.kind != CYTHON_NONE;
        /* The variables of a helper are not those of the generator that it stands for. */
        if (frames[i].hidden || frames[i].location != level->location ||
            (python_only && !is_cython))
            continue;
        const struct variables_level wanted = {
            .frame = native,
            .level = i,
            .level_count = info->level_count,
            .function = level->location->function,
            .line = level->location->line,
            .cython = is_cython,
            .frame_function = function_of(merged, native),
            .caller_function = function_of(merged, native + 1),
        };
        status = variables_read(capture->variables, &merged->native, &wanted, &ret[i]);
    }
    return status;
}

enum psc_status values_add_locals(struct capture *capture, const struct merged_stack *merged,
                                  struct trace_thread *thread)
{
    size_t count = thread->frame_count;
    size_t taken = 0;
    thread->locals = calloc(count ? count : 1, sizeof(struct trace_locals *));
    if (!thread->locals)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < merged->count; i++)
        taken += frames_of(merged, &merged->items[i]);
    // A gap for a native thread that is not there comes first.
    size_t at = count - taken;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < merged->count; i++) {
        const struct merged_item *item = &merged->items[i];
        if (item->kind == MERGED_NATIVE && item->is.native < capture->variables_limit)
            status = add_native_locals(capture, merged, item->is.native, &thread->frames[at],
                                       &thread->locals[at]);
        else if (item->kind == MERGED_PYTHON && item->is.python.kind == PYTHON_FRAME_CODE)
            status = add_python_locals(capture, &item->is.python, &thread->locals[at]);
        at += frames_of(merged, item);
    }
    return status;
}
