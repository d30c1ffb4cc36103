/* The nodes of the graph, and what its edges say. */
#include "deadlock_private.h"

enum psc_status waiting_add_node(struct waiting *waiting, const struct wait_node *node, size_t *ret)
{
    void *nodes = waiting->nodes;
    if (!array_reserve(&nodes, &waiting->node_capacity, waiting->graph.node_count + 1,
                       sizeof(*node)))
        return PSC_ERR_MEMORY;
    waiting->nodes = nodes;
    *ret = graph_add_node(&waiting->graph, !node->trace);
    if (*ret == GRAPH_NO_NODE)
        return PSC_ERR_MEMORY;
    waiting->nodes[*ret] = *node;
    return PSC_OK;
}

enum psc_status waiting_add_edge(struct waiting *waiting, size_t from, size_t to,
                                 const struct wait_label *label)
{
    if (from == GRAPH_NO_NODE || to == GRAPH_NO_NODE)
        return PSC_OK;
    void *labels = waiting->labels;
    if (!array_reserve(&labels, &waiting->label_capacity, waiting->label_count + 1, sizeof(*label)))
        return PSC_ERR_MEMORY;
    waiting->labels = labels;
    waiting->labels[waiting->label_count] = *label;
    const struct graph_edge edge = {.from = from,
                                    .to = to,
                                    .level = label->timed     ? GRAPH_TIMED
                                             : label->certain ? GRAPH_CERTAIN
                                                              : GRAPH_LIKELY,
                                    .label = waiting->label_count++};
    return graph_add_edge(&waiting->graph, &edge);
}

static size_t find_known(const struct hash_table *table, int32_t pid, uint64_t id)
{
    const struct known_node *known = hash_table_find_pair(table, (uint64_t)pid, id);
    return known ? known->node : GRAPH_NO_NODE;
}

size_t waiting_find_thread(const struct waiting *waiting, int32_t pid, int32_t tid)
{
    return tid ? find_known(&waiting->threads, pid, (uint64_t)tid) : GRAPH_NO_NODE;
}

enum psc_status waiting_get_task(struct waiting *waiting, const struct psc_trace *trace,
                                 psc_addr task, const char *name, size_t *ret)
{
    *ret = find_known(&waiting->tasks, trace->pid, task);
    if (*ret != GRAPH_NO_NODE)
        return PSC_OK;
    const struct wait_node node = {.trace = trace, .task = task, .task_name = name};
    enum psc_status status = waiting_add_node(waiting, &node, ret);
    if (status != PSC_OK)
        return status;
    struct known_node *known = hash_table_add_pair(&waiting->tasks, (uint64_t)trace->pid, task);
    if (!known)
        return PSC_ERR_MEMORY;
    known->node = *ret;
    return PSC_OK;
}

static size_t count_workers(const struct psc_trace *trace, psc_addr queue)
{
    size_t count = 0;
    for (size_t i = 0; i < trace->worker_count; i++)
        count += trace->workers[i].work_queue == queue;
    return count;
}

enum psc_status waiting_get_executor(struct waiting *waiting, const struct psc_trace *trace,
                                     psc_addr queue, size_t *ret, size_t *ret_threads)
{
    static const struct wait_label choice = {.reason = REASON_CHOICE, .certain = true};
    *ret_threads = count_workers(trace, queue);
    *ret = find_known(&waiting->choices, trace->pid, queue);
    if (*ret != GRAPH_NO_NODE || !*ret_threads)
        return PSC_OK;
    enum psc_status status = waiting_add_node(waiting, &(struct wait_node){0}, ret);
    struct known_node *known =
        status == PSC_OK ? hash_table_add_pair(&waiting->choices, (uint64_t)trace->pid, queue)
                         : NULL;
    if (!known)
        return PSC_ERR_MEMORY;
    known->node = *ret;
    for (size_t i = 0; status == PSC_OK && i < trace->worker_count; i++)
        if (trace->workers[i].work_queue == queue)
            status = waiting_add_edge(
                waiting, *ret, waiting_find_thread(waiting, trace->pid, trace->workers[i].tid),
                &choice);
    return status;
}
