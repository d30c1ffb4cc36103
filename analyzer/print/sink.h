/** What the printers of all formats share: where they write, which frames they show. */
#ifndef PSC_SINK_H
#define PSC_SINK_H

#include "trace.h"

#include <inttypes.h>
#include <string.h>

/** Writes to the caller's function; buffers, remembers the first failure. */
struct print_sink {
    psc_write_fn write;
    void *context;
    struct text buffer;
    bool stopped;
    uint64_t limit;    /**< Bytes behind which lists are cut. */
    uint64_t written;  /**< Of them; those in the buffer are not counted. */
    uint64_t left_out; /**< Items of lists that were not taken. */
};

#define PRINT_SINK_FLUSH_SIZE ((size_t)64 * 1024)

/** Writes the buffer out when it is large, or always with `force`. */
static inline void print_sink_flush(struct print_sink *sink, bool force)
{
    if (!sink->buffer.size || (!force && sink->buffer.size < PRINT_SINK_FLUSH_SIZE))
        return;
    if (!sink->stopped && sink->write(sink->context, sink->buffer.data, sink->buffer.size))
        sink->stopped = true;
    sink->written += sink->buffer.size;
    text_clear(&sink->buffer);
}

/** Whether one more item of a list may be written; counts those that may not. */
static inline bool print_sink_takes(struct print_sink *sink)
{
    print_sink_flush(sink, false);
    if (!sink->stopped && sink->written + sink->buffer.size < sink->limit)
        return true;
    sink->left_out++;
    return false;
}

/** One sentence on what was not taken. */
static inline void print_add_cut(struct text *text, const struct print_sink *sink)
{
    text_printf(text,
                "the report is cut: it would have more than %" PRIu64 " MB (--thread and "
                "--mode show less of it)",
                sink->limit >> 20);
}

/** Whether the options let this frame be seen. */
static inline bool print_shows_frame(const struct psc_print_options *options,
                                     const struct trace_frame *frame)
{
    return options->all || !frame->hidden;
}

/** Where a file is, as people can use it; NULL: nowhere, or open without a name (proc(5)). */
static inline const char *print_file_place(const struct trace_file *file)
{
    static const char nameless[] = "/proc/self/fd/";
    return file->here && strncmp(file->here, nameless, sizeof(nameless) - 1) != 0 ? file->here
                                                                                  : NULL;
}

#endif
