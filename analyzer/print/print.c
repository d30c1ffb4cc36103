#include "print.h"
#include "as_json.h"
#include "as_text.h"
#include "summary_text.h"

typedef enum psc_status (*print_fn)(const struct psc_trace *trace,
                                    const struct psc_print_options *options,
                                    struct print_sink *sink);

#define CONTENT_COUNT 3

static const print_fn printers[][CONTENT_COUNT] = {
    [PSC_FORMAT_TEXT] = {print_text, print_text_files, print_text_values},
    [PSC_FORMAT_JSON] = {print_json, print_json_files, print_json_values},
};

static enum psc_status print_each(const struct psc_trace *const *traces, size_t count,
                                  const struct psc_print_options *options, struct print_sink *sink)
{
    enum psc_status status = PSC_OK;
    if (options->content == PSC_CONTENT_SUMMARY)
        return options->format == PSC_FORMAT_TEXT
                   ? print_text_summary(traces, count, options, sink)
                   : print_json_summary(traces, count, options, sink);
    if (count > 1 && options->format == PSC_FORMAT_TEXT && options->content == PSC_CONTENT_REPORT)
        return print_text_processes(traces, count, options, sink);
    for (size_t i = 0; !status && i < count; i++)
        status = printers[options->format][options->content](traces[i], options, sink);
    return status;
}

enum psc_status print_traces(const struct psc_trace *const *traces, size_t count,
                             const struct psc_print_options *options,
                             const struct print_output *output, struct psc_error *err)
{
    static const struct psc_print_options defaults = PSC_PRINT_OPTIONS_INIT;
    const struct psc_print_options *known = options ? options : &defaults;
    if ((size_t)known->format >= PSC_ARRAY_SIZE(printers))
        return psc_fail(err, PSC_ERR_ARGUMENT, "no such output format: %d", (int)known->format);

    if ((size_t)known->content >= CONTENT_COUNT && known->content != PSC_CONTENT_SUMMARY)
        return psc_fail(err, PSC_ERR_ARGUMENT, "no such content: %d", (int)known->content);

    struct print_sink sink = {.write = output->write,
                              .context = output->context,
                              .limit = known->size_limit ? known->size_limit : PSC_PRINT_LIMIT};
    enum psc_status status = print_each(traces, count, known, &sink);
    if (sink.left_out && known->format == PSC_FORMAT_TEXT)
        print_text_cut(known, &sink);
    print_sink_flush(&sink, true);
    if (!status && sink.buffer.failed)
        status = PSC_ERR_MEMORY;
    if (!status && sink.stopped)
        status = PSC_ERR_IO;
    text_deinit(&sink.buffer);
    if (status == PSC_ERR_MEMORY)
        return psc_fail(err, status, "out of memory while printing");
    if (status == PSC_ERR_IO)
        return psc_fail(err, status, "the output could not be written");
    return psc_fail_status(err, status);
}

enum psc_status print_trace(const struct psc_trace *trace, const struct psc_print_options *options,
                            psc_write_fn write, void *context, struct psc_error *err)
{
    return print_traces(&trace, 1, options, &(struct print_output){write, context}, err);
}
