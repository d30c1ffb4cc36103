/** @file Room `api`: what stands behind pystack_core.h; what its files share. */
#ifndef PSC_API_H
#define PSC_API_H

#include "modules.h"

struct psc_target {
    struct target *target;
    struct modules *modules;
};

struct psc_kept {
    struct kept_modules *modules;
};

/** What callers ask for of all targets. */
PSC_MUST_CHECK enum psc_status take_open_options(const struct psc_open_options *given,
                                                 struct target_options *ret, struct psc_error *err);
/** The status of a call on the target: PSC_ERR_INTERRUPTED if it was interrupted, else `status`. */
PSC_MUST_CHECK enum psc_status end_call(const struct target *target, enum psc_status status,
                                        struct psc_error *err);
/** Refuses what is more than the most. */
PSC_MUST_CHECK enum psc_status check_value_limits(const struct psc_value_limits *limits,
                                                  struct psc_error *err);

#endif
