/*
 * Schema pystack-core/1, schema/pystack-core-1.schema.json.
 *
 * Written piece by piece: never more than one location or thread head is a JSON value in
 * memory. The output is ASCII (jansson escapes the rest as \uNNNN); bytes of the target
 * that are not UTF-8 become U+FFFD each.
 */
#include "json_values.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA_NAME "pystack-core/1"

static void write_raw(struct json_writer *writer, const char *text)
{
    // Line breaks are for people; within strings there are none.
    for (; *text; text++)
        if (*text != '\n' || !writer->one_line)
            text_add_char(&writer->sink->buffer, *text);
}

static int append_text(const char *bytes, size_t size, void *text)
{
    text_add(text, bytes, size);
    return 0;
}

/* Takes the value over. */
static void dump_value(struct json_writer *writer, struct text *text, json_t *value)
{
    size_t flags = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY;
    if (!value || json_dump_callback(value, append_text, text, flags))
        writer->failed = true;
    json_decref(value);
}

static void write_value(struct json_writer *writer, json_t *value)
{
    dump_value(writer, &writer->sink->buffer, value);
}

/* An object without its closing brace: more members are written after it. */
static void dump_open_object(struct json_writer *writer, struct text *text, json_t *object)
{
    dump_value(writer, text, object);
    if (text->size && text->data[text->size - 1] == '}')
        text->data[--text->size] = '\0';
}

/* ---- target ---- */

static json_t *make_module(struct json_writer *writer, const struct trace_module *module)
{
    static const char *const states[] = {
        [TRACE_FILE_FOUND] = "found",
        [TRACE_FILE_MISSING] = "missing",
        [TRACE_FILE_MISMATCH] = "mismatch",
    };
    json_t *object = json_object();
    set(writer, object, "path", make_string(module->path));
    set(writer, object, "build_id", make_string(module->build_id));
    set(writer, object, "base", make_address(true, module->base));
    set(writer, object, "file", json_string(states[module->file]));
    set(writer, object, "debug_info", json_boolean(module->debug_info));
    return object;
}

static json_t *make_python(struct json_writer *writer, const struct trace_python *python)
{
    if (!python)
        return json_null();
    json_t *object = json_object();
    set(writer, object, "implementation", make_string(python->implementation));
    set(writer, object, "version", make_string(python->version));
    set(writer, object, "debug", json_boolean(python->debug));
    set(writer, object, "free_threaded", json_boolean(python->free_threaded));
    return object;
}

static json_t *make_target(struct json_writer *writer, const struct psc_trace *trace)
{
    json_t *arguments = json_array();
    for (size_t i = 0; i < trace->argument_count; i++)
        if (json_array_append_new(arguments, make_string(trace->arguments[i])))
            writer->failed = true;
    json_t *object = json_object();
    set(writer, object, "kind", make_string(trace->kind));
    set(writer, object, "path", make_string(trace->path));
    set(writer, object, "pid", trace->pid > 0 ? json_integer(trace->pid) : json_null());
    if (trace->paused)
        set(writer, object, "pause", json_real(trace->pause));
    set(writer, object, "executable", make_string(trace->executable));
    set(writer, object, "arguments", arguments);
    set(writer, object, "architecture", make_string(trace->architecture));
    set(writer, object, "python", make_python(writer, trace->python));
    return object;
}

static void write_target(struct json_writer *writer, const struct psc_trace *trace)
{
    write_raw(writer, ",\n\"target\":");
    dump_open_object(writer, &writer->sink->buffer, make_target(writer, trace));
    write_raw(writer, ",\"modules\":[");
    for (size_t i = 0; i < trace->module_count; i++) {
        write_raw(writer, i ? ",\n" : "\n");
        write_value(writer, make_module(writer, trace->modules[i]));
        print_sink_flush(writer->sink, false);
    }
    write_raw(writer, "]}");
}

/* ---- crash ---- */

