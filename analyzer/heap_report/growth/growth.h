/**
 * @file
 * Room `heap_report/growth`: what has grown between two looks, as plain data.
 */
#ifndef PSC_GROWTH_H
#define PSC_GROWTH_H

#include "holders.h"

/** Each number is what there is more now. */
struct type_growth {
    const char *name;
    int64_t objects;
    int64_t bytes; /**< As heap_type.bytes. */
    int64_t owned;
};

/** Of a node that was there before: what is new and would go with it. */
struct holder_growth {
    uint32_t node;
    uint32_t type;    /**< Of what it holds directly and is new, the most frequent; HEAP_NONE. */
    uint64_t direct;  /**< So many of these. */
    uint64_t objects; /**< New ones, direct or not. */
    uint64_t bytes;   /**< Of those with what they own, and what it owns itself more. */
};

struct growth {
    struct type_growth *types; /**< The largest growth first. */
    size_t type_count;
    size_t type_capacity;
    struct holder_growth *holders; /**< The same. */
    size_t holder_count;
    size_t holder_capacity;
    uint64_t new_objects; /**< In blocks, that were not there before. */
    uint64_t same_objects;
    bool related; /**< Both are of one process: else there are no holders. */
};

PSC_MUST_CHECK enum psc_status growth_find(const struct heap *old, struct holders *holders,
                                           struct growth *ret);
void growth_deinit(struct growth *growth);

#endif
