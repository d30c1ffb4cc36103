#include "graph.h"

#include <stdlib.h>

#define NOT_MET SIZE_MAX

struct node {
    size_t number; /* In the order of meeting. */
    size_t low;    /* The smallest number that is known to be reached and has no group yet. */
    size_t edge;   /* For graph.next(). */
};

struct search {
    const struct graph *graph;
    struct node *nodes;
    size_t *way; /* The nodes from the root to the one at hand. */
    size_t way_count;
    size_t *open; /* Nodes whose group is not known yet. */
    size_t open_count;
    size_t met;
    size_t *groups; /* NOT_MET: not known yet. */
    size_t group_count;
};

static void enter(struct search *search, size_t at)
{
    struct node *node = &search->nodes[at];
    node->number = node->low = search->met++;
    search->way[search->way_count++] = at;
    search->open[search->open_count++] = at;
}

static void leave(struct search *search, size_t at)
{
    const struct node *node = &search->nodes[at];
    search->way_count--;
    if (search->way_count) {
        struct node *before = &search->nodes[search->way[search->way_count - 1]];
        before->low = node->low < before->low ? node->low : before->low;
    }
    if (node->low != node->number)
        return;
    size_t member;
    do {
        member = search->open[--search->open_count];
        search->groups[member] = search->group_count;
    } while (member != at);
    search->group_count++;
}

static void walk(struct search *search, size_t root)
{
    const struct graph *graph = search->graph;
    enter(search, root);
    while (search->way_count) {
        size_t at = search->way[search->way_count - 1];
        struct node *node = &search->nodes[at];
        size_t to = graph->next(graph->context, at, &node->edge);
        if (to == GRAPH_NO_NODE) {
            leave(search, at);
            continue;
        }
        const struct node *next = &search->nodes[to];
        if (next->number == NOT_MET)
            enter(search, to);
        else if (search->groups[to] == NOT_MET)
            node->low = next->number < node->low ? next->number : node->low;
    }
}

enum psc_status graph_find_groups(const struct graph *graph, size_t *ret, size_t *ret_count)
{
    size_t count = graph->node_count;
    *ret_count = 0;
    if (!count)
        return PSC_OK;
    PSC_CLEANUP(cleanup_free) struct node *nodes = calloc(count, sizeof(*nodes));
    PSC_CLEANUP(cleanup_free) size_t *way = calloc(count, sizeof(*way));
    PSC_CLEANUP(cleanup_free) size_t *open = calloc(count, sizeof(*open));
    if (!nodes || !way || !open)
        return PSC_ERR_MEMORY;
    struct search search = {
        .graph = graph, .nodes = nodes, .way = way, .open = open, .groups = ret};
    for (size_t i = 0; i < count; i++) {
        nodes[i].number = NOT_MET;
        ret[i] = NOT_MET;
    }
    for (size_t i = 0; i < count; i++)
        if (nodes[i].number == NOT_MET)
            walk(&search, i);
    *ret_count = search.group_count;
    return PSC_OK;
}
