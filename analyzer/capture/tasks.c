/* asyncio's tasks: from what python/ found to plain data. */
#include "capture_private.h"

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
    case PYTHON_WORK_SUSPENDED:
        return TRACE_WORK_SUSPENDED;
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

static enum psc_status copy_frames(struct psc_trace *trace, struct symbolizer *symbolizer,
                                   const struct python_frame *frames, size_t count,
                                   struct trace_task *ret)
{
    ret->frames = arena_array(trace->arena, count ? count : 1, sizeof(*ret->frames));
    for (size_t i = 0; ret->frames && i < count; i++) {
        ret->frames[i] = symbolizer_python(symbolizer, &frames[i]);
        if (!ret->frames[i])
            return PSC_ERR_MEMORY;
    }
    ret->frame_count = count;
    if (ret->frames_cut)
        trace->complete = false;
    return ret->frames ? PSC_OK : PSC_ERR_MEMORY;
}

static enum psc_status copy_task(struct psc_trace *trace, struct symbolizer *symbolizer,
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
    return copy_frames(trace, symbolizer, from->frames, from->frame_count, ret);
}

enum psc_status tasks_fill(struct psc_trace *trace, struct python *python,
                           struct symbolizer *symbolizer, const struct python_thread *threads,
                           size_t thread_count)
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
        status = copy_task(trace, symbolizer, &found[i], &items[i]);
        if (found[i].thread_id != last_id) {
            last_id = found[i].thread_id;
            last_tid = find_tid(trace, last_id);
        }
        items[i].tid = last_tid;
    }
    if (status != PSC_OK)
        return status;
    tasks->items = items;
    tasks->count = count;
    status = task_cycles_find(trace->arena, tasks);
    trace->tasks = tasks;
    return status;
}

/* ---- greenlets ---- */

/* Of the thread on whose stack it will go on. */
static int32_t find_stack(const struct target *target, psc_addr address)
{
    const struct target_mapping *mapping = address ? target_find_mapping(target, address) : NULL;
    const struct target_thread *best = NULL;
    for (size_t i = 0; mapping && i < target->thread_count; i++) {
        const struct target_thread *thread = &target->threads[i];
        psc_addr sp = target_sp(target, &thread->registers);
        if (sp >= mapping->start && sp < mapping->end)
            best = best ? best : thread;
    }
    return best ? best->tid : 0;
}

enum psc_status greenlets_fill(struct psc_trace *trace, struct python *python,
                               const struct target *target, struct symbolizer *symbolizer,
                               const struct python_thread *threads, size_t thread_count)
{
    struct python_greenlet *found;
    size_t count;
    enum psc_status status = python_read_greenlets(python, threads, thread_count, &found, &count);
    if (status != PSC_OK || !count)
        return status;
    struct trace_tasks *greenlets = arena_alloc(trace->arena, sizeof(*greenlets));
    struct trace_task *items = arena_array(trace->arena, count, sizeof(*items));
    if (!greenlets || !items)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        items[i] = (struct trace_task){
            .id = found[i].address,
            .interpreter_id = found[i].interpreter_id,
            .tid = find_stack(target, found[i].stack),
            .work = work_of(found[i].work),
            .awaits = found[i].type,
            .frames_cut = found[i].frames_cut,
        };
        status = copy_frames(trace, symbolizer, found[i].frames, found[i].frame_count, &items[i]);
    }
    *greenlets = (struct trace_tasks){.items = items, .count = count};
    trace->greenlets = greenlets;
    return status;
}
