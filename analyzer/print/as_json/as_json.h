/**
 * @file
 * Room `print/as_json`: a trace as schema/pystack-core-1.schema.json describes it.
 */
#ifndef PSC_AS_JSON_H
#define PSC_AS_JSON_H

#include "sink.h"

enum psc_status print_json(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink);

/** The files that the report needs; schema/pystack-core-files-1.schema.json. */
enum psc_status print_json_files(const struct psc_trace *trace,
                                 const struct psc_print_options *options, struct print_sink *sink);

/** The single values that were asked for; schema/pystack-core-values-1.schema.json. */
enum psc_status print_json_values(const struct psc_trace *trace,
                                  const struct psc_print_options *options, struct print_sink *sink);

/** All stacks of all of them as one tree; schema/pystack-core-summary-1.schema.json. */
enum psc_status print_json_summary(const struct psc_trace *const *traces, size_t count,
                                   const struct psc_print_options *options,
                                   struct print_sink *sink);

#endif
