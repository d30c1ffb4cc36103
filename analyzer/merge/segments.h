/** @file Runs of Python frames, each of one evaluator call, on their way into a merged stack. */
#ifndef PSC_SEGMENTS_H
#define PSC_SEGMENTS_H

#include "merge_private.h"

/** A run of Python frames that one evaluator call runs, newest first. */
struct segment {
    size_t interpreter; /**< Index into merged->interpreters. */
    size_t first;       /**< Index into its stack's frames. */
    size_t count;
    size_t order;     /**< As added: what stands first in its chain. */
    psc_addr address; /**< On the C stack; 0 when only the order is known. */
    size_t native;    /**< The evaluator; SIZE_MAX: no native frame holds the address. */
    size_t before;    /**< Without one: the native frame before which the segment stands. */
    bool apart;       /**< Each frame was run by an evaluator of its own. */
    bool compiled;    /**< One frame, of a function that Nuitka compiled: no evaluator runs it. */
};

/** All zero is an empty one. */
struct segments {
    struct segment *items;
    size_t count;
    size_t capacity;
};

void segments_deinit(struct segments *segments);

/** Joins of 3.11 and later: anchors partition the chain of an interpreter. */
PSC_MUST_CHECK enum psc_status segments_add_anchored(struct segments *segments,
                                                     const struct merged_stack *merged,
                                                     const struct extents *extents,
                                                     size_t interpreter);
/**
 * Joins up to 3.10: evaluators name their frame objects. Chain frames between two named ones have
 * no evaluator of their own (a generator that awaits another): they belong to the evaluator
 * of the frame above them.
 */
PSC_MUST_CHECK enum psc_status segments_add_slotted(struct segments *segments,
                                                    const struct merged_stack *merged,
                                                    size_t interpreter,
                                                    const struct slot_assignments *slots);
/**
 * Several interpreters on one thread: what lies further in on the C stack comes first, whichever of
 * them it is of; each one's own order is kept. Segments of one interpreter stand side by side.
 */
PSC_MUST_CHECK enum psc_status segments_order_interpreters(struct segments *segments,
                                                           size_t interpreter_count);
/** What the places of segments are found by. */
struct segment_places {
    struct segments *segments;
    const struct merged_stack *merged;
    const struct extents *extents;
    struct python *python;
    struct target *target;
    struct symbolizer *symbolizer;
};

/** Finds where each stands among the native frames, and sorts them so. */
PSC_MUST_CHECK enum psc_status segments_sort(const struct segment_places *places);

/* ---- compiled_frames.c ---- */

/** Gives frames of functions that Nuitka compiled segments of their own. */
PSC_MUST_CHECK enum psc_status compiled_frames_split(struct segments *segments,
                                                     const struct merged_stack *merged);
/**
 * Places the segments [first, end), all compiled, among the native frames [from, to): each at its
 * function, or all before the innermost one of their module, with a warning.
 * @return false when out of memory.
 */
bool compiled_frames_place(const struct segment_places *places, size_t first, size_t end,
                           size_t from, size_t to);

/* ---- merged_items.c ---- */

/** Adds a gap; false when out of memory, also when `gap` is NULL for that reason. */
bool merged_add_gap(struct merged_stack *merged, const struct trace_location *gap);
/** Adds all native frames, and the Python frames of the sorted segments where they stand. */
PSC_MUST_CHECK enum psc_status merged_add_frames(struct merged_stack *merged,
                                                 const struct segments *segments,
                                                 struct symbolizer *symbolizer);

#endif
