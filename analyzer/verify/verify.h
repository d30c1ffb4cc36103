/**
 * @file
 * Room `verify`: what is damaged in a heap: counts of references that are too low, references to
 * what is free or no object, lists of the collector, pools and chunks.
 *
 * An alarm is raised only by references whose place is known by layout. Objects that are immortal
 * are not judged; a count that is too high is none, since code in C holds objects, too.
 */
#ifndef PSC_VERIFY_H
#define PSC_VERIFY_H

#include "heap.h"

enum finding_kind {
    FINDING_REFCOUNT,    /**< Fewer references are counted than there are. */
    FINDING_DANGLING,    /**< A reference to memory that is free. */
    FINDING_OVERWRITTEN, /**< A reference to a block in use that begins with no object. */
    FINDING_TABLE,       /**< A word of an object leads to where its table is not. */
    FINDING_COLLECTOR,   /**< The links of the collector's list. */
    FINDING_FREE_BLOCK,  /**< A free block of a pool was written to. */
    FINDING_GUARD,       /**< What hooks for debugging put around a block. */
    FINDING_CHUNK        /**< The header of a chunk of malloc(), or a list of free ones. */
};

#define FINDING_HOLDERS 8u  /**< That are told; the rest is counted. */
#define FINDING_AROUND  96u /**< Bytes. */
#define FINDING_LIMIT   1000u

struct finding {
    enum finding_kind kind;
    psc_addr address;                  /**< Of the object, or of what is damaged. */
    const char *message;               /**< A sentence; the heap's arena's. */
    uint32_t object;                   /**< The damaged one, or HEAP_NONE. */
    uint32_t holders[FINDING_HOLDERS]; /**< Objects that refer to it. */
    size_t holder_count;               /**< Of all; more than FINDING_HOLDERS are not kept. */
    uint32_t
        before; /**< The object in the block right before it, which may have run over; HEAP_NONE. */
    psc_addr around_start;
    uint8_t around[FINDING_AROUND];
    size_t around_size;
};

struct findings {
    struct finding *items; /**< malloc'd; the most telling kind first. */
    size_t count;
    size_t capacity;
    uint64_t left_out;
};

/** "refcount-too-low", "dangling" and so on; static. */
const char *finding_kind_name(enum finding_kind kind);

/**
 * Looks for all of it. One damage may show in several findings: those of one address are one.
 * @return PSC_ERR_MEMORY
 */
PSC_MUST_CHECK enum psc_status verify_heap(struct heap *heap, struct findings *ret);
void verify_deinit(struct findings *findings);

#endif
