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

/* Piece by piece: of many frames a tree would take more than their report does. */
static void put_piece(FILE *file, json_t *piece)
{
    if (piece)
        json_dumpf(piece, file, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
    else
        fputs("{}", file);
    json_decref(piece);
}

/* A call that was inlined has the address of its caller, and satyr knows none of them. */
static void put_thread(FILE *file, const json_t *thread, bool crashed)
{
    const json_t *frames = json_object_get(thread, "frames");
    const char *before = "";
    fprintf(file, "{%s\"frames\":[", crashed ? "\"crash_thread\":true," : "");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (!is_shown(frame) || is_gap(frame) || json_is_true(json_object_get(frame, "inlined")))
            continue;
        fputs(before, file);
        put_piece(file, make_frame(frame));
        before = ",";
    }
    fputs("]}", file);
}

static void put_stacktrace(FILE *file, const json_t *report)
{
    const json_t *threads = json_object_get(report, "threads"), *first = core_report_thread(report);
    const json_t *crash = json_object_get(report, "crash");
    const char *executable = report_text(report, "target", NULL, "executable");
    putc('{', file);
    if (number_of(crash, "signal_number") > 0)
        fprintf(file, "\"signal\":%lld,", number_of(crash, "signal_number"));
    if (executable && *executable) {
        fputs("\"executable\":", file);
        put_piece(file, json_string(executable));
        putc(',', file);
    }
    fputs("\"stacktrace\":[", file);
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        fputs(i ? "," : "", file);
        put_thread(file, thread, thread == first);
    }
    fputs("]}\n", file);
}

bool write_satyr(FILE *file, const struct triage_result *result)
{
    for (size_t i = 0; i < result->report_count; i++) {
        if (!core_report_tells(&result->reports[i]))
            continue;
        json_t *whole = kept_reports_get(result->kept, &result->reports[i]);
        if (!whole) {
            complain("out of memory");
            return false;
        }
        put_stacktrace(file, whole);
        json_decref(whole);
    }
    return true;
}
