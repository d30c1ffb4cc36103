/**
 * @file
 * Room `print/summary_text`: all stacks of one or many processes as one tree, which fits on a
 * screen.
 */
#ifndef PSC_SUMMARY_TEXT_H
#define PSC_SUMMARY_TEXT_H

#include "sink.h"

/** PSC_ERR_MEMORY only. */
enum psc_status print_text_summary(const struct psc_trace *const *traces, size_t count,
                                   const struct psc_print_options *options,
                                   struct print_sink *sink);

#endif
