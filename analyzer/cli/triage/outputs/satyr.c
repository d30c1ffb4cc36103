/*
 * The core_stacktrace of satyr, which ABRT and FAF read: one object a line. Its members are those
 * of sr_core_stacktrace_to_json() and sr_core_frame_to_json() (satyr 0.43, lib/core_stacktrace.c,
 * lib/core_frame.c); a Python or Cython frame has its function and source file in them.
 */
#include "outputs_private.h"

#include <string.h>

static json_t *make_frame(const json_t *frame)
{
    const bool native = !strcmp(text_of(frame, "kind"), "native");
    const char *symbol = text_of(frame, "symbol");
    json_t *made = json_object();
    put_member(made, "address", json_of_number(json_string_value(json_object_get(frame, "pc"))));
    put_text(made, "build_id", text_of(frame, "build_id"));
    if (*text_of(frame, "build_id"))
        put_member(made, "build_id_offset",
                   json_of_number(json_string_value(json_object_get(frame, "offset"))));
    put_text(made, "function_name", native && *symbol ? symbol : text_of(frame, "function"));
    put_text(made, "file_name", native ? text_of(frame, "module") : text_of(frame, "file"));
    return made;
}

/* A call that was inlined has the address of its caller, and satyr knows none of them. */
static json_t *make_thread(const json_t *thread, bool crashed)
{
    const json_t *frames = json_object_get(thread, "frames");
    json_t *list = json_array(), *made = json_object();
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (is_shown(frame) && !is_gap(frame) && !json_is_true(json_object_get(frame, "inlined")))
            json_array_append_new(list, make_frame(frame));
    }
    if (crashed)
        put_member(made, "crash_thread", json_true());
    put_member(made, "frames", list);
    return made;
}

static json_t *make_stacktrace(const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads"), *first = core_report_thread(report);
    const json_t *crash = json_object_get(report, "crash");
    json_t *list = json_array(), *made = json_object();
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        json_array_append_new(list, make_thread(thread, thread == first));
    }
    if (number_of(crash, "signal_number") > 0)
        put_member(made, "signal", json_integer(number_of(crash, "signal_number")));
    put_text(made, "executable", report_text(report, "target", NULL, "executable"));
    put_member(made, "stacktrace", list);
    return made;
}

bool write_satyr(FILE *file, const struct triage_result *result)
{
    bool good = true;
    for (size_t i = 0; good && i < result->report_count; i++) {
        if (!core_report_tells(&result->reports[i]))
            continue;
        json_t *whole = kept_reports_get(result->kept, &result->reports[i]);
        good = put_json(file, whole ? make_stacktrace(whole) : NULL, JSON_COMPACT);
        json_decref(whole);
    }
    return good;
}
