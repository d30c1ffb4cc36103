/* Cycles of waits. */
#include "wait_text.h"

#include <inttypes.h>

#define MEMBER_LIMIT 16u /* That are shown; JSON has all. */

static void add_count(const struct trace_deadlock *deadlock, struct text *text)
{
    size_t tasks = 0;
    for (size_t i = 0; i < deadlock->count; i++)
        tasks += deadlock->members[i].task != 0;
    size_t threads = deadlock->count - tasks;
    if (threads)
        text_printf(text, "%zu thread%s", threads, threads == 1 ? "" : "s");
    if (threads && tasks)
        text_add_string(text, " and ");
    if (tasks)
        text_printf(text, "%zu task%s", tasks, tasks == 1 ? "" : "s");
}

void print_add_deadlock(const struct trace_deadlock *deadlock, struct text *text)
{
    switch (deadlock->verdict) {
    case TRACE_VERDICT_DEADLOCK:
        text_add_string(text, "deadlock of ");
        break;
    case TRACE_VERDICT_LIKELY:
        text_add_string(text, "likely a deadlock of ");
        break;
    case TRACE_VERDICT_STALL:
        text_add_string(text, "a stall, until a time limit ends it, of ");
        break;
    }
    add_count(deadlock, text);
}

static bool has_several_processes(const struct trace_deadlock *deadlock)
{
    for (size_t i = 1; i < deadlock->count; i++)
        if (deadlock->members[i].pid != deadlock->members[0].pid)
            return true;
    return false;
}

size_t print_add_deadlock_member(const struct trace_deadlock *deadlock, size_t index,
                                 struct text *text)
{
    const struct trace_deadlock_member *member = &deadlock->members[index];
    if (index == MEMBER_LIMIT) {
        text_printf(text, "\u2026 %zu more", deadlock->count - index);
        return deadlock->count;
    }
    if (member->task)
        text_add_string(text, "task");
    else
        text_printf(text, "thread %d", member->tid);
    if (member->name) {
        text_add_string(text, " \"");
        text_add_escaped(text, member->name);
        text_add_char(text, '"');
    } else if (member->task) {
        text_printf(text, " 0x%" PRIx64, member->task);
    }
    if (has_several_processes(deadlock))
        text_printf(text, " of process %d", member->pid);
    text_add_string(text, " waits for ");
    text_add_escaped(text, member->waits_for);
    if (member->timed)
        text_add_string(text, ", with a time limit");
    if (member->known_by) {
        text_add_string(text, " (");
        text_add_escaped(text, member->known_by);
        text_add_char(text, ')');
    }
    return index + 1;
}
