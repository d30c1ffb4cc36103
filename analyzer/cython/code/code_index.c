/* Where in a sorted list the items near an address stand. */
#include "code_index.h"

#include <stdlib.h>
#include <string.h>

/** Parts at most, and how many items there are to one. */
#define PART_LIMIT 65536u

static uint64_t address_of(const void *addresses, size_t stride, size_t item)
{
    uint64_t address;
    memcpy(&address, (const char *)addresses + item * stride, sizeof(address));
    return address;
}

bool code_index_init(struct code_index *index, const void *addresses, size_t stride, size_t count)
{
    *index = (struct code_index){0};
    if (!count)
        return true;
    index->first = address_of(addresses, stride, 0);
    index->last = address_of(addresses, stride, count - 1);
    const size_t wanted = count < PART_LIMIT ? count : PART_LIMIT;
    while ((index->last - index->first) >> index->shift >= wanted)
        index->shift++;
    const size_t parts = (size_t)((index->last - index->first) >> index->shift) + 1;
    index->starts = malloc((parts + 1) * sizeof(*index->starts));
    if (!index->starts)
        return false;
    size_t part = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t of = (address_of(addresses, stride, i) - index->first) >> index->shift;
        while (part <= of)
            index->starts[part++] = (uint32_t)i;
    }
    index->starts[part] = (uint32_t)count;
    return true;
}

void code_index_deinit(struct code_index *index)
{
    free(index->starts);
    *index = (struct code_index){0};
}