static json_t *make_crash(struct json_writer *writer, const struct trace_crash *crash)
{
    if (!crash)
        return json_null();
    json_t *object = json_object();
    set(writer, object, "signal", make_string(crash->signal));
    set(writer, object, "signal_number", json_integer(crash->signal_number));
    set(writer, object, "code", make_string(crash->code));
    set(writer, object, "fault_address", make_address(crash->has_address, crash->address));
    set(writer, object, "sender_pid",
        crash->has_sender ? json_integer(crash->sender_pid) : json_null());
    set(writer, object, "thread", crash->tid ? json_integer(crash->tid) : json_null());
    set(writer, object, "summary", make_string(crash->summary));
    set(writer, object, "message", make_string(crash->message));
    return object;
}

/* ---- frames ---- */

static const char *name_kind(enum trace_kind kind)
{
    switch (kind) {
    case TRACE_PYTHON:
        return "python";
    case TRACE_CYTHON:
        return "cython";
    case TRACE_NATIVE:
        return "native";
    case TRACE_GAP:
        break;
    }
    return "gap";
}

static const char *name_line_source(enum trace_line_source source)
{
    switch (source) {
    case TRACE_LINE_CODE:
        return "code";
    case TRACE_LINE_DWARF:
        return "dwarf";
    case TRACE_LINE_C_FILE:
        return "c-file";
    case TRACE_LINE_XML:
        return "xml";
    case TRACE_LINE_MACHINE_CODE:
        return "machine-code";
    case TRACE_LINE_ESTIMATE:
        return "estimate";
    case TRACE_LINE_NONE:
        break;
    }
    return NULL;
}

/* With its quotes, as it stands in the output. */
static const char *name_trust(const struct trace_frame *frame)
{
    if (frame->location->kind == TRACE_PYTHON || frame->location->kind == TRACE_GAP)
        return "null";
    switch ((enum trace_trust)frame->trust) {
    case TRACE_TRUST_CONTEXT:
        return "\"context\"";
    case TRACE_TRUST_CFI:
        return "\"cfi\"";
    case TRACE_TRUST_FRAME_POINTER:
        return "\"frame-pointer\"";
    case TRACE_TRUST_SCAN:
        return "\"scan\"";
    case TRACE_TRUST_ANCHOR:
        return "\"anchor\"";
    }
    return "null";
}

static json_t *make_location(struct json_writer *writer, const struct trace_location *location)
{
    const struct trace_module *module = location->module;
    const char *line_source = location->line ? name_line_source(location->line_source) : NULL;
    json_t *object = json_object();
    set(writer, object, "kind", json_string(name_kind(location->kind)));
    set(writer, object, "function", make_string(location->function));
    set(writer, object, "name", make_string(location->name));
    set(writer, object, "file", make_string(location->file));
    set(writer, object, "line", make_integer(location->line, location->line));
    set(writer, object, "line_source", make_string(line_source));
    set(writer, object, "column", make_integer(location->column, location->column));
    set(writer, object, "end_line", make_integer(location->end_line, location->end_line));
    set(writer, object, "end_column", make_integer(location->end_column, location->end_column));
    set(writer, object, "module", make_string(module ? module->path : NULL));
    set(writer, object, "offset", make_address(location->has_offset, location->offset));
    set(writer, object, "build_id", make_string(module ? module->build_id : NULL));
    set(writer, object, "symbol", make_string(location->symbol));
    set(writer, object, "inlined", json_boolean(location->inlined));
    return object;
}

static void write_location(struct json_writer *writer, const struct trace_location *location)
{
    size_t slot = hash_u64((uintptr_t)location) & (JSON_CACHE_SIZE - 1);
    struct cached_location *cached = &writer->cache[slot];
    if (cached->location != location) {
        text_clear(&cached->text);
        dump_open_object(writer, &cached->text, make_location(writer, location));
        cached->location = location;
        writer->failed = writer->failed || cached->text.failed;
    }
    text_add(&writer->sink->buffer, cached->text.data, cached->text.size);
}

/* Names are few; one that is there twice (a comprehension's) has its first value. */
static json_t *make_locals(struct json_writer *writer, const struct trace_locals *locals)
{
    json_t *object = json_object();
    for (size_t i = 0; i < locals->count; i++) {
        const struct trace_local *local = &locals->items[i];
        json_t *name = make_string(local->name);
        const char *key = json_string_value(name);
        if (key && !json_object_get(object, key))
            set(writer, object, key, make_string(local->value));
        json_decref(name);
    }
    return object;
}

