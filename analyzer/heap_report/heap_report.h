/**
 * @file
 * Room `heap_report`: what is in a heap, who holds it and what is damaged, as text, JSON or a page.
 */
#ifndef PSC_HEAP_REPORT_H
#define PSC_HEAP_REPORT_H

#include "heap.h"

struct holders;

/** A heap, and what is made of it once it is asked for. */
struct heap_view {
    struct heap *heap;
    struct holders *holders;
};

void heap_view_deinit(struct heap_view *view);

/** Where a report goes. */
struct heap_output {
    psc_write_fn write;
    void *context; /**< What `write` is given. */
};

/**
 * Writes all that the options ask for; they are complete.
 * @param older         of PSC_HEAP_GROWTH, else NULL.
 * @param ret_findings  with PSC_HEAP_FINDINGS; may be NULL.
 */
PSC_MUST_CHECK enum psc_status heap_report_print(struct heap_view *view,
                                                 const struct psc_heap_print_options *options,
                                                 struct heap_view *older,
                                                 const struct heap_output *output,
                                                 size_t *ret_findings, struct psc_error *err);

#endif
