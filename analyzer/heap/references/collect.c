/* All references in rows, the counts of them, and who keeps which block. */
#include "references.h"

#include <stdlib.h>

/* Words that are looked at in any case. */
#define WORDS_LEAST (UINT64_C(1) << 20)

#define PAGE UINT64_C(4096)
/* Before what malloc() gives of a mapping of its own (glibc, malloc/malloc.c). */
#define MAPPED_HEADER 16u

struct collection {
    struct heap *heap;
    bool failed;
    size_t unread; /* References to memory that could not be read. */
};

static bool add_edge(struct heap_walk *walk, uint32_t target, const struct heap_reference *what)
{
    struct collection *into = walk->context;
    struct heap *heap = into->heap;
    (void)what;
    if (heap->edge_count >= HEAP_REFERENCE_LIMIT)
        return false;
    if ((size_t)heap->edge_count + 1 > heap->edge_capacity &&
        !array_reserve(&heap->edges, &heap->edge_capacity, (size_t)heap->edge_count + 1,
                       sizeof(*heap->edges))) {
        into->failed = true;
        return false;
    }
    heap->edges[heap->edge_count++] = target;
    return true;
}

/* Whether a walk over chunks passed that place over, behind a damaged header. */
static bool is_passed_over(struct heap_walk *walk, psc_addr address)
{
    const struct heap *heap = walk->heap;
    if (!heap_spend(walk, heap->damage_count))
        return true;
    for (size_t i = 0; i < heap->damage_count; i++) {
        const struct heap_damage *damage = &heap->damage[i];
        if (damage->kind == HEAP_DAMAGE_CHUNK && address >= damage->address &&
            (!damage->resumed || address < damage->resumed))
            return true;
    }
    return false;
}

static bool is_in_pool(struct heap *heap, psc_addr address)
{
    const psc_addr pool = address & ~(heap->layout.pool_size - 1);
    const size_t at = SORTED_BELOW(heap->blocks, address, (size_t)heap->block_count, pool);
    return at < heap->block_count && heap->blocks[at].address - pool < heap->layout.pool_size &&
           heap_block_layer(heap, (uint32_t)at) == HEAP_PYMALLOC;
}

/* Only where an allocator's bookkeeping was read is it certain that nothing is given away there:
 * in pools, in arenas, and where a chunk with a mapping of its own would begin. */
static bool is_given_away(struct heap_walk *walk, const struct heap_range *range, psc_addr address)
{
    struct heap *heap = walk->heap;
    if (range->module || address & 7)
        return range->module;
    if (is_in_pool(heap, address))
        return false;
    if (heap->allocator || !heap->glibc.arenas || is_passed_over(walk, address))
        return true;
    const bool may_be_mapped = (address & (PAGE - 1)) == MAPPED_HEADER;
    return !range->arena && !may_be_mapped;
}

/* Memory that the core does not have, or whose allocator is not read, may hold what it will. */
static void note_dangling(struct heap_walk *walk, psc_addr word)
{
    struct heap *heap = walk->heap;
    struct collection *into = walk->context;
    const struct heap_range *range = heap_range_at(heap, word);
    const struct target_mapping *mapping = range ? NULL : target_find_mapping(heap->target, word);
    const bool is_read =
        range ? range->module || is_in_pool(heap, word) || (!heap->allocator && heap->glibc.arenas)
              : !mapping;
    if (!(heap->objects[walk->object].flags & HEAP_FLAG_EXACT))
        return;
    into->unread += mapping && mapping->writable;
    if (!is_read)
        return;
    heap_note_damage(heap, &(struct heap_damage){.kind = HEAP_DAMAGE_DANGLING,
                                                 .object = walk->object,
                                                 .address = walk->address,
                                                 .value = word});
}

static void note_lost(struct heap_walk *walk, uint64_t offset, psc_addr table)
{
    struct heap *heap = walk->heap;
    const struct heap_range *range = heap_range_at(heap, table);
    if (!(heap->objects[walk->object].flags & HEAP_FLAG_EXACT) ||
        (range ? heap_block_at(heap, table - heap->hook_size) == HEAP_NONE &&
                     heap_block_at(heap, table) == HEAP_NONE && is_given_away(walk, range, table)
               : target_find_mapping(heap->target, table) != NULL))
        return;
    struct heap_damage damage = {.kind = HEAP_DAMAGE_TABLE,
                                 .object = walk->object,
                                 .address = walk->address + offset,
                                 .value = table};
    if (range && !is_in_pool(heap, table) && !range->arena)
        damage = (struct heap_damage){.kind = HEAP_DAMAGE_CHUNK,
                                      .object = walk->object,
                                      .address = table - MAPPED_HEADER,
                                      .value = heap_u64(heap, table - sizeof(uint64_t))};
    heap_note_damage(heap, &damage);
}

static void set_interned(struct heap *heap, uint32_t object)
{
    struct heap_object *at = &heap->objects[object];
    if (heap->facts[at->type].kind == HEAP_KIND_STR &&
        heap_read_str(heap, at->address).interned == 1)
        at->flags |= HEAP_FLAG_INTERNED;
}

enum psc_status heap_references_find(struct heap *heap)
{
    struct collection into = {.heap = heap};
    struct heap_walk walk = {.heap = heap,
                             .visit = add_edge,
                             .context = &into,
                             .dangling = note_dangling,
                             .lost = note_lost,
                             .owns = true};
    psc_addr swept = 0;
    heap->words_left = WORDS_LEAST;
    for (size_t i = 0; i < heap->range_count; i++)
        heap->words_left += HEAP_LOOK_LIMIT * ((heap->ranges[i].end - heap->ranges[i].start) / 8);
    // Walking adds the static objects that it meets behind those that are there.
    for (uint32_t i = 0; i < heap->object_count; i++) {
        // There is room for one more.
        if (!array_reserve(&heap->first_edges, &heap->first_edge_capacity, (size_t)i + 2,
                           sizeof(*heap->first_edges)))
            return PSC_ERR_MEMORY;
        heap_sweep_to(heap, &swept, i);
        walk.object = i;
        heap->first_edges[i] = heap->edge_count;
        heap_walk_object(&walk);
        heap->objects[i].owned_units =
            (uint32_t)(walk.owned / 16 < UINT32_MAX ? walk.owned / 16 : UINT32_MAX);
        set_interned(heap, i);
        if (into.failed)
            return PSC_ERR_MEMORY;
        if (!(i & 0xffff) && target_interrupted(heap->target))
            return PSC_ERR_INTERRUPTED;
    }
    if (heap->object_count)
        heap->first_edges[heap->object_count] = heap->edge_count;
    const enum psc_status status = heap_kept_references_find(heap);
    if (heap->cut)
        target_warn(heap->target, "heap-references",
                    "more objects than there can be claim the same memory: some references are "
                    "left out");
    if (into.unread)
        target_warn(heap->target, "heap-unread",
                    "some memory could not be read (references to it: %zu): which objects are "
                    "there is not known",
                    into.unread);
    heap->words_left = UINT64_MAX; /* For labels, which are few. */
    return status;
}

void heap_count_found(const struct heap *heap, uint32_t *ret)
{
    for (uint32_t i = 0; i < heap->object_count; i++)
        ret[i] = 0;
    for (uint32_t i = 0; i < heap->object_count; i++)
        for (uint32_t edge = heap->first_edges[i];
             (heap->objects[i].flags & HEAP_FLAG_EXACT) && edge < heap->first_edges[i + 1]; edge++)
            ret[heap->edges[edge]]++;
}
