/*
 * What is taken from the interpreter's memory. Of a living process the visitor does the same while
 * it stands still: whatever the trace wants of objects that may change has to be read here.
 */
#include "capture_private.h"

#include <stdlib.h>

/* Frames of one stack whose locations are read here; recursion has few distinct ones. */
#define LOCATION_LIMIT ((size_t)100000)

/* They are kept by the handle of Python, one per code object and instruction. */
static enum psc_status read_locations(struct capture *capture, const struct python_frame *frames,
                                      size_t count)
{
    for (size_t i = 0; i < count && i < LOCATION_LIMIT; i++) {
        struct python_location location;
        // Recursion: the frame before is at the same instruction.
        bool same =
            i && frames[i].code == frames[i - 1].code && frames[i].lasti == frames[i - 1].lasti;
        if (!same && python_read_location(capture->python, &frames[i], &location) == PSC_ERR_MEMORY)
            return PSC_ERR_MEMORY;
        // Of a core it can be read when it is wanted.
        if (capture->target->kind == TARGET_PROCESS)
            (void)python_read_self_class(capture->python, &frames[i]);
    }
    return PSC_OK;
}

static enum psc_status read_exceptions(struct capture *capture, const struct python_thread *thread)
{
    struct thread_exceptions *found = &capture->exceptions[thread - capture->python_threads];
    enum psc_status status =
        python_read_exceptions(capture->python, thread, &found->items, &found->count);
    for (size_t i = 0; status == PSC_OK && i < found->count; i++)
        status =
            read_locations(capture, found->items[i].traceback, found->items[i].traceback_count);
    return status;
}

enum psc_status read_frame_locals(struct capture *capture, const struct python_frame *frame,
                                  struct python_local **ret, size_t *ret_count)
{
    struct frame_locals *known = hash_table_find(&capture->locals, frame->address);
    *ret = known ? known->items : NULL;
    *ret_count = known ? known->count : 0;
    if (known)
        return PSC_OK;
    enum psc_status status = python_read_locals(capture->python, frame, ret, ret_count);
    if (status != PSC_OK)
        return status;
    known = hash_table_add(&capture->locals, frame->address);
    if (!known)
        return PSC_ERR_MEMORY;
    known->items = *ret;
    known->count = *ret_count;
    return PSC_OK;
}

static enum psc_status read_locals(struct capture *capture, const struct python_stack *stack)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < stack->count && i < capture->locals_limit; i++) {
        struct python_local *locals;
        size_t count;
        if (stack->frames[i].kind == PYTHON_FRAME_CODE)
            status = read_frame_locals(capture, &stack->frames[i], &locals, &count);
    }
    return status;
}

static void read_work(struct capture *capture, const struct interpreter_stack *interpreter)
{
    if (capture->work_count < capture->python_thread_count &&
        python_find_work(capture->python, interpreter->thread, &interpreter->stack,
                         &capture->works[capture->work_count]))
        capture->work_count++;
}

static enum psc_status read_stack(struct capture *capture, psc_addr sp,
                                  struct interpreter_stack *interpreter)
{
    enum psc_status status = python_walk(capture->python, interpreter->thread, &interpreter->stack);
    if (status == PSC_OK)
        status =
            python_add_greenlets(capture->python, interpreter->thread, sp, &interpreter->stack);
    if (status == PSC_OK)
        read_work(capture, interpreter);
    if (status == PSC_OK)
        status = merge_walk_further(interpreter, capture->python);
    if (status == PSC_OK)
        status = read_locations(capture, interpreter->stack.frames, interpreter->stack.count);
    if (status == PSC_OK)
        status = read_locations(capture, interpreter->further.frames, interpreter->further.count);
    return status;
}

static enum psc_status read_thread(struct capture *capture, struct captured_thread *thread)
{
    struct merged_stack *merged = &thread->merged;
    psc_addr sp = thread->native ? target_sp(capture->target, &thread->native->registers) : 0;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++)
        status = read_stack(capture, sp, &merged->interpreters[i]);
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++)
        status = read_exceptions(capture, merged->interpreters[i].thread);
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++) {
        status = read_locals(capture, &merged->interpreters[i].stack);
        if (status == PSC_OK)
            status = read_locals(capture, &merged->interpreters[i].further);
    }
    return status;
}

static enum psc_status read_tasks(struct capture *capture)
{
    const struct python_thread *threads = capture->python_threads;
    size_t count = capture->python_thread_count;
    enum psc_status status =
        python_read_tasks(capture->python, threads, count, &capture->tasks, &capture->task_count);
    if (status == PSC_OK)
        status = python_read_leaves(capture->python,
                                    &(struct python_leaves){.tasks = capture->tasks,
                                                            .task_count = capture->task_count,
                                                            .threads = threads,
                                                            .thread_count = count,
                                                            .works = capture->works,
                                                            .work_count = capture->work_count});
    for (size_t i = 0; status == PSC_OK && i < capture->task_count; i++)
        status = read_locations(capture, capture->tasks[i].frames, capture->tasks[i].frame_count);
    if (status == PSC_OK)
        status = python_read_greenlets(capture->python, threads, count, &capture->greenlets,
                                       &capture->greenlet_count);
    for (size_t i = 0; status == PSC_OK && i < capture->greenlet_count; i++)
        status = read_locations(capture, capture->greenlets[i].frames,
                                capture->greenlets[i].frame_count);
    return status;
}

