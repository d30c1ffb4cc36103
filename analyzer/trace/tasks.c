/* asyncio's tasks: from what python/ found to plain data. */
#include "trace_private.h"

static enum trace_work work_of(enum python_work work)
{
    switch (work) {
    case PYTHON_WORK_CREATED:
        return TRACE_WORK_CREATED;
    case PYTHON_WORK_READY:
        return TRACE_WORK_READY;
    case PYTHON_WORK_WAITING:
        return TRACE_WORK_WAITING;
    case PYTHON_WORK_RUNNING:
        return TRACE_WORK_RUNNING;
    case PYTHON_WORK_UNKNOWN:
        break;
    }
    return TRACE_WORK_UNKNOWN;
}

static int32_t find_tid(const struct psc_trace *trace, uint64_t thread_id)
{
    for (size_t i = 0; thread_id && i < trace->thread_count; i++)
        if (trace->threads[i].has_python && trace->threads[i].python_thread_id == thread_id)
            return trace->threads[i].tid;
    return 0;
}

static enum psc_status copy_task(struct psc_trace *trace, struct places *places,
                                 const struct python_task *from, struct trace_task *ret)
{
    *ret = (struct trace_task){
        .id = from->address,
        .interpreter_id = from->interpreter_id,
        .name = from->name,
        .work = work_of(from->work),
        .frames_cut = from->frames_cut,
        .awaits = from->awaits,
        .future = from->future,
        .waits_for = from->waits_for,
        .waits_for_count = from->waits_for_count,
    };
    size_t count = from->frame_count;
    ret->frames = arena_array(trace->arena, count ? count : 1, sizeof(*ret->frames));
    for (size_t i = 0; ret->frames && i < count; i++) {
        ret->frames[i] = places_python(places, &from->frames[i]);
        if (!ret->frames[i])
            return PSC_ERR_MEMORY;
    }
    ret->frame_count = count;
    return ret->frames ? PSC_OK : PSC_ERR_MEMORY;
}

enum psc_status tasks_fill(struct psc_trace *trace, struct python *python, struct places *places,
                           const struct python_thread *threads, size_t thread_count)
{
    struct python_task *found;
    size_t count;
    enum psc_status status = python_read_tasks(python, threads, thread_count, &found, &count);
    if (status != PSC_OK)
        return status;
    struct trace_tasks *tasks = arena_alloc(trace->arena, sizeof(*tasks));
    struct trace_task *items = arena_array(trace->arena, count ? count : 1, sizeof(*items));
    if (!tasks || !items)
        return PSC_ERR_MEMORY;
    uint64_t last_id = 0;
    int32_t last_tid = 0;
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        status = copy_task(trace, places, &found[i], &items[i]);
        if (found[i].thread_id != last_id) {
            last_id = found[i].thread_id;
            last_tid = find_tid(trace, last_id);
        }
        items[i].tid = last_tid;
        if (items[i].frames_cut)
            trace->complete = false;
    }
    if (status != PSC_OK)
        return status;
    tasks->items = items;
    tasks->count = count;
    status = task_cycles_find(trace->arena, tasks);
    trace->tasks = tasks;
    return status;
}
