/* Locks that processes share: which of them this process has, and which it waits for. */
#include "waits_private.h"

#include <string.h>

enum psc_status waits_read_process_locks(struct waits *waits,
                                         const struct diagnose_wait_thread *thread)
{
    struct python_process_lock found[PYTHON_PROCESS_LOCKS];
    if (!waits->input.wants_process_locks || !waits->input.python || !thread->has_python)
        return PSC_OK;
    if (!waits->process_locks)
        waits->process_locks =
            arena_array(waits->arena, PROCESS_LOCK_LIMIT, sizeof(*waits->process_locks));
    if (!waits->process_locks)
        return PSC_ERR_MEMORY;
    size_t count =
        python_list_process_locks(waits->input.python, thread->frames, thread->frame_count, found);
    for (size_t i = 0; i < count && waits->process_lock_count < PROCESS_LOCK_LIMIT; i++) {
        bool known = false;
        for (size_t k = 0; k < waits->process_lock_count && !known; k++)
            known = waits->process_locks[k].semaphore == found[i].semaphore;
        if (!known)
            waits->process_locks[waits->process_lock_count++] = found[i];
    }
    return PSC_OK;
}

/* The thread sleeps as it did when that was read: what it had then it has. */
static bool is_still_there(const struct wait_facts *facts, struct system *system)
{
    char place[64];
    return facts->sleeps &&
           system_find_place(system, (int32_t)facts->tid, facts->arguments[0], place);
}

enum psc_status waits_fill_process_locks(const struct waits *waits, struct system *system,
                                         struct psc_trace *trace)
{
    struct trace_process_lock *locks =
        arena_array(trace->arena, waits->process_lock_count + 1, sizeof(*locks));
    size_t count = 0;
    if (!locks)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; system && i < waits->process_lock_count; i++) {
        const struct python_process_lock *from = &waits->process_locks[i];
        const struct wait_facts *owner = waits_find_pointer(waits, from->owner);
        char key[SYSTEM_SHARED_TEXT];
        if (!owner || !is_still_there(owner, system) ||
            !system_find_shared(system, from->semaphore, key))
            continue;
        const char *name = arena_strdup(trace->arena, key);
        if (!name)
            return PSC_ERR_MEMORY;
        locks[count++] = (struct trace_process_lock){
            .shared = name, .tid = (int32_t)owner->tid, .certain = from->certain};
    }
    trace->process_locks = locks;
    trace->process_lock_count = count;
    return PSC_OK;
}

void waits_name_process_lock(struct wait_maker *maker)
{
    const struct wait_facts *facts = maker->facts;
    char key[SYSTEM_SHARED_TEXT];
    if (facts->python.lock && maker->wait.kind == TRACE_WAIT_SEMAPHORE && maker->system &&
        system_find_shared(maker->system, facts->arguments[0], key))
        maker->wait.shared = arena_strdup(maker->trace->arena, key);
}
