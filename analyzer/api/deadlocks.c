/* Cycles of waits. */
#include "api.h"

#include "diagnose.h"
#include "sized_struct.h"
#include "trace.h"

static enum psc_status refuse(struct psc_error *err, const char *function)
{
    return psc_fail(err, PSC_ERR_ARGUMENT, "%s: an argument is out of range, or NULL", function);
}

size_t psc_trace_deadlock_count(const struct psc_trace *trace)
{
    return trace ? trace->deadlock_count : 0;
}

enum psc_status psc_trace_get_deadlock(const struct psc_trace *trace, size_t index,
                                       struct psc_deadlock *ret, struct psc_error *err)
{
    if (!trace || !ret || index >= trace->deadlock_count)
        return refuse(err, "psc_trace_get_deadlock");
    const struct trace_deadlock *deadlock = &trace->deadlocks[index];
    const struct psc_deadlock info = {
        .member_count = (uint32_t)deadlock->count,
        .verdict = trace_verdict_name(deadlock->verdict),
        .summary = deadlock->summary,
    };
    return sized_give(SIZED_TYPE(psc_deadlock, PSC_DEADLOCK_INIT), &info, ret, err);
}

enum psc_status psc_trace_get_deadlock_member(const struct psc_trace *trace, size_t index,
                                              size_t member, struct psc_deadlock_member *ret,
                                              struct psc_error *err)
{
    if (!trace || !ret || index >= trace->deadlock_count || member >= trace->deadlocks[index].count)
        return refuse(err, "psc_trace_get_deadlock_member");
    const struct trace_deadlock_member *found = &trace->deadlocks[index].members[member];
    const struct psc_deadlock_member info = {
        .pid = found->pid,
        .tid = found->tid,
        .certain = found->certain,
        .task = found->task,
        .name = found->name,
        .waits_for = found->waits_for,
        .known_by = found->known_by,
        .timed = found->timed,
    };
    return sized_give(SIZED_TYPE(psc_deadlock_member, PSC_DEADLOCK_MEMBER_INIT), &info, ret, err);
}

enum psc_status psc_find_deadlocks(struct psc_trace *const *traces, size_t count,
                                   struct psc_error *err)
{
    for (size_t i = 0; i < count; i++)
        if (!traces || !traces[i])
            return refuse(err, "psc_find_deadlocks");
    return psc_fail_status(err, diagnose_deadlocks(traces, count));
}
