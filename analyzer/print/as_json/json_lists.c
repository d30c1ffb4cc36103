/* The lists that can be had in place of a report: its files, single values. */
#include "as_json_private.h"

static void open_document(struct json_writer *writer, const char *schema,
                          const struct psc_trace *trace)
{
    json_open_object(writer, NULL);
    json_put_string(writer, "schema", schema);
    json_break_line(writer);
    json_open_object(writer, "target");
    json_put_string(writer, "kind", trace->kind);
    json_put_string(writer, "path", trace->path);
    json_put_integer(writer, "pid", trace->pid > 0, trace->pid);
    json_put_string(writer, "executable", trace->executable);
    json_close_object(writer);
    json_break_line(writer);
}

static enum psc_status close_document(struct json_writer *writer, const struct psc_trace *trace,
                                      const struct print_sink *sink)
{
    json_close_array(writer);
    json_break_line(writer);
    json_put_warnings(writer, &trace->warnings, sink);
    json_close_object(writer);
    text_add_char(writer->out, '\n');
    return writer->failed ? PSC_ERR_MEMORY : PSC_OK;
}

enum psc_status print_json_files(const struct psc_trace *trace,
                                 const struct psc_print_options *options, struct print_sink *sink)
{
    static const char *const kinds[] = {
        [TRACE_FILE_EXECUTABLE] = "executable", [TRACE_FILE_LIBRARY] = "library",
        [TRACE_FILE_DEBUG] = "debug",           [TRACE_FILE_CYTHON] = "cython",
        [TRACE_FILE_SOURCE] = "source",
    };
    struct json_writer writer = json_writer_of(sink, options);
    open_document(&writer, "pystack-core-files/1", trace);
    json_open_array(&writer, "files");
    for (size_t i = 0; i < trace->file_count && json_takes(&writer); i++) {
        const struct trace_file *file = &trace->files[i];
        json_break_line(&writer);
        json_open_object(&writer, NULL);
        json_put_string(&writer, "kind", kinds[file->kind]);
        json_put_string(&writer, "path", file->path);
        json_put_string(&writer, "build_id", file->build_id);
        json_put_string(&writer, "file", json_file_state(file->state));
        json_put_string(&writer, "here", print_file_place(file));
        json_close_object(&writer);
    }
    return close_document(&writer, trace, sink);
}

enum psc_status print_json_values(const struct psc_trace *trace,
                                  const struct psc_print_options *options, struct print_sink *sink)
{
    static const char *const scopes[] = {
        [TRACE_SCOPE_LOCAL] = "local",
        [TRACE_SCOPE_CLOSURE] = "closure",
        [TRACE_SCOPE_GLOBAL] = "global",
        [TRACE_SCOPE_BUILTIN] = "builtin",
    };
    struct json_writer writer = json_writer_of(sink, options);
    open_document(&writer, "pystack-core-values/1", trace);
    json_open_array(&writer, "values");
    for (size_t i = 0; i < trace->value_count && json_takes(&writer); i++) {
        const struct trace_value *value = &trace->values[i];
        json_break_line(&writer);
        json_open_object(&writer, NULL);
        json_put_integer(&writer, "tid", value->tid != 0, value->tid);
        json_put_integer(&writer, "frame", true, (int64_t)value->frame);
        json_put_string(&writer, "function", value->function);
        json_put_string(&writer, "expression", value->expression);
        json_put_string(&writer, "scope", value->text ? scopes[value->scope] : NULL);
        json_put_string(&writer, "value", value->text);
        json_put_string(&writer, "problem", value->problem);
        json_close_object(&writer);
    }
    return close_document(&writer, trace, sink);
}
