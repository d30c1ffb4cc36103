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

/**
 * @param modules  of the target; made anew when a living process has loaded others.
 * @param options  complete; see psc_capture().
 * @param ret      to be freed by trace_destroy().
 */
PSC_MUST_CHECK enum psc_status capture_trace(struct target *target, struct modules **modules,
                                             const struct psc_capture_options *options,
                                             struct psc_trace **ret, struct psc_error *err);

#endif