/* Its first stack, for what it waits for. */
static struct diagnose_wait_thread make_wait_thread(const struct captured_thread *thread)
{
    const struct merged_stack *merged = &thread->merged;
    const struct interpreter_stack *found = NULL;
    for (size_t i = 0; i < merged->interpreter_count && !found; i++)
        if (merged->interpreters[i].stack.count)
            found = &merged->interpreters[i];
    const struct python_stack *stack = found ? &found->stack : NULL;
    if (!found && merged->interpreter_count)
        found = &merged->interpreters[0];
    return (struct diagnose_wait_thread){.native = thread->native,
                                         .has_python = merged->interpreter_count,
                                         .frames = stack ? stack->frames : NULL,
                                         .frame_count = stack ? stack->count : 0,
                                         .python = found ? found->thread : NULL};
}

/* What it waits for. Nothing is known of a thread that was not stopped. */
static enum psc_status read_wait(struct capture *capture, const struct captured_thread *thread)
{
    const struct diagnose_wait_thread waiting = make_wait_thread(thread);
    return thread->native && capture->waits ? diagnose_waits_read(capture->waits, &waiting)
                                            : PSC_OK;
}

/* In which locks it stands. */
static enum psc_status read_held(struct capture *capture, const struct captured_thread *thread)
{
    const struct diagnose_wait_thread waiting = make_wait_thread(thread);
    return thread->native && capture->waits ? diagnose_waits_read_held(capture->waits, &waiting)
                                            : PSC_OK;
}

/* The same of all, if somebody waits for a lock of which it matters. */
static enum psc_status read_all_held(struct capture *capture)
{
    enum psc_status status = PSC_OK;
    if (!capture->waits || !diagnose_waits_want_held(capture->waits))
        return PSC_OK;
    for (size_t i = 0; capture_goes_on(capture, status) && i < capture->thread_count; i++)
        status = read_held(capture, &capture->threads[i]);
    return status;
}

static enum psc_status begin_waits(struct capture *capture)
{
    const struct diagnose_wait_input input = {.target = capture->target,
                                              .python = capture->python,
                                              .interpreters = capture->interpreters,
                                              .interpreter_count = capture->interpreter_count,
                                              .wants_process_locks =
                                                  capture->options.process_locks};
    if (!capture->target->thread_count)
        return PSC_OK;
    capture->waits = diagnose_waits_create(&input);
    return capture->waits ? PSC_OK : PSC_ERR_MEMORY;
}

/* Of threads whose Python frames are not wanted, or not there. */
static enum psc_status read_waits_only(struct capture *capture)
{
    enum psc_status status = begin_waits(capture);
    for (size_t i = 0; capture_goes_on(capture, status) && i < capture->thread_count; i++)
        status = read_wait(capture, &capture->threads[i]);
    return status;
}

enum psc_status read_python(struct capture *capture)
{
    if (!capture->python || !capture->reads_python)
        return read_waits_only(capture);
    size_t count = capture->python_thread_count;
    capture->locals = HASH_TABLE_OF(struct frame_locals);
    capture->exceptions = calloc(count ? count : 1, sizeof(*capture->exceptions));
    capture->works = calloc(count ? count : 1, sizeof(*capture->works));
    enum psc_status status =
        capture->exceptions && capture->works ? begin_waits(capture) : PSC_ERR_MEMORY;
    for (size_t i = 0; capture_goes_on(capture, status) && i < capture->thread_count; i++) {
        status = read_thread(capture, &capture->threads[i]);
        if (status == PSC_OK)
            status = read_wait(capture, &capture->threads[i]);
        if (status == PSC_OK)
            read_evaluations(capture, &capture->threads[i]);
        // It is not going to be merged: memory that is used again costs the stop less than new one.
        if (!capture->visits || capture->native)
            continue;
        if (status == PSC_OK)
            status = read_held(capture, &capture->threads[i]);
        merged_stack_deinit(&capture->threads[i].merged);
    }
    if (capture_goes_on(capture, status) && !(capture->visits && !capture->native))
        status = read_all_held(capture);
    if (capture_goes_on(capture, status))
        status = python_read_futures(capture->python, capture->works, capture->work_count);
    if (capture_goes_on(capture, status) && capture->options.tasks)
        status = read_tasks(capture);
    return status;
}
