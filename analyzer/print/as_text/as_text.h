/**
 * @file
 * Room `print/as_text`: a trace as people read it.
 */
#ifndef PSC_AS_TEXT_H
#define PSC_AS_TEXT_H

#include "sink.h"

enum psc_status print_text(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink);

/** What stands before the threads: what was looked at, how it died, what runs in it. */
void print_text_head(const struct psc_trace *trace, const struct psc_print_options *options,
                     struct print_sink *sink);

/** The line at the end of a report whose lists were cut. */
void print_text_cut(const struct psc_print_options *options, struct print_sink *sink);

/** The files that the report needs, a line each. */
enum psc_status print_text_files(const struct psc_trace *trace,
                                 const struct psc_print_options *options, struct print_sink *sink);

/** The single values that were asked for, a line each. */
enum psc_status print_text_values(const struct psc_trace *trace,
                                  const struct psc_print_options *options, struct print_sink *sink);

/** All of them as one text: equal stacks stand once. */
enum psc_status print_text_processes(const struct psc_trace *const *traces, size_t count,
                                     const struct psc_print_options *options,
                                     struct print_sink *sink);

#endif
