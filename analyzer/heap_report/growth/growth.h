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
    int64_t occupied; /**< As heap_type.occupied. */
    /** Of the new ones that no other new object retains: bytes of all that is new and would go with
     * them. */
    uint64_t retained;
};

/** In place of a node in struct holder_growth. */
#define GROWTH_BY_CODE    UINT32_MAX       /**< Code in C, from where no object is known. */
#define GROWTH_BY_SEVERAL (UINT32_MAX - 1) /**< Several hold it, which have nothing in common. */
#define GROWTH_GARBAGE    (UINT32_MAX - 2) /**< Cycles that were not collected yet. */

/** Of a node that was there before: what is new and would go with it. */
struct holder_growth {
    uint32_t node;   /**< Or GROWTH_*. */
    uint32_t type;   /**< Of what it holds directly and is new, that with most bytes; HEAP_NONE. */
    uint64_t direct; /**< So many of these, */
    uint64_t direct_bytes; /**< which would go with them. */
    uint64_t objects;      /**< New ones, direct or not. */
    uint64_t bytes;        /**< Of those with what they own, and what it owns itself more. */
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
