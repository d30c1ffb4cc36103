/**
 * @file
 * Producing side of room `trace`: classify and merge into a struct psc_trace.
 */
#ifndef PSC_CAPTURE_H
#define PSC_CAPTURE_H

#include "cython.h"
#include "native.h"
#include "python.h"
#include "trace.h"

/** Everything that a capture reads from; `python` is NULL when there is none. */
struct capture_sources {
    struct target *target;
    struct modules *modules;
    struct native *native; /**< NULL in PSC_MODE_PYTHON. */
    struct python *python;
    bool keeps_core; /**< A core file is wanted, too: of what other reports may ask for. */
    bool locals; /**< Values are wanted: of a living process they are read while it stands still. */
    bool tasks;  /**< The same of tasks. */
    bool native_locals; /**< Those of native frames too: their debug information was read before. */
};

/** Fills trace->threads and trace->modules. */
PSC_MUST_CHECK enum psc_status trace_fill(struct psc_trace *trace,
                                          const struct capture_sources *sources,
                                          const struct psc_capture_options *options,
                                          struct psc_error *err);

/**
 * Reads everything of Python that trace_fill() will read and that changes while a process runs: for
 * the moment in which a living one stands still, see live_snapshot().
 * @param locals  of how many frames of each thread, from the innermost on.
 */
void trace_rehearse(struct python *python, size_t locals, bool tasks);
/**
 * The same for the variables of native frames. What their debug information says is kept by the
 * modules: when it was called before, a second time is fast.
 */
void trace_rehearse_native(const struct capture_sources *sources);

#endif
