/* What threads wait for, and cycles of such waits. */
#include "report_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A name that only later versions know is that of a system call. */
static enum trace_wait_kind kind_of(const char *name)
{
    for (unsigned kind = 0; name && kind < TRACE_WAIT_KINDS; kind++)
        if (!strcmp(trace_wait_name((enum trace_wait_kind)kind), name))
            return (enum trace_wait_kind)kind;
    return TRACE_WAIT_SYSTEM_CALL;
}

static int32_t read_id(struct reading *reading, const json_t *parent, const char *key)
{
    int64_t number;
    bool good = reading_number(reading, parent, key, &number) && number > 0 && number <= INT32_MAX;
    return good ? (int32_t)number : 0;
}

static bool read_address(struct reading *reading, const json_t *parent, const char *key,
                         psc_addr *ret)
{
    const char *text = reading_text(reading, parent, key);
    char *end = NULL;
    *ret = text ? strtoull(text, &end, 16) : 0;
    return text && end != text && !*end;
}

static void take_owner(struct reading *reading, const json_t *object, struct trace_wait *wait)
{
    const json_t *owner = reading_object(reading, object, "owner");
    if (!owner)
        return;
    wait->owner_tid = read_id(reading, owner, "tid");
    wait->owner_pid = read_id(reading, owner, "pid");
    wait->owner_text = reading_text(reading, owner, "text");
    (void)read_address(reading, owner, "task", &wait->owner_task);
}

const struct trace_wait *reading_take_wait(struct reading *reading, const json_t *thread)
{
    const json_t *object = reading_object(reading, thread, "waits_for");
    struct trace_wait *wait = object ? arena_alloc(reading->trace->arena, sizeof(*wait)) : NULL;
    if (!wait)
        return NULL;
    const json_t *left = json_object_get(object, "time_left_s");
    wait->kind = kind_of(reading_text(reading, object, "kind"));
    wait->object = reading_text(reading, object, "object");
    wait->has_address = read_address(reading, object, "address", &wait->address);
    take_owner(reading, object, wait);
    wait->owner_certain = reading_flag(reading, object, "owner_certain");
    wait->known_by = reading_text(reading, object, "known_by");
    if (!wait->known_by)
        wait->known_by = "";
    wait->timed = reading_flag(reading, object, "timed");
    wait->has_time_left = json_is_number(left);
    wait->time_left = wait->has_time_left ? json_number_value(left) : 0;
    wait->system_call = reading_text(reading, object, "system_call");
    wait->arguments = reading_text(reading, object, "arguments");
    wait->kernel = reading_text(reading, object, "kernel_function");
    return wait;
}

static void take_member(struct reading *reading, const json_t *object,
                        struct trace_deadlock_member *ret)
{
    if (!json_is_object(object)) {
        reading_fail(reading, PSC_ERR_FORMAT, "a member of a deadlock is no object");
        return;
    }
    ret->pid = read_id(reading, object, "pid");
    ret->tid = read_id(reading, object, "tid");
    (void)read_address(reading, object, "task", &ret->task);
    ret->name = reading_text(reading, object, "name");
    ret->waits_for = reading_text(reading, object, "waits_for");
    if (!ret->waits_for)
        ret->waits_for = "something";
    ret->known_by = reading_text(reading, object, "known_by");
    ret->certain = reading_flag(reading, object, "certain");
    ret->timed = reading_flag(reading, object, "timed");
}

static enum trace_verdict verdict_of(const char *name)
{
    static const enum trace_verdict verdicts[] = {TRACE_VERDICT_DEADLOCK, TRACE_VERDICT_STALL};
    for (size_t i = 0; name && i < PSC_ARRAY_SIZE(verdicts); i++)
        if (!strcmp(trace_verdict_name(verdicts[i]), name))
            return verdicts[i];
    return TRACE_VERDICT_LIKELY;
}

static void take_deadlock(struct reading *reading, const json_t *object, struct trace_deadlock *ret)
{
    if (!json_is_object(object)) {
        reading_fail(reading, PSC_ERR_FORMAT, "a deadlock is no object");
        return;
    }
    const json_t *list = reading_list(reading, object, "members");
    size_t count = json_array_size(list);
    struct trace_deadlock_member *members =
        arena_array(reading->trace->arena, count ? count : 1, sizeof(*members));
    ret->verdict = verdict_of(reading_text(reading, object, "verdict"));
    ret->summary = reading_text(reading, object, "summary");
    if (!ret->summary)
        ret->summary = "";
    ret->members = members;
    for (size_t i = 0; members && reading->status == PSC_OK && i < count; i++) {
        take_member(reading, json_array_get(list, i), &members[i]);
        ret->count++;
    }
}

void reading_take_deadlocks(struct reading *reading, const json_t *report)
{
    const json_t *list = reading_list(reading, report, "deadlocks");
    size_t count = json_array_size(list);
    struct trace_deadlock *items =
        count ? arena_array(reading->trace->arena, count, sizeof(*items)) : NULL;
    for (size_t i = 0; items && reading->status == PSC_OK && i < count; i++) {
        take_deadlock(reading, json_array_get(list, i), &items[i]);
        reading->trace->deadlock_count++;
    }
    reading->trace->deadlocks = items;
}
