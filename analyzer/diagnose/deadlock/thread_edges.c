/* For whom threads wait. */
#include "deadlock_private.h"

enum psc_status add_thread_nodes(struct waiting *waiting)
{
    for (size_t i = 0; i < waiting->trace_count; i++) {
        const struct psc_trace *trace = waiting->traces[i];
        for (size_t k = 0; k < trace->thread_count; k++) {
            const struct trace_thread *thread = &trace->threads[k];
            size_t node;
            if (!thread->tid ||
                waiting_find_thread(waiting, trace->pid, thread->tid) != GRAPH_NO_NODE)
                continue;
            if (waiting_add_node(waiting, &(struct wait_node){.trace = trace, .thread = thread},
                                 &node) != PSC_OK)
                return PSC_ERR_MEMORY;
            struct known_node *known =
                hash_table_add_pair(&waiting->threads, (uint64_t)trace->pid, (uint64_t)thread->tid);
            if (!known)
                return PSC_ERR_MEMORY;
            known->node = node;
        }
    }
    return PSC_OK;
}

bool is_loop_blocked(const struct trace_thread *thread)
{
    const struct trace_wait *wait = thread->waits_for;
    if (!wait)
        return false;
    switch (wait->kind) {
    case TRACE_WAIT_POLL:
    case TRACE_WAIT_SLEEP:
    case TRACE_WAIT_TIMER:
    case TRACE_WAIT_SIGNAL:
    case TRACE_WAIT_SYSTEM_CALL:
    case TRACE_WAIT_IO_URING:
    case TRACE_WAIT_FUTEX:
    case TRACE_WAIT_TASKS:
    case TRACE_WAIT_STREAM:
    case TRACE_WAIT_KINDS:
        return false;
    case TRACE_WAIT_GIL:
    case TRACE_WAIT_MUTEX:
    case TRACE_WAIT_RWLOCK:
    case TRACE_WAIT_CONDITION:
    case TRACE_WAIT_BARRIER:
    case TRACE_WAIT_SEMAPHORE:
    case TRACE_WAIT_SPIN:
    case TRACE_WAIT_LOCK:
    case TRACE_WAIT_RLOCK:
    case TRACE_WAIT_EVENT:
    case TRACE_WAIT_QUEUE:
    case TRACE_WAIT_JOIN:
    case TRACE_WAIT_PYTHON_MUTEX:
    case TRACE_WAIT_STOP_THE_WORLD:
    case TRACE_WAIT_IMPORT_LOCK:
    case TRACE_WAIT_LOADER_LOCK:
    case TRACE_WAIT_MALLOC_LOCK:
    case TRACE_WAIT_STDIO_LOCK:
    case TRACE_WAIT_CHILD:
    case TRACE_WAIT_PIPE:
    case TRACE_WAIT_SOCKET:
    case TRACE_WAIT_TERMINAL:
    case TRACE_WAIT_FILE:
    case TRACE_WAIT_FILE_LOCK:
    case TRACE_WAIT_FUTURE:
        break;
    }
    return true;
}

/* ---- what another process has to do ---- */

static const struct psc_trace *find_process(const struct waiting *waiting, int32_t pid)
{
    for (size_t i = 0; i < waiting->trace_count; i++)
        if (waiting->traces[i]->pid == pid)
            return waiting->traces[i];
    return NULL;
}

/* Any of its threads may be the one that reads or writes. */
static enum psc_status add_process_choice(struct waiting *waiting, const struct psc_trace *process,
                                          size_t *ret)
{
    static const struct wait_label choice = {.reason = REASON_CHOICE, .certain = true};
    enum psc_status status = waiting_add_node(waiting, &(struct wait_node){0}, ret);
    for (size_t i = 0; status == PSC_OK && i < process->thread_count; i++)
        status = waiting_add_edge(
            waiting, *ret, waiting_find_thread(waiting, process->pid, process->threads[i].tid),
            &choice);
    return status;
}

/*
 * Who waits for one of several descriptors may go on by any of them, and who has both ends of a
 * pipe, as event loops do, wakes itself.
 */
