/** @file Members of Cython's structs by name, and the items of its memoryviews. */
#ifndef PSC_MEMORY_VIEW_ITEMS_H
#define PSC_MEMORY_VIEW_ITEMS_H

#include "value_writer.h"

/** __Pyx_memviewslice has room for so many. */
#define VIEW_DIMENSION_LIMIT 8u
#define VIEW_NAME_SIZE       64u

/** A struct of that type at that address. */
static inline struct c_part in_memory(const struct debug_type *type, psc_addr address)
{
    return (struct c_part){type, {NULL, address}};
}

/** Bytes of a member; false when there is none of that name, or it is not readable. */
bool view_read_member(struct c_writer *writer, struct c_part part, const char *name, void *ret,
                      size_t size);
/** A member of 8 bytes. */
bool view_read_word(struct c_writer *writer, struct c_part part, const char *name, uint64_t *ret);
/** What a member points to; NULL: nothing that is known. */
const struct debug_type *view_member_target(const struct debug_type *type, const char *name);

/** A __Pyx_TypeInfo. */
struct item_type {
    const struct debug_type *described; /**< NULL: it is not known. */
    char name[VIEW_NAME_SIZE];
    uint64_t size;
    uint64_t count;  /**< Of an array in a struct; 1 otherwise. */
    psc_addr fields; /**< Of a struct. */
    char group;      /**< 'R' real, 'C' complex, 'I', 'U', 'O', 'S', 'P', 'H' */
};

/** Reads one of type `described`, NULL: not known. False when it is none that can be shown. */
bool view_read_item_type(struct c_writer *writer, const struct debug_type *described, psc_addr info,
                         struct item_type *ret);
/** Adds the item there; false when it cannot be read or its type is not known. */
bool view_add_item(struct c_writer *writer, const struct item_type *item, psc_addr address);

#endif
