/*
 * What objects of types that are not known refer to from memory that they keep beside their own:
 * the children of an XML element, the state of a module in C. A word there counts as a reference
 * only while its object has more of them than were found: such memory may have been another's. Of
 * several that claim one those in the fullest tables have it.
 */
#include "references.h"

#include <stdlib.h>

#define OBJECT_HEADER 16u
/* From the object to a block, from that to one more; blocks that large are data, and lead nowhere.
 */
#define DEPTH_LIMIT     2u
#define STRUCTURE_LIMIT 4096u
/* Words that are looked at for a label. */
#define LABEL_LIMIT (UINT64_C(1) << 22)

struct kept_walk {
    struct heap_walk walk;
    /* A word of memory that the object keeps; false: no more are wanted. */
    bool (*take)(struct kept_walk *kept, psc_addr word, uint64_t number);
    void (*end)(struct kept_walk *kept, uint64_t words); /* Of a block, with so many; or NULL. */
    void *context;
    uint64_t left; /* Words of them. */
};

static uint32_t block_of(struct heap *heap, psc_addr address)
{
    for (uint32_t hooks = 0; hooks <= 2 * heap->hook_size; hooks += 16) {
        const uint32_t block = heap_block_at(heap, address - hooks);
        if (block != HEAP_NONE)
            return block;
    }
    return HEAP_NONE;
}

static bool is_kept(const struct heap *heap, uint32_t block, uint32_t object)
{
    return block != HEAP_NONE && heap_block_use(heap, block) == HEAP_BUFFER &&
           heap->blocks[block].owner == object;
}

/* The words of one block. */
static void take_words(struct kept_walk *kept, const uint8_t *bytes, uint64_t count)
{
    uint64_t words = 0;
    for (uint64_t i = 0; i < count && !kept->walk.stopped; i++) {
        const psc_addr word = load_u64(bytes + 8 * i);
        words += word != 0;
        if (!kept->left-- || !heap_spend(&kept->walk, 1) || !kept->take(kept, word, i))
            kept->walk.stopped = true;
    }
    if (kept->end)
        kept->end(kept, words);
}

/* What further blocks they lead to is told to `follow`. */
static void take_block(struct kept_walk *kept, uint32_t block,
                       void (*follow)(struct kept_walk *kept, uint32_t block))
{
    struct heap *heap = kept->walk.heap;
    const struct heap_block *at = &heap->blocks[block];
    const uint64_t size = heap_block_bytes(at);
    const uint8_t *bytes = heap_at(heap, at->address, size);
    psc_addr before = 0;
    if (!bytes)
        return;
    take_words(kept, bytes, size / 8);
    for (uint64_t i = 0; follow && size <= STRUCTURE_LIMIT && i < size / 8 && !kept->walk.stopped;
         i++) {
        const psc_addr word = load_u64(bytes + 8 * i);
        if (!word || word & 15 || word == before)
            continue;
        before = word;
        if (kept->walk.owns)
            heap_own(&kept->walk, word);
        const uint32_t next = block_of(heap, word);
        if (next != block && is_kept(heap, next, kept->walk.object))
            follow(kept, next);
    }
}

static void take_last(struct kept_walk *kept, uint32_t block)
{
    take_block(kept, block, NULL);
}

/* All that the object's own words lead to. */
static void take_kept(struct kept_walk *kept)
{
    struct heap *heap = kept->walk.heap;
    const struct heap_object *object = &heap->objects[kept->walk.object];
    const struct heap_type_facts *facts = &heap->facts[object->type];
    const uint64_t size = facts->basic_size;
    const uint8_t *bytes = heap_at(heap, object->address, size);
    psc_addr before = 0;
    _Static_assert(DEPTH_LIMIT == 2, "take_last() takes the last ones");
    for (uint64_t at = OBJECT_HEADER; bytes && at + 8 <= size && !kept->walk.stopped; at += 8) {
        const psc_addr word = load_u64(bytes + at);
        if (!word || word & 15 || word == before)
            continue;
        const uint32_t block = block_of(heap, word);
        if (is_kept(heap, block, kept->walk.object))
            take_block(kept, block, take_last);
        before = word;
    }
}

static bool may_keep_references(const struct heap *heap, const struct heap_object *object)
{
    const enum heap_kind kind = heap->facts[object->type].kind;
    return (kind == HEAP_KIND_OTHER || kind == HEAP_KIND_MODULE) && object->owned_units &&
           !(object->flags & HEAP_FLAG_EXACT);
}

/* ---- all of them ---- */

struct kept_edge {
    uint32_t source;
    uint32_t target;
    uint32_t share; /* Of SHARE_ALL: how many of the block's words but zeros lead to objects. */
    uint32_t count; /* So many are these. */
};
#define SHARE_ALL 1024u

struct kept_edges {
    struct kept_edge *items; /* By source. */
    size_t count;
    size_t capacity;
    size_t rated; /* Those before have their share. */
    bool failed;
};

static void kept_edges_deinit(struct kept_edges *edges)
{
    free(edges->items);
}

static bool is_counted(const struct heap_object *object)
{
    return object->block != HEAP_NONE && !(object->flags & HEAP_FLAG_IMMORTAL) &&
           object->refcount != UINT32_MAX;
}

static bool add_candidate(struct kept_walk *kept, psc_addr word, uint64_t number)
{
    struct heap *heap = kept->walk.heap;
    struct kept_edges *edges = kept->context;
    (void)number;
    const uint32_t target = word && !(word & 7) ? heap_find_object(heap, word) : HEAP_NONE;
    if (target == HEAP_NONE || target == kept->walk.object || !is_counted(&heap->objects[target]))
        return true;
    if (!array_reserve(&edges->items, &edges->capacity, edges->count + 1, sizeof(*edges->items))) {
        edges->failed = true;
        return false;
    }
    edges->items[edges->count++] =
        (struct kept_edge){.source = kept->walk.object, .target = target};
    return true;
}

