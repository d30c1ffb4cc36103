/**
 * @file
 * Room `heap/heap_memory`: memory that may be written, where its bytes lie; the table of blocks;
 * what was seen to be wrong. The functions for others are declared in heap.h.
 */
#ifndef PSC_HEAP_MEMORY_H
#define PSC_HEAP_MEMORY_H

#include "heap.h"

/** Bytes that are copied of a target that has none in place, as of one that a debugger holds. */
#define HEAP_COPY_LIMIT (UINT64_C(64) << 30)
/** Pieces of memory. */
#define HEAP_RANGE_LIMIT ((size_t)1 << 20)
/** Bytes of memory that share their place in a core file with other memory. */
#define HEAP_SHARED_LIMIT (UINT64_C(16) << 20)
/** Of more; takes heap->shared_count. */
#define HEAP_SHARED_TEXT "%zu pieces of memory claim the same bytes of the core file as others"
/** Pages and pieces that are not there, before no more memory is looked for. */
#define HEAP_MISSED_LIMIT ((size_t)1 << 24)

/** Fills heap->ranges. */
PSC_MUST_CHECK enum psc_status heap_ranges_find(struct heap *heap);
void heap_ranges_destroy(struct heap *heap);

/** The range with the address, or NULL. */
static inline struct heap_range *heap_range_at(struct heap *heap, psc_addr address)
{
    struct heap_range *range = &heap->ranges[heap->recent];
    if (heap->range_count && address >= range->start && address < range->end)
        return range;
    size_t behind = SORTED_UP_TO(heap->ranges, start, heap->range_count, address);
    if (!behind || address >= heap->ranges[behind - 1].end)
        return NULL;
    heap->recent = behind - 1;
    return &heap->ranges[behind - 1];
}

/** As heap_bytes(). */
static inline const uint8_t *heap_at(struct heap *heap, psc_addr address, uint64_t size)
{
    const struct heap_range *range = heap_range_at(heap, address);
    return range && size <= range->readable - address ? range->bytes + (address - range->start)
                                                      : NULL;
}

/** The same of items that lie one after the other, however many a damaged header says. */
static inline const uint8_t *heap_items_at(struct heap *heap, psc_addr address, uint64_t count,
                                           uint64_t item_size)
{
    uint64_t size;
    return __builtin_mul_overflow(count, item_size, &size) ? NULL : heap_at(heap, address, size);
}

/** As heap_word(). */
static inline uint64_t heap_u64(struct heap *heap, psc_addr address)
{
    const uint8_t *bytes = heap_at(heap, address, sizeof(uint64_t));
    return bytes ? load_u64(bytes) : 0;
}

static inline uint32_t heap_u32(struct heap *heap, psc_addr address)
{
    const uint8_t *bytes = heap_at(heap, address, sizeof(uint32_t));
    return bytes ? load_u32(bytes) : 0;
}

static inline uint8_t heap_u8(struct heap *heap, psc_addr address)
{
    const uint8_t *bytes = heap_at(heap, address, 1);
    return bytes ? *bytes : 0;
}

/* ---- taken.c ---- */

/** An allocator has this memory; false when out of memory. */
PSC_MUST_CHECK bool heap_take(struct heap *heap, psc_addr start, psc_addr end);
/** Puts them in order, once all are there. */
void heap_taken_sort(struct heap *heap);
/** How much of a piece of memory allocators have; sorted. */
uint64_t heap_taken_between(const struct heap *heap, psc_addr start, psc_addr end);

/* ---- block_table.c ---- */

/** Adds a block; false when out of memory, or past the limit. */
PSC_MUST_CHECK bool heap_block_add(struct heap *heap, psc_addr address, uint64_t bytes,
                                   enum heap_layer layer);
/** Sorts them, and makes them to be found. */
PSC_MUST_CHECK enum psc_status heap_blocks_index(struct heap *heap);

static inline void heap_block_set_use(struct heap *heap, uint32_t block, enum heap_use use,
                                      uint32_t owner)
{
    heap->block_kinds[block] = (uint8_t)((heap->block_kinds[block] & 0xf0) | (uint8_t)use);
    heap->blocks[block].owner = owner;
}

/** As heap_find_block(), in a range that is known. */
static inline uint32_t heap_block_in(const struct heap_range *range, psc_addr address)
{
    uint64_t unit = (address - range->start) / 16;
    if (address & 15 || !range->bits || !(range->bits[unit / 64] >> (unit % 64) & 1))
        return HEAP_NONE;
    uint64_t before = range->bits[unit / 64] & ((UINT64_C(1) << (unit % 64)) - 1);
    return range->ranks[unit / 64] + (uint32_t)__builtin_popcountll(before);
}

static inline uint32_t heap_block_at(struct heap *heap, psc_addr address)
{
    const struct heap_range *range = heap_range_at(heap, address);
    return range ? heap_block_in(range, address) : HEAP_NONE;
}

/* ---- damage.c ---- */

void heap_note_damage(struct heap *heap, const struct heap_damage *damage);

#endif
