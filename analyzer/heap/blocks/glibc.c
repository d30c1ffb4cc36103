/*
 * Chunks of malloc() (glibc, malloc/malloc.c and arena.c). A chain of sizes that ends where its
 * memory ends is what proves an arena; whether a chunk is in use stands in the next one.
 */
#include "blocks.h"

#include <stdlib.h>

/* arena.c, HEAP_MAX_SIZE on 64-bit machines, and heap_info: ar_ptr, prev, size. */
#define HEAP_ALIGNED UINT64_C(0x4000000)
enum { INFO_ARENA = 0, INFO_PREVIOUS = 8, INFO_SIZE = 16, INFO_LEAST = 32, INFO_MOST = 64 };
/* sizeof(struct malloc_state) is 0x898 in 2.36; first chunks are looked for around that. */
enum { STATE_LEAST = 0x800, STATE_MOST = 0xb00, STATE_NEAR = 0x100 };
#define PAGE UINT64_C(4096)
/* The first chunk of the main heap is the cache of the main thread. */
enum { FIRST_LEAST = 0x20, FIRST_MOST = 0x1000 };
/* Chunks that have to hold together for a walk to go on behind a damaged header. */
#define CHAIN_PROOF UINT64_C(16)
/* Damaged places of an arena that are walked over, and steps in search of where to go on. */
#define DAMAGE_LIMIT 64u
#define SEARCH_LIMIT (UINT64_C(1) << 26)
/* Main heaps: a process has one; what the kernel split, or was made for other purposes, is more. */
#define MAIN_HEAP_LIMIT 16u
/* Chunks that are walked in vain, where no arena is. */
#define TRIAL_LIMIT (UINT64_C(1) << 24)

struct chunk_walk {
    struct heap *heap;
    struct heap_kept kept;
    uint64_t trials;   /* Left. */
    uint64_t searched; /* Left. */
    psc_addr top;      /* Of the arena walked last. */
    uint32_t main_heaps;
    psc_addr swept; /* See heap_sweep(). */
};

static uint64_t size_word(struct heap *heap, psc_addr chunk)
{
    return heap_u64(heap, chunk + CHUNK_SIZE);
}

static uint64_t size_of(uint64_t word)
{
    return word & ~(uint64_t)CHUNK_FLAGS;
}

static bool is_size(uint64_t word, uint64_t left)
{
    uint64_t size = size_of(word);
    return size >= CHUNK_LEAST && !(size & 15) && size <= left && !(word & CHUNK_MAPPED);
}

/* An arena's heap that was full ends in two chunks that are none (sysmalloc()). */
static bool is_fence(struct heap *heap, psc_addr chunk, psc_addr end)
{
    return end - chunk >= 2 * (psc_addr)CHUNK_HEADER &&
           size_of(size_word(heap, chunk)) == CHUNK_HEADER &&
           size_of(size_word(heap, chunk + CHUNK_HEADER)) == 0;
}

/* Whether so many chunks follow each other from there, or up to the end. */
static bool is_chain(struct chunk_walk *walk, psc_addr from, psc_addr end, uint64_t length)
{
    psc_addr at = from;
    for (uint64_t i = 0; i < length && at < end && walk->trials; i++) {
        walk->trials--;
        uint64_t word = end - at >= CHUNK_HEADER ? size_word(walk->heap, at) : 0;
        if (!is_size(word, end - at))
            return is_fence(walk->heap, at, end) && at != from;
        at += size_of(word);
    }
    return walk->trials != 0;
}

/* Where the next chunks are that hold together; `end`: nowhere. */
static psc_addr find_chain(struct chunk_walk *walk, psc_addr from, psc_addr end)
{
    for (psc_addr at = from; at < end && walk->searched; at += 16, walk->searched--) {
        uint64_t word = size_word(walk->heap, at);
        if (is_size(word, end - at) && size_of(word) < end - at &&
            is_chain(walk, at, end, CHAIN_PROOF))
            return at;
    }
    return end;
}

