/*
 * CPython's allocator of small blocks (Objects/obmalloc.c). A pool tells of itself: the number of
 * blocks in use and the length of its free list are that of all blocks ever used. That no other
 * memory looks so is what finds pools without a symbol, wherever they lie.
 */
#include "blocks.h"

#include <stdlib.h>

/* Blocks of pools that are asked for the marks of the hooks. */
#define HOOK_SAMPLE 4096u

static bool is_listed(const struct heap_pool *pool, uint32_t index)
{
    return pool->free[index / 64] >> (index % 64) & 1;
}

static void follow_free_list(const uint8_t *bytes, psc_addr address, uint64_t block_size,
                             struct heap_pool *pool)
{
    psc_addr first = address + PYTHON_POOL_HEADER;
    psc_addr at = address + PYTHON_POOL_FREE;
    psc_addr next = load_u64(bytes + PYTHON_POOL_FREE);
    while (next) {
        uint64_t offset = next - first;
        uint64_t index = offset / block_size;
        if (next < first || offset % block_size || index >= pool->capacity ||
            is_listed(pool, (uint32_t)index)) {
            pool->broken = true;
            pool->broken_at = at;
            pool->broken_value = next;
            return;
        }
        pool->free[index / 64] |= UINT64_C(1) << (index % 64);
        pool->free_listed++;
        at = next;
        next = load_u64(bytes + (next - address));
    }
    pool->broken = pool->free_listed + pool->used != pool->capacity;
    pool->broken_at = address;
    pool->broken_value = pool->used;
}

enum psc_status parse_pool(const uint8_t *bytes, uint64_t size, psc_addr address,
                           struct heap_pool *ret)
{
    if (size < PYTHON_POOL_HEADER || size > HEAP_POOL_SIZE_MAX)
        return PSC_ERR_FORMAT;
    uint32_t used = load_u32(bytes + PYTHON_POOL_COUNT);
    uint32_t size_class = load_u32(bytes + PYTHON_POOL_CLASS);
    uint64_t next = load_u32(bytes + PYTHON_POOL_NEXT_OFFSET);
    if (size_class >= PYTHON_POOL_CLASSES || !used)
        return PSC_ERR_FORMAT;
    uint64_t block_size = (size_class + UINT64_C(1)) * PYTHON_POOL_UNIT;
    // Up to this block is one more to be had that was never used.
    if (load_u32(bytes + PYTHON_POOL_LAST_OFFSET) != size - block_size || next > size ||
        next < PYTHON_POOL_HEADER + block_size || (next - PYTHON_POOL_HEADER) % block_size)
        return PSC_ERR_FORMAT;
    *ret = (struct heap_pool){.size_class = size_class,
                              .used = used,
                              .capacity = (uint32_t)((next - PYTHON_POOL_HEADER) / block_size)};
    if (used > ret->capacity)
        return PSC_ERR_FORMAT;
    follow_free_list(bytes, address, block_size, ret);
    return PSC_OK;
}

static void count_pool(struct heap_pymalloc *counts, const struct heap_pool *pool)
{
    uint64_t block_size = (pool->size_class + UINT64_C(1)) * PYTHON_POOL_UNIT;
    uint64_t room = counts->pool_size - PYTHON_POOL_HEADER;
    uint64_t all = room / block_size;
    counts->pools++;
    counts->used += pool->used * block_size;
    counts->available += (all - pool->used) * block_size;
    counts->headers += PYTHON_POOL_HEADER;
    counts->quantization += room % block_size;
    counts->damaged += pool->broken;
    counts->classes[pool->size_class].pools++;
    counts->classes[pool->size_class].used += pool->used;
    counts->classes[pool->size_class].available += all - pool->used;
}

/* A pool that is in a list, whatever was written into its blocks, links to others or to that list.
 */
static bool has_links(struct heap *heap, const uint8_t *bytes)
{
    psc_addr next = load_u64(bytes + PYTHON_POOL_NEXT);
    psc_addr previous = load_u64(bytes + PYTHON_POOL_NEXT + 8);
    return !(next & 15) && !(previous & 15) && heap_range_at(heap, next) &&
           heap_range_at(heap, previous);
}

static bool add_pool(struct heap *heap, psc_addr address, const uint8_t *bytes,
                     struct heap_pools *pools)
{
    struct heap_pool pool;
    uint64_t size = heap->pymalloc.pool_size;
    if (parse_pool(bytes, size, address, &pool) != PSC_OK ||
        (pool.broken && !has_links(heap, bytes)))
        return true;
    if (pool.broken)
        heap_note_damage(heap, &(struct heap_damage){.kind = HEAP_DAMAGE_POOL,
                                                     .object = HEAP_NONE,
                                                     .address = pool.broken_at,
                                                     .value = pool.broken_value,
                                                     .resumed = address});
    if (!array_reserve(&pools->items, &pools->capacity, pools->count + 1, sizeof(*pools->items)))
        return false;
    pools->items[pools->count++] = address;
    if (!heap_take(heap, address, address + size))
        return false;
    count_pool(&heap->pymalloc, &pool);
    uint64_t block_size = (pool.size_class + UINT64_C(1)) * PYTHON_POOL_UNIT;
    for (uint32_t i = 0; i < pool.capacity; i++)
        if (!is_listed(&pool, i) &&
            !heap_block_add(heap, address + PYTHON_POOL_HEADER + i * block_size, block_size,
                            HEAP_PYMALLOC))
            return false;
    return true;
}

enum psc_status heap_pools_find(struct heap *heap, struct heap_pools *ret)
{
    uint64_t size = heap->layout.pool_size;
    psc_addr swept = 0;
    heap->pymalloc.pool_size = size;
    for (size_t i = 0; i < heap->range_count; i++) {
        const struct heap_range *range = &heap->ranges[i];
        if (range->file)
            continue;
        psc_addr first = (range->start + size - 1) & ~(size - 1);
        for (psc_addr at = first; at >= range->start && at < range->end && range->end - at >= size;
             at += size) {
            heap_sweep(heap, &swept, at);
            if (!add_pool(heap, at, range->bytes + (at - range->start), ret))
                return PSC_ERR_MEMORY;
        }
        if (target_interrupted(heap->target))
            return PSC_ERR_INTERRUPTED;
    }
    return PSC_OK;
}

void heap_pools_find_hooks(struct heap *heap)
{
    uint32_t asked = 0;
    uint32_t marked = 0;
    for (uint32_t i = 0; i < heap->block_count && asked < HOOK_SAMPLE; i++) {
        const uint8_t *bytes = heap_at(heap, heap->blocks[i].address, PYTHON_HOOK_SIZE);
        if (!bytes || heap_block_layer(heap, i) != HEAP_PYMALLOC)
            continue;
        bool is_marked = bytes[PYTHON_HOOK_LETTER] >= 'a' && bytes[PYTHON_HOOK_LETTER] <= 'z';
        for (size_t at = PYTHON_HOOK_LETTER + 1; at < PYTHON_HOOK_SIZE; at++)
            is_marked = is_marked && bytes[at] == PYTHON_HOOK_FILL;
        asked++;
        marked += is_marked;
    }
    heap->hook_size = asked && marked > asked / 2 ? PYTHON_HOOK_SIZE : 0;
}
