/* Schema pystack-core/1, schema/pystack-core-1.schema.json. */
#include "as_json_private.h"

#include <stdlib.h>

#define SCHEMA_NAME "pystack-core/1"

static bool takes(void *sink)
{
    return print_sink_takes(sink);
}

struct json_writer json_writer_of(struct print_sink *sink, const struct psc_print_options *options)
{
    return (struct json_writer){
        .out = &sink->buffer, .one_line = options->one_line, .takes = takes, .context = sink};
}

/* ---- target ---- */

const char *json_file_state(enum trace_file_state state)
{
    static const char *const states[] = {
        [TRACE_FILE_FOUND] = "found",
        [TRACE_FILE_MISSING] = "missing",
        [TRACE_FILE_MISMATCH] = "mismatch",
    };
    return states[state];
}

static void put_module(struct json_writer *writer, const struct trace_module *module)
{
    json_open_object(writer, NULL);
    json_put_string(writer, "path", module->path);
    json_put_string(writer, "build_id", module->build_id);
    json_put_address(writer, "base", true, module->base);
    json_put_string(writer, "file", json_file_state(module->file));
    json_put_boolean(writer, "debug_info", module->debug_info);
    json_close_object(writer);
}

static void put_python(struct json_writer *writer, const struct trace_python *python)
{
    if (!python) {
        json_put_null(writer, "python");
        return;
    }
    json_open_object(writer, "python");
    json_put_string(writer, "implementation", python->implementation);
    json_put_string(writer, "version", python->version);
    json_put_boolean(writer, "debug", python->debug);
    json_put_boolean(writer, "free_threaded", python->free_threaded);
    json_open_array(writer, "interpreters");
    for (size_t i = 0; i < python->interpreter_count && json_takes(writer); i++) {
        const struct trace_interpreter *interpreter = &python->interpreters[i];
        int32_t holder = interpreter->gil_holder_tid;
        json_open_object(writer, NULL);
        json_put_integer(writer, "id", interpreter->id >= 0, interpreter->id);
        json_put_integer(writer, "gil_holder", holder > 0, holder);
        if (interpreter->gil_id >= 0)
            json_put_boolean(writer, "own_gil",
                             !interpreter->without_gil && interpreter->gil_id == interpreter->id);
        else
            json_put_null(writer, "own_gil");
        json_close_object(writer);
    }
    json_close_array(writer);
    json_close_object(writer);
}

/* Of a process that left no core. */
static void put_exit(struct json_writer *writer, const struct psc_trace *trace)
{
    const struct trace_exit *exit = trace->exit;
    json_open_object(writer, "exit");
    json_put_integer(writer, "status", !trace->crash, exit->status);
    json_put_string(writer, "known_by", exit->known_by);
    json_put_string(writer, "without_core", exit->without_core);
    json_close_object(writer);
}

static void put_target(struct json_writer *writer, const struct psc_trace *trace)
{
    json_open_object(writer, "target");
    json_put_string(writer, "kind", trace->kind);
    json_put_string(writer, "path", trace->path);
    json_put_integer(writer, "pid", trace->pid > 0, trace->pid);
    if (trace->paused)
        json_put_real(writer, "pause", trace->pause);
    if (trace->exit)
        put_exit(writer, trace);
    json_put_string(writer, "executable", trace->executable);
    json_open_array(writer, "arguments");
    for (size_t i = 0; i < trace->argument_count && json_takes(writer); i++)
        json_put_string(writer, NULL, trace->arguments[i]);
    json_close_array(writer);
    json_put_string(writer, "architecture", trace->architecture);
    put_python(writer, trace->python);
    json_open_array(writer, "modules");
    for (size_t i = 0; i < trace->module_count && json_takes(writer); i++) {
        json_break_line(writer);
        put_module(writer, trace->modules[i]);
    }
    json_close_array(writer);
    json_close_object(writer);
}

/* ---- the other members ---- */