static bool add_chunk(struct chunk_walk *walk, psc_addr chunk, uint64_t size)
{
    struct heap *heap = walk->heap;
    heap->glibc.chunks++;
    heap->glibc.used += size;
    return heap_take_cache(heap, chunk, size, &walk->kept) &&
           heap_block_add(heap, chunk + CHUNK_HEADER, size, HEAP_GLIBC);
}

static psc_addr pass_damage(struct chunk_walk *walk, psc_addr chunk, psc_addr end)
{
    struct heap *heap = walk->heap;
    psc_addr next = find_chain(walk, chunk + 16, end);
    heap->glibc.damaged++;
    heap_note_damage(heap, &(struct heap_damage){.kind = HEAP_DAMAGE_CHUNK,
                                                 .object = HEAP_NONE,
                                                 .address = chunk,
                                                 .value = size_word(heap, chunk),
                                                 .resumed = next < end ? next : 0});
    return next;
}

/* Links of a free chunk lead to those before and behind it in its list, which lead back. */
static void check_links(struct heap *heap, psc_addr chunk)
{
    static const struct {
        uint32_t link, back;
    } links[] = {{CHUNK_NEXT, CHUNK_BACK}, {CHUNK_BACK, CHUNK_NEXT}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(links); i++) {
        const psc_addr other = heap_u64(heap, chunk + links[i].link);
        const bool here = heap_at(heap, other + CHUNK_NEXT, 16) != NULL;
        if (here ? heap_u64(heap, other + links[i].back) == chunk
                 : target_find_mapping(heap->target, other) != NULL)
            continue;
        // That one is in a list on its other side: it is its own link that is wrong.
        const psc_addr beyond = here ? heap_u64(heap, other + links[i].link) : 0;
        if (beyond && heap_u64(heap, beyond + links[i].back) == other)
            continue;
        heap_note_damage(heap, &(struct heap_damage){.kind = HEAP_DAMAGE_TCACHE,
                                                     .object = HEAP_NONE,
                                                     .address = chunk + links[i].link,
                                                     .value = other});
        return;
    }
}

/* A chunk behind a free one says so, and has its size right before its own. */
static bool is_used(struct heap *heap, psc_addr behind, uint64_t size)
{
    return (size_word(heap, behind) & CHUNK_PREVIOUS_USED) || heap_u64(heap, behind) != size;
}

/* Whether the header says that the one before is free, though that is not so. */
static bool is_wrong_behind(struct heap *heap, psc_addr chunk, uint64_t size_before)
{
    return size_before && !(size_word(heap, chunk) & CHUNK_PREVIOUS_USED) &&
           is_used(heap, chunk, size_before);
}

/* False: out of memory. */
static bool add_chunks(struct chunk_walk *walk, psc_addr from, psc_addr end)
{
    struct heap *heap = walk->heap;
    unsigned damaged = 0;
    uint64_t before = 0;
    walk->top = 0;
    for (psc_addr at = from; at < end;) {
        uint64_t word = size_word(heap, at);
        uint64_t size = size_of(word);
        if (!is_size(word, end - at) || is_wrong_behind(heap, at, before)) {
            if (is_fence(heap, at, end) || damaged++ >= DAMAGE_LIMIT)
                return true;
            at = pass_damage(walk, at, end);
            before = 0;
            continue;
        }
        bool top = at + size >= end || is_fence(heap, at + size, end);
        if (at + size >= end)
            walk->top = at;
        const bool is_free = top || !is_used(heap, at + size, size);
        if (is_free)
            heap->glibc.free += size;
        else if (!add_chunk(walk, at, size))
            return false;
        if (is_free && !top)
            check_links(heap, at);
        before = size;
        at += size;
        heap_sweep(heap, &walk->swept, at);
    }
    return true;
}

/* False: out of memory. */
static bool take_arena(struct heap *heap, struct heap_range *range, psc_addr start, psc_addr end)
{
    heap->glibc.arena_bytes += end - start;
    range->arena = true;
    return heap_take(heap, start, end);
}

