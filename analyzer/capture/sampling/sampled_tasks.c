/*
 * The tasks that await the one that a thread runs: their frames stand outside of those of that
 * task, as those of callers do.
 */
#include "sampling.h"

#include <stdlib.h>
#include <string.h>

/* Tasks of one chain. */
#define CHAIN_LIMIT 64
/* Frames that are added to one stack. */
#define FRAME_LIMIT ((size_t)10000)

struct task_list {
    struct python_task *items;
    size_t count;
};

/* Without a coroutine on its stack it runs no task. */
static bool runs_coroutine(const struct merged_stack *merged)
{
    for (size_t i = 0; i < merged->interpreter_count; i++)
        for (size_t k = 0; k < merged->interpreters[i].stack.count; k++)
            if (merged->interpreters[i].stack.frames[k].generator)
                return true;
    return false;
}

static bool waits_for(const struct python_task *task, size_t index)
{
    for (size_t i = 0; i < task->waits_for_count; i++)
        if (task->waits_for[i] == index)
            return true;
    return false;
}

/* Of several that wait for one task none is its caller more than the others. */
static const struct python_task *find_awaiting(const struct task_list *tasks, size_t index)
{
    const struct python_task *found = NULL;
    for (size_t i = 0; i < tasks->count; i++) {
        if (!waits_for(&tasks->items[i], index))
            continue;
        if (found)
            return NULL;
        found = &tasks->items[i];
    }
    return found;
}

/* The frame of the thread that is the task's own coroutine; SIZE_MAX: it has none. */
static size_t find_frame(const struct trace_thread *thread, const struct python_task *task)
{
    psc_addr address = task->frame_count ? task->frames[task->frame_count - 1].address : 0;
    for (size_t i = 0; address && i < thread->frame_count; i++)
        if (thread->frames[i].location->kind == TRACE_PYTHON && thread->frames[i].id == address)
            return i;
    return SIZE_MAX;
}

/* Frames outside of the one at `at`, from the innermost on. */
static enum psc_status insert_frames(struct capture_session *session, size_t at,
                                     const struct python_task *task)
{
    struct trace_thread *thread = session->thread;
    size_t count = task->frame_count;
    struct trace_frame *frames =
        realloc(thread->frames, (thread->frame_count + count) * sizeof(*frames));
    if (!frames)
        return PSC_ERR_MEMORY;
    thread->frames = frames;
    memmove(frames + at + 1 + count, frames + at + 1,
            (thread->frame_count - at - 1) * sizeof(*frames));
    for (size_t i = 0; i < count; i++)
        frames[at + 1 + i] = (struct trace_frame){.id = task->frames[i].address,
                                                  .interpreter_id = task->frames[i].interpreter_id};
    thread->frame_count += count;
    for (size_t i = 0; i < count; i++) {
        frames[at + 1 + i].location =
            symbolizer_python(session->capture.symbolizer, &task->frames[i]);
        if (!frames[at + 1 + i].location)
            return PSC_ERR_MEMORY;
    }
    thread->python_count += count;
    return PSC_OK;
}

static enum psc_status add_chain(struct capture_session *session, const struct task_list *tasks,
                                 const struct python_task *running)
{
    enum psc_status status = PSC_OK;
    size_t at = find_frame(session->thread, running), added = 0;
    const struct python_task *task = running;
    for (size_t depth = 0; status == PSC_OK && at != SIZE_MAX && depth < CHAIN_LIMIT; depth++) {
        task = find_awaiting(tasks, (size_t)(task - tasks->items));
        // Where frames of it are not known, nothing further out would stand in its place.
        if (!task || task == running || task->frames_cut || !task->frame_count ||
            added + task->frame_count > FRAME_LIMIT)
            break;
        status = insert_frames(session, at, task);
        at += task->frame_count;
        added += task->frame_count;
    }
    return status;
}

enum psc_status sampling_add_tasks(struct capture_session *session,
                                   const struct captured_thread *thread)
{
    const struct capture *capture = &session->capture;
    struct task_list tasks = {0};
    if (!capture->reads_python || !runs_coroutine(&thread->merged))
        return PSC_OK;
    enum psc_status status = python_read_tasks(capture->python, session->list.items,
                                               session->list.count, &tasks.items, &tasks.count);
    for (size_t i = 0; status == PSC_OK && i < tasks.count; i++)
        if (tasks.items[i].work == PYTHON_WORK_RUNNING && !tasks.items[i].frames_cut &&
            tasks.items[i].thread_id == session->thread->python_thread_id)
            status = add_chain(session, &tasks, &tasks.items[i]);
    return status;
}
