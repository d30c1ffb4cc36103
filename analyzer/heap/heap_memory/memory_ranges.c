/* Memory of the target that may be written, in pieces whose bytes lie here. */
#include "heap_memory.h"

#include <stdlib.h>

#define PAGE ((psc_addr)4096)

struct collection {
    struct heap *heap;
    uint64_t copied;
    size_t missed; /* Times that memory was not there. */
};

static bool add_range(struct heap *heap, const struct heap_range *range)
{
    struct heap_range *last = heap->range_count ? &heap->ranges[heap->range_count - 1] : NULL;
    // Mappings that the kernel split, or the end of one segment of a core and the next.
    if (last && last->end == range->start && last->file == range->file &&
        last->module == range->module && last->bytes + (last->end - last->start) == range->bytes) {
        last->end = range->end;
        return true;
    }
    if (heap->range_count >= HEAP_RANGE_LIMIT)
        return true;
    if (!array_reserve(&heap->ranges, &heap->range_capacity, heap->range_count + 1,
                       sizeof(*heap->ranges)))
        return false;
    heap->ranges[heap->range_count++] = *range;
    return true;
}

/* Behind an address where memory is not there; 0: nowhere, or it was looked for too often. */
static psc_addr skip_missing(struct collection *into, psc_addr at)
{
    struct target *target = into->heap->target;
    if (into->missed++ >= HEAP_MISSED_LIMIT || target_interrupted(target))
        return 0;
    // Of the last page of all there is none behind it.
    return target->ops->skip_missing ? target->ops->skip_missing(target, at)
                                     : (at & ~(PAGE - 1)) + PAGE;
}

/* Of a target whose bytes lie here, like a core's. */
static bool add_pieces(struct collection *into, struct heap_range range)
{
    struct target *target = into->heap->target;
    const psc_addr end = range.end;
    for (psc_addr at = range.start; at < end;) {
        size_t size = 0;
        const uint8_t *bytes = target->ops->piece(target, at, &size);
        if (!bytes || !size) {
            at = skip_missing(into, at);
            if (!at)
                return true;
            continue;
        }
        size = size < end - at ? size : (size_t)(end - at);
        range.start = at;
        range.end = at + size;
        range.bytes = bytes;
        if (!add_range(into->heap, &range))
            return false;
        at += size;
    }
    return true;
}

/* Of one whose bytes have to be asked for: what can be read from the start on. */
static bool add_copy(struct collection *into, struct heap_range range)
{
    struct target *target = into->heap->target;
    size_t size = (size_t)(range.end - range.start);
    if (size > HEAP_COPY_LIMIT - into->copied)
        return true;
    uint8_t *bytes = arena_array(into->heap->copies, size, 1);
    if (!bytes)
        return false;
    for (size_t done = 0; done < size;) {
        size_t got = target_read_some(target, range.start + done, bytes + done, size - done);
        if (got) {
            struct heap_range piece = range;
            piece.start = range.start + done;
            piece.end = piece.start + got;
            piece.bytes = bytes + done;
            if (!add_range(into->heap, &piece))
                return false;
        }
        done += got;
        done = done < size ? (done / PAGE + 1) * PAGE : done;
    }
    into->copied += size;
    return true;
}

struct placed {
    const uint8_t *bytes;
    size_t index; /* Among the ranges. */
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *left = a;
    const struct placed *right = b;
    if (left->bytes != right->bytes)
        return left->bytes < right->bytes ? -1 : 1;
    return left->index < right->index ? -1 : left->index > right->index;
}

/* For each range how many of its bytes are those of others, too. */
static void find_shared(const struct heap *heap, struct placed *placed, uint64_t *ret)
{
    const uint8_t *end = NULL;
    for (size_t i = 0; i < heap->range_count; i++)
        placed[i] = (struct placed){heap->ranges[i].bytes, i};
    qsort(placed, heap->range_count, sizeof(*placed), compare_placed);
    for (size_t i = 0; i < heap->range_count; i++) {
        const struct heap_range *range = &heap->ranges[placed[i].index];
        const uint8_t *last = range->bytes + (range->end - range->start);
        const uint8_t *shared = last < end ? last : end;
        ret[placed[i].index] = end && shared > range->bytes ? (uint64_t)(shared - range->bytes) : 0;
        end = end && end > last ? end : last;
    }
}

