/**
 * @file
 * Room `target/core`: a core file as a target. Mapped, never read whole.
 */
#ifndef PSC_CORE_H
#define PSC_CORE_H

#include "target.h"

/**
 * Opens a core file (an ELF file of type ET_CORE).
 * @param executable  where the program is on this machine, or NULL.
 * @param options     copied; may be NULL.
 */
PSC_MUST_CHECK enum psc_status core_open(const char *path, const char *executable,
                                         const struct target_options *options, struct target **ret,
                                         struct psc_error *err);
/** Of the core file; NULL for a target of another kind. */
const char *core_get_path(const struct target *target);

#endif
