/** @file What psc_capture() does with a living process before its stacks are walked. */
#ifndef PSC_API_PROCESS_H
#define PSC_API_PROCESS_H

#include "api.h"
#include "capture.h"

/** Makes ready for options->core_path, if any: one that cannot be written is known from here on. */
PSC_MUST_CHECK enum psc_status begin_core(struct target *target, struct psc_trace *trace,
                                          const struct psc_capture_options *options,
                                          struct psc_error *err);
/** Writes it. What becomes of it is in trace->core_error: the report is worth having without. */
void end_core(struct target *target, struct psc_trace *trace);

/**
 * Takes what is needed of the process; sources->python is NULL when it runs none. Where it may not
 * be stopped, options->mode becomes what can be shown nevertheless, and a warning says why.
 */
PSC_MUST_CHECK enum psc_status snapshot_process(struct psc_target *target, struct psc_trace *trace,
                                                struct psc_capture_options *options,
                                                struct capture_sources *sources,
                                                struct psc_error *err);

#endif
