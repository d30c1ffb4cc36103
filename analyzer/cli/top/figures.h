/** @file What the samples come to: of the last while, and of all since the start. */
#ifndef PSC_TOP_FIGURES_H
#define PSC_TOP_FIGURES_H

#include "profile.h"

/** Of a stack; the key comes first, as in the next. */
struct figure_stack {
    uint64_t stack;
    uint64_t recent; /**< Intervals. */
    uint64_t all;
};

struct figure_thread {
    uint64_t thread;
    uint64_t recent; /**< Intervals in which it had a sample; */
    uint64_t gil;    /**< it held the GIL; */
    uint64_t waits;  /**< it waited for it; */
    uint64_t collects;
    uint64_t cpu;   /**< ns of processor time. */
    uint32_t stack; /**< The last. */
};

/** A line of the table. */
struct figure_row {
    uint64_t key;                /**< Function << 32 | line, or 0 for the line. */
    uint32_t frame;              /**< One of them. */
    uint64_t own, total;         /**< Recent. */
    uint64_t all_own, all_total; /**< Since the start. */
    uint64_t seen;               /**< The last stack that was counted: recursion counts once. */
};

enum figure_order { ORDER_OWN, ORDER_TOTAL, ORDER_ALL_OWN, ORDER_ALL_TOTAL };

/** What is to be shown. */
struct figure_view {
    bool by_line;
    enum figure_order order;
    uint32_t follows;   /**< A function: only what it called; 0: all. */
    const char *filter; /**< A part of the function's or file's name, whatever the case; or "". */
};

/** Zero-initialise. */
struct figures {
    struct hash_table stacks;  /**< struct figure_stack */
    struct hash_table threads; /**< struct figure_thread */
    struct hash_table rows;    /**< struct figure_row; sorted they are in `sorted`. */
    struct figure_row **sorted;
    size_t sorted_capacity;
    size_t row_count;  /**< Of those in `sorted`. */
    uint64_t weighed;  /**< profile_counts.weighed, when samples were taken last. */
    double recent;     /**< Intervals that the samples of the last while stand for. */
    double all;        /**< And all. */
    uint64_t gil;      /**< Recent: intervals in which a thread held a GIL; */
    uint64_t collects; /**< was in the garbage collector. */
    uint64_t cpu;      /**< ns */
};

void figures_init(struct figures *figures);
void figures_deinit(struct figures *figures);
/** Drops the samples of the profile. */
void figures_drop(struct figures *figures, struct profile *profile);
/** The same, and forgets what was before. */
void figures_reset(struct figures *figures, struct profile *profile);
/** Takes the samples of the profile for the last while, and drops them there. False: out of memory.
 */
bool figures_take(struct figures *figures, struct profile *profile);
/** Fills `sorted`. False: out of memory. */
bool figures_sort(struct figures *figures, const struct profile *profile,
                  const struct figure_view *view);

#endif
