/**
 * @file
 * References the other way round, dominators, and what would
 * go with a node. A node is a number from 0 on; what it stands for is the caller's.
 */
#ifndef PSC_DOMINATORS_H
#define PSC_DOMINATORS_H

#include "base.h"

#define HOLDERS_NO_NODE UINT32_MAX

/** Nodes that lead to nodes: row i is nodes[first[i]] up to nodes[first[i + 1]]. */
struct holder_rows {
    uint32_t count;
    const uint32_t *first; /**< count + 1 of them. */
    const uint32_t *nodes;
    uint32_t *own_first; /**< What holder_rows_deinit() frees; or NULL. */
    uint32_t *own_nodes;
};

void holder_rows_deinit(struct holder_rows *rows);
/**
 * Of each node those that lead to it, in their order; a node that leads there twice is there twice.
 * @return PSC_ERR_MEMORY
 */
PSC_MUST_CHECK enum psc_status holder_rows_reverse(const struct holder_rows *forward,
                                                   struct holder_rows *ret);

/** Bits of dominator_input.flags. */
enum {
    DOMINATOR_ROOT = 1,  /**< Something that is no node holds it. */
    DOMINATOR_OWNED = 2, /**< It counts to its owner alone, whoever else holds it. */
    DOMINATOR_OWNER = 4
};

struct dominator_input {
    struct holder_rows forward;
    struct holder_rows holders;                           /**< holder_rows_reverse() of it. */
    const uint8_t *flags;                                 /**< Of each node. */
    uint64_t (*size)(const void *context, uint32_t node); /**< Bytes of its own. */
    const void *context;
};

/** The tree of dominators. Zero-initialise. */
struct dominators {
    uint32_t count;
    uint32_t reached;    /**< Nodes that the roots lead to: the first ones of `order`. */
    uint32_t *dominator; /**< The last node that all ways to it pass; HOLDERS_NO_NODE: none. */
    uint64_t *retained;  /**< Bytes that would go with it: its own, and of what it dominates. */
    uint32_t *order;     /**< All nodes, each behind the one that dominates it. */
};

/**
 * In time nearly proportional to nodes and references. What no root leads to (cycles that nobody
 * has collected) comes last, as if the first node of each part were a root.
 * @return PSC_ERR_MEMORY
 */
PSC_MUST_CHECK enum psc_status dominators_create(const struct dominator_input *input,
                                                 struct dominators *ret);
void dominators_deinit(struct dominators *dominators);

/** Whom each node dominates directly; the last row is for those that none does. */
PSC_MUST_CHECK enum psc_status dominators_list_children(const struct dominators *dominators,
                                                        struct holder_rows *ret);

/**
 * Bytes that nodes of each group retain, each byte once: of a node that another one of its group
 * dominates nothing is counted again.
 * @param group  of each node the number of its group, below group_count.
 * @param ret    group_count numbers.
 */
PSC_MUST_CHECK enum psc_status dominators_sum_groups(const struct dominators *dominators,
                                                     const uint32_t *group, size_t group_count,
                                                     uint64_t *ret);

#endif
