/** @file Room `target/live/pages`: memory of a living process, read page by page. */
#ifndef PSC_PAGES_H
#define PSC_PAGES_H

#include "target.h"

#include <stdatomic.h>
#include <sys/types.h>
#include <sys/uio.h>

/* ---- reader.c ---- */

#define LIVE_PAGE ((psc_addr)4096)
/** Bits of an entry of /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_SWAPPED (UINT64_C(1) << 62)
/** Of one reader_copy(). IOV_MAX is 1024. */
#define READER_RANGES ((size_t)512)

/**
 * Reads memory for others, each time for a limited time only. A read that takes longer is given
 * up: -1 with ETIMEDOUT. It may still be done at any time until the program ends, so that its
 * buffer must neither be freed nor used again.
 */
struct live_reader;
/** @param folder  of /proc, of the target. NULL: out of memory. */
struct live_reader *reader_create(int folder);
void reader_destroy(struct live_reader *reader);
/** As pread(2), of a file of /proc that shows memory of the target. */
ssize_t reader_pread(struct live_reader *reader, int file, void *buffer, size_t size,
                     uint64_t offset);
/** As process_vm_readv(2) into one buffer; at most READER_RANGES ranges, copied. */
ssize_t reader_copy(struct live_reader *reader, pid_t pid, void *buffer, size_t size,
                    const struct iovec *ranges, size_t count);
/**
 * From now on the calling thread reads itself what is in memory, without a time limit, and another
 * one the rest, which may have to wait: for who reads often.
 */
void reader_read_directly(struct live_reader *reader);
/** @param until  no read ends later, in milliseconds of CLOCK_MONOTONIC; 0: no such limit. */
void reader_set_limit(struct live_reader *reader, double until);
/** That time has passed. */
bool reader_is_over(const struct live_reader *reader);
/** How many reads were given up. */
size_t reader_count_late(const struct live_reader *reader);
/** A read was given up, ever. */
bool reader_was_late(const struct live_reader *reader);
/**
 * True, once a read was given up, for each page that is not in memory: to read it may wait again
 * (Documentation/admin-guide/mm/pagemap.rst).
 */
bool reader_may_wait(const struct live_reader *reader, psc_addr page);
/**
 * How many pages from the first one on are in memory, as far as the kernel says so: to read these
 * does not wait. At most READER_RANGES are asked for.
 */
size_t reader_count_present(const struct live_reader *reader, psc_addr page, size_t count);
/** Which of at most 64 pages are so: a bit for each, the lowest for the first one. */
uint64_t reader_list_present(const struct live_reader *reader, psc_addr page, size_t count);

/* ---- presence.c ---- */

/** What was asked of the kernel: for who wants to know the same of many threads at one time. */
struct live_presence {
    struct hash_table windows;
};

void presence_init(struct live_presence *presence);
void presence_deinit(struct live_presence *presence);
/** To be called before each moment. */
void presence_forget(struct live_presence *presence);
/** As reader_count_present(), of the time when a page near it was asked for first. */
size_t presence_count(struct live_presence *presence, const struct live_reader *reader,
                      psc_addr page, size_t count);

/* ---- pages.c ---- */

struct live_page {
    psc_addr address; /**< The key. */
    const uint8_t *bytes;
    bool wanted; /**< It was asked for, not only read beside others. */
};

/** Pages of the target that were read, each once: what was read while it stood still stays so. */
struct live_pages {
    int memory; /**< /proc/PID/mem */
    struct live_reader *reader;
    /**
     * What is not there is not read any more, until pages_clear(). Another thread may set it,
     * before it lets the target go: a read that ends afterwards gives no page.
     */
    atomic_bool closed;
    struct hash_table table; /**< struct live_page */
    struct live_page last;
    uint8_t **slabs;
    size_t slab_count;
    size_t slab_capacity;
    size_t slab_used; /**< Of the last one. */
    size_t late;      /**< Reads that had been given up when they were made. */
    size_t run;       /**< Pages that the last read of neighbours took. */
    size_t most;      /**< No more are read once there are so many; 0: all. */
};

static inline const struct live_page *pages_at(const struct live_pages *pages, size_t index)
{
    return hash_table_at(&pages->table, index);
}

/** So that nothing has to be allocated while the target stands still. False: out of memory. */
bool pages_init(struct live_pages *pages, int memory, struct live_reader *reader);
void pages_deinit(struct live_pages *pages);
/** For who reads few and clears often: from now on there is room for few, until there are more. */
void pages_expect_few(struct live_pages *pages);
/** Forgets everything. */
void pages_clear(struct live_pages *pages);
const uint8_t *pages_find(struct live_pages *pages, psc_addr page);
/** Adds a page whose bytes live as long as this does; one that is there stays as it is. */
bool pages_add(struct live_pages *pages, psc_addr page, const uint8_t *bytes);
/** Their addresses, rising; malloc'd. NULL when there are none, or out of memory. */
psc_addr *pages_list(const struct live_pages *pages, size_t *ret_count);
/** The same of those that were asked for. */
psc_addr *pages_list_wanted(const struct live_pages *pages, size_t *ret_count);
/** How many of the pages are not any more what they were when they were read. */
size_t pages_count_changed(struct live_pages *pages, pid_t pid);
/** Reads the page, and what lies beside it when its neighbours were wanted too; or NULL. */
const uint8_t *pages_read(struct live_pages *pages, psc_addr page);

#endif
