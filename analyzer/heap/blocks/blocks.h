/**
 * @file
 * Room `heap/blocks`: which memory is given away, by the bookkeeping of its allocator, which is
 * found without a symbol: its own numbers must agree.
 *
 * To add an allocator: a file here that adds its blocks, a layer in heap.h, its call in
 * heap_blocks_find().
 */
#ifndef PSC_HEAP_BLOCKS_H
#define PSC_HEAP_BLOCKS_H

#include "heap_memory.h"

/** Finds all blocks, fills heap->pymalloc and heap->glibc, sorts and indexes the blocks. */
PSC_MUST_CHECK enum psc_status heap_blocks_find(struct heap *heap);

/* ---- pymalloc.c ---- */

#define HEAP_POOL_SIZE_MAX 16384u

/** What the header of a pool and its free list say. */
struct heap_pool {
    uint32_t size_class;   /**< Index; blocks have 16 bytes more than 16 times that. */
    uint32_t capacity;     /**< Blocks that were ever used. */
    uint32_t used;         /**< By its count. */
    uint32_t free_listed;  /**< On its free list. */
    bool broken;           /**< The free list leads elsewhere, or the numbers do not agree. */
    psc_addr broken_at;    /**< Of the block with the wrong link. */
    uint64_t broken_value; /**< What stands there. */
    uint64_t free[HEAP_POOL_SIZE_MAX / 16 / 64]; /**< A bit for each block on the list. */
};

/**
 * Whether a pool begins there. PSC_ERR_FORMAT: it is none, and none that was damaged.
 * @param bytes  `size` of them, a whole pool.
 */
PSC_MUST_CHECK enum psc_status parse_pool(const uint8_t *bytes, uint64_t size, psc_addr address,
                                          struct heap_pool *ret);
/** Where pools were found, sorted. */
struct heap_pools {
    psc_addr *items; /**< malloc'd. */
    size_t count;
    size_t capacity;
};

/** Adds the blocks of all pools. @param ret  the caller frees its items, whatever is returned. */
PSC_MUST_CHECK enum psc_status heap_pools_find(struct heap *heap, struct heap_pools *ret);
/** Whether the blocks of the allocator have what its hooks for debugging add. */
void heap_pools_find_hooks(struct heap *heap);

/* ---- arenas.c ---- */

/** Counts what of pymalloc's arenas no pool uses, where their tables are found. False: out of
 * memory. */
PSC_MUST_CHECK bool heap_arenas_find(struct heap *heap, const struct heap_pools *pools);

/* ---- glibc.c ---- */

/** Adds the chunks of malloc() that are in use. */
PSC_MUST_CHECK enum psc_status heap_chunks_find(struct heap *heap);

/* ---- free_chunks.c ---- */

/** malloc_chunk: prev_size, size with three flags, then what the caller has; 16 aligned. */
enum {
    CHUNK_HEADER = 16,
    CHUNK_SIZE = 8,
    CHUNK_NEXT = 16, /* Of a free one: fd, bk. */
    CHUNK_BACK = 24,
    CHUNK_FLAGS = 7,
    CHUNK_PREVIOUS_USED = 1,
    CHUNK_MAPPED = 2,
    CHUNK_LEAST = 32
};

/** A set of chunks that are marked as in use, but lie in a thread's cache or a fastbin. */
struct heap_kept {
    struct hash_table addresses; /**< Of struct heap_kept_chunk. */
};

struct heap_kept_chunk {
    uint64_t address; /**< Of what the caller had. */
    uint64_t bytes;
    bool fastbin;
};

/** Adds what a chunk keeps that may be the cache of a thread. @return false: out of memory. */
PSC_MUST_CHECK bool heap_take_cache(struct heap *heap, psc_addr chunk, uint64_t size,
                                    struct heap_kept *kept);
/** Adds the fastbins of an arena. @param state  malloc_state. */
PSC_MUST_CHECK bool heap_take_fastbins(struct heap *heap, psc_addr state, struct heap_kept *kept);
/** The arena whose top is there, in the data of a module; 0: none. */
psc_addr heap_find_main_arena(struct heap *heap, psc_addr top);

#endif
