/* Which pages are in memory, asked for many at a time. */
#include "pages.h"

/* The kernel looks at each page that it tells of: what is asked at once is not much. */
#define WINDOW_PAGES ((psc_addr)8)

struct presence_window {
    uint64_t number; /* The key. */
    uint64_t pages; /* A bit for each that is in memory or was written out, the first the lowest. */
};

void presence_init(struct live_presence *presence)
{
    *presence = (struct live_presence){.windows = HASH_TABLE_OF(struct presence_window)};
}

void presence_deinit(struct live_presence *presence)
{
    hash_table_deinit(&presence->windows);
}

void presence_forget(struct live_presence *presence)
{
    hash_table_clear(&presence->windows);
}

static uint64_t find_window(struct live_presence *presence, const struct live_reader *reader,
                            psc_addr number)
{
    const struct presence_window *known = hash_table_find(&presence->windows, number);
    if (known)
        return known->pages;
    uint64_t pages = reader_list_present(reader, number * WINDOW_PAGES * LIVE_PAGE, WINDOW_PAGES);
    struct presence_window *added = hash_table_add(&presence->windows, number);
    if (added)
        added->pages = pages;
    return pages;
}

size_t presence_count(struct live_presence *presence, const struct live_reader *reader,
                      psc_addr page, size_t count)
{
    size_t present = 0;
    while (present < count) {
        psc_addr number = page / LIVE_PAGE + present;
        uint64_t left =
            find_window(presence, reader, number / WINDOW_PAGES) >> (number % WINDOW_PAGES);
        size_t inside = (size_t)(WINDOW_PAGES - number % WINDOW_PAGES);
        size_t run = ~left ? (size_t)__builtin_ctzll(~left) : (size_t)WINDOW_PAGES;
        present += run < inside ? run : inside;
        if (run < inside)
            break;
    }
    return present < count ? present : count;
}
