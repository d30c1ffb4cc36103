/* What was looked at, and how it died. */
#include "json_cost.h"
#include "report_private.h"

#include <stdlib.h>
#include <string.h>

/* Frames of one report: more than a million is no stack, but somebody's trick. */
#define FRAME_LIMIT ((size_t)4000000)

/* ---- the parts ---- */

static void take_arguments(struct reading *reading, const json_t *target)
{
    struct psc_trace *trace = reading->trace;
    const json_t *list = reading_list(reading, target, "arguments");
    size_t count = json_array_size(list);
    const char **arguments = arena_array(trace->arena, count + 1, sizeof(*arguments));
    for (size_t i = 0; arguments && i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        arguments[i] = arena_strdup(trace->arena, text ? text : "");
    }
    trace->arguments = arguments;
    trace->argument_count = arguments ? count : 0;
}

static void take_python(struct reading *reading, const json_t *target)
{
    const json_t *object = reading_object(reading, target, "python");
    struct trace_python *python =
        object ? arena_alloc(reading->trace->arena, sizeof(*python)) : NULL;
    if (!python)
        return;
    python->implementation = reading_text(reading, object, "implementation");
    python->version = reading_text(reading, object, "version");
    python->debug = reading_flag(reading, object, "debug");
    python->free_threaded = reading_flag(reading, object, "free_threaded");
    reading->trace->python = python;
}

static void take_target(struct reading *reading, const json_t *report)
{
    struct psc_trace *trace = reading->trace;
    const json_t *target = reading_object(reading, report, "target");
    const json_t *pause = target ? json_object_get(target, "pause") : NULL;
    int64_t pid;
    if (!target)
        reading_fail(reading, PSC_ERR_FORMAT, "there is no \"target\" in it");
    const char *kind = reading_text(reading, target, "kind");
    trace->kind = kind ? kind : "process";
    trace->path = reading_text(reading, target, "path");
    if (reading_number(reading, target, "pid", &pid) && pid > 0 && pid <= INT32_MAX)
        trace->pid = (int32_t)pid;
    trace->paused = json_is_number(pause);
    trace->pause = json_number_value(pause);
    trace->executable = reading_text(reading, target, "executable");
    trace->architecture = reading_text(reading, target, "architecture");
    take_arguments(reading, target);
    take_python(reading, target);
}

static void take_crash(struct reading *reading, const json_t *report)
{
    const json_t *object = reading_object(reading, report, "crash");
    struct trace_crash *crash = object ? arena_alloc(reading->trace->arena, sizeof(*crash)) : NULL;
    int64_t number;
    if (!crash)
        return;
    const char *cause = reading_text(reading, object, "cause");
    if (cause && !strcmp(cause, trace_cause_name(TRACE_CAUSE_SNAPSHOT)))
        crash->cause = TRACE_CAUSE_SNAPSHOT;
    crash->signal = reading_text(reading, object, "signal");
    if (!crash->signal && crash->cause != TRACE_CAUSE_SNAPSHOT)
        crash->signal = "a signal";
    crash->summary = reading_text(reading, object, "summary");
    crash->message = reading_text(reading, object, "message");
    if (reading_number(reading, object, "signal_number", &number) && number > 0 && number < 256)
        crash->signal_number = (int32_t)number;
    if (reading_number(reading, object, "thread", &number) && number > 0 && number <= INT32_MAX)
        crash->tid = (int32_t)number;
    reading->trace->crash = crash;
}

static void take_running(struct reading *reading, const json_t *report)
{
    const json_t *object = reading_object(reading, report, "running");
    struct trace_running *running =
        object ? arena_alloc(reading->trace->arena, sizeof(*running)) : NULL;
    int64_t number;
    if (!running)
        return;
    running->host = reading_text(reading, object, "host");
    running->stopped_by = reading_text(reading, object, "stopped_by");
    const json_t *test = reading_object(reading, object, "test");
    running->test = reading_text(reading, test, "id");
    running->phase = reading_text(reading, test, "phase");
    running->worker = reading_text(reading, test, "worker");
    const json_t *rank = reading_object(reading, object, "rank");
    if (reading_number(reading, rank, "number", &number) && number >= 0) {
        const char *variable = reading_text(reading, rank, "variable");
        running->rank = (uint64_t)number;
        running->rank_by = variable ? variable : "";
    }
    reading->trace->running = running;
}

static void take_report(struct reading *reading, const json_t *report)
{
    const char *schema = json_string_value(json_object_get(report, "schema"));
    if (!json_is_object(report) || !schema)
        reading_fail(reading, PSC_ERR_FORMAT, "it is no report of pystack-core");
    else if (strcmp(schema, "pystack-core/1") != 0)
        reading_fail(reading, PSC_ERR_FORMAT,
                     "its schema is \"%.40s\", and that of reports is \"pystack-core/1\"", schema);
    take_target(reading, report);
    take_crash(reading, report);
    take_running(reading, report);
    reading_take_threads(reading, report);
    reading_take_deadlocks(reading, report);
    if (arena_is_exhausted(reading->trace->arena))
        reading_fail(reading, PSC_ERR_MEMORY, "out of memory");
}

enum psc_status parse_report(const char *text, size_t size, size_t *ret_used,
                             struct psc_trace **ret, struct psc_error *err)
{
    json_error_t error;
    size_t blank = 0;
    *ret = NULL;
    while (blank < size && strchr(" \t\r\n", text[blank]) && text[blank])
        blank++;
    *ret_used = size;
    if (blank == size)
        return PSC_OK;
    if (!json_is_affordable(text + blank, size - blank))
        return psc_fail(err, PSC_ERR_LIMIT, "its values would take too much memory");
    json_t *report = json_loadb(text + blank, size - blank, JSON_DISABLE_EOF_CHECK, &error);
    if (!report)
        return psc_fail(err, PSC_ERR_FORMAT, "it is no JSON: line %d: %.100s", error.line,
                        error.text);
    *ret_used = blank + (size_t)error.position;
    struct reading reading = {.trace = trace_create(), .err = err, .frames_left = FRAME_LIMIT};
    if (reading.trace)
        take_report(&reading, report);
    else
        reading.status = psc_fail_memory(err);
    json_decref(report);
    if (reading.status == PSC_OK)
        *ret = reading.trace;
    else
        trace_destroy(reading.trace);
    return reading.status;
}
