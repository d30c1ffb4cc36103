/* Holders that are no objects, and what they hold, as it is gathered. */
#include "holders_private.h"

uint32_t outside_add_holder(struct outside *outside, struct holder holder)
{
    struct holders *holders = outside->holders;
    if (holders->count >= HOLDER_LIMIT ||
        !array_reserve(&holders->items, &holders->capacity, holders->count + (size_t)1,
                       sizeof(*holders->items))) {
        outside->failed |= holders->count < HOLDER_LIMIT;
        return HOLDERS_NO_NODE;
    }
    holders->items[holders->count] = holder;
    return holders->heap->object_count + holders->count++;
}

void outside_add_edge(struct outside *outside, uint32_t node, uint32_t object)
{
    struct holders *holders = outside->holders;
    if (outside->edge_count >= OUTSIDE_EDGE_LIMIT)
        return;
    if (!array_reserve(&outside->edges, &outside->edge_capacity, outside->edge_count + 1,
                       sizeof(*outside->edges))) {
        outside->failed = true;
        return;
    }
    outside->edges[outside->edge_count++] = (struct outside_edge){node, object};
    if (object < holders->heap->object_count && holders->missing[object])
        holders->missing[object]--;
}

void outside_add_extent(struct outside *outside, psc_addr start, psc_addr end, uint32_t node)
{
    if (array_reserve(&outside->extents, &outside->extent_capacity, outside->extent_count + 1,
                      sizeof(*outside->extents)))
        outside->extents[outside->extent_count++] = (struct extent){start, end, node};
    else
        outside->failed = true;
}
