/*
 * What all memory of a process is used for. Each mapping is counted once, by what is in it: arenas
 * of malloc(), stacks, files, the pools of CPython's allocator; what is left of memory without a
 * file is a part of its own.
 */
#include "heap_parts.h"

struct part_sums {
    uint64_t files;
    uint64_t module_data;
    uint64_t stacks;
    uint64_t anonymous;
    uint64_t special;
};

static bool is_stack(const struct target *target, const struct target_mapping *mapping)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        psc_addr sp = target_sp(target, &target->threads[i].registers);
        if (sp >= mapping->start && sp < mapping->end)
            return true;
    }
    return false;
}

static void add_part(struct heap *heap, const char *name, uint64_t bytes, bool in_other)
{
    if (heap->part_count < HEAP_PART_LIMIT)
        heap->parts[heap->part_count++] =
            (struct heap_part){.name = name, .bytes = bytes, .in_other = in_other};
}

static bool has_arena(struct heap *heap, const struct target_mapping *mapping)
{
    for (size_t i = SORTED_BELOW(heap->ranges, end, heap->range_count, mapping->start + 1);
         i < heap->range_count && heap->ranges[i].start < mapping->end; i++)
        if (heap->ranges[i].arena)
            return true;
    return false;
}

static void sum_mappings(struct heap *heap, struct part_sums *sums)
{
    const struct target *target = heap->target;
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        uint64_t bytes = mapping->end - mapping->start;
        bool writable = mapping->permissions_known && mapping->writable;
        if (mapping->file)
            *(writable ? &sums->module_data : &sums->files) += bytes;
        else if (!writable)
            sums->special += bytes;
        else if (!has_arena(heap, mapping) && is_stack(target, mapping))
            sums->stacks += bytes;
        else
            sums->anonymous += bytes;
    }
}

void heap_parts_find(struct heap *heap)
{
    struct part_sums sums = {0};
    uint64_t used[HEAP_MAPPED + 1][HEAP_DEAD + 1] = {{0}};
    for (uint32_t i = 0; i < heap->block_count; i++)
        used[heap_block_layer(heap, i)][heap_block_use(heap, i)] +=
            heap_block_bytes(&heap->blocks[i]);
    sum_mappings(heap, &sums);
    const struct heap_pymalloc *pools = &heap->pymalloc;
    const struct heap_glibc *glibc = &heap->glibc;
    uint64_t in_pools = pools->pools * pools->pool_size + pools->unused + pools->alignment;
    uint64_t in_malloc = glibc->arena_bytes + glibc->mapped_bytes;
    static const char *const names[HEAP_MAPPED + 1][HEAP_DEAD + 1] = {
        {"pymalloc: not owned", "pymalloc: objects", "pymalloc: what objects keep",
         "pymalloc: dead objects kept"},
        {"malloc: not owned", "malloc: objects", "malloc: what objects keep",
         "malloc: dead objects kept"},
        {"malloc, mapped: not owned", "malloc, mapped: objects",
         "malloc, mapped: what objects keep", "malloc, mapped: dead objects kept"}};
    for (size_t layer = 0; layer <= HEAP_MAPPED; layer++)
        for (size_t use = 0; use <= HEAP_DEAD; use++)
            add_part(heap, names[layer][use], used[layer][use], false);
    add_part(heap, "pymalloc: free in pools", pools->available, false);
    add_part(heap, "pymalloc: pool headers", pools->headers, false);
    add_part(heap, "pymalloc: lost to sizes", pools->quantization, false);
    add_part(heap, "pymalloc: unused pools", pools->unused, false);
    add_part(heap, "pymalloc: lost to alignment", pools->alignment, false);
    add_part(heap, "malloc: free", glibc->free, false);
    add_part(heap, "malloc: free, kept for threads", glibc->kept, false);
    uint64_t chunks = glibc->used + glibc->kept + glibc->free;
    add_part(heap, "malloc: its own", glibc->arena_bytes > chunks ? glibc->arena_bytes - chunks : 0,
             false);
    uint64_t counted = in_pools + in_malloc;
    add_part(heap, "memory without a file, the rest",
             sums.anonymous > counted ? sums.anonymous - counted : 0, false);
    add_part(heap, "thread stacks", sums.stacks, false);
    add_part(heap, "files, read only", sums.files, false);
    add_part(heap, "files, writable", sums.module_data, false);
    add_part(heap, "other mappings", sums.special, false);
}