/* ---- the main heap ---- */

/* Where on a page of a range it begins; the memory before may be a module's. */
static psc_addr find_main_heap(struct chunk_walk *walk, const struct heap_range *range)
{
    for (psc_addr at = range->start; at < range->end && walk->trials; at += PAGE) {
        heap_sweep(walk->heap, &walk->swept, at);
        uint64_t word = size_word(walk->heap, at);
        if (size_of(word) >= FIRST_LEAST && size_of(word) <= FIRST_MOST &&
            (word & CHUNK_FLAGS) == CHUNK_PREVIOUS_USED && !heap_u64(walk->heap, at) &&
            range->end - at > PAGE && is_chain(walk, at, range->end, 4 * CHAIN_PROOF))
            return at;
    }
    return 0;
}

static bool take_main_heap(struct chunk_walk *walk, struct heap_range *range)
{
    struct heap *heap = walk->heap;
    psc_addr first = walk->main_heaps < MAIN_HEAP_LIMIT ? find_main_heap(walk, range) : 0;
    if (!first)
        return true;
    walk->main_heaps++;
    heap->glibc.arenas++;
    if (!take_arena(heap, range, first, range->end) || !add_chunks(walk, first, range->end))
        return false;
    psc_addr state = walk->top ? heap_find_main_arena(heap, walk->top) : 0;
    return !state || heap_take_fastbins(heap, state, &walk->kept);
}

/* ---- the arenas of threads ---- */

static psc_addr find_first_chunk(struct chunk_walk *walk, psc_addr from, psc_addr to, psc_addr end)
{
    for (psc_addr at = (from + 15) & ~UINT64_C(15); at < to && at < end; at += 16) {
        uint64_t word = size_word(walk->heap, at);
        if ((word & CHUNK_PREVIOUS_USED) && is_size(word, end - at) &&
            is_chain(walk, at, end, CHAIN_PROOF))
            return at;
    }
    return 0;
}

/* False: out of memory. */
static bool take_thread_heap(struct chunk_walk *walk, struct heap_range *range, psc_addr start)
{
    struct heap *heap = walk->heap;
    psc_addr state = heap_u64(heap, start + INFO_ARENA);
    psc_addr previous = heap_u64(heap, start + INFO_PREVIOUS);
    uint64_t size = heap_u64(heap, start + INFO_SIZE);
    bool first = state > start && state < start + STATE_NEAR;
    if (size < PAGE || size > HEAP_ALIGNED || size & (PAGE - 1) || !heap_range_at(heap, state) ||
        (first ? previous != 0 : !previous || previous & (HEAP_ALIGNED - 1)))
        return true;
    psc_addr end = size < range->end - start ? start + size : range->end;
    psc_addr chunk = first ? find_first_chunk(walk, state + STATE_LEAST, state + STATE_MOST, end)
                           : find_first_chunk(walk, start + INFO_LEAST, start + INFO_MOST, end);
    if (!chunk)
        return true;
    heap->glibc.arenas += first;
    return take_arena(heap, range, start, end) &&
           (!first || heap_take_fastbins(heap, state, &walk->kept)) && add_chunks(walk, chunk, end);
}

static bool take_thread_heaps(struct chunk_walk *walk, struct heap_range *range)
{
    psc_addr start = (range->start + HEAP_ALIGNED - 1) & ~(HEAP_ALIGNED - 1);
    for (; start >= range->start && start < range->end && range->end - start >= PAGE;
         start += HEAP_ALIGNED)
        if (!take_thread_heap(walk, range, start))
            return false;
    return true;
}

/* ---- chunks with mappings of their own ---- */

/* 2.43 keeps two words less than whole pages. */
static uint64_t mapped_size(struct heap *heap, psc_addr at, uint64_t left)
{
    uint64_t word = size_word(heap, at);
    uint64_t size = size_of(word);
    uint64_t pages = (size + PAGE - 1) & ~(PAGE - 1);
    bool whole = size == pages || size + CHUNK_HEADER == pages;
    return (word & CHUNK_FLAGS) == CHUNK_MAPPED && !heap_u64(heap, at) && whole &&
                   size >= PAGE / 2 && pages <= left
               ? pages
               : 0;
}

