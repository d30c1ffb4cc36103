/*
 * Knots of a graph. A node that needs all it waits for is stuck when one of these is; one that
 * needs any, when all are. What is stuck for ever is the largest set for which that holds: what is
 * not stuck is taken away until nothing more can be. In what is left there are groups of nodes each
 * of which is reached from each.
 */
#include "wait_graph.h"

#include <stdlib.h>

struct node {
    size_t first;   /* Of its edges. */
    size_t pending; /* Edges that lead to stuck nodes. */
    bool stuck;
    bool told;
};

struct search {
    struct wait_graph *graph;
    enum graph_level level;
    struct node *nodes;
    const struct graph_edge **into; /* Edges by the node that they lead to, */
    size_t *into_first;             /* and where those of each begin. */
    size_t *way;                    /* A queue of nodes. */
    size_t *group;                  /* Of each node. */
    const struct graph_edge **by;   /* How a node was reached. */
    size_t groups;
    struct graph_cycle *cycles;
    size_t cycle_count;
};

void graph_deinit(struct wait_graph *graph)
{
    free(graph->any);
    free(graph->edges);
}

size_t graph_add_node(struct wait_graph *graph, bool any)
{
    void *nodes = graph->any;
    if (!array_reserve(&nodes, &graph->node_capacity, graph->node_count + 1, sizeof(bool)))
        return GRAPH_NO_NODE;
    graph->any = nodes;
    graph->any[graph->node_count] = any;
    return graph->node_count++;
}

enum psc_status graph_add_edge(struct wait_graph *graph, const struct graph_edge *edge)
{
    void *edges = graph->edges;
    if (!array_reserve(&edges, &graph->edge_capacity, graph->edge_count + 1, sizeof(*edge)))
        return PSC_ERR_MEMORY;
    graph->edges = edges;
    graph->edges[graph->edge_count++] = *edge;
    return PSC_OK;
}

/* ---- tables ---- */

static int compare_edges(const void *left, const void *right)
{
    const struct graph_edge *a = left;
    const struct graph_edge *b = right;
    if (a->from != b->from)
        return COMPARE(a->from, b->from);
    return a->level != b->level ? COMPARE(a->level, b->level) : COMPARE(a->to, b->to);
}

static void index_edges(struct search *search)
{
    struct wait_graph *graph = search->graph;
    size_t nodes = graph->node_count;
    qsort(graph->edges, graph->edge_count, sizeof(*graph->edges), compare_edges);
    for (size_t i = graph->edge_count; i-- > 0;) {
        search->nodes[graph->edges[i].from].first = i;
        search->into_first[graph->edges[i].to + 1]++;
    }
    for (size_t i = 0; i < nodes; i++)
        search->into_first[i + 1] += search->into_first[i];
    for (size_t i = 0; i < nodes; i++)
        search->way[i] = search->into_first[i];
    for (size_t i = 0; i < graph->edge_count; i++)
        search->into[search->way[graph->edges[i].to]++] = &graph->edges[i];
}

static bool is_followed(const struct search *search, const struct graph_edge *edge)
{
    return edge->level <= search->level && search->nodes[edge->to].stuck;
}

/* ---- what is stuck ---- */

static size_t count_edges(const struct search *search, size_t node)
{
    const struct wait_graph *graph = search->graph;
    size_t count = 0;
    size_t i = search->nodes[node].first;
    for (; i < graph->edge_count && graph->edges[i].from == node; i++)
        count++;
    return count;
}

static bool is_stuck(const struct search *search, size_t node)
{
    size_t pending = search->nodes[node].pending;
    return pending && (!search->graph->any[node] || pending == count_edges(search, node));
}

static void free_nodes(struct search *search)
{
    const struct wait_graph *graph = search->graph;
    size_t queued = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        search->nodes[i].pending = 0;
        search->nodes[i].stuck = true;
    }
    for (size_t i = 0; i < graph->edge_count; i++)
        search->nodes[graph->edges[i].from].pending += graph->edges[i].level <= search->level;
    for (size_t i = 0; i < graph->node_count; i++)
        if (!is_stuck(search, i)) {
            search->nodes[i].stuck = false;
            search->way[queued++] = i;
        }
    for (size_t next = 0; next < queued; next++) {
        size_t gone = search->way[next];
        for (size_t i = search->into_first[gone]; i < search->into_first[gone + 1]; i++) {
            size_t node = search->into[i]->from;
            if (search->into[i]->level > search->level || !search->nodes[node].stuck)
                continue;
            search->nodes[node].pending--;
            if (is_stuck(search, node))
                continue;
            search->nodes[node].stuck = false;
            search->way[queued++] = node;
        }
    }
}

/* ---- groups ---- */

/* graph.next: from a node that is not stuck nothing is followed. */
static size_t next_stuck(const void *context, size_t node, size_t *edge)
{
    const struct search *search = context;
    const struct wait_graph *graph = search->graph;
    size_t i = search->nodes[node].first + *edge;
    for (; search->nodes[node].stuck && i < graph->edge_count && graph->edges[i].from == node; i++)
        if (is_followed(search, &graph->edges[i])) {
            *edge = i + 1 - search->nodes[node].first;
            return graph->edges[i].to;
        }
    return GRAPH_NO_NODE;
}

