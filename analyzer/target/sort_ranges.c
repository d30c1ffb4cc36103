/* Ranges of addresses, put in order. */
#include "target_private.h"

#include <stdlib.h>
#include <string.h>

struct range {
    psc_addr start;
    psc_addr end;
};

static struct range range_of(const void *item)
{
    struct range range;
    memcpy(&range, item, sizeof(range));
    return range;
}

static int compare_ranges(const void *left, const void *right)
{
    return COMPARE(range_of(left).start, range_of(right).start);
}

size_t target_sort_ranges(void *items, size_t count, size_t item_size)
{
    char *bytes = items;
    size_t kept = 0;
    if (count)
        qsort(items, count, item_size, compare_ranges);
    for (size_t i = 0; i < count; i++) {
        const char *item = bytes + i * item_size;
        if (kept && range_of(item).start < range_of(bytes + (kept - 1) * item_size).end)
            continue;
        memmove(bytes + kept * item_size, item, item_size);
        kept++;
    }
    return kept;
}
