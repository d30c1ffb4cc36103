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

static bool copy_exception(struct psc_trace *trace, struct places *places,
                           const struct python_exception *from, struct trace_exception *ret)
{
    size_t count = from->traceback_count;
    ret->type = from->type;
    ret->message = from->message;
    ret->raised = from->raised;
    ret->link = link_of(from->link);
    ret->traceback = arena_array(trace->arena, count ? count : 1, sizeof(*ret->traceback));
    for (size_t i = 0; ret->traceback && i < count; i++) {
        ret->traceback[i] = places_python(places, &from->traceback[i]);
        if (!ret->traceback[i])
            return false;
    }
    ret->traceback_count = count;
    ret->traceback_cut = from->traceback_cut;
    return ret->traceback != NULL;
}

enum psc_status values_add_exceptions(struct psc_trace *trace, struct python *python,
                                      struct places *places, const struct plan *plan,
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
            if (!copy_exception(trace, places, &found[k], &all[thread->exception_count + k]))
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

enum psc_status values_add_locals(struct psc_trace *trace, struct python *python,
                                  const struct plan *plan, struct trace_thread *thread)
{
    size_t at = 0;
    size_t count = thread->frame_count;
    thread->locals = calloc(count ? count : 1, sizeof(struct trace_locals *));
    if (!thread->locals)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < plan->count; i++) {
        const struct plan_item *item = &plan->items[i];
        if (item->kind != PLAN_PYTHON)
            continue;
        while (at < count &&
               (thread->frames[at].id != item->is.python.address || thread->frames[at].has_pc))
            at++;
        if (at == count)
            break;
        if (item->is.python.kind != PYTHON_FRAME_CODE)
            continue;
        enum psc_status status = read_locals(trace, python, &item->is.python, &thread->locals[at]);
        if (status != PSC_OK)
            return status;
        at++;
    }
    return PSC_OK;
}
