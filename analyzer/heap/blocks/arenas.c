/*
 * The arenas of CPython's allocator of small blocks, for what of them no pool uses
 * (Objects/obmalloc.c, struct arena_object). Their table is memory of malloc(): that each arena in
 * it has as many pools as were found there is what finds it without a symbol.
 */
#include "blocks.h"

/* struct arena_object: address, pool_address, nfreepools, ntotalpools, freepools, nextarena,
 * prevarena. */
enum {
    ARENA_ADDRESS = 0,
    ARENA_NEXT_POOL = 8,
    ARENA_FREE_POOLS = 16,
    ARENA_ALL_POOLS = 20,
    ARENA_OBJECT = 48
};
/* INITIAL_ARENA_OBJECTS; new_arena() doubles it. */
#define TABLE_LEAST 16u
#define PAGE        UINT64_C(4096)
/* What malloc() and the hooks for debugging may add to the table. */
#define ROUNDED 96u
/* Pools that may be counted: a table of damaged numbers names the same memory again and again. */
#define LOOK_LIMIT (UINT64_C(1) << 24)

/* Objects/obmalloc.c, ARENA_BITS: 256 KiB up to 3.9, 1 MiB with the radix tree of 3.10 and later.
 */
static uint64_t size_of_arena(const struct heap *heap)
{
    return heap->layout.pool_size * 64;
}

struct arena_table {
    uint64_t arenas;
    uint64_t unused;    /* Bytes of pools that are free or were never used. */
    uint64_t alignment; /* Bytes before the first pool and behind the last one. */
};

struct arena_search {
    struct heap *heap;
    const struct heap_pools *pools;
    uint64_t looks; /* Left. */
};

/* How many lie below an address. */
static size_t count_below(const struct heap_pools *pools, psc_addr address)
{
    size_t low = 0, high = pools->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (pools->items[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t count_pools(struct arena_search *search, psc_addr start, psc_addr end)
{
    const struct heap_pools *pools = search->pools;
    uint64_t found = 0;
    size_t at = count_below(pools, start);
    for (; at < pools->count && pools->items[at] < end && search->looks; at++, search->looks--)
        found++;
    return found;
}

enum arena_state { ARENA_NONE, ARENA_UNUSED, ARENA_GOOD };

static enum arena_state read_arena(struct arena_search *search, psc_addr object,
                                   struct arena_table *table)
{
    struct heap *heap = search->heap;
    const uint64_t size = size_of_arena(heap), pool_size = heap->layout.pool_size;
    const psc_addr address = heap_u64(heap, object + ARENA_ADDRESS);
    const psc_addr next = heap_u64(heap, object + ARENA_NEXT_POOL);
    const uint64_t all = heap_u32(heap, object + ARENA_ALL_POOLS);
    const uint64_t unused = heap_u32(heap, object + ARENA_FREE_POOLS);
    if (!address)
        return ARENA_UNUSED;
    const uint64_t expected = size / pool_size - (address % pool_size ? 1 : 0);
    if (address % PAGE || all != expected || unused > all || next < address ||
        next > address + size + pool_size || !heap_range_at(heap, address) ||
        count_pools(search, address, address + size) != all - unused)
        return ARENA_NONE;
    table->arenas++;
    table->unused += unused * pool_size;
    table->alignment += size - all * pool_size;
    return ARENA_GOOD;
}

/* Most of the arenas of a table agree with the pools; one whose pools are damaged does not. */
static bool read_table(struct arena_search *search, psc_addr start, uint64_t bytes,
                       struct arena_table *ret)
{
    uint64_t count = TABLE_LEAST, wrong = 0;
    *ret = (struct arena_table){0};
    while (2 * count * ARENA_OBJECT <= bytes)
        count *= 2;
    for (uint64_t i = 0; i < count; i++) {
        wrong += read_arena(search, start + i * ARENA_OBJECT, ret) == ARENA_NONE;
        if (wrong > 1 + i / 8)
            return false;
    }
    return ret->arenas > 8 * wrong;
}

/* Whether a block has the size of a table. */
static bool has_table_size(uint64_t bytes, uint64_t more)
{
    uint64_t size = (uint64_t)TABLE_LEAST * ARENA_OBJECT;
    while (size + more < bytes)
        size *= 2;
    return size <= bytes;
}

/* The arenas of a table with what no pool uses; false: out of memory. */
static bool take_arenas(struct heap *heap, psc_addr start, uint64_t bytes)
{
    for (psc_addr at = start; bytes >= ARENA_OBJECT; at += ARENA_OBJECT, bytes -= ARENA_OBJECT) {
        const psc_addr address = heap_u64(heap, at + ARENA_ADDRESS);
        if (!(address % PAGE) && heap_range_at(heap, address) &&
            !heap_take(heap, address, address + size_of_arena(heap)))
            return false;
    }
    return true;
}

bool heap_arenas_find(struct heap *heap, const struct heap_pools *pools)
{
    struct arena_search search = {.heap = heap, .pools = pools, .looks = LOOK_LIMIT};
    for (uint32_t i = 0; pools->count && i < heap->block_count; i++) {
        const struct heap_block *block = &heap->blocks[i];
        const enum heap_layer layer = heap_block_layer(heap, i);
        const uint64_t bytes = heap_block_bytes(block);
        struct arena_table table;
        if (layer == HEAP_PYMALLOC ||
            !has_table_size(bytes, layer == HEAP_MAPPED ? PAGE + ROUNDED : ROUNDED))
            continue;
        for (uint64_t hooks = 0; hooks <= heap->hook_size; hooks += PYTHON_HOOK_SIZE)
            if (read_table(&search, block->address + hooks, bytes - hooks, &table)) {
                heap->pymalloc.arenas += table.arenas;
                heap->pymalloc.unused += table.unused;
                heap->pymalloc.alignment += table.alignment;
                if (!take_arenas(heap, block->address + hooks, bytes - hooks))
                    return false;
                break;
            }
    }
    return true;
}
