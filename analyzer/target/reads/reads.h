/**
 * @file
 * Room `target/reads`: which bytes of a target were read. Whoever wants a small copy that answers
 * the same questions keeps these, and nothing else.
 */
#ifndef PSC_READS_H
#define PSC_READS_H

#include "base.h"

#define READS_PAGE       ((psc_addr)4096)
#define READS_PAGE_WORDS (4096 / 64)
/** Pages that are noted at most: a gigabyte of memory. What is behind them is not noted. */
#define READS_PAGE_LIMIT ((size_t)256 * 1024)

/** A page of which something was read. */
struct reads_page {
    uint64_t address;
    uint64_t bits[READS_PAGE_WORDS]; /**< One for each byte. */
};

struct target_reads {
    struct hash_table pages; /**< struct reads_page */
    struct reads_page *last; /**< Of the pages; NULL when one was added since. */
    unsigned paused;         /**< Not 0: nothing is noted. */
    bool leaves_text;        /**< Text of values is not noted, see reads_begin_text(). */
    bool by_word;            /**< A word that is wanted notes nothing beside it. */
    bool failed;             /**< Something was wanted that cannot be read. */
    bool is_cut;             /**< There were more pages than the limit, or no memory. */
};

/** NULL: out of memory. */
struct target_reads *reads_create(void);
/** NULL is allowed. */
void reads_destroy(struct target_reads *reads);
/** Forgets what was noted. */
void reads_clear(struct target_reads *reads);
/** Notes that bytes were read. */
void reads_add(struct target_reads *reads, psc_addr start, uint64_t size);
/** Notes that bytes were not read. */
void reads_remove(struct target_reads *reads, psc_addr start, uint64_t size);
/** The pages in the order of their addresses, malloc'd; NULL: out of memory, or there is none. */
struct reads_page **reads_list(const struct target_reads *reads, size_t *ret_count);
/** The next bytes of a page that were read, from *at on, which is moved behind them. */
bool reads_next_run(const struct reads_page *page, size_t *at, size_t *ret_first, size_t *ret_end);
/** Whether a byte of a page was read. */
static inline bool reads_has_byte(const struct reads_page *page, size_t byte)
{
    return page->bits[byte / 64] >> (byte % 64) & 1;
}

#endif
