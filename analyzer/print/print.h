/**
 * @file
 * Room `print`: a finished trace as text or JSON. Reads only trace.h.
 *
 * To add a format: a print_FORMAT.c with one function of type print_fn, a row in print.c,
 * an enumerator in pystack_core.h.
 */
#ifndef PSC_PRINT_H
#define PSC_PRINT_H

#include "trace.h"

/** Where a printer writes; buffers, remembers the first failure. */
struct print_sink {
    psc_write_fn write;
    void *context;
    struct text buffer;
    bool stopped;
};

/** Writes the buffer out when it is large, or always with `force`. */
void print_sink_flush(struct print_sink *sink, bool force);

typedef enum psc_status (*print_fn)(const struct psc_trace *trace,
                                    const struct psc_print_options *options,
                                    struct print_sink *sink);

enum psc_status print_text(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink);
enum psc_status print_json(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink);

/** All of them as one text: equal stacks stand once. */
enum psc_status print_text_processes(const struct psc_trace *const *traces, size_t count,
                                     const struct psc_print_options *options,
                                     struct print_sink *sink);

/** Chooses the format and writes everything. */
PSC_MUST_CHECK enum psc_status print_trace(const struct psc_trace *trace,
                                           const struct psc_print_options *options,
                                           psc_write_fn write, void *context,
                                           struct psc_error *err);
/** The same for several processes. */
PSC_MUST_CHECK enum psc_status print_traces(const struct psc_trace *const *traces, size_t count,
                                            const struct psc_print_options *options,
                                            psc_write_fn write, void *context,
                                            struct psc_error *err);

#endif