static enum psc_status find_groups(struct search *search)
{
    const struct graph graph = {
        .node_count = search->graph->node_count, .context = search, .next = next_stuck};
    return graph_find_groups(&graph, search->group, &search->groups);
}

/* ---- cycles ---- */

/* The edges from `root` back to it by the shortest way within its group, or none. */
static const struct graph_edge *find_way_back(struct search *search, size_t root)
{
    const struct wait_graph *graph = search->graph;
    size_t queued = 0;
    for (size_t i = 0; i < graph->node_count; i++)
        search->by[i] = NULL;
    search->way[queued++] = root;
    for (size_t next = 0; next < queued; next++) {
        size_t at = search->way[next];
        size_t i = search->nodes[at].first;
        for (; i < graph->edge_count && graph->edges[i].from == at; i++) {
            const struct graph_edge *edge = &graph->edges[i];
            if (!is_followed(search, edge) || search->group[edge->to] != search->group[root])
                continue;
            if (edge->to == root)
                return edge;
            if (!search->by[edge->to]) {
                search->by[edge->to] = edge;
                search->way[queued++] = edge->to;
            }
        }
    }
    return NULL;
}

static enum psc_status take_cycle(struct search *search, size_t root)
{
    const struct graph_edge *last = find_way_back(search, root);
    size_t count = 0;
    if (!last)
        return PSC_OK;
    for (const struct graph_edge *edge = last; edge; edge = search->by[edge->from])
        count += 1;
    struct graph_cycle *cycle = &search->cycles[search->cycle_count];
    cycle->edges = calloc(count, sizeof(const struct graph_edge *));
    if (!cycle->edges)
        return PSC_ERR_MEMORY;
    cycle->count = count;
    for (const struct graph_edge *edge = last; edge; edge = search->by[edge->from])
        cycle->edges[--count] = edge;
    search->cycle_count++;
    return PSC_OK;
}

static bool waits_for_itself(const struct search *search, size_t node)
{
    const struct wait_graph *graph = search->graph;
    size_t i = search->nodes[node].first;
    for (; i < graph->edge_count && graph->edges[i].from == node; i++)
        if (graph->edges[i].to == node && graph->edges[i].level <= search->level)
            return true;
    return false;
}

/* A group of which a surer cycle was told is not told again. */
static enum psc_status take_cycles(struct search *search)
{
    size_t count = search->graph->node_count;
    PSC_CLEANUP(cleanup_free) bool *told = calloc(search->groups + 1, sizeof(*told));
    PSC_CLEANUP(cleanup_free) size_t *sizes = calloc(search->groups + 1, sizeof(*sizes));
    if (!told || !sizes)
        return PSC_ERR_MEMORY;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; i < count; i++)
        if (search->nodes[i].stuck) {
            told[search->group[i]] |= search->nodes[i].told;
            sizes[search->group[i]]++;
        }
    for (size_t i = 0; status == PSC_OK && i < count; i++) {
        size_t group = search->group[i];
        size_t before = search->cycle_count;
        if (!search->nodes[i].stuck || told[group] || before == GRAPH_CYCLE_LIMIT ||
            (sizes[group] == 1 && !waits_for_itself(search, i)))
            continue;
        status = take_cycle(search, i);
        told[group] = search->cycle_count != before;
    }
    for (size_t i = 0; i < count; i++)
        search->nodes[i].told |= search->nodes[i].stuck && told[search->group[i]];
    return status;
}

static void search_deinit(struct search *search)
{
    free(search->nodes);
    free(search->into);
    free(search->into_first);
    free(search->way);
    free(search->group);
    free(search->by);
}

enum psc_status graph_find_cycles(struct wait_graph *graph, struct graph_cycle *ret,
                                  size_t *ret_count)
{
    size_t nodes = graph->node_count;
    *ret_count = 0;
    if (!nodes || !graph->edge_count)
        return PSC_OK;
    PSC_CLEANUP(search_deinit)
    struct search search = {
        .graph = graph,
        .nodes = calloc(nodes, sizeof(*search.nodes)),
        .into = calloc(graph->edge_count, sizeof(const struct graph_edge *)),
        .into_first = calloc(nodes + 1, sizeof(*search.into_first)),
        .way = calloc(nodes, sizeof(*search.way)),
        .group = calloc(nodes, sizeof(*search.group)),
        .by = calloc(nodes, sizeof(const struct graph_edge *)),
        .cycles = ret,
    };
    if (!search.nodes || !search.into || !search.into_first || !search.way || !search.group ||
        !search.by)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < nodes; i++)
        search.nodes[i].first = graph->edge_count;
    index_edges(&search);
    enum psc_status status = PSC_OK;
    for (enum graph_level level = GRAPH_CERTAIN; status == PSC_OK && level < GRAPH_LEVELS;
         level++) {
        search.level = level;
        free_nodes(&search);
        status = find_groups(&search);
        if (status == PSC_OK)
            status = take_cycles(&search);
    }
    *ret_count = search.cycle_count;
    return status;
}

void graph_cycles_deinit(struct graph_cycle *cycles, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(cycles[i].edges);
}
