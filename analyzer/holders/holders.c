/* All of it, in its order: what is missing of the counts, who has it, the tree. */
#include "holders_private.h"

#include <stdlib.h>
#include <string.h>

/* A thread leads to its frames; these edges are between holders. */
static void connect_frames(struct outside *outside)
{
    const struct holders *holders = outside->holders;
    const uint32_t objects = holders->heap->object_count;
    for (uint32_t i = 0; i < holders->count; i++)
        if (holders->items[i].kind == HOLDER_FRAME)
            outside_add_edge(outside, holders->items[i].thread, objects + i);
}

/* ---- rows ---- */

static enum psc_status find_missing(struct holders *holders)
{
    const struct heap *heap = holders->heap;
    holders->missing = calloc((size_t)heap->object_count + 1, sizeof(*holders->missing));
    if (!holders->missing)
        return PSC_ERR_MEMORY;
    for (uint32_t i = 0; i < heap->edge_count; i++)
        holders->missing[heap->edges[i]]++;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        const struct heap_object *object = &heap->objects[i];
        const bool counted =
            object->refcount != UINT32_MAX && !(object->flags & HEAP_FLAG_IMMORTAL);
        holders->missing[i] = counted && object->refcount > holders->missing[i]
                                  ? object->refcount - holders->missing[i]
                                  : 0;
    }
    return PSC_OK;
}

/* Rows of holders stand behind those of objects in the heap's own arrays. */
static enum psc_status make_forward(struct outside *outside)
{
    struct holders *holders = outside->holders;
    struct heap *heap = holders->heap;
    const uint32_t objects = heap->object_count;
    const size_t edges = (size_t)heap->edge_count + outside->edge_count;
    holders->node_count = objects + holders->count;
    if (edges >= UINT32_MAX)
        return PSC_ERR_LIMIT;
    if (!array_reserve(&heap->first_edges, &heap->first_edge_capacity,
                       (size_t)holders->node_count + 2, sizeof(*heap->first_edges)) ||
        !array_reserve(&heap->edges, &heap->edge_capacity, edges + 1, sizeof(*heap->edges)))
        return PSC_ERR_MEMORY;
    uint32_t *const first = heap->first_edges;
    for (size_t i = (size_t)objects + 1; i <= (size_t)holders->node_count + 1; i++)
        first[i] = 0;
    for (size_t i = 0; i < outside->edge_count; i++)
        first[(size_t)outside->edges[i].node + 2]++;
    first[objects] = first[(size_t)objects + 1] = heap->edge_count;
    for (size_t i = (size_t)objects + 2; i <= (size_t)holders->node_count + 1; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < outside->edge_count; i++)
        heap->edges[first[(size_t)outside->edges[i].node + 1]++] = outside->edges[i].object;
    holders->forward.count = holders->node_count;
    holders->forward.first = first;
    holders->forward.nodes = heap->edges;
    return PSC_OK;
}

/* ---- the tree ---- */

static uint32_t find_type_named(const struct heap *heap, const char *name)
{
    for (uint32_t i = 0; i < heap->type_count; i++)
        if (!strcmp(heap->types[i].name, name))
            return i;
    return HEAP_NONE;
}

/* The namespace of a module counts to it, though each of its functions holds it, too. */
static enum psc_status mark_modules(struct holders *holders)
{
    const struct heap *heap = holders->heap;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        if (!holders_is_module(holders, i))
            continue;
        for (uint32_t edge = heap->first_edges[i]; edge < heap->first_edges[i + 1]; edge++) {
            const uint32_t dict = heap->edges[edge];
            if (heap->objects[dict].type != holders->dict_type)
                continue;
            uint64_t *item = hash_table_find(&holders->modules, dict);
            if (!item && !hash_table_add(&holders->modules, dict))
                return PSC_ERR_MEMORY;
            holders->flags[i] |= DOMINATOR_OWNER;
            holders->flags[dict] |= DOMINATOR_OWNED;
            break;
        }
    }
    return PSC_OK;
}

static uint64_t size_of_node(const void *context, uint32_t node)
{
    const struct holders *holders = context;
    return holders_is_object(holders, node) ? heap_object_bytes(holders->heap, node) +
                                                  heap_owned_bytes(&holders->heap->objects[node])
                                            : 0;
}

