/* Words outside of objects that lead to one. */
#include "holders_private.h"

#include <stdlib.h>
#include <string.h>

static int compare_extents(const void *left, const void *right)
{
    const struct extent *one = left, *other = right;
    return COMPARE(one->start, other->start);
}

static void take_word(struct outside *outside, uint64_t word, uint32_t node)
{
    struct holders *holders = outside->holders;
    struct heap *heap = holders->heap;
    const struct heap_range *last = &heap->ranges[heap->range_count - 1];
    word &= ~heap->layout.slot_tags;
    if (word & 7 || word < heap->ranges[0].start || word >= last->end)
        return;
    const uint32_t object = heap_find_object(heap, word);
    if (object != HEAP_NONE && holders->missing[object])
        outside_add_edge(outside, node, object);
}

static void take_words(struct outside *outside, psc_addr start, psc_addr end, uint32_t node)
{
    struct heap *heap = outside->holders->heap;
    start = (start + 7) & ~(psc_addr)7;
    if (start >= end)
        return;
    const uint8_t *bytes = heap_bytes(heap, start, end - start);
    for (uint64_t at = 0; bytes && at + 8 <= end - start; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof(word));
        if (word)
            take_word(outside, word, node);
    }
}

/* The part of a range of memory that is no block, and no pool of blocks. */
static void take_between_blocks(struct outside *outside, const struct heap_range *range,
                                uint32_t node)
{
    const struct heap *heap = outside->holders->heap;
    const uint64_t pool = heap->pymalloc.pool_size ? heap->pymalloc.pool_size : 1;
    psc_addr at = range->start;
    uint32_t block = (uint32_t)SORTED_BELOW(heap->blocks, address, heap->block_count, at);
    for (; block < heap->block_count && heap->blocks[block].address < range->end; block++) {
        const struct heap_block *one = &heap->blocks[block];
        const bool pooled = heap_block_layer(heap, block) == HEAP_PYMALLOC;
        const psc_addr start = pooled ? one->address / pool * pool : one->address;
        const psc_addr end = pooled ? start + pool : one->address + heap_block_bytes(one);
        if (start > at)
            take_words(outside, at, start, node);
        if (end > at)
            at = end;
    }
    if (at < range->end)
        take_words(outside, at, range->end, node);
}

/* One holder for each file. */
static uint32_t data_holder(struct outside *outside, const struct target_file *file)
{
    struct holders *holders = outside->holders;
    for (uint32_t i = holders->count; i-- > 0;)
        if (holders->items[i].kind == HOLDER_DATA && holders->items[i].file == file->path)
            return holders->heap->object_count + i;
    return outside_add_holder(
        outside, (struct holder){.kind = HOLDER_DATA, .file = file->path, .object = HEAP_NONE});
}

static void take_module_data(struct outside *outside)
{
    const struct heap *heap = outside->holders->heap;
    const struct target_file *file = NULL;
    for (size_t i = 0; i < heap->range_count; i++) {
        const struct heap_range *range = &heap->ranges[i];
        if (range->file)
            file = range->file;
        if (!range->module || !file)
            continue;
        const uint32_t node = data_holder(outside, file);
        if (node != HOLDERS_NO_NODE)
            take_between_blocks(outside, range, node);
    }
}

static void take_blocks(struct outside *outside)
{
    const struct heap *heap = outside->holders->heap;
    const uint32_t node =
        outside_add_holder(outside, (struct holder){.kind = HOLDER_MEMORY, .object = HEAP_NONE});
    for (uint32_t i = 0; node != HOLDERS_NO_NODE && i < heap->block_count; i++) {
        const struct heap_block *block = &heap->blocks[i];
        if (heap_block_use(heap, i) == HEAP_UNOWNED)
            take_words(outside, block->address, block->address + heap_block_bytes(block), node);
    }
}

static void take_extents(struct outside *outside, enum holder_kind kind)
{
    struct holders *holders = outside->holders;
    for (size_t i = 0; i < outside->extent_count; i++) {
        const struct extent *extent = &outside->extents[i];
        if (holders_get(holders, extent->node)->kind == kind)
            take_words(outside, extent->start, extent->end, extent->node);
    }
}

void outside_take_words(struct outside *outside)
{
    if (!outside->holders->heap->range_count)
        return;
    if (outside->extent_count)
        qsort(outside->extents, outside->extent_count, sizeof(*outside->extents), compare_extents);
    // What is certain to be alive comes first: each reference is found once.
    take_extents(outside, HOLDER_FRAME);
    take_module_data(outside);
    take_blocks(outside);
    take_extents(outside, HOLDER_STACK);
    heap_release_all(outside->holders->heap);
}
