#include "reads.h"

#include <stdlib.h>

struct target_reads *reads_create(void)
{
    struct target_reads *reads = calloc(1, sizeof(*reads));
    if (reads)
        reads->pages = HASH_TABLE_OF(struct reads_page);
    return reads;
}

void reads_destroy(struct target_reads *reads)
{
    if (reads)
        hash_table_deinit(&reads->pages);
    free(reads);
}

void reads_clear(struct target_reads *reads)
{
    hash_table_clear(&reads->pages);
    reads->last = NULL;
    reads->is_cut = reads->failed = false;
}

static struct reads_page *find_page(struct target_reads *reads, psc_addr address)
{
    if (reads->last && reads->last->address == address)
        return reads->last;
    struct reads_page *page = hash_table_find(&reads->pages, address);
    if (!page && reads->pages.count < READS_PAGE_LIMIT)
        page = hash_table_add(&reads->pages, address);
    if (!page)
        reads->is_cut = true;
    reads->last = page;
    return page;
}

static void set_bits(struct reads_page *page, size_t first, size_t end)
{
    while (first < end) {
        size_t in_word = 64 - first % 64;
        size_t count = end - first < in_word ? end - first : in_word;
        uint64_t mask = count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
        page->bits[first / 64] |= mask << (first % 64);
        first += count;
    }
}

void reads_add(struct target_reads *reads, psc_addr start, uint64_t size)
{
    if (reads->paused)
        return;
    while (size && !reads->is_cut) {
        size_t inside = (size_t)(start % READS_PAGE);
        size_t count = size < READS_PAGE - inside ? (size_t)size : (size_t)READS_PAGE - inside;
        struct reads_page *page = find_page(reads, start - inside);
        if (page)
            set_bits(page, inside, inside + count);
        start += count;
        size -= count;
    }
}

void reads_remove(struct target_reads *reads, psc_addr start, uint64_t size)
{
    for (uint64_t at = 0; at < size;) {
        size_t inside = (size_t)((start + at) % READS_PAGE);
        uint64_t count = size - at < READS_PAGE - inside ? size - at : READS_PAGE - inside;
        struct reads_page *page = hash_table_find(&reads->pages, start + at - inside);
        for (size_t i = inside; page && i < inside + count; i++)
            page->bits[i / 64] &= ~(UINT64_C(1) << (i % 64));
        at += count;
    }
}

/* The first byte from `at` on that was read (`read` is 0), or was not (all bits set). */
static size_t find_byte(const struct reads_page *page, size_t at, uint64_t read)
{
    while (at < READS_PAGE) {
        uint64_t left = (page->bits[at / 64] ^ read) >> (at % 64);
        if (left)
            return at + (size_t)__builtin_ctzll(left);
        at += 64 - at % 64;
    }
    return (size_t)READS_PAGE;
}

bool reads_next_run(const struct reads_page *page, size_t *at, size_t *ret_first, size_t *ret_end)
{
    *ret_first = find_byte(page, *at, 0);
    *ret_end = find_byte(page, *ret_first, UINT64_MAX);
    *at = *ret_end;
    return *ret_end > *ret_first;
}

static int compare_pages(const void *left, const void *right)
{
    const struct reads_page *const *a = left, *const *b = right;
    return COMPARE((*a)->address, (*b)->address);
}

struct reads_page **reads_list(const struct target_reads *reads, size_t *ret_count)
{
    size_t count = reads->pages.count;
    struct reads_page **list = count ? calloc(count, sizeof(*list)) : NULL;
    for (size_t i = 0; list && i < count; i++)
        list[i] = hash_table_at(&reads->pages, i);
    if (list)
        qsort(list, count, sizeof(struct reads_page *), compare_pages);
    *ret_count = list ? count : 0;
    return list;
}
