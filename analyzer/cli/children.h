/** Which processes descend from which. */
#ifndef PSC_CHILDREN_H
#define PSC_CHILDREN_H

#include <stddef.h>
#include <stdint.h>

/** The process and its descendants, parents before children; to be freed. NULL: no memory. */
int32_t *list_descendants(int32_t pid, size_t *ret_count);

#endif
