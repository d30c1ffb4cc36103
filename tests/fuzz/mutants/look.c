/* One look at a subject: what a program could ask of the library, and whether the answers are
 * well-formed. */
#include "mutants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASKED_MAX 3 /* Frames of which values are asked for. */

void print_all(const struct psc_trace *trace, const struct psc_print_options *chosen,
               const struct look_options *options, struct complaint *complaint, uint64_t *reports)
{
    for (int format = PSC_FORMAT_TEXT; format <= PSC_FORMAT_JSON; format++) {
        struct psc_error err = {0};
        struct report_text text = {0};
        struct psc_print_options print = *chosen;
        print.format = (enum psc_format)format;
        const struct schema *schema = print.content == PSC_CONTENT_FILES ? options->files_schema
                                      : print.content == PSC_CONTENT_VALUES
                                          ? options->values_schema
                                          : options->report_schema;
        enum psc_status status = psc_print(trace, &print, report_take, &text, &err);
        if (status == PSC_ERR_IO)
            complain(complaint, "a report of more than %zu bytes", REPORT_MAX);
        else if (status != PSC_OK && status != PSC_ERR_MEMORY)
            complain(complaint, "not printed: %s", err.message);
        else if (status == PSC_OK && format == PSC_FORMAT_JSON)
            report_check_json(&text, schema, complaint);
        else if (status == PSC_OK)
            report_check_text(&text, complaint);
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
        struct report_text names = {0}, value = {0};
        if (!address)
            continue;
        asked++;
        const char *what = questions[choose_below(choice, sizeof(questions) / sizeof(*questions))];
        if (psc_frame_names(target, address, NULL, report_take, &names, NULL) == PSC_OK &&
            names.size && choose_one_in(choice, 2)) {
            // A name that is there.
            char *line = strtok(names.bytes, "\n");
            for (size_t skip = choose_below(choice, 8); line && skip; skip--) {
                char *next = strtok(NULL, "\n");
                line = next ? next : line;
            }
            what = line ? line : what;
        }
        if (psc_frame_value(target, address, what, report_take, &value, NULL, NULL) == PSC_OK) {
            free(value.bytes);
            value = (struct report_text){0};
            if (psc_frame_names(target, address, what, report_take, &value, NULL) != PSC_OK)
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
    capture.process_locks = choose_one_in(choice, 2);
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

/* Where a look at a living process may write a core file; it is gone when that was looked at. */
static const char *choose_core_path(struct choice *choice,
                                    const struct psc_capture_options *capture, char *buffer,
                                    size_t size)
{
    const char *folder = getenv("TMPDIR");
    snprintf(buffer, size, "%s/mutants-%d.core", folder ? folder : "/tmp", (int)getpid());
    return capture->no_pause || !choose_one_in(choice, 6) ? NULL : buffer;
}

/* A core file that was written of a damaged process is one that can be looked at. */
static void look_at_saved(const struct psc_trace *trace, const char *path,
                          const struct look_options *options, struct complaint *complaint,
                          uint64_t *reports)
{
    const struct psc_print_options print = PSC_PRINT_OPTIONS_INIT;
    struct psc_error err = {0};
    struct psc_target *target = NULL;
    struct psc_trace *again = NULL;
    enum psc_status status = psc_trace_core(trace, &err);
    if (status != PSC_OK && !err.message[0])
        complain(complaint, "psc_trace_core: %s", psc_status_name(status));
    if (status != PSC_OK)
        return;
    status = psc_open_core(path, NULL, NULL, &target, &err);
    if (status == PSC_OK)
        status = psc_capture(target, NULL, &again, &err);
    if (status != PSC_OK)
        complain(complaint, "the core that was saved: %s", err.message);
    else
        print_all(again, &print, options, complaint, reports);
    psc_trace_destroy(again);
    psc_close(target);
    unlink(path);
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
    char core_path[4096];
    if (options->living)
        capture.core_path = choose_core_path(choice, &capture, core_path, sizeof(core_path));
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
    ask_what_else(trace, choice, options, complaint, ret_reports);
    if (capture.core_path)
        look_at_saved(trace, capture.core_path, options, complaint, ret_reports);
    if (!options->living)
        ask_for_values(target, trace, choice);
    psc_trace_destroy(trace);
}
