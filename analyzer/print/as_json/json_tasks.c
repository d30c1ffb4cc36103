#include "as_json_private.h"

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

static const char *name_library(enum trace_task_library library)
{
    switch (library) {
    case TRACE_TASK_TRIO:
        return "trio";
    case TRACE_TASK_CURIO:
        return "curio";
    case TRACE_TASK_ASYNCIO:
        break;
    }
    return "asyncio";
}

/* Where it belongs. */
static void put_owner(struct json_writer *writer, const struct trace_task *task)
{
    json_put_integer(writer, "thread", task->tid > 0, task->tid);
    json_put_integer(writer, "interpreter", task->interpreter_id >= 0, task->interpreter_id);
}

static void put_frames(struct json_writer *writer, const struct trace_task *task)
{
    json_open_array(writer, "frames");
    size_t put = 0;
    for (; put < task->frame_count && json_takes(writer); put++)
        json_put_location(writer, task->frames[put]);
    json_close_array(writer);
    json_put_boolean(writer, "frames_cut", task->frames_cut || put < task->frame_count);
}

void json_put_task(struct json_writer *writer, const struct trace_tasks *tasks,
                   const struct trace_task *task)
{
    json_open_object(writer, NULL);
    json_put_address(writer, "id", true, task->id);
    json_put_string(writer, "framework", name_library(task->library));
    json_put_string(writer, "name", task->name);
    json_put_string(writer, "state", name_work(task->work));
    put_owner(writer, task);
    json_put_string(writer, "awaits", task->awaits);
    json_put_address(writer, "future", task->future != 0, task->future);
    json_open_array(writer, "waits_for");
    for (size_t i = 0; i < task->waits_for_count && json_takes(writer); i++)
        json_put_address(writer, NULL, true, tasks->items[task->waits_for[i]].id);
    json_close_array(writer);
    json_open_array(writer, "children");
    for (size_t i = 0; i < task->children_count && json_takes(writer); i++)
        json_put_address(writer, NULL, true, tasks->items[task->children[i]].id);
    json_close_array(writer);
    json_put_leaf(writer, tasks, task->leaf);
    put_frames(writer, task);
    json_close_object(writer);
}

void json_put_greenlet(struct json_writer *writer, const struct trace_task *greenlet)
{
    json_open_object(writer, NULL);
    json_put_address(writer, "id", true, greenlet->id);
    json_put_string(writer, "type", greenlet->awaits);
    json_put_string(writer, "state", name_work(greenlet->work));
    put_owner(writer, greenlet);
    put_frames(writer, greenlet);
    json_close_object(writer);
}

void json_put_task_cycles(struct json_writer *writer, const struct trace_tasks *tasks)
{
    json_open_array(writer, "task_cycles");
    for (size_t i = 0; i < tasks->cycle_count && json_takes(writer); i++) {
        const struct trace_cycle *cycle = &tasks->cycles[i];
        json_open_array(writer, NULL);
        for (size_t k = 0; k < cycle->count && json_takes(writer); k++)
            json_put_address(writer, NULL, true, tasks->items[cycle->tasks[k]].id);
        json_close_array(writer);
    }
    json_close_array(writer);
}
