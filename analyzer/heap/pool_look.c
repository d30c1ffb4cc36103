/* One pool alone, for a death in the allocator: nothing else of the heap is read. */
#include "blocks.h"

static void find_block(const struct heap_pool *pool, psc_addr address, struct heap_pool_look *ret)
{
    const uint64_t block_size = (pool->size_class + UINT64_C(1)) * PYTHON_POOL_UNIT;
    const psc_addr first = ret->pool + PYTHON_POOL_HEADER;
    const uint64_t index = address >= first ? (address - first) / block_size : UINT64_MAX;
    if (index >= pool->capacity)
        return;
    ret->block = first + index * block_size;
    ret->is_free = pool->free[index / 64] >> (index % 64) & 1;
}

bool heap_look_at_pool(struct target *target, uint64_t pool_size, psc_addr address,
                       struct heap_pool_look *ret)
{
    uint8_t bytes[HEAP_POOL_SIZE_MAX];
    struct heap_pool pool;
    *ret = (struct heap_pool_look){.pool = address & ~(pool_size - 1)};
    if (pool_size > sizeof(bytes) || !ret->pool ||
        target_read_some(target, ret->pool, bytes, pool_size) != pool_size ||
        parse_pool(bytes, pool_size, ret->pool, &pool) != PSC_OK)
        return false;
    // A pool of which only the numbers do not agree may be in the middle of a change.
    if (pool.broken && pool.broken_at != ret->pool) {
        ret->broken_at = pool.broken_at;
        ret->link = pool.broken_value;
    }
    find_block(&pool, address, ret);
    return true;
}
