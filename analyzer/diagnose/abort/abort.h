/**
 * @file
 * Room `diagnose/abort`: what abort() was called with, by the stack of the thread that died of it.
 *
 * What the C library, the interpreter, C++ and Rust say on standard error before they call abort()
 * is partly still in memory. Nothing in the target runs: code is followed by its instructions. What
 * is not certain is not told. Errors are PSC_ERR_MEMORY only.
 *
 * To add one who aborts: a file with an abort_reader, and its row in abort.c.
 */
#ifndef PSC_ABORT_H
#define PSC_ABORT_H

#include "native.h"
#include "trace.h"

struct abort_input {
    struct target *target;
    struct modules *modules;
    const struct target_thread *thread; /**< That died. */
    const struct native_stack *stack;   /**< Its stack, walked with kept_frames. */
    size_t first;                       /**< Its first frame that is no signal handler's. */
    struct arena *arena;                /**< For what is found. */
};

struct abort_finding {
    enum trace_cause cause; /**< TRACE_CAUSE_UNKNOWN: nothing is certain. */
    const char *words;      /**< What is said of it in one phrase; NULL: nothing. */
    const char *message;    /**< The text, without the line's end; NULL: none is left. */
    /** The frame of the stack whose buffer was overrun; 0: none. Frames outward are not certain. */
    size_t overrun;
};

PSC_MUST_CHECK enum psc_status abort_read(const struct abort_input *input,
                                          struct abort_finding *ret);

#endif
