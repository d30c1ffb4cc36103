/*
 * What all memory of a process is used for. Each mapping is counted once, by what is in it: arenas
 * of malloc(), stacks, files, the pools of CPython's allocator; what is left of memory without a
 * file is a part of its own.
 */
#include "heap_parts.h"

#include <stdlib.h>

struct part_sums {
    uint64_t files;
    uint64_t module_data;
    uint64_t stacks;
    uint64_t anonymous;
    uint64_t special;
};

/* Addresses within stacks, in order. */
struct stack_places {
    psc_addr *items;
    size_t count;
};

static void stack_places_deinit(struct stack_places *places)
{
    free(places->items);
}

/* A stack for signals may be memory of malloc(). */
static void add_place(struct heap *heap, struct stack_places *places, psc_addr address)
{
    if (address && !heap_taken_between(heap, address, address + 1))
        places->items[places->count++] = address;
}

static int compare_places(const void *a, const void *b)
{
    return COMPARE(*(const psc_addr *)a, *(const psc_addr *)b);
}

/*
 * Of a thread: where its stack pointer is, and, as in a handler that has a stack of its own, where
 * glibc and musl keep what is the thread's, at the end of its stack. That of the first thread has
 * the environment at its end. False: out of memory.
 */
static bool find_stacks(struct heap *heap, struct stack_places *ret)
{
    const struct target *target = heap->target;
    ret->items = calloc(2 * target->thread_count + 1, sizeof(*ret->items));
    if (!ret->items)
        return false;
    add_place(heap, ret, target->process.environment);
    for (size_t i = 0; i < target->thread_count; i++) {
        const struct target_thread *thread = &target->threads[i];
        add_place(heap, ret, target_sp(target, &thread->registers));
        if (thread->tid != target->process.pid)
            add_place(heap, ret, thread->thread_pointer);
    }
    qsort(ret->items, ret->count, sizeof(*ret->items), compare_places);
    return true;
}

static bool is_stack(const struct stack_places *places, const struct target_mapping *mapping)
{
    const size_t at = SORTED_COUNT(i, places->count, places->items[i] < mapping->start);
    return at < places->count && places->items[at] < mapping->end;
}

static void add_part(struct heap *heap, const char *name, uint64_t bytes, bool in_other)
{
    if (heap->part_count < HEAP_PART_LIMIT)
        heap->parts[heap->part_count++] =
            (struct heap_part){.name = name, .bytes = bytes, .in_other = in_other};
}

static void sum_mappings(const struct heap *heap, const struct stack_places *stacks,
                         struct part_sums *sums)
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
        else if (is_stack(stacks, mapping)) {
            // Up to Linux 6.6 memory next to it may be of the same mapping.
            const uint64_t taken = heap_taken_between(heap, mapping->start, mapping->end);
            sums->stacks += bytes - taken;
            sums->anonymous += taken;
        } else
            sums->anonymous += bytes;
    }
}

bool heap_parts_find(struct heap *heap)
{
    struct part_sums sums = {0};
    struct stack_places stacks PSC_CLEANUP(stack_places_deinit) = {0};
    if (!find_stacks(heap, &stacks))
        return false;
    uint64_t used[HEAP_MAPPED + 1][HEAP_DEAD + 1] = {{0}};
    for (uint32_t i = 0; i < heap->block_count; i++)
        used[heap_block_layer(heap, i)][heap_block_use(heap, i)] +=
            heap_block_bytes(&heap->blocks[i]);
    sum_mappings(heap, &stacks, &sums);
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
    return true;
}
