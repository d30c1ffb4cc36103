/** @file What the files of the public interface share. */
#ifndef PSC_API_H
#define PSC_API_H

#include "modules.h"

struct psc_target {
    struct target *target;
    struct modules *modules;
};

#endif