static void keep_ranges(struct heap *heap, const uint64_t *shared)
{
    size_t kept = 0;
    uint64_t bytes = 0;
    const size_t count = heap->range_count;
    for (size_t i = 0; i < count; i++) {
        if (shared[i] > HEAP_SHARED_LIMIT - bytes)
            continue;
        bytes += shared[i];
        heap->ranges[kept++] = heap->ranges[i];
    }
    heap->range_count = kept;
    heap->shared_count = count - kept;
    if (heap->shared_count)
        target_warn(heap->target, "heap-memory",
                    HEAP_SHARED_TEXT ": what would lie there is missing", heap->shared_count);
}

/* No dump has the same bytes for two pieces of memory: a core whose segments claim that would cost
 * as much as the memory that it claims, not as much as it has. */
static bool leave_out_shared(struct heap *heap)
{
    struct placed *placed = calloc(heap->range_count + 1, sizeof(*placed));
    uint64_t *shared = calloc(heap->range_count + 1, sizeof(*shared));
    const bool done = placed && shared;
    if (done) {
        find_shared(heap, placed, shared);
        keep_ranges(heap, shared);
    }
    free(placed);
    free(shared);
    return done;
}

static void join_ranges(struct heap *heap)
{
    for (size_t i = heap->range_count; i-- > 0;) {
        struct heap_range *range = &heap->ranges[i];
        const struct heap_range *next = i + 1 < heap->range_count ? range + 1 : NULL;
        bool follows = next && next->start == range->end &&
                       range->bytes + (range->end - range->start) == next->bytes;
        range->readable = follows ? next->readable : range->end;
    }
}

enum psc_status heap_ranges_find(struct heap *heap)
{
    struct target *target = heap->target;
    struct collection into = {.heap = heap};
    psc_addr module_end = 0;
    heap->copies = arena_create();
    if (!heap->copies)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < target->mapping_count; i++) {
        const struct target_mapping *mapping = &target->mappings[i];
        if (!mapping->permissions_known || !mapping->writable) {
            module_end = mapping->file ? mapping->end : 0;
            continue;
        }
        // The .bss of a module follows its data.
        bool module = mapping->file != NULL || mapping->start == module_end;
        struct heap_range range = {
            .start = mapping->start, .end = mapping->end, .file = mapping->file, .module = module};
        module_end = mapping->file ? mapping->end : 0;
        if (!(target->ops->piece ? add_pieces(&into, range) : add_copy(&into, range)))
            return PSC_ERR_MEMORY;
    }
    if (!leave_out_shared(heap))
        return PSC_ERR_MEMORY;
    join_ranges(heap);
    return heap->range_count ? PSC_OK : PSC_ERR_NOT_FOUND;
}

void heap_release(struct heap *heap, psc_addr start, psc_addr end)
{
    for (size_t i = SORTED_BELOW(heap->ranges, end, heap->range_count, start);
         i < heap->range_count && heap->ranges[i].start < end; i++) {
        const struct heap_range *range = &heap->ranges[i];
        const psc_addr from = start > range->start ? start : range->start;
        const psc_addr to = end < range->end ? end : range->end;
        if (from < to)
            target_release(heap->target, from, (size_t)(to - from));
    }
}

void heap_ranges_destroy(struct heap *heap)
{
    for (size_t i = 0; i < heap->range_count; i++) {
        free(heap->ranges[i].bits);
        free(heap->ranges[i].ranks);
    }
    free(heap->ranges);
    arena_destroy(heap->copies);
}

const uint8_t *heap_bytes(struct heap *heap, psc_addr address, uint64_t size)
{
    return heap_at(heap, address, size);
}

uint64_t heap_word(struct heap *heap, psc_addr address)
{
    return heap_u64(heap, address);
}
