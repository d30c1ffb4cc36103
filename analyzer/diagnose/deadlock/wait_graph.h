/** @file A graph of those that wait, and its knots. Shared by the files of room
 * `diagnose/deadlock`. */
#ifndef PSC_WAIT_GRAPH_H
#define PSC_WAIT_GRAPH_H

#include "graph.h"

/** How sure an edge is, the surest first. */
enum graph_level { GRAPH_CERTAIN, GRAPH_LIKELY, GRAPH_TIMED, GRAPH_LEVELS };

struct graph_edge {
    size_t from;
    size_t to;
    enum graph_level level;
    size_t label; /**< For the caller. */
};

/** Nodes are numbers. Zero-initialise. */
struct wait_graph {
    bool *any; /**< Of each node: one of its edges is enough for it to go on. */
    size_t node_count;
    size_t node_capacity;
    struct graph_edge *edges;
    size_t edge_count;
    size_t edge_capacity;
};

void graph_deinit(struct wait_graph *graph);
/** The number of the new node; GRAPH_NO_NODE: out of memory. */
size_t graph_add_node(struct wait_graph *graph, bool any);
/** `from` cannot go on before `to` does something. */
PSC_MUST_CHECK enum psc_status graph_add_edge(struct wait_graph *graph,
                                              const struct graph_edge *edge);

/** Edges of which each begins where the one before ended, and the first where the last ended. */
struct graph_cycle {
    const struct graph_edge **edges; /**< malloc'd */
    size_t count;
};

#define GRAPH_CYCLE_LIMIT 100u

/**
 * A short cycle of each knot: nodes that cannot go on whatever others do, each reached from each.
 * First those of certain edges, then knots in which there are others too. Takes time in proportion
 * to nodes and edges, times their logarithm.
 * @param ret  GRAPH_CYCLE_LIMIT of them; release with graph_cycles_deinit().
 */
PSC_MUST_CHECK enum psc_status graph_find_cycles(struct wait_graph *graph, struct graph_cycle *ret,
                                                 size_t *ret_count);
void graph_cycles_deinit(struct graph_cycle *cycles, size_t count);

#endif
