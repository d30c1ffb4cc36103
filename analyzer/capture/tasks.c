/* Tasks and greenlets: from what python/ found to plain data. */
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

static enum psc_status copy_frames(struct capture *capture, const struct python_frame *frames,
                                   size_t count, struct trace_task *ret)
{
    ret->frames = arena_array(capture->trace->arena, count ? count : 1, sizeof(*ret->frames));
    for (size_t i = 0; ret->frames && i < count; i++) {
        ret->frames[i] = symbolizer_python(capture->symbolizer, &frames[i]);
        if (!ret->frames[i])
            return PSC_ERR_MEMORY;
    }
    ret->frame_count = count;
    if (ret->frames_cut)
        capture->trace->complete = false;
    return ret->frames ? PSC_OK : PSC_ERR_MEMORY;
}

static enum trace_task_library library_of(enum python_task_library library)
{
    switch (library) {
    case PYTHON_TASK_TRIO:
        return TRACE_TASK_TRIO;
    case PYTHON_TASK_CURIO:
        return TRACE_TASK_CURIO;
    case PYTHON_TASK_ASYNCIO:
        break;
    }
    return TRACE_TASK_ASYNCIO;
}

static enum psc_status copy_task(struct capture *capture, const struct python_task *from,
                                 struct trace_task *ret)
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
        .library = library_of(from->library),
        .children = from->children,
        .children_count = from->children_count,
        .leaf = copy_leaf(capture, from->leaf),
    };
    return copy_frames(capture, from->frames, from->frame_count, ret);
}

static enum psc_status fill_all_tasks(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    const struct python_task *found = capture->tasks;
    size_t count = capture->task_count;
    enum psc_status status = PSC_OK;
    struct trace_tasks *tasks = arena_alloc(trace->arena, sizeof(*tasks));
    struct trace_task *items = arena_array(trace->arena, count ? count : 1, sizeof(*items));
    if (!tasks || !items)
        return PSC_ERR_MEMORY;
    uint64_t last_id = 0;
    int32_t last_tid = 0;
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        status = copy_task(capture, &found[i], &items[i]);
        if (found[i].thread_id != last_id) {
            last_id = found[i].thread_id;
            last_tid = find_tid_of_python(trace, last_id);
        }
        items[i].tid = last_tid;
    }
    if (status != PSC_OK)
        return status;
    tasks->items = items;
    tasks->count = count;
    status = trace_find_task_cycles(trace->arena, tasks);
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

static enum psc_status fill_greenlets(struct capture *capture)
{
    struct psc_trace *trace = capture->trace;
    const struct python_greenlet *found = capture->greenlets;
    size_t count = capture->greenlet_count;
    enum psc_status status = PSC_OK;
    if (!count)
        return PSC_OK;
    struct trace_tasks *greenlets = arena_alloc(trace->arena, sizeof(*greenlets));
    struct trace_task *items = arena_array(trace->arena, count, sizeof(*items));
    if (!greenlets || !items)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        items[i] = (struct trace_task){
            .id = found[i].address,
            .interpreter_id = found[i].interpreter_id,
            .tid = find_stack(capture->target, found[i].stack),
            .work = work_of(found[i].work),
            .awaits = found[i].type,
            .frames_cut = found[i].frames_cut,
        };
        status = copy_frames(capture, found[i].frames, found[i].frame_count, &items[i]);
    }
    *greenlets = (struct trace_tasks){.items = items, .count = count};
    trace->greenlets = greenlets;
    return status;
}

enum psc_status fill_tasks(struct capture *capture)
{
    if (!capture->exceptions)
        return PSC_OK;
    enum psc_status status = fill_futures(capture);
    if (status != PSC_OK || !capture->options.tasks)
        return status;
    status = fill_all_tasks(capture);
    return status == PSC_OK ? fill_greenlets(capture) : status;
}
