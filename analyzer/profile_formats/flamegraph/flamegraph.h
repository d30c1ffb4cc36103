/** @file Room `profile_formats/flamegraph`: all stacks in one page. */
#ifndef PSC_PROFILE_FLAMEGRAPH_H
#define PSC_PROFILE_FLAMEGRAPH_H

#include "profile_formats.h"

/** A page that needs nothing else: boxes by name, or by time for each thread. */
profile_write_fn write_flamegraph;

#endif
