/** @file What the files of room `diagnose/deadlock` share. */
#ifndef PSC_DEADLOCK_PRIVATE_H
#define PSC_DEADLOCK_PRIVATE_H

#include "deadlock.h"
#include "wait_graph.h"

/** Why one node waits for another. */
enum reason {
    REASON_HELD,     /**< The other has what the wait is for. */
    REASON_JOIN,     /**< For its end. */
    REASON_END,      /**< The other end of a pipe or socket. */
    REASON_RESULT,   /**< For the result of a task. */
    REASON_WORK,     /**< For what a thread works on. */
    REASON_UNBEGUN,  /**< For a task that an event loop has yet to make. */
    REASON_LOOP,     /**< A task: its event loop has to go on. */
    REASON_EXECUTOR, /**< For a thread of an executor that could begin. */
    REASON_CHOICE    /**< Of a node that is no thread or task: for one of several. */
};

/** What is said of an edge. */
struct wait_label {
    enum reason reason;
    const struct trace_wait *wait; /**< Or NULL. */
    bool certain;
    bool timed;
    size_t choices; /**< Of REASON_EXECUTOR: how many threads it has. */
};

/** A thread, a task, or one of several of them. */
struct wait_node {
    const struct psc_trace *trace; /**< NULL: it is a choice. */
    const struct trace_thread *thread;
    const struct trace_task *item; /**< NULL: tasks were not asked for. */
    psc_addr task;
    const char *task_name;
};

/** The graph in the making. */
struct waiting {
    struct psc_trace *const *traces;
    size_t trace_count;
    struct wait_graph graph;
    struct wait_node *nodes; /**< Of the same number in the graph. */
    size_t node_capacity;
    struct wait_label *labels;
    size_t label_count;
    size_t label_capacity;
    struct hash_table threads; /**< By process and tid. */
    struct hash_table tasks;   /**< By process and address. */
    struct hash_table choices; /**< By process and the queue of an executor. */
    size_t named_bytes;        /**< Of what members of cycles wait for. */
};

/** What a hash table of nodes has. */
struct known_node {
    uint64_t process;
    uint64_t id;
    size_t node;
};

/** PSC_OK, or PSC_ERR_MEMORY, as all of them. */
PSC_MUST_CHECK enum psc_status waiting_add_node(struct waiting *waiting,
                                                const struct wait_node *node, size_t *ret);
/** Nothing is added where a node is GRAPH_NO_NODE. */
PSC_MUST_CHECK enum psc_status waiting_add_edge(struct waiting *waiting, size_t from, size_t to,
                                                const struct wait_label *label);
/** The node of a thread; GRAPH_NO_NODE: none. */
size_t waiting_find_thread(const struct waiting *waiting, int32_t pid, int32_t tid);
/** The node of a task, which is made where nothing else is known of it. */
PSC_MUST_CHECK enum psc_status waiting_get_task(struct waiting *waiting,
                                                const struct psc_trace *trace, psc_addr task,
                                                const char *name, size_t *ret);
/** The node that stands for the threads of an executor; GRAPH_NO_NODE: it has none. */
PSC_MUST_CHECK enum psc_status waiting_get_executor(struct waiting *waiting,
                                                    const struct psc_trace *trace, psc_addr queue,
                                                    size_t *ret, size_t *ret_threads);

/* ---- thread_edges.c, task_edges.c ---- */

PSC_MUST_CHECK enum psc_status add_thread_nodes(struct waiting *waiting);
PSC_MUST_CHECK enum psc_status add_thread_edges(struct waiting *waiting);
PSC_MUST_CHECK enum psc_status add_task_nodes(struct waiting *waiting);
PSC_MUST_CHECK enum psc_status add_task_edges(struct waiting *waiting);
/** Whether the thread of an event loop waits for something else than events. */
bool is_loop_blocked(const struct trace_thread *thread);

/* ---- process_owners.c ---- */

/** Names the owners of locks that one process has and another waits for. */
PSC_MUST_CHECK enum psc_status find_process_owners(struct psc_trace *const *traces, size_t count);

/* ---- deadlock_text.c ---- */

/** The members and the sentence of a cycle, in the arena of a trace; NULL: out of memory. */
const struct trace_deadlock *describe_cycle(struct waiting *waiting,
                                            const struct graph_cycle *cycle,
                                            const struct psc_trace *trace);

#endif
