/* Which memory allocators have from the kernel: what lies between belongs to others. */
#include "heap_memory.h"

#include <stdlib.h>

bool heap_take(struct heap *heap, psc_addr start, psc_addr end)
{
    // Pool follows pool.
    struct heap_extent *last = heap->taken_count ? &heap->taken[heap->taken_count - 1] : NULL;
    if (last && last->end == start) {
        last->end = end;
        return true;
    }
    if (!array_reserve(&heap->taken, &heap->taken_capacity, heap->taken_count + 1,
                       sizeof(*heap->taken)))
        return false;
    heap->taken[heap->taken_count++] = (struct heap_extent){.start = start, .end = end};
    return true;
}

static int compare_starts(const void *a, const void *b)
{
    const struct heap_extent *left = a;
    const struct heap_extent *right = b;
    return COMPARE(left->start, right->start);
}

void heap_taken_sort(struct heap *heap)
{
    size_t kept = 0;
    if (heap->taken_count)
        qsort(heap->taken, heap->taken_count, sizeof(*heap->taken), compare_starts);
    for (size_t i = 0; i < heap->taken_count; i++) {
        const struct heap_extent *extent = &heap->taken[i];
        struct heap_extent *last = kept ? &heap->taken[kept - 1] : NULL;
        if (last && extent->start <= last->end)
            last->end = extent->end > last->end ? extent->end : last->end;
        else
            heap->taken[kept++] = *extent;
    }
    heap->taken_count = kept;
}

uint64_t heap_taken_between(const struct heap *heap, psc_addr start, psc_addr end)
{
    uint64_t bytes = 0;
    for (size_t i = SORTED_UP_TO(heap->taken, end, heap->taken_count, start);
         i < heap->taken_count && heap->taken[i].start < end; i++) {
        const struct heap_extent *extent = &heap->taken[i];
        const psc_addr from = start > extent->start ? start : extent->start;
        const psc_addr to = end < extent->end ? end : extent->end;
        bytes += to - from;
    }
    return bytes;
}
