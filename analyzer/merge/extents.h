/** @file Native frames by the part of the stack that they take. */
#ifndef PSC_EXTENTS_H
#define PSC_EXTENTS_H

#include "native.h"

/** The native frames' extents [sp, cfa), ready for look-up by address. */
struct extents {
    const struct native_stack *stack;
    size_t *order; /**< Frame indices by rising sp; NULL when the stack rises by itself. */
};

/** False: out of memory. */
PSC_MUST_CHECK bool extents_init(struct extents *extents, const struct native_stack *stack);
void extents_deinit(struct extents *extents);
/** The frame whose [sp, cfa) holds the address; SIZE_MAX when none does. */
size_t extents_find(const struct extents *extents, psc_addr address);
/** The frame with the lowest sp above the address; the frame count when none is. */
size_t extents_next(const struct extents *extents, psc_addr address);

#endif
