/* One look at a subject: what a program could ask of the library, and whether the answers are
 * well-formed. */
#include "mutants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_MAX ((size_t)64 << 20)
#define ASKED_MAX  8 /* Frames of which values are asked for. */

struct text {
    char *bytes;
    size_t size, capacity;
};

static int take(void *context, const char *bytes, size_t size)
{
    struct text *text = context;
    if (size > REPORT_MAX - text->size)
        return 1;
    if (text->size + size + 1 > text->capacity) {
        size_t capacity = 2 * (text->size + size) + 4096;
        char *grown = realloc(text->bytes, capacity);
        if (!grown)
            return 1;
        text->bytes = grown;
        text->capacity = capacity;
    }
    if (size)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
    return 0;
}

/* ---- reports ---- */

/* The character at *at, which is moved on; UINT32_MAX: not UTF-8 (Unicode 15, table 3-7). */
static uint32_t next_character(const struct text *text, size_t *at)
{
    const uint8_t *bytes = (const uint8_t *)text->bytes + *at;
    size_t left = text->size - *at, size = 1;
    uint32_t character = bytes[0];
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (character >= 0xf0 && character < 0xf8)
        size = 4, character &= 7;
    else if (character >= 0xe0 && character < 0xf0)
        size = 3, character &= 15;
    else if (character >= 0xc0 && character < 0xe0)
        size = 2, character &= 31;
    else if (character >= 0x80)
        return UINT32_MAX;
    if (size > left)
        return UINT32_MAX;
    for (size_t i = 1; i < size; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return UINT32_MAX;
        character = character << 6 | (bytes[i] & 63);
    }
    *at += size;
    return character < least[size] || character > 0x10ffff ||
                   (character >= 0xd800 && character < 0xe000)
               ? UINT32_MAX
               : character;
}

/* Controls but line breaks, marks of direction, separators of lines: what drives a terminal. */
static bool is_forbidden(uint32_t character)
{
    return (character < 0x20 && character != '\n') || (character >= 0x7f && character < 0xa0) ||
           character == 0x61c || (character >= 0x200e && character <= 0x200f) ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == UINT32_MAX;
}

static void check_text(const struct text *text, struct complaint *complaint)
{
    for (size_t at = 0; at < text->size;) {
        size_t before = at;
        uint32_t character = next_character(text, &at);
        if (is_forbidden(character)) {
            complain(complaint, "text: byte %zu of the report begins %s %#x", before,
                     character == UINT32_MAX ? "what is not UTF-8," : "the character",
                     character == UINT32_MAX ? (uint8_t)text->bytes[before] : character);
            return;
        }
    }
}

static void check_json(const struct text *text, const struct schema *schema,
                       struct complaint *complaint)
{
    json_error_t error;
    json_t *document = json_loadb(text->bytes ? text->bytes : "", text->size,
                                  JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!document)
        complain(complaint, "JSON: %s, at byte %d", error.text, error.position);
    else
        schema_check(schema, document, complaint);
    json_decref(document);
}

static void print_all(const struct psc_trace *trace, const struct psc_print_options *chosen,
                      const struct look_options *options, struct complaint *complaint,
                      uint64_t *reports)
{
    for (int format = PSC_FORMAT_TEXT; format <= PSC_FORMAT_JSON; format++) {
        struct psc_error err = {0};
        struct text text = {0};
        struct psc_print_options print = *chosen;
        print.format = (enum psc_format)format;
        const struct schema *schema = print.content == PSC_CONTENT_FILES ? options->files_schema
                                      : print.content == PSC_CONTENT_VALUES
                                          ? options->values_schema
                                          : options->report_schema;
        enum psc_status status = psc_print(trace, &print, take, &text, &err);
        if (status == PSC_ERR_IO)
            complain(complaint, "a report of more than %zu bytes", REPORT_MAX);
        else if (status != PSC_OK && status != PSC_ERR_MEMORY)
            complain(complaint, "not printed: %s", err.message);
        else if (status == PSC_OK && format == PSC_FORMAT_JSON)
            check_json(&text, schema, complaint);
        else if (status == PSC_OK)
            check_text(&text, complaint);
        *reports += status == PSC_OK;
        free(text.bytes);
    }
}

/* ---- what a trace has, one by one ---- */