static void write_frame(struct json_writer *writer, const struct trace_frame *frame,
                        const struct trace_locals *locals)
{
    struct text *text = &writer->sink->buffer;
    write_location(writer, frame->location);
    if (frame->has_pc)
        text_printf(text, ",\"pc\":\"0x%" PRIx64 "\"", frame->pc);
    else
        text_add_string(text, ",\"pc\":null");
    if (frame->has_pc)
        text_printf(text, ",\"sp\":\"0x%" PRIx64 "\"", frame->sp);
    else
        text_add_string(text, ",\"sp\":null");
    text_add_string(text, frame->hidden ? ",\"hidden\":true" : ",\"hidden\":false");
    text_printf(text, ",\"trust\":%s", name_trust(frame));
    if (locals) {
        text_add_string(text, ",\"locals\":");
        write_value(writer, make_locals(writer, locals));
    }
    text_add_char(text, '}');
}

static void write_frames(struct json_writer *writer, const struct trace_thread *thread,
                         const struct psc_print_options *options)
{
    bool first = true;
    for (size_t i = 0; i < thread->frame_count && !writer->sink->stopped; i++) {
        if (!print_shows_frame(options, &thread->frames[i]))
            continue;
        write_raw(writer, first ? "\n" : ",\n");
        write_frame(writer, &thread->frames[i], thread->locals ? thread->locals[i] : NULL);
        print_sink_flush(writer->sink, false);
        first = false;
    }
}

/* ---- threads ---- */

static json_t *make_states(struct json_writer *writer, uint32_t state)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } states[] = {
        {TRACE_STATE_CRASHED, "crashed"},
        {TRACE_STATE_MAIN, "main"},
        {TRACE_STATE_HOLDS_GIL, "holds-gil"},
        {TRACE_STATE_WAITS_FOR_GIL, "waits-for-gil"},
        {TRACE_STATE_COLLECTING, "collecting-garbage"},
        {TRACE_STATE_FINALIZING, "finalizing"},
        {TRACE_STATE_IDLE, "idle"},
        {TRACE_STATE_TERMINATED, "terminated"},
        {TRACE_STATE_NO_PYTHON, "no-python"},
    };
    json_t *array = json_array();
    for (size_t i = 0; i < PSC_ARRAY_SIZE(states); i++)
        if ((state & states[i].bit) && json_array_append_new(array, json_string(states[i].name)))
            writer->failed = true;
    return array;
}

/* What all exceptions have, those of a chain as well. */
static json_t *make_exception(struct json_writer *writer, const struct trace_exception *exception)
{
    json_t *traceback = json_array();
    for (size_t i = 0; i < exception->traceback_count; i++)
        append(writer, traceback, json_make_place(writer, exception->traceback[i]));
    json_t *object = json_object();
    set(writer, object, "type", make_string(exception->type));
    set(writer, object, "message", make_string(exception->message));
    set(writer, object, "traceback", traceback);
    set(writer, object, "traceback_cut", json_boolean(exception->traceback_cut));
    return object;
}

/* The exception at *at with its causes and contexts; *at moves behind them. */
static json_t *make_exception_with_chain(struct json_writer *writer,
                                         const struct trace_thread *thread, size_t *at)
{
    const struct trace_exception *first = &thread->exceptions[(*at)++];
    json_t *object = make_exception(writer, first);
    json_t *chain = json_array();
    for (; *at < thread->exception_count && thread->exceptions[*at].link != TRACE_LINK_NONE;
         (*at)++) {
        bool cause = thread->exceptions[*at].link == TRACE_LINK_CAUSE;
        json_t *link = make_exception(writer, &thread->exceptions[*at]);
        set(writer, link, "link", json_string(cause ? "cause" : "context"));
        append(writer, chain, link);
    }
    set(writer, object, "state", json_string(first->raised ? "raised" : "handled"));
    set(writer, object, "chain", chain);
    return object;
}

/* The first as "exception"; the others, which few threads have, in a member of their own. */
static void set_exceptions(struct json_writer *writer, const struct trace_thread *thread,
                           json_t *object)
{
    size_t at = 0;
    set(writer, object, "exception",
        thread->exception_count ? make_exception_with_chain(writer, thread, &at) : json_null());
    if (at == thread->exception_count)
        return;
    json_t *others = json_array();
    while (at < thread->exception_count)
        append(writer, others, make_exception_with_chain(writer, thread, &at));
    set(writer, object, "other_exceptions", others);
}

