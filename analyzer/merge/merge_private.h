/** @file What the files of room `merge` share. */
#ifndef PSC_MERGE_PRIVATE_H
#define PSC_MERGE_PRIVATE_H

#include "merge.h"

/** Interpreters on one thread whose order is looked for. */
#define INTERPRETER_LIMIT 256u

/* ---- extents.c ---- */

/** The native frames' extents [sp, cfa), ready for look-up by address. */
struct extents {
    const struct native_stack *stack;
    size_t *order; /**< Frame indices by rising sp; NULL when the stack rises by itself. */
};

/** False: out of memory. */
PSC_MUST_CHECK bool extents_init(struct extents *extents, const struct native_stack *stack);
void extents_deinit(struct extents *extents);
/** The frame whose [sp, cfa) holds the address; SIZE_MAX when none does. */
size_t extents_find(const struct extents *extents, psc_addr address);
/** The frame with the lowest sp above the address; the frame count when none is. */
size_t extents_next(const struct extents *extents, psc_addr address);
/** The first frame in [from, end) before which frames may be missing; `end`: none. */
size_t skips_find_next(const struct native_stack *stack, size_t from, size_t end);

/* ---- evaluators.c ---- */

/** The next evaluator by name from a native frame on; SIZE_MAX: none. */
size_t evaluators_find_next(const struct merged_stack *merged, size_t from);
/** Words of an evaluator's native frame; Debian's 3.9 has 38. Larger frames are not read. */
#define EVALUATOR_WORD_LIMIT 512u
/** The words [sp, cfa) of a native frame. @return how many; 0 when they cannot be read. */
size_t evaluators_read_words(const struct native_frame *frame, struct target *target,
                             uint64_t words[EVALUATOR_WORD_LIMIT]);
/** True when one of a native frame's words is this address. */
bool evaluators_points_to(const struct native_frame *frame, struct target *target,
                          psc_addr address);

/* ---- evaluator_slots.c ---- */

/** Which native frame runs which frame object, for joins by slot. */
struct slot_assignment {
    size_t native;
    size_t chain_index; /**< In the interpreter's chain. */
};

/** All zero is an empty one. */
struct slot_assignments {
    struct slot_assignment *items; /**< The innermost evaluator first; malloc'd. */
    size_t count;
    size_t capacity;
};

/**
 * Finds the frames of all evaluators. Where CPython cut the chain (3.9 and early 3.10, while an
 * exception is thrown into a generator) the interpreter's stack is continued.
 * @param interpreter  one of merged->interpreters.
 * @param ret          empty at first.
 */
PSC_MUST_CHECK enum psc_status slots_find(const struct merged_stack *merged,
                                          struct interpreter_stack *interpreter,
                                          struct python *python, struct target *target,
                                          struct slot_assignments *ret);

/* ---- interpreter_order.c ---- */

/**
 * For joins by slot: makes one chain of those of several interpreters, the inner one first.
 * @param ret_ordered  false: nothing tells which of them is the inner one.
 */
PSC_MUST_CHECK enum psc_status interpreters_join(struct merged_stack *merged, struct target *target,
                                                 bool *ret_ordered);

#endif
