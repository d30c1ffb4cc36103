/**
 * @file
 * Room `target/slim`: a small core of the same death, with what was read of the big one
 * (target/reads), what debuggers begin with, and nothing else. What it says of itself is told in
 * target/save; target/core reads it.
 */
#ifndef PSC_SLIM_H
#define PSC_SLIM_H

#include "target.h"

struct slim_request {
    int fd;                                /**< An empty file; the caller's. */
    bool with_files;                       /**< Files that were needed are put into it. */
    void (*memory_is_read)(void *context); /**< Told so, before anything is written; or NULL. */
    void *context;
};

/**
 * Reads what debuggers need, and writes all.
 * @param target    a core file whose reads are noted.
 * @param ret_cut   whether more was read than a small core holds.
 */
PSC_MUST_CHECK enum psc_status slim_write(struct target *target, const struct slim_request *request,
                                          bool *ret_cut, struct psc_error *err);

#endif
