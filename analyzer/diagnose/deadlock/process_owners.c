/* Which process has a lock that another one waits for. */
#include "deadlock_private.h"

#include <string.h>

struct process_owner {
    const struct psc_trace *trace;
    const struct trace_process_lock *lock;
};

/* Of several that say so nobody is believed: what fork() has copied says so, too. */
static bool find_owner(struct psc_trace *const *traces, size_t count, const char *shared,
                       struct process_owner *ret)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < traces[i]->process_lock_count; k++)
            if (!strcmp(traces[i]->process_locks[k].shared, shared)) {
                *ret = (struct process_owner){traces[i], &traces[i]->process_locks[k]};
                found++;
            }
    return found == 1;
}

static enum psc_status use_owner(const struct psc_trace *trace, struct trace_thread *thread,
                                 const struct process_owner *owner)
{
    struct trace_wait *wait = arena_alloc(trace->arena, sizeof(*wait));
    if (!wait)
        return PSC_ERR_MEMORY;
    *wait = *thread->waits_for;
    wait->owner_tid = owner->lock->tid;
    wait->owner_pid = owner->trace->pid;
    wait->owner_certain = owner->lock->certain;
    wait->owner_text = NULL;
    wait->known_by = "the lock's own object in the process that has it";
    thread->waits_for = wait;
    return PSC_OK;
}

enum psc_status find_process_owners(struct psc_trace *const *traces, size_t count)
{
    for (size_t i = 0; count > 1 && i < count; i++)
        for (size_t k = 0; k < traces[i]->thread_count; k++) {
            struct trace_thread *thread = &traces[i]->threads[k];
            const struct trace_wait *wait = thread->waits_for;
            struct process_owner owner;
            if (!wait || !wait->shared || wait->owner_tid ||
                !find_owner(traces, count, wait->shared, &owner))
                continue;
            enum psc_status status = use_owner(traces[i], thread, &owner);
            if (status != PSC_OK)
                return status;
        }
    return PSC_OK;
}