/* @param arenas  that are taken of this range, in order: the first of them among heap->taken. */
static bool take_mapped(struct chunk_walk *walk, const struct heap_range *range, size_t arenas)
{
    struct heap *heap = walk->heap;
    const size_t behind = heap->taken_count;
    for (psc_addr at = (range->start + PAGE - 1) & ~(PAGE - 1);
         at < range->end && range->end - at >= PAGE;) {
        heap_sweep(heap, &walk->swept, at);
        while (arenas < behind && heap->taken[arenas].end <= at)
            arenas++;
        const psc_addr next = arenas < behind ? heap->taken[arenas].start : range->end;
        if (next <= at) {
            at = heap->taken[arenas].end;
            continue;
        }
        uint64_t size = mapped_size(heap, at, next - at);
        if (!size) {
            at += PAGE;
            continue;
        }
        heap->glibc.mapped++;
        heap->glibc.mapped_bytes += size;
        if (!heap_block_add(heap, at + CHUNK_HEADER, size, HEAP_MAPPED) ||
            !heap_take(heap, at, at + size))
            return false;
        at += size;
    }
    return true;
}

/* ---- all ---- */

/* What lies in caches and fastbins is free. */
static void drop_kept(struct chunk_walk *walk)
{
    struct heap *heap = walk->heap;
    uint32_t left = 0;
    for (uint32_t i = 0; i < heap->block_count; i++) {
        const struct heap_kept_chunk *kept =
            heap->blocks[i].owner == HEAP_GLIBC
                ? hash_table_find(&walk->kept.addresses, heap->blocks[i].address)
                : NULL;
        if (!kept) {
            heap->blocks[left++] = heap->blocks[i];
            continue;
        }
        heap->glibc.used -= heap_block_bytes(&heap->blocks[i]);
        heap->glibc.kept += heap_block_bytes(&heap->blocks[i]);
        heap->glibc.kept_fast += kept->fastbin ? heap_block_bytes(&heap->blocks[i]) : 0;
        heap->glibc.chunks--;
    }
    heap->block_count = left;
}

static void walk_deinit(struct chunk_walk *walk)
{
    hash_table_deinit(&walk->kept.addresses);
}

enum psc_status heap_chunks_find(struct heap *heap)
{
    struct chunk_walk walk PSC_CLEANUP(walk_deinit) = {.heap = heap,
                                                       .kept.addresses =
                                                           HASH_TABLE_OF(struct heap_kept_chunk),
                                                       .trials = TRIAL_LIMIT,
                                                       .searched = SEARCH_LIMIT};
    for (size_t i = 0; i < heap->range_count; i++) {
        struct heap_range *range = &heap->ranges[i];
        if (range->file)
            continue;
        // Other memory may follow right behind an arena, or come right before it.
        const size_t arenas = heap->taken_count;
        if (!take_thread_heaps(&walk, range) || (!range->arena && !take_main_heap(&walk, range)) ||
            !take_mapped(&walk, range, arenas))
            return PSC_ERR_MEMORY;
        if (target_interrupted(heap->target))
            return PSC_ERR_INTERRUPTED;
    }
    drop_kept(&walk);
    return PSC_OK;
}

enum psc_status heap_blocks_find(struct heap *heap)
{
    struct heap_pools pools = {0};
    enum psc_status status = heap_chunks_find(heap);
    if (status == PSC_OK)
        status = heap_pools_find(heap, &pools);
    if (status == PSC_OK)
        status = heap_blocks_index(heap);
    if (status == PSC_OK) {
        heap_pools_find_hooks(heap);
        if (!heap_arenas_find(heap, &pools))
            status = PSC_ERR_MEMORY;
        heap_taken_sort(heap);
    }
    free(pools.items);
    return status;
}
