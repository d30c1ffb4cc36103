/**
 * @file
 * Room `heap/references`: what each object refers to, and which blocks it keeps beside its own.
 *
 * Of types whose layout is known just what they hold and count; of all others each word in them
 * that leads to the start of an object. What they borrow is left out.
 */
#ifndef PSC_HEAP_REFERENCES_H
#define PSC_HEAP_REFERENCES_H

#include "object_table.h"

/** Something that an object refers to. */
struct heap_reference {
    enum heap_edge_kind kind;
    psc_addr key;     /**< Of VALUE, and of an ATTRIBUTE without a name: an object. */
    uint64_t number;  /**< Of ITEM; of WORD: from the object's start. */
    const char *name; /**< Of MEMBER and ATTRIBUTE; or NULL. */
};

struct heap_walk;

/** Takes a reference; false ends the walk. */
typedef bool heap_visit(struct heap_walk *walk, uint32_t target, const struct heap_reference *what);

/** A walk over the references of one object. */
struct heap_walk {
    struct heap *heap;
    heap_visit *visit;
    void *context;
    /** Told of a word in the place of a reference that leads to no object; or NULL. */
    void (*dangling)(struct heap_walk *walk, psc_addr word);
    /** Told of a word that leads to a table of the object's, where no block begins; or NULL. */
    void (*lost)(struct heap_walk *walk, uint64_t offset, psc_addr table);
    uint32_t object;
    psc_addr address;
    const struct heap_type_facts *facts;
    bool owns;    /**< Blocks are given their owner. */
    bool stopped; /**< By the visitor. */
    uint64_t owned;
};

/** Visits all that walk->object refers to. */
void heap_walk_object(struct heap_walk *walk);

/* ---- refer.c: for the files of this room ---- */

/** Takes from what all walks together may look at; false, and the walk is stopped: nothing is left.
 */
bool heap_spend(struct heap_walk *walk, uint64_t words);
/** A word that is a reference, or 0. */
void heap_refer(struct heap_walk *walk, psc_addr word, const struct heap_reference *what);
/** A word that may be one. */
void heap_may_refer(struct heap_walk *walk, psc_addr word, const struct heap_reference *what);
/** Each word from..to of the object, but the one at `skipped` (0: none). */
void heap_scan(struct heap_walk *walk, uint64_t from, uint64_t to, uint64_t skipped);
/** The object keeps the block there, if one begins there. */
void heap_own(struct heap_walk *walk, psc_addr block);
/** It keeps the block that the word so far from its start leads to, if that is not 0. */
void heap_own_table(struct heap_walk *walk, uint64_t offset);
/** It keeps those that words from..to of it lead to. */
void heap_own_scanned(struct heap_walk *walk, uint64_t from, uint64_t to);

/* ---- container_references.c ---- */

void heap_walk_dict(struct heap_walk *walk);
void heap_walk_list(struct heap_walk *walk);
void heap_walk_tuple(struct heap_walk *walk);
void heap_walk_set(struct heap_walk *walk);
void heap_walk_deque(struct heap_walk *walk);
void heap_walk_attributes(struct heap_walk *walk);
/** The keys that instances share, of a class. */
void heap_walk_cached_keys(struct heap_walk *walk, psc_addr keys);

/* ---- frame_references.c ---- */

void heap_walk_generator(struct heap_walk *walk);
void heap_walk_frame(struct heap_walk *walk);

/* ---- kept_memory.c ---- */

/** Adds them behind the others of each object, once all those are there. */
PSC_MUST_CHECK enum psc_status heap_kept_references_find(struct heap *heap);
/** Which word of the memory that the object keeps leads to the other one. */
bool heap_kept_reference_at(struct heap *heap, uint32_t object, uint32_t target, uint64_t *ret);

/* ---- collect.c ---- */

/** Fills heap->edges and the objects' counts, adds static objects, gives blocks their owners. */
PSC_MUST_CHECK enum psc_status heap_references_find(struct heap *heap);

#endif
