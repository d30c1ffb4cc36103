#include "json_values.h"

static const char *name_work(enum trace_work work)
{
    switch (work) {
    case TRACE_WORK_CREATED:
        return "created";
    case TRACE_WORK_READY:
        return "ready";
    case TRACE_WORK_WAITING:
        return "waiting";
    case TRACE_WORK_RUNNING:
        return "running";
    case TRACE_WORK_SUSPENDED:
        return "suspended";
    case TRACE_WORK_UNKNOWN:
        break;
    }
    return NULL;
}

static json_t *make_frames(struct json_writer *writer, const struct trace_task *task)
{
    json_t *frames = json_array();
    for (size_t i = 0; i < task->frame_count; i++)
        append(writer, frames, json_make_place(writer, task->frames[i]));
    return frames;
}

json_t *json_make_task(struct json_writer *writer, const struct trace_tasks *tasks,
                       const struct trace_task *task)
{
    json_t *waits_for = json_array();
    for (size_t i = 0; i < task->waits_for_count; i++)
        append(writer, waits_for, make_address(true, tasks->items[task->waits_for[i]].id));
    json_t *object = json_object();
    set(writer, object, "id", make_address(true, task->id));
    set(writer, object, "name", make_string(task->name));
    set(writer, object, "state", make_string(name_work(task->work)));
    set(writer, object, "thread", task->tid ? json_integer(task->tid) : json_null());
    set(writer, object, "interpreter", json_integer(task->interpreter_id));
    set(writer, object, "awaits", make_string(task->awaits));
    set(writer, object, "future", make_address(task->future != 0, task->future));
    set(writer, object, "waits_for", waits_for);
    set(writer, object, "frames", make_frames(writer, task));
    set(writer, object, "frames_cut", json_boolean(task->frames_cut));
    return object;
}

json_t *json_make_greenlet(struct json_writer *writer, const struct trace_task *greenlet)
{
    json_t *object = json_object();
    set(writer, object, "id", make_address(true, greenlet->id));
    set(writer, object, "type", make_string(greenlet->awaits));
    set(writer, object, "state", make_string(name_work(greenlet->work)));
    set(writer, object, "thread", greenlet->tid ? json_integer(greenlet->tid) : json_null());
    set(writer, object, "interpreter", json_integer(greenlet->interpreter_id));
    set(writer, object, "frames", make_frames(writer, greenlet));
    set(writer, object, "frames_cut", json_boolean(greenlet->frames_cut));
    return object;
}

json_t *json_make_task_cycles(struct json_writer *writer, const struct trace_tasks *tasks)
{
    json_t *cycles = json_array();
    for (size_t i = 0; i < tasks->cycle_count; i++) {
        json_t *cycle = json_array();
        for (size_t k = 0; k < tasks->cycles[i].count; k++)
            append(writer, cycle, make_address(true, tasks->items[tasks->cycles[i].tasks[k]].id));
        append(writer, cycles, cycle);
    }
    return cycles;
}
