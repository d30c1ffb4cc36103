/** @file What the files of room `print/summary_text` share. */
#ifndef PSC_SUMMARY_PRIVATE_H
#define PSC_SUMMARY_PRIVATE_H

#include "stack_tree.h"
#include "summary_text.h"

/** What is shown. */
struct summary {
    const struct psc_trace *const *traces;
    size_t count;
    const struct psc_print_options *options;
    const struct stack_tree *tree;
    struct print_sink *sink;
    bool *shown;    /**< Of each node: it leads to a stack that is shown. */
    size_t *indent; /**< Of each node: in steps. */
};

/* ---- summary_names.c ---- */

/** "1,000". */
void summary_add_count(struct text *text, size_t count);
/**
 * Which processes: "ranks 0-4, 6", "processes 12, host:13", a few of them; those for which
 * `member` is true. PSC_ERR_MEMORY only.
 */
PSC_MUST_CHECK enum psc_status summary_add_processes(struct summary *summary, const bool *member);
/** The threads whose stack ends at a node, and what they have in common. */
PSC_MUST_CHECK enum psc_status summary_add_ends(struct summary *summary, size_t node);

/* ---- summary_head.c ---- */

/** What was looked at, and who died. */
PSC_MUST_CHECK enum psc_status summary_add_head(struct summary *summary);

#endif
