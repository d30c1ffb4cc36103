/**
 * @file
 * Room `variables`: arguments and variables of native frames as text: C's and C++'s as gdb shows
 * them, Cython's as Python does.
 *
 * Where a variable is and of which type it is tells the debug information; what it holds is read
 * from the target. Names no function and no line: they are given.
 */
#ifndef PSC_VARIABLES_H
#define PSC_VARIABLES_H

#include "modules.h"
#include "native.h"
#include "python.h"
#include "trace.h"

/** Bytes of text that the variables of all native frames together may have. */
#define VARIABLES_TEXT_LIMIT ((size_t)64 << 20)

/** What variables are read from. */
struct variables_input {
    struct target *target;
    struct modules *modules;
    struct python *python; /**< NULL: objects are pointers. */
    struct arena *arena;   /**< For what is returned. */
    struct python_value_limits limits;
};

/** A level of a native frame: its function, or one that was inlined where it stands. */
struct variables_level {
    size_t frame;         /**< Index into the stack. */
    size_t level;         /**< From the innermost. */
    size_t level_count;   /**< Of that frame. */
    const char *function; /**< As it is shown; NULL: unknown. */
    uint32_t line;        /**< As it is shown; 0: unknown. */
    bool cython;
    const char *frame_function;  /**< Of the frame's physical function; NULL: unknown. */
    const char *caller_function; /**< Of the next frame outward; NULL: unknown, or none. */
};

struct variables;

/** NULL when out of memory. */
struct variables *variables_create(const struct variables_input *input);
void variables_destroy(struct variables *variables);
/**
 * Arguments and variables of a level of a native frame, by debug information.
 * @param stack  with registers; see native_stack.kept_frames.
 * @param ret    stays as it is when there are none.
 */
PSC_MUST_CHECK enum psc_status variables_read(struct variables *variables,
                                              const struct native_stack *stack,
                                              const struct variables_level *level,
                                              const struct trace_locals **ret);

#endif
