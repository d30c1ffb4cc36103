/**
 * @file
 * Room `target/debugger`: a process that a debugger holds as a target. Its memory comes by the
 * debugger's callback, all else is copied when it is opened.
 */
#ifndef PSC_DEBUGGER_H
#define PSC_DEBUGGER_H

#include "target.h"

/**
 * See struct psc_debugger, which is of this library's size; its mappings and threads are as large
 * as it says, and no smaller than this library has them.
 * @param executable  where the program is on this machine, or NULL.
 * @param options     copied; may be NULL.
 */
PSC_MUST_CHECK enum psc_status debugger_open(const struct psc_debugger *debugger,
                                             const char *executable,
                                             const struct target_options *options,
                                             struct target **ret, struct psc_error *err);

#endif