static void put_signature(struct json_writer *writer, const struct trace_signature *signature)
{
    if (!signature) {
        json_put_null(writer, "signature");
        return;
    }
    json_open_object(writer, "signature");
    json_put_integer(writer, "version", true, signature->version);
    json_put_string(writer, "hash", signature->hash);
    json_put_string(writer, "exact", signature->exact);
    json_put_string(writer, "title", signature->title);
    json_open_array(writer, "parts");
    for (size_t i = 0; i < signature->part_count; i++)
        json_put_string(writer, NULL, signature->parts[i]);
    json_close_array(writer);
    json_close_object(writer);
}

static void put_threads(struct json_writer *writer, struct print_sink *sink,
                        const struct psc_trace *trace, const struct psc_print_options *options)
{
    PSC_CLEANUP(cleanup_free) struct location_cache *cache = calloc(1, sizeof(*cache));
    if (!cache) {
        writer->failed = true;
        return;
    }
    json_open_array(writer, "threads");
    for (size_t i = 0; i < trace->thread_count && !sink->stopped; i++) {
        if (!json_takes(writer))
            continue;
        json_break_line(writer);
        json_open_object(writer, NULL);
        json_put_thread(writer, &trace->threads[i], options);
        json_put_frames(writer, cache, &trace->threads[i], options);
        json_close_object(writer);
    }
    json_close_array(writer);
    location_cache_deinit(cache);
}

static void put_tasks(struct json_writer *writer, const struct trace_tasks *tasks)
{
    json_open_array(writer, "tasks");
    for (size_t i = 0; i < tasks->count; i++) {
        if (!json_takes(writer))
            continue;
        json_break_line(writer);
        json_put_task(writer, tasks, &tasks->items[i]);
    }
    json_close_array(writer);
    json_break_line(writer);
    json_put_task_cycles(writer, tasks);
}

static void put_greenlets(struct json_writer *writer, const struct trace_tasks *greenlets)
{
    json_open_array(writer, "greenlets");
    for (size_t i = 0; i < greenlets->count; i++) {
        if (!json_takes(writer))
            continue;
        json_break_line(writer);
        json_put_greenlet(writer, &greenlets->items[i]);
    }
    json_close_array(writer);
}

static void put_warning(struct json_writer *writer, const char *code, const char *message)
{
    json_break_line(writer);
    json_open_object(writer, NULL);
    json_put_string(writer, "code", code);
    json_put_string(writer, "message", message);
    json_close_object(writer);
}

void json_put_warnings(struct json_writer *writer, const struct warnings *warnings,
                       const struct print_sink *sink)
{
    json_open_array(writer, "warnings");
    for (size_t i = 0; i < warnings->count; i++)
        put_warning(writer, warnings->items[i].code, warnings->items[i].message);
    if (sink->left_out) {
        struct text cut = {0};
        print_add_cut(&cut, sink);
        put_warning(writer, "report-cut", cut.data ? cut.data : "");
        writer->failed |= cut.failed;
        text_deinit(&cut);
    }
    json_close_array(writer);
}

enum psc_status print_json(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink)
{
    struct json_writer writer = json_writer_of(sink, options);
    json_open_object(&writer, NULL);
    json_put_string(&writer, "schema", SCHEMA_NAME);
    json_break_line(&writer);
    put_target(&writer, trace);
    json_break_line(&writer);
    json_put_crash(&writer, "crash", trace->crash);
    json_break_line(&writer);
    json_put_deadlocks(&writer, trace);
    json_break_line(&writer);
    put_threads(&writer, sink, trace, options);
    json_break_line(&writer);
    if (trace->tasks) {
        put_tasks(&writer, trace->tasks);
        json_break_line(&writer);
    }
    if (trace->greenlets) {
        put_greenlets(&writer, trace->greenlets);
        json_break_line(&writer);
    }
    json_put_running(&writer, trace->running);
    json_break_line(&writer);
    put_signature(&writer, trace->signature);
    json_break_line(&writer);
    json_put_warnings(&writer, &trace->warnings, sink);
    json_close_object(&writer);
    text_add_char(&sink->buffer, '\n');
    return writer.failed ? PSC_ERR_MEMORY : PSC_OK;
}
