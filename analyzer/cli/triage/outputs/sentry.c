/*
 * Events of Sentry, one a line, as its relay takes them (develop.sentry.dev, "Event Payloads"):
 * an exception with the stack that died, the other threads, the ELF files by their build-ids.
 */
#include "outputs_private.h"
#include "pystack_core.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_LIMIT  250u /* Of a stack: relay cuts longer ones. */
#define THREAD_LIMIT 100u
#define DEBUG_ID     37u /* Bytes of a GUID as text. */

/* By enum trust of the schema; the event's words are of the Native platform. */
static const char *trust_of(const json_t *frame)
{
    const char *trust = text_of(frame, "trust");
    return !strcmp(trust, "frame-pointer") ? "fp" : !strcmp(trust, "anchor") ? "scan" : trust;
}

static json_t *make_frame(const json_t *frame, const struct triage_result *result)
{
    const char *path = text_of(frame, "file"), *kind = text_of(frame, "kind");
    const char *own = sources_path(result->sources, frame);
    size_t size;
    json_t *made = json_object();
    put_text(made, "function", text_of(frame, "function"));
    put_text(made, "raw_function", text_of(frame, "symbol"));
    put_text(made, "filename", own ? own : path);
    put_text(made, "abs_path", path);
    if (number_of(frame, "line") > 0)
        put_member(made, "lineno", json_integer(number_of(frame, "line")));
    if (number_of(frame, "column") > 0)
        put_member(made, "colno", json_integer(number_of(frame, "column")));
    put_member(made, "in_app", json_boolean(own || frame_is_own(frame)));
    const bool native = !strcmp(kind, "native");
    put_text(made, "platform", native ? "native" : "python");
    put_text(made, "instruction_addr", text_of(frame, "pc"));
    put_text(made, "package", text_of(frame, "module"));
    put_text(made, "trust", trust_of(frame));
    const char *line =
        result->shows_source ? sources_frame_line(result->sources, frame, &size) : NULL;
    if (line)
        put_member(made, "context_line", json_stringn(line, size));
    json_t *locals = json_object_get(frame, "locals");
    if (result->shows_values && json_object_size(locals))
        json_object_set(made, "vars", locals);
    return made;
}

/* The outermost first, as Sentry has it; of a long stack the innermost frames. */
static json_t *make_stack(const json_t *thread, const struct triage_result *result)
{
    const json_t *frames = json_object_get(thread, "frames");
    json_t *list = json_array();
    size_t count = json_array_size(frames);
    for (size_t i = count < FRAME_LIMIT ? count : FRAME_LIMIT; i > 0; i--) {
        const json_t *frame = json_array_get(frames, i - 1);
        if (is_shown(frame) && !is_gap(frame))
            json_array_append_new(list, make_frame(frame, result));
    }
    if (json_array_size(list))
        return json_pack("{s:o}", "frames", list);
    json_decref(list);
    return NULL;
}

static json_t *make_mechanism(const json_t *crash)
{
    json_t *signal = json_object();
    if (number_of(crash, "signal_number") > 0)
        put_member(signal, "number", json_integer(number_of(crash, "signal_number")));
    put_text(signal, "name", text_of(crash, "signal"));
    put_text(signal, "code_name", text_of(crash, "code"));
    const char *type = json_object_get(signal, "number") ? "signalhandler" : "generic";
    json_t *made = json_pack("{s:s, s:b, s:b}", "type", type, "handled", 0, "synthetic", 1);
    if (json_object_get(signal, "number"))
        put_member(made, "meta", json_pack("{s:O}", "signal", signal));
    json_decref(signal);
    return made;
}

static json_t *make_exception(const json_t *report, const struct core_report *of,
                              const struct triage_result *result)
{
    const json_t *crash = json_object_get(report, "crash"), *first = core_report_thread(report);
    const char *signal = text_of(crash, "signal"), *summary = text_of(crash, "summary");
    json_t *one =
        json_pack("{s:s, s:s, s:o}", "type", *signal ? signal : death_kind_of(of)->name, "value",
                  *summary ? summary : core_report_title(of), "mechanism", make_mechanism(crash));
    if (number_of(first, "tid") > 0)
        put_member(one, "thread_id", json_integer(number_of(first, "tid")));
    put_member(one, "stacktrace", make_stack(first, result));
    return json_pack("{s:[o]}", "values", one);
}

static json_t *make_threads(const json_t *report, const struct triage_result *result)
{
    const json_t *threads = json_object_get(report, "threads"), *first = core_report_thread(report);
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(threads) && i < THREAD_LIMIT; i++) {
        const json_t *thread = json_array_get(threads, i);
        json_t *one =
            json_pack("{s:b, s:b}", "crashed", thread == first, "current", thread == first);
        put_member(
            one, "id",
            json_integer(number_of(thread, "tid") > 0 ? number_of(thread, "tid") : (json_int_t)i));
        put_text(one, "name", text_of(thread, "name"));
        if (thread != first) // That of the first is the exception's.
            put_member(one, "stacktrace", make_stack(thread, result));
        json_array_append_new(list, one);
    }
    return json_pack("{s:o}", "values", list);
}