/* In a table nearly all words lead to objects; what was there before fills some of a structure. */
static void rate(struct kept_walk *kept, uint64_t words)
{
    struct kept_edges *edges = kept->context;
    const uint64_t count = edges->count - edges->rated;
    for (; edges->rated < edges->count; edges->rated++) {
        edges->items[edges->rated].share = (uint32_t)(SHARE_ALL * count / words);
        edges->items[edges->rated].count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    }
}

static void find_candidates(struct heap *heap, struct kept_edges *edges)
{
    struct kept_walk kept = {.walk = {.heap = heap, .owns = true},
                             .take = add_candidate,
                             .end = rate,
                             .context = edges,
                             .left = UINT64_MAX};
    psc_addr swept = 0;
    uint64_t released = kept.left;
    for (uint32_t i = 0; i < heap->object_count && !edges->failed && !heap->cut; i++) {
        struct heap_object *object = &heap->objects[i];
        heap_sweep_to(heap, &swept, i);
        // What they keep may lie anywhere.
        if (released - kept.left >= HEAP_SWEEP_SIZE / sizeof(uint64_t)) {
            heap_release_all(heap);
            released = kept.left;
        }
        if (!may_keep_references(heap, object))
            continue;
        kept.walk.object = i;
        kept.walk.owned = 0;
        kept.walk.stopped = false;
        take_kept(&kept);
        const uint64_t units = object->owned_units + kept.walk.owned / 16;
        object->owned_units = units < UINT32_MAX ? (uint32_t)units : UINT32_MAX;
    }
}

static int compare_shares(const void *a, const void *b)
{
    const struct kept_edge *left = a;
    const struct kept_edge *right = b;
    if (left->share != right->share)
        return COMPARE(right->share, left->share);
    return left->count != right->count ? COMPARE(right->count, left->count)
                                       : COMPARE(left->source, right->source);
}

static int compare_sources(const void *a, const void *b)
{
    const struct kept_edge *left = a;
    const struct kept_edge *right = b;
    return left->source != right->source ? COMPARE(left->source, right->source)
                                         : COMPARE(left->target, right->target);
}

/* Those whose target has references that nobody is known to have; tables come first. */
static void keep_missing(struct heap *heap, uint32_t *found, struct kept_edges *edges)
{
    size_t left = 0;
    for (size_t i = 0; i < heap->edge_count; i++)
        found[heap->edges[i]]++;
    qsort(edges->items, edges->count, sizeof(*edges->items), compare_shares);
    for (size_t i = 0; i < edges->count; i++) {
        const uint32_t target = edges->items[i].target;
        if (found[target] < heap->objects[target].refcount) {
            found[target]++;
            edges->items[left++] = edges->items[i];
        }
    }
    edges->count = left;
    if (left)
        qsort(edges->items, left, sizeof(*edges->items), compare_sources);
}

/* Behind the others of each object; from the end on, so that there is room. */
static bool insert(struct heap *heap, const struct kept_edges *edges)
{
    size_t add = edges->count;
    const size_t all = (size_t)heap->edge_count + add;
    if (all > HEAP_REFERENCE_LIMIT ||
        !array_reserve(&heap->edges, &heap->edge_capacity, all, sizeof(*heap->edges)))
        return all > HEAP_REFERENCE_LIMIT;
    for (uint32_t i = heap->object_count; add && i-- > 0;) {
        size_t at = (size_t)heap->first_edges[i + 1] + add;
        heap->first_edges[i + 1] = (uint32_t)at;
        while (add && edges->items[add - 1].source == i)
            heap->edges[--at] = edges->items[--add].target;
        const size_t first = heap->first_edges[i];
        memmove(&heap->edges[first + add], &heap->edges[first],
                (at - first - add) * sizeof(*heap->edges));
    }
    heap->edge_count = (uint32_t)all;
    return true;
}

enum psc_status heap_kept_references_find(struct heap *heap)
{
    struct kept_edges edges PSC_CLEANUP(kept_edges_deinit) = {0};
    find_candidates(heap, &edges);
    if (edges.failed)
        return PSC_ERR_MEMORY;
    if (!edges.count)
        return PSC_OK;
    uint32_t *found PSC_CLEANUP(cleanup_free) = calloc(heap->object_count, sizeof(*found));
    if (!found)
        return PSC_ERR_MEMORY;
    keep_missing(heap, found, &edges);
    return insert(heap, &edges) ? PSC_OK : PSC_ERR_MEMORY;
}

/* ---- one of them ---- */

struct word_search {
    psc_addr wanted;
    uint64_t number;
    bool found;
};

static bool is_wanted(struct kept_walk *kept, psc_addr word, uint64_t number)
{
    struct word_search *search = kept->context;
    search->found = word == search->wanted;
    search->number = number;
    return !search->found;
}

bool heap_kept_reference_at(struct heap *heap, uint32_t object, uint32_t target, uint64_t *ret)
{
    struct word_search search = {.wanted = heap->objects[target].address};
    struct kept_walk kept = {.walk = {.heap = heap, .object = object},
                             .take = is_wanted,
                             .context = &search,
                             .left = LABEL_LIMIT};
    if (may_keep_references(heap, &heap->objects[object]))
        take_kept(&kept);
    *ret = search.number;
    return search.found;
}
