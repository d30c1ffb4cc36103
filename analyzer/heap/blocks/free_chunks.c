/*
 * Chunks that malloc() marks as in use, but that are free: in the caches of threads and in
 * fastbins (glibc, malloc/malloc.c).
 */
#include "blocks.h"

/* tcache_perthread_struct: a u16 for each bin, then the first of its list. */
enum {
    CACHE_BINS = 64,      /* 2.26 to 2.41 */
    CACHE_BINS_LARGE = 76 /* 2.42: twelve more, of larger chunks of several sizes each. */
};
#define CACHE_LENGTH_LIMIT 65535u /* A bin's; UINT16_MAX is what the tunable may have. */

/* malloc_state: fastbinsY, then top, and bins, whose first is a list. */
enum { STATE_FASTBINS = 16, STATE_FASTBIN_COUNT = 10, STATE_TOP = 96, STATE_BINS = 112 };
#define FASTBIN_LENGTH_LIMIT (1u << 24)

static uint64_t chunk_size(struct heap *heap, psc_addr memory)
{
    return heap_u64(heap, memory - CHUNK_SIZE) & ~(uint64_t)CHUNK_FLAGS;
}

static bool may_be_memory(struct heap *heap, psc_addr memory)
{
    return !(memory & 15) && chunk_size(heap, memory) >= CHUNK_LEAST;
}

/* From 2.32 on links are mixed with where they stand (PROTECT_PTR). */
static psc_addr next_kept(struct heap *heap, psc_addr at)
{
    uint64_t link = heap_u64(heap, at);
    psc_addr mixed = link ^ at >> 12;
    return !mixed || may_be_memory(heap, mixed) ? mixed : link;
}

/* False: out of memory. */
static bool keep(struct heap *heap, psc_addr memory, bool fastbin, struct heap_kept *kept)
{
    if (hash_table_find(&kept->addresses, memory))
        return true;
    struct heap_kept_chunk *chunk = hash_table_add(&kept->addresses, memory);
    if (!chunk)
        return false;
    chunk->bytes = chunk_size(heap, memory);
    chunk->fastbin = fastbin;
    return true;
}

static bool keep_list(struct heap *heap, psc_addr first, bool fastbin, size_t limit,
                      struct heap_kept *kept)
{
    psc_addr at = first;
    for (size_t i = 0; at && i < limit; i++) {
        if (!may_be_memory(heap, at)) {
            heap_note_damage(heap, &(struct heap_damage){.kind = HEAP_DAMAGE_TCACHE,
                                                         .object = HEAP_NONE,
                                                         .address = at,
                                                         .value = first});
            return true;
        }
        if (hash_table_find(&kept->addresses, at))
            return true;
        if (!keep(heap, at, fastbin, kept))
            return false;
        at = next_kept(heap, at);
    }
    return true;
}

/* The chunks of one of the 64 bins have its size, and up to 2.41 the bin has a count of them. */
static bool is_cache(struct heap *heap, psc_addr entries, uint32_t bins, uint32_t *ret_lists)
{
    *ret_lists = 0;
    for (uint32_t i = 0; i < bins; i++) {
        psc_addr first = heap_u64(heap, entries + 8 * (psc_addr)i);
        if (!first)
            continue;
        ++*ret_lists;
        if (first & 15 || chunk_size(heap, first) < CHUNK_LEAST ||
            (i < CACHE_BINS && chunk_size(heap, first) != CHUNK_LEAST + UINT64_C(16) * i))
            return false;
    }
    return true;
}

/* Each list has a count, and what has none is empty. */
static bool has_counts(struct heap *heap, psc_addr entries, uint32_t width)
{
    for (uint32_t i = 0; width && i < CACHE_BINS; i++) {
        psc_addr at = entries - (psc_addr)width * (CACHE_BINS - i);
        uint32_t count = heap_u8(heap, at) | (width > 1 ? (uint32_t)heap_u8(heap, at + 1) << 8 : 0);
        if (!count != !heap_u64(heap, entries + 8 * (psc_addr)i))
            return false;
    }
    return true;
}

bool heap_take_cache(struct heap *heap, psc_addr chunk, uint64_t size, struct heap_kept *kept)
{
    static const struct {
        uint32_t bins;
        uint32_t entries; /* Behind the counts. */
        uint32_t count;   /* Bytes of one; 0: it is of what may still come. */
        uint64_t least;   /* Of the chunk. */
        uint64_t most;
    } shapes[] = {
        {CACHE_BINS, CACHE_BINS, 1, 0x250, 0x250},                /* 2.26: counts of a byte */
        {CACHE_BINS, 2 * CACHE_BINS, 2, 0x290, 0x290},            /* 2.30 */
        {CACHE_BINS_LARGE, 2 * CACHE_BINS_LARGE, 0, 0x2f0, 0x310} /* 2.42 */
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(shapes); i++) {
        psc_addr entries = chunk + CHUNK_HEADER + shapes[i].entries;
        uint32_t lists;
        if (size < shapes[i].least || size > shapes[i].most ||
            !heap_at(heap, entries, 8 * (uint64_t)shapes[i].bins) ||
            !is_cache(heap, entries, shapes[i].bins, &lists) || !lists ||
            !has_counts(heap, entries, shapes[i].count))
            continue;
        for (uint32_t bin = 0; bin < shapes[i].bins; bin++)
            if (!keep_list(heap, heap_u64(heap, entries + 8 * (psc_addr)bin), false,
                           CACHE_LENGTH_LIMIT, kept))
                return false;
    }
    return true;
}

bool heap_take_fastbins(struct heap *heap, psc_addr state, struct heap_kept *kept)
{
    for (uint32_t i = 0; i < STATE_FASTBIN_COUNT; i++) {
        psc_addr chunk = heap_u64(heap, state + STATE_FASTBINS + 8 * (psc_addr)i);
        // Links lead to chunks, and are mixed with where what the caller had begins.
        for (uint32_t length = 0; chunk && length < FASTBIN_LENGTH_LIMIT; length++) {
            psc_addr memory = chunk + CHUNK_HEADER;
            if (!may_be_memory(heap, memory) || hash_table_find(&kept->addresses, memory))
                break;
            if (!keep(heap, memory, true, kept))
                return false;
            uint64_t link = heap_u64(heap, memory);
            psc_addr mixed = link ^ memory >> 12;
            chunk = !mixed || may_be_memory(heap, mixed + CHUNK_HEADER) ? mixed : link;
        }
    }
    return true;
}

psc_addr heap_find_main_arena(struct heap *heap, psc_addr top)
{
    for (size_t i = 0; i < heap->range_count; i++) {
        const struct heap_range *range = &heap->ranges[i];
        if (!range->module)
            continue;
        for (psc_addr at = range->start; at + 8 <= range->end; at += 8) {
            if (load_u64(range->bytes + (at - range->start)) != top ||
                at - range->start < STATE_TOP)
                continue;
            psc_addr state = at - STATE_TOP;
            psc_addr first = heap_u64(heap, state + STATE_BINS);
            if (heap_u32(heap, state) < 2 && (first == at || heap_range_at(heap, first)))
                return state;
        }
    }
    return 0;
}
