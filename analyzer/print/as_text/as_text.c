/* The report as a whole, and the lists that can be had in its place: its files, single values. */
#include "as_text_private.h"

enum psc_status print_text(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink)
{
    print_text_header(trace, false, options, sink);
    enum psc_status status = print_text_threads(trace, options, sink);
    return status == PSC_OK ? print_text_tasks(trace, false, options, sink) : status;
}

void print_text_cut(const struct psc_print_options *options, struct print_sink *sink)
{
    struct text remark = {0};
    print_add_cut(&remark, sink);
    print_add_remark(&sink->buffer, options, remark.data ? remark.data : "");
    sink->buffer.failed |= remark.failed;
    text_deinit(&remark);
}

void print_text_head(const struct psc_trace *trace, const struct psc_print_options *options,
                     struct print_sink *sink)
{
    print_text_header(trace, false, options, sink);
}

/* ---- files ---- */

static const char *const kinds[] = {
    [TRACE_FILE_EXECUTABLE] = "executable", [TRACE_FILE_LIBRARY] = "library",
    [TRACE_FILE_DEBUG] = "debug",           [TRACE_FILE_CYTHON] = "cython",
    [TRACE_FILE_SOURCE] = "source",
};
static const char *const states[] = {
    [TRACE_FILE_FOUND] = "here",
    [TRACE_FILE_MISSING] = "missing",
    [TRACE_FILE_MISMATCH] = "other build",
};

static void add_file(struct text *text, const struct psc_print_options *options,
                     const struct trace_file *file)
{
    text_add_string(text, "  ");
    if (file->state != TRACE_FILE_FOUND)
        print_add_style(text, options, PRINT_NOTICE);
    text_printf(text, "%-11s  %-10s  ", states[file->state], kinds[file->kind]);
    text_add_escaped(text, file->path);
    if (file->build_id)
        text_printf(text, "  %s", file->build_id);
    const char *place = print_file_place(file);
    if (place && !print_strings_equal(place, file->path)) {
        text_add_string(text, "  at ");
        text_add_escaped(text, place);
    }
    if (file->state != TRACE_FILE_FOUND)
        print_add_style(text, options, PRINT_PLAIN);
    text_add_char(text, '\n');
}

enum psc_status print_text_files(const struct psc_trace *trace,
                                 const struct psc_print_options *options, struct print_sink *sink)
{
    struct text *text = &sink->buffer;
    size_t counts[PSC_ARRAY_SIZE(states)] = {0};
    print_text_name(trace, options, sink);
    for (size_t i = 0; i < trace->file_count && print_sink_takes(sink); i++) {
        counts[trace->files[i].state]++;
        add_file(text, options, &trace->files[i]);
    }
    text_printf(text, "  %zu files", trace->file_count);
    for (size_t i = TRACE_FILE_MISSING; i < PSC_ARRAY_SIZE(states); i++)
        if (counts[i])
            text_printf(text, ", %zu %s", counts[i], states[i]);
    text_add_char(text, '\n');
    return PSC_OK;
}

/* ---- values ---- */

enum psc_status print_text_values(const struct psc_trace *trace,
                                  const struct psc_print_options *options, struct print_sink *sink)
{
    static const char *const scopes[] = {
        [TRACE_SCOPE_LOCAL] = "local",
        [TRACE_SCOPE_CLOSURE] = "closure",
        [TRACE_SCOPE_GLOBAL] = "global",
        [TRACE_SCOPE_BUILTIN] = "builtin",
    };
    struct text *text = &sink->buffer;
    (void)options;
    for (size_t i = 0; i < trace->value_count && print_sink_takes(sink); i++) {
        const struct trace_value *value = &trace->values[i];
        if (!value->text)
            continue;
        text_printf(text, "%s ", scopes[value->scope]);
        text_add_escaped(text, value->expression);
        text_add_string(text, " = ");
        text_add_escaped(text, value->text);
        text_add_char(text, '\n');
    }
    return PSC_OK;
}
