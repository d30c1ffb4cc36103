/** Shared by the files of room `holders` only. */
#ifndef PSC_HOLDERS_PRIVATE_H
#define PSC_HOLDERS_PRIVATE_H

#include "holders.h"

/** A reference from a node that is no object. */
struct outside_edge {
    uint32_t node;
    uint32_t object;
};

/** Memory whose words hold: frames, stacks of C, data of modules. */
struct extent {
    psc_addr start;
    psc_addr end;
    uint32_t node;
};

/** What is gathered before the rows are made. */
struct outside {
    struct holders *holders;
    struct outside_edge *edges;
    size_t edge_count;
    size_t edge_capacity;
    struct extent *extents;
    size_t extent_count;
    size_t extent_capacity;
    bool failed; /**< Out of memory. */
};

#define OUTSIDE_EDGE_LIMIT 10000000u
#define HOLDER_LIMIT       1000000u

/* ---- outside.c ---- */

/** A new node; HOLDERS_NO_NODE: there are too many, or no memory is left. */
uint32_t outside_add_holder(struct outside *outside, struct holder holder);
/** One more reference; it takes one from what is missing of the object's count. */
void outside_add_edge(struct outside *outside, uint32_t node, uint32_t object);
void outside_add_extent(struct outside *outside, psc_addr start, psc_addr end, uint32_t node);

/* ---- frame_holders.c ---- */

/** Threads, their frames with what the names there have, and their stacks of C. */
void outside_take_threads(struct outside *outside);

/* ---- outside_words.c ---- */

/** Words in extents, in data of modules, and in blocks of nobody. */
void outside_take_words(struct outside *outside);

#endif