static enum psc_status add_process_edge(struct waiting *waiting, size_t from, int32_t own,
                                        const struct trace_wait *wait)
{
    const struct psc_trace *process = find_process(waiting, wait->owner_pid);
    struct wait_label label = {.reason = wait->kind == TRACE_WAIT_CHILD       ? REASON_JOIN
                                         : wait->kind == TRACE_WAIT_FILE_LOCK ? REASON_HELD
                                                                              : REASON_END,
                               .wait = wait,
                               .certain = wait->owner_certain,
                               .timed = wait->timed};
    bool one = wait->kind == TRACE_WAIT_CHILD || wait->kind == TRACE_WAIT_PIPE ||
               wait->kind == TRACE_WAIT_SOCKET || wait->kind == TRACE_WAIT_FILE_LOCK;
    if (!one || !process || wait->owner_pid == own || process->unwanted_threads ||
        !process->thread_count)
        return PSC_OK;
    /* A process ends when its first thread does. */
    size_t to = waiting_find_thread(waiting, process->pid, process->pid);
    if (wait->kind == TRACE_WAIT_CHILD) {
        label.certain = process->thread_count == 1;
    } else if (process->thread_count > 1) {
        enum psc_status status = add_process_choice(waiting, process, &to);
        if (status != PSC_OK)
            return status;
    }
    return waiting_add_edge(waiting, from, to, &label);
}

/* ---- what a thread waits for ---- */

static enum psc_status add_result_edge(struct waiting *waiting, size_t from,
                                       const struct psc_trace *trace, const struct trace_wait *wait)
{
    struct wait_label label = {
        .reason = REASON_RESULT, .wait = wait, .certain = true, .timed = wait->timed};
    size_t to;
    if (wait->owner_task) {
        enum psc_status status =
            waiting_get_task(waiting, trace, wait->owner_task, wait->owner_task_name, &to);
        return status == PSC_OK ? waiting_add_edge(waiting, from, to, &label) : status;
    }
    if (wait->work_queue) {
        enum psc_status status =
            waiting_get_executor(waiting, trace, wait->work_queue, &to, &label.choices);
        label.reason = REASON_EXECUTOR;
        return status == PSC_OK ? waiting_add_edge(waiting, from, to, &label) : status;
    }
    if (wait->owner_tid) {
        label.reason = REASON_WORK;
        return waiting_add_edge(waiting, from,
                                waiting_find_thread(waiting, trace->pid, wait->owner_tid), &label);
    }
    to = waiting_find_thread(waiting, trace->pid, wait->loop_tid);
    label.reason = REASON_UNBEGUN;
    if (to == GRAPH_NO_NODE || !is_loop_blocked(waiting->nodes[to].thread))
        return PSC_OK;
    return waiting_add_edge(waiting, from, to, &label);
}

static enum psc_status add_edges_of(struct waiting *waiting, size_t from,
                                    const struct psc_trace *trace, const struct trace_wait *wait)
{
    if (wait->kind == TRACE_WAIT_FUTURE)
        return add_result_edge(waiting, from, trace, wait);
    if (!wait->owner_tid)
        return wait->owner_pid ? add_process_edge(waiting, from, trace->pid, wait) : PSC_OK;
    int32_t pid = wait->owner_pid ? wait->owner_pid : trace->pid;
    const struct wait_label label = {.reason =
                                         wait->kind == TRACE_WAIT_JOIN ? REASON_JOIN : REASON_HELD,
                                     .wait = wait,
                                     .certain = wait->owner_certain,
                                     .timed = wait->timed};
    return waiting_add_edge(waiting, from, waiting_find_thread(waiting, pid, wait->owner_tid),
                            &label);
}

enum psc_status add_thread_edges(struct waiting *waiting)
{
    for (size_t i = 0; i < waiting->trace_count; i++) {
        const struct psc_trace *trace = waiting->traces[i];
        for (size_t k = 0; k < trace->thread_count; k++) {
            const struct trace_thread *thread = &trace->threads[k];
            enum psc_status status = PSC_OK;
            if (thread->waits_for)
                status =
                    add_edges_of(waiting, waiting_find_thread(waiting, trace->pid, thread->tid),
                                 trace, thread->waits_for);
            if (status != PSC_OK)
                return status;
        }
    }
    return PSC_OK;
}
