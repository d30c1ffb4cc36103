/* For whom tasks wait. */
#include "deadlock_private.h"

enum psc_status add_task_nodes(struct waiting *waiting)
{
    for (size_t i = 0; i < waiting->trace_count; i++) {
        const struct psc_trace *trace = waiting->traces[i];
        for (size_t k = 0; trace->tasks && k < trace->tasks->count; k++) {
            const struct trace_task *task = &trace->tasks->items[k];
            size_t node;
            enum psc_status status = waiting_get_task(waiting, trace, task->id, task->name, &node);
            if (status != PSC_OK)
                return status;
            waiting->nodes[node].item = task;
        }
    }
    return PSC_OK;
}

struct task_at {
    const struct psc_trace *trace;
    const struct trace_task *task;
    size_t node;
};

static enum psc_status add_task_edge(struct waiting *waiting, const struct task_at *at,
                                     size_t index, const struct wait_label *label)
{
    const struct trace_task *other = &at->trace->tasks->items[index];
    size_t to;
    enum psc_status status = waiting_get_task(waiting, at->trace, other->id, other->name, &to);
    return status == PSC_OK ? waiting_add_edge(waiting, at->node, to, label) : status;
}

/* One of several is enough: a node of its own stands between. */
static enum psc_status add_choice(struct waiting *waiting, const struct task_at *at,
                                  const size_t *tasks, size_t count, const struct wait_label *label)
{
    struct task_at choice = *at;
    enum psc_status status = waiting_add_node(waiting, &(struct wait_node){0}, &choice.node);
    if (status == PSC_OK)
        status = waiting_add_edge(waiting, at->node, choice.node, label);
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        status =
            add_task_edge(waiting, &choice, tasks[i],
                          &(struct wait_label){.reason = REASON_CHOICE, .certain = label->certain});
    return status;
}

/* Those whose end it waits for. */
static enum psc_status add_awaited(struct waiting *waiting, const struct task_at *at)
{
    const struct trace_task *task = at->task;
    const struct trace_leaf *leaf = task->leaf;
    const struct wait_label label = {.reason = REASON_RESULT,
                                     .wait = leaf ? &leaf->wait : NULL,
                                     .certain = true,
                                     .timed = leaf && leaf->wait.timed};
    if (leaf && leaf->any && task->waits_for_count > 1)
        return add_choice(waiting, at, task->waits_for, task->waits_for_count, &label);
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < task->waits_for_count; i++)
        status = add_task_edge(waiting, at, task->waits_for[i], &label);
    return status;
}

/* Those that have what it waits for. */
static enum psc_status add_holders(struct waiting *waiting, const struct task_at *at)
{
    const struct trace_leaf *leaf = at->task->leaf;
    bool ends = leaf->wait.kind == TRACE_WAIT_TASKS || leaf->wait.kind == TRACE_WAIT_FUTURE;
    const struct wait_label label = {.reason = ends ? REASON_RESULT : REASON_HELD,
                                     .wait = &leaf->wait,
                                     .certain = leaf->wait.owner_certain,
                                     .timed = leaf->wait.timed};
    if (leaf->wait.kind == TRACE_WAIT_SEMAPHORE && leaf->holder_count > 1)
        return add_choice(waiting, at, leaf->holders, leaf->holder_count, &label);
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < leaf->holder_count; i++)
        status = add_task_edge(waiting, at, leaf->holders[i], &label);
    return status;
}

/* The thread, or the executor, that works on what it waits for. */
static enum psc_status add_workers(struct waiting *waiting, const struct task_at *at)
{
    const struct trace_wait *wait = &at->task->leaf->wait;
    struct wait_label label = {
        .reason = REASON_WORK, .wait = wait, .certain = true, .timed = wait->timed};
    size_t to;
    if (wait->owner_tid)
        return waiting_add_edge(waiting, at->node,
                                waiting_find_thread(waiting, at->trace->pid, wait->owner_tid),
                                &label);
    if (!wait->work_queue)
        return PSC_OK;
    label.reason = REASON_EXECUTOR;
    enum psc_status status =
        waiting_get_executor(waiting, at->trace, wait->work_queue, &to, &label.choices);
    return status == PSC_OK ? waiting_add_edge(waiting, at->node, to, &label) : status;
}

/* No task goes on while the thread of its event loop waits for something else than events. */
static enum psc_status add_loop(struct waiting *waiting, size_t node, const struct psc_trace *trace,
                                int32_t tid)
{
    size_t to = waiting_find_thread(waiting, trace->pid, tid);
    if (to == GRAPH_NO_NODE || !is_loop_blocked(waiting->nodes[to].thread))
        return PSC_OK;
    return waiting_add_edge(waiting, node, to,
                            &(struct wait_label){.reason = REASON_LOOP, .certain = true});
}

static enum psc_status add_edges_of(struct waiting *waiting, const struct task_at *at)
{
    enum psc_status status = add_loop(waiting, at->node, at->trace, at->task->tid);
    if (status == PSC_OK)
        status = add_awaited(waiting, at);
    if (status == PSC_OK && at->task->leaf)
        status = add_holders(waiting, at);
    if (status == PSC_OK && at->task->leaf)
        status = add_workers(waiting, at);
    return status;
}

/* Of tasks that are known by the threads that wait for them only. */
static enum psc_status add_loops_of_results(struct waiting *waiting, const struct psc_trace *trace)
{
    for (size_t i = 0; i < trace->thread_count; i++) {
        const struct trace_wait *wait = trace->threads[i].waits_for;
        size_t node;
        if (!wait || wait->kind != TRACE_WAIT_FUTURE || !wait->owner_task)
            continue;
        enum psc_status status =
            waiting_get_task(waiting, trace, wait->owner_task, wait->owner_task_name, &node);
        if (status == PSC_OK && !waiting->nodes[node].item)
            status = add_loop(waiting, node, trace, wait->loop_tid);
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}

enum psc_status add_task_edges(struct waiting *waiting)
{
    for (size_t i = 0; i < waiting->trace_count; i++) {
        struct task_at at = {.trace = waiting->traces[i]};
        enum psc_status status = add_loops_of_results(waiting, at.trace);
        for (size_t k = 0; status == PSC_OK && at.trace->tasks && k < at.trace->tasks->count; k++) {
            at.task = &at.trace->tasks->items[k];
            status = waiting_get_task(waiting, at.trace, at.task->id, at.task->name, &at.node);
            if (status == PSC_OK)
                status = add_edges_of(waiting, &at);
        }
        if (status != PSC_OK)
            return status;
    }
    return PSC_OK;
}
