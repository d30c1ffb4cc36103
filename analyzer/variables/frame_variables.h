/** @file What variables.c and entry_values.c share: who reads variables of native frames.
 */
#ifndef PSC_NATIVE_VALUES_H
#define PSC_NATIVE_VALUES_H

#include "variable_value.h"

#define LOCAL_LIMIT 256u /**< Of one frame. */

struct variables {
    struct variables_input input;
    size_t bytes; /**< Of text that may still be made. */
    const struct native_stack *stack;
    const struct variables_level *level; /**< That is asked for; NULL: none in particular. */
    struct trace_local items[LOCAL_LIMIT];
    size_t count;
    struct native_value value; /**< That is being written. */
};

/** What the debug information knows of the code of a native frame; NULL for nothing. */
const struct debug_scopes *variables_find_scopes(const struct variables *variables, size_t native);
/** Finds a variable of a native frame. What is nowhere has a size of 0 and no memory. */
enum native_location variables_locate(struct variables *variables, size_t native,
                                      const struct debug_variable *variable, struct c_place *ret);

/**
 * Writes what an argument of a Cython function was when it was called, as far as its wrapper still
 * has it; false when nothing is known.
 */
bool arguments_add_passed(struct variables *variables, size_t native,
                          const struct debug_scope *body, const struct debug_variable *argument,
                          struct c_writer *writer);

#endif
