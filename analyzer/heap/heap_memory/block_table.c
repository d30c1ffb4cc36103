/* The blocks of all allocators, sorted, and found by where they begin. */
#include "heap_memory.h"

#include <stdlib.h>

#define UNIT         UINT64_C(16)
#define UNITS_A_WORD 64u

bool heap_block_add(struct heap *heap, psc_addr address, uint64_t bytes, enum heap_layer layer)
{
    if (heap->block_count >= HEAP_BLOCK_LIMIT || bytes / UNIT > UINT32_MAX)
        return true;
    if (!array_reserve(&heap->blocks, &heap->block_capacity, (size_t)heap->block_count + 1,
                       sizeof(*heap->blocks)))
        return false;
    // The layer stands in the owner until all are sorted.
    heap->blocks[heap->block_count++] = (struct heap_block){
        .address = address, .units = (uint32_t)(bytes / UNIT), .owner = (uint32_t)layer};
    return true;
}

static int compare_blocks(const void *left, const void *right)
{
    const struct heap_block *a = left;
    const struct heap_block *b = right;
    return COMPARE(a->address, b->address);
}

/* Arenas are walked in order, so that little is out of it. */
static void sort_blocks(struct heap *heap)
{
    bool sorted = true;
    for (uint32_t i = 1; sorted && i < heap->block_count; i++)
        sorted = heap->blocks[i - 1].address <= heap->blocks[i].address;
    if (!sorted)
        qsort(heap->blocks, heap->block_count, sizeof(*heap->blocks), compare_blocks);
}

/* Of blocks that lie in one another, as where a pool is in a chunk, the inner ones stay. */
static void drop_outer_blocks(struct heap *heap)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < heap->block_count; i++) {
        const struct heap_block *block = &heap->blocks[i];
        while (kept &&
               heap->blocks[kept - 1].address + heap_block_bytes(&heap->blocks[kept - 1]) >
                   block->address &&
               heap->blocks[kept - 1].owner != HEAP_PYMALLOC)
            kept--;
        if (kept && heap->blocks[kept - 1].address + heap_block_bytes(&heap->blocks[kept - 1]) >
                        block->address)
            continue;
        heap->blocks[kept++] = *block;
    }
    heap->block_count = kept;
}

static bool index_range(struct heap *heap, struct heap_range *range, uint32_t *block)
{
    uint32_t at = *block;
    while (at < heap->block_count && heap->blocks[at].address < range->start)
        at++;
    *block = at;
    if (at == heap->block_count || heap->blocks[at].address >= range->end)
        return true;
    uint64_t words = (range->end - range->start) / (UNIT * UNITS_A_WORD) + 1;
    range->bits = calloc(words, sizeof(*range->bits));
    range->ranks = calloc(words, sizeof(*range->ranks));
    if (!range->bits || !range->ranks)
        return false;
    for (uint64_t word = 0; word < words; word++) {
        range->ranks[word] = at;
        psc_addr end = range->start + (word + 1) * UNIT * UNITS_A_WORD;
        for (; at < heap->block_count && heap->blocks[at].address < end &&
               heap->blocks[at].address < range->end;
             at++) {
            uint64_t unit = (heap->blocks[at].address - range->start) / UNIT;
            range->bits[word] |= UINT64_C(1) << (unit % UNITS_A_WORD);
        }
    }
    *block = at;
    return true;
}

enum psc_status heap_blocks_index(struct heap *heap)
{
    sort_blocks(heap);
    drop_outer_blocks(heap);
    heap->block_kinds = calloc((size_t)heap->block_count + 1, 1);
    if (!heap->block_kinds)
        return PSC_ERR_MEMORY;
    for (uint32_t i = 0; i < heap->block_count; i++) {
        heap->block_kinds[i] = (uint8_t)(heap->blocks[i].owner << 4);
        heap->blocks[i].owner = HEAP_NONE;
    }
    uint32_t block = 0;
    for (size_t i = 0; i < heap->range_count; i++)
        if (!index_range(heap, &heap->ranges[i], &block))
            return PSC_ERR_MEMORY;
    return PSC_OK;
}

uint32_t heap_find_block(struct heap *heap, psc_addr address)
{
    return heap_block_at(heap, address);
}

uint32_t heap_find_block_around(struct heap *heap, psc_addr address)
{
    uint32_t behind =
        (uint32_t)SORTED_UP_TO(heap->blocks, address, (size_t)heap->block_count, address);
    if (!behind ||
        address - heap->blocks[behind - 1].address >= heap_block_bytes(&heap->blocks[behind - 1]))
        return HEAP_NONE;
    return behind - 1;
}
