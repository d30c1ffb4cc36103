/* What Python frames and threads hold: exceptions, arguments and local names. */
#include "trace_private.h"

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

static bool copy_exception(struct psc_trace *trace, struct symbolizer *symbolizer,
                           const struct python_exception *from, struct trace_exception *ret)
{
    size_t count = from->traceback_count;
    ret->type = from->type;
    ret->message = from->message;
    ret->raised = from->raised;
    ret->link = link_of(from->link);
    ret->traceback = arena_array(trace->arena, count ? count : 1, sizeof(*ret->traceback));
    for (size_t i = 0; ret->traceback && i < count; i++) {
        ret->traceback[i] = symbolizer_python(symbolizer, &from->traceback[i]);
        if (!ret->traceback[i])
            return false;
    }
    ret->traceback_count = count;
    ret->traceback_cut = from->traceback_cut;
    return ret->traceback != NULL;
}

enum psc_status values_add_exceptions(struct psc_trace *trace, struct python *python,
                                      struct symbolizer *symbolizer, const struct plan *plan,
                                      struct trace_thread *thread)
{
    for (size_t i = 0; i < plan->side_count; i++) {
        struct python_exception *found;
        size_t count;
        enum psc_status status =
            python_read_exceptions(python, plan->sides[i].thread, &found, &count);
        if (status != PSC_OK)
            return status;
        if (!count)
            continue;
        size_t total = thread->exception_count + count;
        struct trace_exception *all = arena_array(trace->arena, total, sizeof(*all));
        if (!all)
            return PSC_ERR_MEMORY;
        for (size_t k = 0; k < thread->exception_count; k++)
            all[k] = thread->exceptions[k];
        for (size_t k = 0; k < count; k++)
            if (!copy_exception(trace, symbolizer, &found[k], &all[thread->exception_count + k]))
                return PSC_ERR_MEMORY;
        thread->exceptions = all;
        thread->exception_count = total;
    }
    return PSC_OK;
}

/* ---- locals ---- */

static enum psc_status read_locals(struct psc_trace *trace, struct python *python,
                                   const struct python_frame *frame,
                                   const struct trace_locals **ret)
{
    struct python_local *found;
    size_t count;
    enum psc_status status = python_read_locals(python, frame, &found, &count);
    if (status != PSC_OK || !count)
        return status;
    struct trace_locals *locals = arena_alloc(trace->arena, sizeof(*locals));
    struct trace_local *items = arena_array(trace->arena, count, sizeof(*items));
    if (!locals || !items)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct trace_local){found[i].name, found[i].value};
    *locals = (struct trace_locals){items, count};
    *ret = locals;
    return PSC_OK;
}

/* The frames that a step of the plan became. */
static size_t frames_of(const struct plan *plan, const struct plan_item *item)
{
    return item->kind == PLAN_NATIVE ? plan->native_info[item->is.native]->level_count : 1;
}

static enum psc_status
add_item_locals(struct psc_trace *trace, const struct capture_sources *sources,
                const struct plan *plan, struct c_values *natives, const struct plan_item *item,
                size_t count, const struct trace_frame *frames, const struct trace_locals **ret)
{
    enum psc_status status = PSC_OK;
    if (item->kind == PLAN_PYTHON && item->is.python.kind == PYTHON_FRAME_CODE && sources->python)
        status = read_locals(trace, sources->python, &item->is.python, &ret[0]);
    for (size_t i = 0; item->kind == PLAN_NATIVE && status == PSC_OK && i < count; i++)
        /* The variables of a helper are not those of the generator that it stands for. */
        if (!frames[i].hidden &&
            frames[i].location == plan->native_info[item->is.native]->levels[i].location)
            status = c_values_read(natives, item->is.native, i, &ret[i]);
    return status;
}

enum psc_status values_add_locals(struct psc_trace *trace, const struct capture_sources *sources,
                                  const struct plan *plan, struct trace_thread *thread,
                                  size_t *bytes)
{
    size_t count = thread->frame_count;
    size_t planned = 0;
    thread->locals = calloc(count ? count : 1, sizeof(struct trace_locals *));
    struct c_values *natives = c_values_create(trace, sources, plan, bytes);
    enum psc_status status = thread->locals && natives ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; i < plan->count; i++)
        planned += frames_of(plan, &plan->items[i]);
    // A gap for a native thread that is not there comes first.
    size_t at = count - planned;
    for (size_t i = 0; status == PSC_OK && i < plan->count; i++) {
        size_t taken = frames_of(plan, &plan->items[i]);
        status = add_item_locals(trace, sources, plan, natives, &plan->items[i], taken,
                                 &thread->frames[at], &thread->locals[at]);
        at += taken;
    }
    c_values_destroy(natives);
    return status;
}
