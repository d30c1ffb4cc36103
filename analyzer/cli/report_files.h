/**
 * @file
 * The files that are written, for as long as a report is made: opened before and put in place
 * afterwards by the process that has the right to, written by the one that parses.
 */
#ifndef PSC_REPORT_FILES_H
#define PSC_REPORT_FILES_H

#include "new_file.h"
#include "options.h"
#include "output.h"

struct reports {
    const struct options *options;
    struct output_file *files; /**< Parallel to options->outputs. */
    struct new_file bundle;
    size_t count;    /**< Outputs that are wanted, those that could not be opened too. */
    bool *is_good;   /**< Of each output, and behind them of the archive; shared with children. */
    bool *has_core;  /**< Of each snapshot: its core file was written; shared likewise. */
    size_t map_size; /**< Bytes of it. */
    bool bundle_opened; /**< Or none is wanted. */
};

/** Says what cannot be opened; false: out of memory. To be closed in any case. */
bool reports_open(struct reports *reports, const struct options *options, size_t snapshots);
/** Keeps what is good. @return the exit code; `code` where nothing else failed. */
int reports_close(struct reports *reports, int code);
/**
 * Prints the traces, and what was missing of them; destroys them.
 * @return the exit code.
 */
int reports_write(struct reports *reports, struct psc_trace **traces, size_t count);

#endif
