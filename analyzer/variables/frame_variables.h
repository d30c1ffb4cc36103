/** @file What variables.c and entry_values.c share: who reads variables of native frames.
 */
#ifndef PSC_NATIVE_VALUES_H
#define PSC_NATIVE_VALUES_H

#include "variable_value.h"

#define LOCAL_LIMIT 256u /**< Of one frame. */

struct c_values {
    struct psc_trace *trace;
    const struct capture_sources *sources;
    const struct plan *plan;
    struct arena *arena;
    size_t *bytes; /* That may still be used. */
    struct trace_local items[LOCAL_LIMIT];
    size_t count;
    struct native_value value; /* That is being written. */
};

/** What the debug information knows of a place; NULL for nothing. */
const struct debug_scopes *variables_find_scopes(const struct address_info *info);
/** Finds a variable of a native frame. What is nowhere has a size of 0 and no memory. */
enum native_location variables_locate(struct c_values *values, size_t native,
                                      const struct debug_variable *variable, struct c_place *ret);

/**
 * Writes what an argument of a Cython function was when it was called, as far as its wrapper still
 * has it; false when nothing is known.
 */
bool arguments_add_passed(struct c_values *values, size_t native, const struct debug_scope *body,
                          const struct debug_variable *argument, struct c_writer *writer);

#endif