static void must(enum psc_status status, const char *what, struct complaint *complaint)
{
    if (status != PSC_OK && status != PSC_ERR_NOT_FOUND)
        complain(complaint, "%s: %s", what, psc_status_name(status));
}

static void walk_thread(const struct psc_trace *trace, size_t thread, struct complaint *complaint)
{
    struct psc_thread_info info = PSC_THREAD_INFO_INIT;
    must(psc_trace_get_thread(trace, thread, &info, NULL), "psc_trace_get_thread", complaint);
    for (size_t i = 0; i < psc_trace_frame_count(trace, thread); i++) {
        struct psc_frame_info frame = PSC_FRAME_INFO_INIT;
        must(psc_trace_get_frame(trace, thread, i, &frame, NULL), "psc_trace_get_frame", complaint);
        for (size_t j = 0; j < frame.local_count; j++) {
            struct psc_local local = PSC_LOCAL_INIT;
            must(psc_trace_get_local(trace, thread, i, j, &local, NULL), "psc_trace_get_local",
                 complaint);
            if (!local.name || !local.value)
                complain(complaint, "a local without %s", local.name ? "value" : "name");
        }
    }
    for (size_t i = 0; i < psc_trace_recursion_count(trace, thread); i++) {
        struct psc_recursion recursion = PSC_RECURSION_INIT;
        must(psc_trace_get_recursion(trace, thread, i, &recursion, NULL), "psc_trace_get_recursion",
             complaint);
        if (recursion.first > recursion.last ||
            recursion.last >= psc_trace_frame_count(trace, thread) || recursion.times < 2)
            complain(complaint, "a recursion from %llu to %llu, %llu times",
                     (unsigned long long)recursion.first, (unsigned long long)recursion.last,
                     (unsigned long long)recursion.times);
    }
}

static void walk_trace(const struct psc_trace *trace, struct complaint *complaint)
{
    struct psc_target_info target = PSC_TARGET_INFO_INIT;
    struct psc_python_info python = PSC_PYTHON_INFO_INIT;
    struct psc_crash_info crash = PSC_CRASH_INFO_INIT;
    must(psc_trace_get_target(trace, &target, NULL), "psc_trace_get_target", complaint);
    must(psc_trace_get_python(trace, &python, NULL), "psc_trace_get_python", complaint);
    must(psc_trace_get_crash(trace, &crash, NULL), "psc_trace_get_crash", complaint);
    for (size_t i = 0; i < psc_trace_thread_count(trace); i++)
        walk_thread(trace, i, complaint);
    for (size_t i = 0; i < psc_trace_warning_count(trace); i++)
        if (!psc_trace_warning(trace, i) || !psc_trace_warning_code(trace, i))
            complain(complaint, "a warning without words");
    for (size_t i = 0; i < psc_trace_file_count(trace); i++) {
        struct psc_file_info file = PSC_FILE_INFO_INIT;
        must(psc_trace_get_file(trace, i, &file, NULL), "psc_trace_get_file", complaint);
    }
}

/* What `pystack-locals` and `pystack-print` of the debuggers' commands ask. */
static void ask_for_values(struct psc_target *target, const struct psc_trace *trace,
                           struct choice *choice)
{
    static const char *const questions[] = {"self",          "self.__dict__", "values[0]",
                                            "x.y['z'][-1]",  "__name__",      "a",
                                            "numbers[1][2]", "__builtins__"};
    unsigned asked = 0;
    size_t threads = psc_trace_thread_count(trace);
    for (size_t tries = 0; threads && tries < 64 && asked < ASKED_MAX; tries++) {
        size_t thread = choose_below(choice, threads);
        size_t frame = choose_below(choice, psc_trace_frame_count(trace, thread));
        psc_addr address = psc_trace_python_frame(trace, thread, frame);
        struct text names = {0}, value = {0};
        if (!address)
            continue;
        asked++;
        const char *what = questions[choose_below(choice, sizeof(questions) / sizeof(*questions))];
        if (psc_frame_names(target, address, NULL, take, &names, NULL) == PSC_OK && names.size &&
            choose_one_in(choice, 2)) {
            // A name that is there.
            char *line = strtok(names.bytes, "\n");
            for (size_t skip = choose_below(choice, 8); line && skip; skip--) {
                char *next = strtok(NULL, "\n");
                line = next ? next : line;
            }
            what = line ? line : what;
        }
        if (psc_frame_value(target, address, what, take, &value, NULL, NULL) == PSC_OK) {
            free(value.bytes);
            value = (struct text){0};
            if (psc_frame_names(target, address, what, take, &value, NULL) != PSC_OK)
                value.size = 0;
        }
        free(names.bytes);
        free(value.bytes);
    }
}

