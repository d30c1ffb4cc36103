#include "base.h"

#include <string.h>

size_t sorted_count_below(const void *items, size_t offset, size_t size, size_t count, uint64_t key)
{
    const char *keys = (const char *)items;
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t value;
        memcpy(&value, keys + middle * size + offset, sizeof(value));
        if (value < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t sorted_count_up_to(const void *items, size_t offset, size_t size, size_t count, uint64_t key)
{
    return key == UINT64_MAX ? count : sorted_count_below(items, offset, size, count, key + 1);
}
