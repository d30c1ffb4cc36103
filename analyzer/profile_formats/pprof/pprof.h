/** @file Room `profile_formats/pprof`: for `go tool pprof` and what else reads its files. */
#ifndef PSC_PROFILE_PPROF_H
#define PSC_PROFILE_PPROF_H

#include "profile_formats.h"

/** github.com/google/pprof, proto/profile.proto, compressed by gzip as it wants it. */
profile_write_fn write_pprof;

#endif