static enum psc_status mark_roots(struct holders *holders)
{
    const struct heap *heap = holders->heap;
    holders->flags = calloc((size_t)holders->node_count + 1, 1);
    if (!holders->flags)
        return PSC_ERR_MEMORY;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        const struct heap_object *object = &heap->objects[i];
        const bool immortal =
            object->refcount == UINT32_MAX || (object->flags & HEAP_FLAG_IMMORTAL);
        const bool unheld = holders->held_by.first[i] == holders->held_by.first[i + 1];
        if ((object->flags & HEAP_FLAG_STATIC) || holders->missing[i] || (immortal && unheld))
            holders->flags[i] = DOMINATOR_ROOT;
    }
    for (uint32_t i = heap->object_count; i < holders->node_count; i++)
        if (holders_get(holders, i)->kind != HOLDER_FRAME)
            holders->flags[i] = DOMINATOR_ROOT;
    return mark_modules(holders);
}

static enum psc_status sum_types(struct holders *holders)
{
    const struct heap *heap = holders->heap;
    const size_t groups = (size_t)heap->type_count + 1; // The last one: no object.
    uint32_t *group = malloc(((size_t)holders->node_count + 1) * sizeof(*group));
    holders->type_retained = calloc(groups, sizeof(*holders->type_retained));
    enum psc_status status = group && holders->type_retained ? PSC_OK : PSC_ERR_MEMORY;
    for (uint32_t i = 0; status == PSC_OK && i < holders->node_count; i++)
        group[i] = holders_is_object(holders, i) ? heap->objects[i].type : heap->type_count;
    if (status == PSC_OK)
        status = dominators_sum_groups(&holders->tree, group, groups, holders->type_retained);
    free(group);
    return status;
}

static enum psc_status make_tree(struct holders *holders)
{
    const struct dominator_input input = {.forward = holders->forward,
                                          .holders = holders->held_by,
                                          .flags = holders->flags,
                                          .size = size_of_node,
                                          .context = holders};
    enum psc_status status = dominators_create(&input, &holders->tree);
    for (uint32_t i = 0; status == PSC_OK && i < holders->node_count; i++) {
        const uint32_t node = holders->tree.order[i];
        const uint64_t size = size_of_node(holders, node);
        holders->total += size;
        if (i >= holders->tree.reached) {
            holders->garbage++;
            holders->garbage_bytes += size;
        }
    }
    return status == PSC_OK ? sum_types(holders) : status;
}

enum psc_status holders_create(struct heap *heap, struct holders **ret)
{
    struct holders *holders = calloc(1, sizeof(*holders));
    struct outside outside = {.holders = holders};
    if (!holders)
        return PSC_ERR_MEMORY;
    holders->heap = heap;
    hash_table_init(&holders->modules, sizeof(uint64_t));
    holders->module_type = find_type_named(heap, "module");
    holders->dict_type = find_type_named(heap, "dict");
    holders->frame_type = find_type_named(heap, "frame");
    enum psc_status status = find_missing(holders);
    if (status == PSC_OK) {
        outside_take_threads(&outside);
        outside_take_words(&outside);
        connect_frames(&outside);
        status = outside.failed ? PSC_ERR_MEMORY : make_forward(&outside);
    }
    free(outside.edges);
    free(outside.extents);
    if (status == PSC_OK)
        status = holder_rows_reverse(&holders->forward, &holders->held_by);
    if (status == PSC_OK)
        status = mark_roots(holders);
    if (status == PSC_OK)
        status = make_tree(holders);
    if (status == PSC_OK)
        *ret = holders;
    else
        holders_destroy(holders);
    return status;
}

void holders_destroy(struct holders *holders)
{
    if (!holders)
        return;
    holder_rows_deinit(&holders->forward);
    holder_rows_deinit(&holders->held_by);
    dominators_deinit(&holders->tree);
    hash_table_deinit(&holders->modules);
    free(holders->items);
    free(holders->flags);
    free(holders->missing);
    free(holders->type_retained);
    free(holders->toward);
    free(holders->ranks);
    free(holders);
}
