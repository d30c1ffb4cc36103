/**
 * @file
 * Where in a sorted list the items near an address stand: a machine code's follower asks for one
 * of thousands of pointers, or functions, at each instruction.
 */
#ifndef PSC_CODE_INDEX_H
#define PSC_CODE_INDEX_H

#include "base.h"

/** Equal parts of the addresses from the first item's to the last one's. Zero is one of no items.
 */
struct code_index {
    uint64_t first;
    uint64_t last;
    uint32_t *starts; /**< Of each part its first item, and one more number behind the last. */
    unsigned shift;
};

/**
 * @param addresses  of `count` items, `stride` bytes apart, rising.
 * @return false when out of memory.
 */
bool code_index_init(struct code_index *index, const void *addresses, size_t stride, size_t count);
void code_index_deinit(struct code_index *index);

/** The items of the part that an address between first and last is in: from `ret` to before. */
static inline size_t code_index_find(const struct code_index *index, uint64_t address,
                                     size_t *ret_first)
{
    const uint64_t part = (address - index->first) >> index->shift;
    *ret_first = index->starts[part];
    return index->starts[part + 1] - index->starts[part];
}

/** Whether an address lies between the first item's and the last one's. */
static inline bool code_index_covers(const struct code_index *index, uint64_t address)
{
    return index->starts && address >= index->first && address <= index->last;
}

#endif
