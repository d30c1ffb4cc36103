/*
 * The shortest ways from roots: breadth first from all roots of one rank, then from those of the
 * next one into what is left, once for all nodes.
 */
#include "holders.h"

#include <stdlib.h>
#include <string.h>

#define NOT_MET UINT8_MAX

struct search {
    struct holders *holders;
    uint32_t *queue;
    uint32_t end;
};

static void add_root(struct search *search, uint32_t node, enum holder_rank rank)
{
    struct holders *holders = search->holders;
    if (node == HEAP_NONE || holders->ranks[node] != NOT_MET)
        return;
    holders->ranks[node] = (uint8_t)rank;
    holders->toward[node] = HOLDERS_NO_NODE;
    search->queue[search->end++] = node;
}

static void add_roots(struct search *search, enum holder_rank rank)
{
    const struct holders *holders = search->holders;
    const struct heap *heap = holders->heap;
    const uint32_t objects = heap->object_count;
    if (rank == HOLDER_RANK_CLASS) {
        for (uint32_t i = 0; i < heap->type_count; i++)
            add_root(search, heap->types[i].object, rank);
        return;
    }
    if (rank == HOLDER_RANK_NATIVE) {
        for (uint32_t i = objects; i < holders->node_count; i++)
            add_root(search, i, rank);
        return;
    }
    for (uint32_t i = 0; i < objects; i++) {
        const bool is_static = heap->objects[i].flags & HEAP_FLAG_STATIC;
        if (rank == HOLDER_RANK_NAMED     ? holders_is_module(holders, i)
            : rank == HOLDER_RANK_UNKNOWN ? !is_static && (holders->flags[i] & DOMINATOR_ROOT)
                                          : rank == HOLDER_RANK_STATIC && is_static)
            add_root(search, i, rank);
    }
    for (uint32_t i = objects; rank == HOLDER_RANK_NAMED && i < holders->node_count; i++) {
        const struct holder *holder = holders_get(holders, i);
        if (holder->kind == HOLDER_FRAME)
            add_root(search, holder->object == HEAP_NONE ? i : holder->object, rank);
    }
}

static void spread(struct search *search, uint32_t *start, enum holder_rank rank)
{
    struct holders *holders = search->holders;
    const struct holder_rows *rows = &holders->forward;
    for (; *start < search->end; (*start)++) {
        const uint32_t node = search->queue[*start];
        for (uint32_t i = rows->first[node]; i < rows->first[node + 1]; i++) {
            const uint32_t to = rows->nodes[i];
            if (holders->ranks[to] != NOT_MET)
                continue;
            holders->ranks[to] = (uint8_t)rank;
            holders->toward[to] = node;
            search->queue[search->end++] = to;
        }
    }
}

static enum psc_status search_all(struct holders *holders)
{
    const size_t count = (size_t)holders->node_count + 1;
    if (holders->toward)
        return PSC_OK;
    uint32_t *toward = malloc(count * sizeof(*toward));
    struct search search = {.holders = holders, .queue = malloc(count * sizeof(*search.queue))};
    uint32_t start = 0;
    uint8_t *ranks = malloc(count);
    if (!toward || !search.queue || !ranks) {
        free(toward);
        free(search.queue);
        free(ranks);
        return PSC_ERR_MEMORY;
    }
    holders->toward = toward;
    holders->ranks = ranks;
    memset(ranks, NOT_MET, count);
    for (enum holder_rank rank = HOLDER_RANK_NAMED; rank < HOLDER_RANK_GARBAGE; rank++) {
        add_roots(&search, rank);
        spread(&search, &start, rank);
    }
    for (uint32_t i = 0; i < holders->node_count; i++) {
        add_root(&search, i, HOLDER_RANK_GARBAGE);
        spread(&search, &start, HOLDER_RANK_GARBAGE);
    }
    free(search.queue);
    return PSC_OK;
}

enum psc_status holders_find_next(struct holders *holders, uint32_t node, uint32_t *ret)
{
    enum psc_status status = search_all(holders);
    *ret = status == PSC_OK ? holders->toward[node] : HOLDERS_NO_NODE;
    return status;
}

enum psc_status holders_find_way(struct holders *holders, uint32_t node, struct held_way *ret)
{
    size_t capacity = 0;
    *ret = (struct held_way){0};
    enum psc_status status = search_all(holders);
    if (status != PSC_OK)
        return status;
    ret->rank = (enum holder_rank)holders->ranks[node];
    for (uint32_t at = node; at != HOLDERS_NO_NODE; at = holders->toward[at]) {
        if (ret->count >= HELD_WAY_LIMIT)
            break;
        if (!array_reserve(&ret->nodes, &capacity, ret->count + 1, sizeof(*ret->nodes))) {
            held_way_deinit(ret);
            return PSC_ERR_MEMORY;
        }
        ret->nodes[ret->count++] = at;
    }
    for (size_t i = 0; i < ret->count / 2; i++) {
        const uint32_t node_there = ret->nodes[i];
        ret->nodes[i] = ret->nodes[ret->count - 1 - i];
        ret->nodes[ret->count - 1 - i] = node_there;
    }
    return PSC_OK;
}

void held_way_deinit(struct held_way *way)
{
    free(way->nodes);
    *way = (struct held_way){0};
}
