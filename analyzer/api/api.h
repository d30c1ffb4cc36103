/** @file What the files of the public interface share. */
#ifndef PSC_API_H
#define PSC_API_H

#include "modules.h"

struct psc_target {
    struct target *target;
    struct modules *modules;
};

/** The status of a call on the target: what came of it does not count when it was interrupted. */
PSC_MUST_CHECK enum psc_status end_call(const struct target *target, enum psc_status status,
                                        struct psc_error *err);

#endif
