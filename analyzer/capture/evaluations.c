/* Single values: a name in a frame, and steps on from there. */
#include "capture_private.h"

#include <string.h>

/* ---- in the stop of a living process ---- */

/*
 * The native threads may not be known yet, nor to which of them a thread of Python belongs: then it
 * may be any. Of a living process the main thread is the first one.
 */
static bool may_be_thread(const struct capture *capture, const struct captured_thread *thread,
                          int32_t wanted)
{
    int32_t tid = wanted > 0 ? wanted : capture->target->process.pid;
    if (thread->native)
        return thread->native->tid == tid;
    for (size_t i = 0; i < thread->merged.interpreter_count; i++) {
        uint64_t native_id = thread->merged.interpreters[i].thread->native_id;
        if (!native_id || native_id == (uint64_t)tid)
            return true;
    }
    return false;
}

/* Which of them has the number is known when they are merged: it is one of so many. */
static void evaluate_innermost(struct capture *capture, const struct python_stack *stack,
                               const struct psc_evaluation *evaluation)
{
    struct python_value value;
    for (size_t i = 0; i < stack->count && i <= evaluation->frame; i++) {
        if (stack->frames[i].kind != PYTHON_FRAME_CODE)
            continue;
        // What cannot be read is said when it is read again.
        if (python_read_value(capture->python, stack->frames[i].address, evaluation->expression,
                              &value, NULL) == PSC_ERR_MEMORY)
            return;
    }
}

void read_evaluations(struct capture *capture, const struct captured_thread *thread)
{
    const struct psc_capture_options *options = &capture->options;
    for (size_t i = 0; capture->visits && i < options->evaluation_count; i++) {
        const struct psc_evaluation *evaluation = &options->evaluations[i];
        bool wanted = may_be_thread(capture, thread, evaluation->thread_id);
        for (size_t j = 0; wanted && j < thread->merged.interpreter_count; j++) {
            evaluate_innermost(capture, &thread->merged.interpreters[j].stack, evaluation);
            evaluate_innermost(capture, &thread->merged.interpreters[j].further, evaluation);
        }
    }
}

/* ---- of the finished threads ---- */

static const struct trace_thread *find_thread(const struct psc_trace *trace, int32_t wanted)
{
    for (size_t i = 0; i < trace->thread_count; i++) {
        const struct trace_thread *thread = &trace->threads[i];
        if (wanted == PSC_EVALUATED_CRASHED ||
            (wanted == PSC_EVALUATED_MAIN &&
             (thread->state & TRACE_STATE_MAIN || (thread->tid && thread->tid == trace->pid))) ||
            (wanted > 0 && thread->tid == wanted))
            return thread;
    }
    return NULL;
}

static size_t find_frame(const struct trace_thread *thread, size_t number, bool all)
{
    for (size_t i = 0; i < thread->frame_count; i++) {
        const struct trace_frame *frame = &thread->frames[i];
        bool counts = frame->location->kind != TRACE_GAP && (all || !frame->hidden);
        if (counts && !number--)
            return i;
    }
    return thread->frame_count;
}

/* Names of Cython's and C's frames are known as a whole. */
static void take_local(const struct trace_thread *thread, size_t frame, struct trace_value *value)
{
    const struct trace_locals *locals = thread->locals ? thread->locals[frame] : NULL;
    for (size_t i = 0; locals && i < locals->count; i++)
        if (!strcmp(locals->items[i].name, value->expression))
            value->text = locals->items[i].value;
}

static enum trace_scope scope_of(enum python_scope scope)
{
    switch (scope) {
    case PYTHON_SCOPE_CLOSURE:
        return TRACE_SCOPE_CLOSURE;
    case PYTHON_SCOPE_GLOBAL:
        return TRACE_SCOPE_GLOBAL;
    case PYTHON_SCOPE_BUILTIN:
        return TRACE_SCOPE_BUILTIN;
    case PYTHON_SCOPE_LOCAL:
        break;
    }
    return TRACE_SCOPE_LOCAL;
}

static enum psc_status evaluate_in_frame(struct capture *capture, const struct trace_thread *thread,
                                         size_t index, struct trace_value *value)
{
    const struct trace_frame *frame = &thread->frames[index];
    struct arena *arena = capture->trace->arena;
    struct python_value found;
    struct psc_error err = {0};
    value->function = frame->location->function;
    if (frame->location->kind != TRACE_PYTHON) {
        take_local(thread, index, value);
        if (!value->text)
            value->problem = arena_printf(
                arena, "frame %zu is not one of Python, and no value of '%s' is known there%s",
                value->frame, value->expression,
                capture->options.locals ? "" : "; --locals reads those of such frames");
        return PSC_OK;
    }
    enum psc_status status =
        python_read_value(capture->python, frame->id, value->expression, &found, &err);
    if (status == PSC_OK) {
        value->text = arena_strdup(arena, found.text);
        value->scope = scope_of(found.scope);
    } else if (status != PSC_ERR_MEMORY) {
        value->problem = arena_strdup(arena, err.message);
    }
    return status == PSC_ERR_MEMORY ? status : PSC_OK;
}

static const char *missing_thread(struct arena *arena, int32_t wanted)
{
    return wanted > 0 ? arena_printf(arena, "there is no thread %d", (int)wanted)
                      : arena_strdup(arena, "there is no such thread");
}

static enum psc_status evaluate(struct capture *capture, const struct psc_evaluation *evaluation,
                                struct trace_value *value)
{
    struct psc_trace *trace = capture->trace;
    const struct trace_thread *thread = find_thread(trace, evaluation->thread_id);
    *value = (struct trace_value){.frame = evaluation->frame,
                                  .expression = arena_strdup(trace->arena, evaluation->expression)};
    if (!thread) {
        value->problem = missing_thread(trace->arena, evaluation->thread_id);
        return PSC_OK;
    }
    value->tid = thread->tid;
    size_t index = find_frame(thread, evaluation->frame, capture->options.detail_hidden);
    if (index < thread->frame_count)
        return evaluate_in_frame(capture, thread, index, value);
    value->problem =
        arena_printf(trace->arena, "thread %d has no frame %zu", (int)thread->tid, value->frame);
    return PSC_OK;
}

enum psc_status fill_evaluations(struct capture *capture)
{
    const struct psc_capture_options *options = &capture->options;
    struct psc_trace *trace = capture->trace;
    enum psc_status status = PSC_OK;
    struct trace_value *values =
        arena_array(trace->arena, options->evaluation_count + 1, sizeof(*values));
    for (size_t i = 0; values && status == PSC_OK && i < options->evaluation_count; i++)
        status = evaluate(capture, &options->evaluations[i], &values[i]);
    trace->values = values;
    trace->value_count = values ? options->evaluation_count : 0;
    return status == PSC_OK && arena_is_exhausted(trace->arena) ? PSC_ERR_MEMORY : status;
}
