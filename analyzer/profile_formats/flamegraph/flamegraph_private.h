/** @file Shared by the files of room `profile_formats/flamegraph` only. */
#ifndef PSC_PROFILE_FLAMEGRAPH_PRIVATE_H
#define PSC_PROFILE_FLAMEGRAPH_PRIVATE_H

#include "samples.h"

#define FLAME_NONE UINT32_MAX

/** The nodes of a tree that the page has, in the order of a walk: siblings by name. */
struct flame_order {
    uint32_t *nodes;  /**< The root is the first. */
    uint32_t *number; /**< By node: its index in nodes; FLAME_NONE: left out. */
    size_t count;
    uint64_t least; /**< Nodes with a smaller total are left out; 0: none is. */
};

/** False: out of memory. To be freed in any case. @param limit  nodes at most. */
bool flame_order_make(const struct call_tree *tree, size_t limit, struct flame_order *ret);
void flame_order_deinit(struct flame_order *order);

/** Name of what a label stands for, as it is (not escaped); of threads and processes in `made`. */
const char *flame_label_name(const struct profile *profile, const struct call_label *label,
                             struct text *made);

#endif