/* ---- what is asked for ---- */

static struct psc_capture_options choose_capture(struct choice *choice, bool living)
{
    struct psc_capture_options capture = PSC_CAPTURE_OPTIONS_INIT;
    static const enum psc_mode modes[] = {PSC_MODE_MERGED, PSC_MODE_MERGED, PSC_MODE_PYTHON,
                                          PSC_MODE_PYTHON, PSC_MODE_NATIVE};
    capture.mode = modes[choose_below(choice, sizeof(modes) / sizeof(*modes))];
    capture.unwinder = choose_one_in(choice, 8) ? PSC_UNWINDER_LIBDW : PSC_UNWINDER_LIBUNWIND;
    capture.detail_hidden = choose_one_in(choice, 4);
    capture.all_inlined = choose_one_in(choice, 8);
    capture.all_modules = choose_one_in(choice, 4);
    capture.no_source = choose_one_in(choice, 8);
    capture.locals = choose_one_in(choice, 3) ? PSC_LOCALS_NONE : PSC_LOCALS_ALL;
    capture.tasks = !choose_one_in(choice, 3);
    capture.list_files = choose_one_in(choice, 8);
    capture.threads = choose_one_in(choice, 8) ? PSC_THREADS_CRASHED : PSC_THREADS_ALL;
    if (living && choose_one_in(choice, 4)) {
        capture.no_pause = 1;
        capture.mode = PSC_MODE_PYTHON;
        capture.threads = PSC_THREADS_ALL;
    }
    if (choose_one_in(choice, 8)) {
        capture.value_depth = PSC_VALUE_DEPTH_MAX;
        capture.value_items = 100;
    }
    return capture;
}

static struct psc_print_options choose_print(struct choice *choice,
                                             const struct psc_capture_options *capture)
{
    struct psc_print_options print = PSC_PRINT_OPTIONS_INIT;
    print.all = choose_one_in(choice, 3);
    print.outermost_first = choose_one_in(choice, 4);
    print.no_group = choose_one_in(choice, 4);
    print.explain = choose_one_in(choice, 3);
    print.one_line = choose_one_in(choice, 8);
    print.no_fold = choose_one_in(choice, 4);
    print.max_frames = choose_one_in(choice, 8) ? 3 : 0;
    if (capture->list_files && choose_one_in(choice, 2))
        print.content = PSC_CONTENT_FILES;
    return print;
}

void look_at(struct psc_target *target, struct choice *choice, const struct look_options *options,
             struct complaint *complaint, uint64_t *ret_reports)
{
    struct psc_evaluation wanted = {PSC_EVALUATED_CRASHED, (uint32_t)choose_below(choice, 4),
                                    "self"};
    struct psc_capture_options capture = choose_capture(choice, options->living);
    bool evaluates = choose_one_in(choice, 8);
    if (evaluates) {
        capture.evaluations = &wanted;
        capture.evaluation_count = 1;
        capture.evaluation_size = sizeof(wanted);
        capture.locals = PSC_LOCALS_ALL;
    }
    struct psc_print_options print = choose_print(choice, &capture);
    if (evaluates && choose_one_in(choice, 2))
        print.content = PSC_CONTENT_VALUES;
    struct psc_error err = {0};
    struct psc_trace *trace = NULL;
    enum psc_status status = psc_capture(target, &capture, &trace, &err);
    if (status != PSC_OK) {
        // Nothing to show is an answer; that a call makes no sense is not.
        if (!err.message[0] || status == PSC_ERR_ARGUMENT || err.status != status)
            complain(complaint, "psc_capture: %s, \"%s\"", psc_status_name(status), err.message);
        return;
    }
    walk_trace(trace, complaint);
    print_all(trace, &print, options, complaint, ret_reports);
    if (!options->living)
        ask_for_values(target, trace, choice);
    psc_trace_destroy(trace);
}