static json_t *make_thread(struct json_writer *writer, const struct trace_thread *thread)
{
    bool has_python = thread->has_python;
    bool has_interpreter = has_python && thread->interpreter_id >= 0;
    json_t *object = json_object();
    set(writer, object, "tid", thread->tid ? json_integer(thread->tid) : json_null());
    set(writer, object, "python_thread_id", make_integer(has_python, thread->python_thread_id));
    set(writer, object, "name", make_string(thread->name));
    set(writer, object, "interpreter",
        has_interpreter ? json_integer(thread->interpreter_id) : json_null());
    set(writer, object, "state", make_states(writer, thread->state));
    set_exceptions(writer, thread, object);
    return object;
}

static void write_threads(struct json_writer *writer, const struct psc_trace *trace,
                          const struct psc_print_options *options)
{
    write_raw(writer, ",\n\"threads\":[");
    for (size_t i = 0; i < trace->thread_count && !writer->sink->stopped; i++) {
        write_raw(writer, i ? ",\n" : "\n");
        dump_open_object(writer, &writer->sink->buffer, make_thread(writer, &trace->threads[i]));
        write_raw(writer, ",\"frames\":[");
        write_frames(writer, &trace->threads[i], options);
        write_raw(writer, "]}");
        print_sink_flush(writer->sink, false);
    }
    write_raw(writer, "]");
}

/* Piece by piece as the threads: there may be many. */
static void write_tasks(struct json_writer *writer, const struct trace_tasks *tasks)
{
    write_raw(writer, ",\n\"tasks\":[");
    for (size_t i = 0; i < tasks->count && !writer->sink->stopped; i++) {
        write_raw(writer, i ? ",\n" : "\n");
        write_value(writer, json_make_task(writer, tasks, &tasks->items[i]));
        print_sink_flush(writer->sink, false);
    }
    write_raw(writer, "],\n\"task_cycles\":");
    write_value(writer, json_make_task_cycles(writer, tasks));
}

static void write_greenlets(struct json_writer *writer, const struct trace_tasks *greenlets)
{
    write_raw(writer, ",\n\"greenlets\":[");
    for (size_t i = 0; i < greenlets->count && !writer->sink->stopped; i++) {
        write_raw(writer, i ? ",\n" : "\n");
        write_value(writer, json_make_greenlet(writer, &greenlets->items[i]));
        print_sink_flush(writer->sink, false);
    }
    write_raw(writer, "]");
}

static void write_warnings(struct json_writer *writer, const struct warnings *warnings)
{
    write_raw(writer, ",\n\"warnings\":[");
    for (size_t i = 0; i < warnings->count; i++) {
        json_t *object = json_object();
        set(writer, object, "code", make_string(warnings->items[i].code));
        set(writer, object, "message", make_string(warnings->items[i].message));
        write_raw(writer, i ? ",\n" : "\n");
        write_value(writer, object);
    }
    write_raw(writer, "]");
}

enum psc_status print_json(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink)
{
    PSC_CLEANUP(cleanup_free) struct json_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return PSC_ERR_MEMORY;
    writer->sink = sink;
    writer->one_line = options->one_line;
    write_raw(writer, "{\"schema\":\"" SCHEMA_NAME "\"");
    write_target(writer, trace);
    write_raw(writer, ",\n\"crash\":");
    write_value(writer, make_crash(writer, trace->crash));
    write_threads(writer, trace, options);
    if (trace->tasks)
        write_tasks(writer, trace->tasks);
    if (trace->greenlets)
        write_greenlets(writer, trace->greenlets);
    write_raw(writer, ",\n\"signature\":");
    write_value(writer, make_string(trace->signature));
    write_warnings(writer, &trace->warnings);
    text_add_string(&sink->buffer, "}\n");
    for (size_t i = 0; i < JSON_CACHE_SIZE; i++)
        text_deinit(&writer->cache[i].text);
    return writer->failed ? PSC_ERR_MEMORY : PSC_OK;
}
