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

struct cache_shape {
    uint32_t bins;
    uint32_t entries; /* Behind the counts. */
    bool counts_rest; /* A count is of what may still come. */
    uint64_t least;   /* Of the chunk. */
    uint64_t most;
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

/* @param link  where the list begins. */
static bool keep_list(struct heap *heap, psc_addr link, size_t limit, struct heap_kept *kept)
{
    psc_addr at = heap_u64(heap, link);
    for (size_t i = 0; at && i < limit; i++) {
        if (!may_be_memory(heap, at)) {
            heap_note_damage(heap, &(struct heap_damage){.kind = HEAP_DAMAGE_TCACHE,
                                                         .object = HEAP_NONE,
                                                         .address = link,
                                                         .value = at});
            return true;
        }
        if (hash_table_find(&kept->addresses, at))
            return true;
        if (!keep(heap, at, false, kept))
            return false;
        link = at;
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

static uint32_t read_count(struct heap *heap, psc_addr at, uint32_t width)
{
    return heap_u8(heap, at) | (width > 1 ? (uint32_t)heap_u8(heap, at + 1) << 8 : 0);
}

/*
 * Each list has a count, and what has none is empty; from 2.42 on it is how many may still come,
 * the same for all that are empty.
 */
static bool has_counts(struct heap *heap, psc_addr counts, const struct cache_shape *shape)
{
    uint32_t of_empty = 0;
    for (uint32_t i = 0; i < shape->bins; i++) {
        uint32_t width = shape->entries / shape->bins;
        uint32_t count = read_count(heap, counts + (psc_addr)width * i, width);
        bool empty = !heap_u64(heap, counts + shape->entries + 8 * (psc_addr)i);
        if (!shape->counts_rest && empty != !count)
            return false;
        if (shape->counts_rest && empty && of_empty && count != of_empty)
            return false;
        of_empty = empty ? count : of_empty;
        if (shape->counts_rest && empty && !count)
            return false;
    }
    return true;
}

static const struct cache_shape shapes[] = {
    {CACHE_BINS, CACHE_BINS, false, 0x250, 0x250},                 /* 2.26: counts of a byte */
    {CACHE_BINS, 2 * CACHE_BINS, false, 0x290, 0x290},             /* 2.30 */
    {CACHE_BINS_LARGE, 2 * CACHE_BINS_LARGE, true, 0x2f0, 0x310}}; /* 2.42 */

bool heap_take_cache(struct heap *heap, psc_addr chunk, uint64_t size, struct heap_kept *kept)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(shapes); i++) {
        const struct cache_shape *shape = &shapes[i];
        psc_addr counts = chunk + CHUNK_HEADER;
        psc_addr entries = counts + shape->entries;
        uint32_t lists;
        if (size < shape->least || size > shape->most ||
            !heap_at(heap, counts, shape->entries + 8 * (uint64_t)shape->bins) ||
            !is_cache(heap, entries, shape->bins, &lists) || !lists ||
            !has_counts(heap, counts, shape))
            continue;
        for (uint32_t bin = 0; bin < shape->bins; bin++)
            if (!keep_list(heap, entries + 8 * (psc_addr)bin, CACHE_LENGTH_LIMIT, kept))
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