/*
 * The debug identifier of an ELF file: the first 16 bytes of its build-id as a GUID, whose first
 * three fields are little-endian (docs of symbolic, "debug identifiers").
 */
static bool make_debug_id(const char *build_id, char ret[DEBUG_ID])
{
    static const char order[] = {3,  2, 1, 0,  -1, 5,  4,  -1, 7,  6,
                                 -1, 8, 9, -1, 10, 11, 12, 13, 14, 15};
    const size_t length = strlen(build_id);
    char *end = ret;
    for (size_t i = 0; i < sizeof(order); i++) {
        const size_t at = 2 * (size_t)order[i];
        if (order[i] < 0) {
            *end++ = '-';
            continue;
        }
        *end++ = at + 1 < length ? build_id[at] : '0';
        *end++ = at + 1 < length ? build_id[at + 1] : '0';
    }
    *end = '\0';
    return length != 0;
}

static json_t *make_images(const json_t *report)
{
    const json_t *modules = json_object_get(json_object_get(report, "target"), "modules");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const json_t *module = json_array_get(modules, i);
        char debug_id[DEBUG_ID];
        if (!make_debug_id(text_of(module, "build_id"), debug_id) || !*text_of(module, "base"))
            continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s}", "type", "elf", "code_id",
                                              text_of(module, "build_id"), "debug_id", debug_id,
                                              "code_file", text_of(module, "path"), "image_addr",
                                              text_of(module, "base")));
    }
    return json_pack("{s:o}", "images", list);
}

static json_t *make_tags(const struct core_report *report)
{
    json_t *tags = json_object();
    put_text(tags, "cause", death_kind_of(report)->name);
    put_text(tags, "signal", report_text(report->json, "crash", NULL, "signal"));
    put_text(tags, "signature", core_report_hash(report));
    put_text(tags, "test", report_text(report->json, "running", "test", "id"));
    return tags;
}

static json_t *make_contexts(const json_t *report)
{
    const json_t *target = json_object_get(report, "target");
    const json_t *python = json_object_get(target, "python");
    json_t *contexts = json_pack("{s:{s:s}}", "os", "name", "Linux");
    if (*text_of(target, "architecture"))
        put_member(contexts, "device", json_pack("{s:s}", "arch", text_of(target, "architecture")));
    if (*text_of(python, "implementation") && *text_of(python, "version"))
        put_member(contexts, "runtime",
                   json_pack("{s:s, s:s}", "name", text_of(python, "implementation"), "version",
                             text_of(python, "version")));
    return contexts;
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static uint64_t add_bytes(uint64_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return hash;
}

/* The same for the same core, so that one that is sent twice is one. */
static json_t *make_id(const struct core_report *report)
{
    const char *exact = report_text(report->json, "signature", NULL, "exact");
    const json_t *target = json_object_get(report->json, "target");
    char pid[24]; // What tells deaths without a core apart.
    snprintf(pid, sizeof(pid), "%lld", number_of(target, "pid"));
    uint64_t one = add_bytes(add_bytes(add_bytes(0xcbf29ce484222325u, report->path), exact), pid);
    uint64_t other = add_bytes(add_bytes(one ^ 0x9e3779b97f4a7c15u, exact), report->path);
    return json_sprintf("%016llx%016llx", (unsigned long long)one, (unsigned long long)other);
}

static json_t *make_event(const json_t *report, const struct core_report *of,
                          const struct triage_result *result)
{
    const bool has_python =
        json_is_object(json_object_get(json_object_get(report, "target"), "python"));
    json_t *event = json_pack("{s:o, s:s, s:s, s:{s:s, s:s}, s:o, s:o, s:o, s:o, s:o}", "event_id",
                              make_id(of), "platform", has_python ? "python" : "native", "level",
                              "fatal", "sdk", "name", "pystack-core", "version", psc_version(),
                              "exception", make_exception(report, of, result), "threads",
                              make_threads(report, result), "debug_meta", make_images(report),
                              "tags", make_tags(of), "contexts", make_contexts(report));
    if (core_report_hash(of))
        put_member(event, "fingerprint", json_pack("[s]", core_report_hash(of)));
    // A core file is written when its process dies.
    if (of->modified > 0)
        put_member(event, "timestamp", json_integer(of->modified));
    put_member(
        event, "extra",
        json_pack("{s:s, s:o}", "title", core_report_title(of), "report", json_of_bytes(of->path)));
    return event;
}

bool write_sentry(FILE *file, const struct triage_result *result)
{
    bool good = true;
    for (size_t i = 0; good && i < result->report_count; i++) {
        const struct core_report *report = &result->reports[i];
        if (!core_report_tells(report))
            continue;
        json_t *whole = kept_reports_get(result->kept, report);
        good = put_json(file, whole ? make_event(whole, report, result) : NULL, JSON_COMPACT);
        json_decref(whole);
    }
    return good;
}
