/**
 * @file
 * Room `print`: a finished trace as text or JSON. Reads only trace.h.
 * Errors: PSC_ERR_IO when `write` stopped it, PSC_ERR_MEMORY.
 *
 * To add a format: a folder as_FORMAT/ with one function of type print_fn (print.c), a row in
 * print.c, an enumerator in pystack_core.h.
 */
#ifndef PSC_PRINT_H
#define PSC_PRINT_H

#include "trace.h"

/** Chooses the format and writes everything; `options` is complete, or NULL for the defaults. */
PSC_MUST_CHECK enum psc_status print_trace(const struct psc_trace *trace,
                                           const struct psc_print_options *options,
                                           psc_write_fn write, void *context,
                                           struct psc_error *err);
/** Where a report goes. */
struct print_output {
    psc_write_fn write;
    void *context; /**< What `write` is given. */
};

/** The same for several processes. */
PSC_MUST_CHECK enum psc_status print_traces(const struct psc_trace *const *traces, size_t count,
                                            const struct psc_print_options *options,
                                            const struct print_output *output,
                                            struct psc_error *err);

#endif
