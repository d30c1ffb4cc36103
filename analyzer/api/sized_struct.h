/**
 * @file
 * Structs of the public header, whose callers may be compiled against another version of it: the
 * first member, a uint32_t, is the size that the caller knows.
 */
#ifndef PSC_SIZED_STRUCT_H
#define PSC_SIZED_STRUCT_H

#include "base.h"

struct sized_type {
    const char *name;        /**< "struct psc_open_options" */
    const char *initializer; /**< "PSC_OPEN_OPTIONS_INIT" */
    size_t size;             /**< As this library knows it. */
};

#define SIZED_TYPE(type, initializer) \
    (&(const struct sized_type){"struct " #type, #initializer, sizeof(struct type)})

/**
 * Takes a caller's struct over into *known, which has this library's size and holds the defaults:
 * what an older, shorter one does not have stays as it is. A longer one, from a newer header, is
 * refused when something is set that this library does not know.
 * @param given  NULL: all defaults.
 */
PSC_MUST_CHECK enum psc_status sized_take(const struct sized_type *type, const void *given,
                                          void *known, struct psc_error *err);

/** Refuses an array of structs that begin with no size, in the same cases; `size` is that of one.
 */
PSC_MUST_CHECK enum psc_status sized_check_items(const struct sized_type *type, const void *items,
                                                 size_t count, uint32_t size,
                                                 struct psc_error *err);

/** Fills a caller's struct from *known; what only the caller knows becomes zero. */
PSC_MUST_CHECK enum psc_status sized_give(const struct sized_type *type, const void *known,
                                          void *ret, struct psc_error *err);

#endif
