/** Many cores whose libraries are read once: by a keeper, whose children read the cores. */
#ifndef PSC_KEPT_CORES_H
#define PSC_KEPT_CORES_H

#include "options.h"
#include "sandbox.h"

/**
 * Starts a keeper for cores that are shown with these options, which it has a copy of.
 * @return false where they need more than it can do, or none can be made.
 */
bool kept_cores_start(const struct options *options, struct sandbox_keeper *ret);

#endif
