/* From what was found of each thread to trace_thread.waits_for. */
#include "waits.h"

/* The one who holds the GIL that a thread of that interpreter needs; 0: nobody, or not known. */
static int32_t find_gil_holder(const struct psc_trace *trace, const struct trace_thread *thread)
{
    const struct trace_python *python = trace->python;
    for (size_t i = 0; python && i < python->interpreter_count; i++)
        if (python->interpreters[i].id == thread->interpreter_id)
            return python->interpreters[i].gil_known ? python->interpreters[i].gil_holder_tid : 0;
    return 0;
}

static enum psc_status fill_gil(struct psc_trace *trace, struct trace_thread *thread)
{
    struct trace_wait *wait = arena_alloc(trace->arena, sizeof(*wait));
    if (!wait)
        return PSC_ERR_MEMORY;
    int32_t holder = find_gil_holder(trace, thread);
    *wait = (struct trace_wait){.kind = TRACE_WAIT_GIL,
                                .object = "the GIL",
                                .owner_tid = holder != thread->tid ? holder : 0,
                                .known_by = "its stack is in the function that takes the GIL"};
    wait->owner_certain = wait->owner_tid != 0;
    thread->waits_for = wait;
    return PSC_OK;
}

enum psc_status waits_fill(struct psc_trace *trace)
{
    for (size_t i = 0; i < trace->thread_count; i++) {
        struct trace_thread *thread = &trace->threads[i];
        if (!(thread->state & TRACE_STATE_WAITS_FOR_GIL))
            continue;
        enum psc_status status = fill_gil(trace, thread);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}
