/**
 * @file
 * Room `capture`: from an opened target to a finished trace. Core files, living processes and
 * those that a debugger holds go the same way; a living process is stopped first, and what will be
 * read is copied. Knows the walkers by their doors alone.
 *
 * Parts that cannot be read are gaps and warnings in the trace, not errors.
 */
#ifndef PSC_CAPTURE_H
#define PSC_CAPTURE_H

#include "modules.h"
#include "trace.h"

struct capture;

/**
 * What needs rights over the target: a living process is stopped, looked at and let go, and its
 * core file is opened.
 * @param modules  of the target; made anew when a living process has loaded others. Stays in use.
 * @param options  complete; see psc_capture(). What they point to stays in use.
 * @param ret      for capture_finish() or capture_destroy().
 */
PSC_MUST_CHECK enum psc_status capture_start(struct target *target, struct modules **modules,
                                             const struct psc_capture_options *options,
                                             struct capture **ret, struct psc_error *err);
/**
 * All else: what has been copied, and files. Frees the capture.
 * @param ret  to be freed by trace_destroy().
 */
PSC_MUST_CHECK enum psc_status capture_finish(struct capture *capture, struct psc_trace **ret,
                                              struct psc_error *err);
/** Frees one that is not finished; NULL is allowed. */
void capture_destroy(struct capture *capture);

/** Puts the core file, which capture_finish() has written, in its place; PSC_OK where none is. */
PSC_MUST_CHECK enum psc_status capture_place_core(struct target *target, struct psc_error *err);
/** Leaves nothing of it. */
void capture_drop_core(struct target *target);

#endif
