/**
 * @file
 * Room `graph`: nodes that are numbers from 0 on, and whom each one leads to.
 */
#ifndef PSC_GRAPH_H
#define PSC_GRAPH_H

#include "base.h"

#define GRAPH_NO_NODE SIZE_MAX

/** Whom the nodes lead to. */
struct graph {
    size_t node_count;
    const void *context;
    /**
     * @param edge  0 in the first call for a node, then what the last one left there: the function
     *              counts with it.
     * @return the next node that `node` leads to; GRAPH_NO_NODE: there are no more.
     */
    size_t (*next)(const void *context, size_t node, size_t *edge);
};

/**
 * Groups of nodes each of which is reached from each (strongly connected components): by Tarjan's
 * algorithm, without recursion, in time proportional to nodes and edges. A node that is in no cycle
 * is a group of its own.
 * @param ret        of each node the number of its group, from 0 on.
 * @param ret_count  of groups.
 * @return PSC_ERR_MEMORY
 */
PSC_MUST_CHECK enum psc_status graph_find_groups(const struct graph *graph, size_t *ret,
                                                 size_t *ret_count);

#endif
