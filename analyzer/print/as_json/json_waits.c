/* What threads and tasks wait for, and the cycles of such waits. */
#include "as_json_private.h"

static void put_owner(struct json_writer *writer, const struct trace_wait *wait)
{
    int32_t tid = wait->owner_tid ? wait->owner_tid : wait->loop_tid;
    if (!tid && !wait->owner_pid && !wait->owner_text && !wait->owner_task) {
        json_put_null(writer, "owner");
        return;
    }
    json_open_object(writer, "owner");
    json_put_integer(writer, "tid", tid != 0, tid);
    json_put_integer(writer, "pid", wait->owner_pid != 0, wait->owner_pid);
    json_put_string(writer, "text", wait->owner_text);
    if (wait->owner_task)
        json_put_address(writer, "task", true, wait->owner_task);
    json_close_object(writer);
}

static void put_members(struct json_writer *writer, const struct trace_wait *wait)
{
    json_put_string(writer, "kind", trace_wait_name(wait->kind));
    json_put_string(writer, "object", wait->object);
    json_put_address(writer, "address", wait->has_address, wait->address);
    put_owner(writer, wait);
    json_put_boolean(writer, "owner_certain", wait->owner_certain);
    json_put_string(writer, "known_by", wait->known_by);
    json_put_boolean(writer, "timed", wait->timed);
    if (wait->has_time_left)
        json_put_real(writer, "time_left_s", wait->time_left);
    else
        json_put_null(writer, "time_left_s");
}

void json_put_wait(struct json_writer *writer, const char *name, const struct trace_wait *wait)
{
    if (!wait) {
        json_put_null(writer, name);
        return;
    }
    json_open_object(writer, name);
    put_members(writer, wait);
    json_put_string(writer, "system_call", wait->system_call);
    json_put_string(writer, "arguments", wait->arguments);
    json_put_string(writer, "kernel_function", wait->kernel);
    if (wait->shared)
        json_put_string(writer, "shared", wait->shared);
    json_close_object(writer);
}

void json_put_leaf(struct json_writer *writer, const struct trace_tasks *tasks,
                   const struct trace_leaf *leaf)
{
    if (!leaf) {
        json_put_null(writer, "waits_on");
        return;
    }
    json_open_object(writer, "waits_on");
    put_members(writer, &leaf->wait);
    json_put_integer(writer, "descriptor", leaf->fd >= 0, leaf->fd);
    json_open_array(writer, "tasks");
    for (size_t i = 0; i < leaf->holder_count && json_takes(writer); i++)
        json_put_address(writer, NULL, true, tasks->items[leaf->holders[i]].id);
    json_close_array(writer);
    json_close_object(writer);
}

static void put_deadlock_member(struct json_writer *writer,
                                const struct trace_deadlock_member *member)
{
    json_open_object(writer, NULL);
    json_put_integer(writer, "tid", member->tid != 0, member->tid);
    json_put_integer(writer, "pid", member->pid != 0, member->pid);
    json_put_address(writer, "task", member->task != 0, member->task);
    json_put_string(writer, "name", member->name);
    json_put_string(writer, "waits_for", member->waits_for);
    json_put_string(writer, "known_by", member->known_by);
    json_put_boolean(writer, "certain", member->certain);
    json_put_boolean(writer, "timed", member->timed);
    json_close_object(writer);
}

void json_put_deadlocks(struct json_writer *writer, const struct psc_trace *trace)
{
    json_open_array(writer, "deadlocks");
    for (size_t i = 0; i < trace->deadlock_count && json_takes(writer); i++) {
        const struct trace_deadlock *deadlock = &trace->deadlocks[i];
        json_open_object(writer, NULL);
        json_put_string(writer, "verdict", trace_verdict_name(deadlock->verdict));
        json_put_string(writer, "summary", deadlock->summary);
        json_open_array(writer, "members");
        for (size_t k = 0; k < deadlock->count && json_takes(writer); k++)
            put_deadlock_member(writer, &deadlock->members[k]);
        json_close_array(writer);
        json_close_object(writer);
    }
    json_close_array(writer);
}
