/** @file A core that gzip has packed. libarchive does not compare what its trailer has. */
#ifndef PSC_GUNZIP_H
#define PSC_GUNZIP_H

#include "unpack.h"

/** @return an exit code: EXIT_COMPLETE with what there was, EXIT_NOTHING for no memory. */
int copy_gzip(struct unpack_work *work);

#endif
