/** @file What the files of the public interface share. */
#ifndef PSC_API_H
#define PSC_API_H

#include "modules.h"
#include "python.h"

struct psc_trace;

struct psc_target {
    struct target *target;
    struct modules *modules;
};

/** The status of a call on the target: what came of it does not count when it was interrupted. */
PSC_MUST_CHECK enum psc_status end_call(const struct target *target, enum psc_status status,
                                        struct psc_error *err);

/**
 * Finds Python in every mode, so that the report can name it, and describes it in the trace.
 * @param ret  NULL when there is none; a warning says so.
 */
PSC_MUST_CHECK enum psc_status open_python(struct psc_target *target, struct psc_trace *trace,
                                           enum psc_mode mode, struct python **ret,
                                           struct psc_error *err);

#endif
