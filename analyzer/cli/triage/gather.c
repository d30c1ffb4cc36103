/* Reports as they come, put together and written. */
#include "core_runs.h"

#include "json_cost.h"
#include "messages.h"
#include "redact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Progress is shown on work that takes longer. */
#define PROGRESS_SECONDS 1

/* A run on its way. */
struct triage {
    const struct triage_options *options;
    const struct core_list *cores;
    const struct gathering *from;
    struct core_report *reports; /* Of the cores, then of deaths without one. */
    size_t report_count;
    struct report_groups groups;
    struct kept_reports kept;
    size_t others; /* Files that turned out to be no cores, too. */
    size_t done;
    time_t started;
    bool shows_progress;
    bool progress_shown;
};

static void triage_deinit(struct triage *triage)
{
    for (size_t i = 0; triage->reports && i < triage->report_count; i++)
        core_report_deinit(&triage->reports[i]);
    report_groups_deinit(&triage->groups);
    free(triage->reports);
}

static time_t seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec;
}

static void show_progress(struct triage *triage)
{
    if (!triage->shows_progress || seconds_now() - triage->started < PROGRESS_SECONDS)
        return;
    fprintf(stderr, "\r%zu of %zu cores", triage->done, triage->cores->count);
    triage->progress_shown = true;
}

static void end_progress(struct triage *triage)
{
    if (triage->progress_shown)
        fputs("\r\033[K", stderr);
    triage->progress_shown = false;
}

/* What the report says is secret is known from now on, and it is in the report no more. */
static bool mask(const struct triage *triage, struct core_report *report)
{
    if (!triage->options->redacts)
        return true;
    char *text = json_dumps(report->json, JSON_COMPACT | JSON_REAL_PRECISION(10));
    struct text masked = {0};
    bool good = text && sources_mask(triage->from->sources, text);
    if (good)
        redact_text(text, strlen(text), &masked);
    free(text);
    good = good && !masked.failed;
    if (good) {
        core_report_deinit(report);
        good = core_report_take(report, masked.data, masked.size, "its report cannot be masked");
    }
    text_deinit(&masked);
    if (!good)
        complain("out of memory");
    return good;
}

/* Whole reports are for the outputs, of which most need little of each. */
static bool keep(struct triage *triage, struct core_report *report)
{
    if (!kept_reports_add(&triage->kept, report))
        complain("a report cannot be kept in a temporary file: %s", strerror(errno));
    else if (!core_report_slim(report))
        complain("out of memory");
    else
        return true;
    return false;
}

static bool take(struct triage *triage, const struct stored_core *stored,
                 struct core_report *report)
{
    triage->done++;
    show_progress(triage);
    if (report->is_none) {
        triage->others++;
        return true;
    }
    if (!stored_core_describe(stored, report)) {
        complain("out of memory");
        return false;
    }
    return mask(triage, report) &&
           report_lines_add(triage->from->lines, triage->from->line_count, report) &&
           keep(triage, report);
}

/* ---- how it ended ---- */

static bool fails(const struct triage *triage)
{
    for (size_t i = 0; i < triage->groups.count; i++)
        if (triage->options->fail_on == FAIL_ON_ANY ||
            (triage->options->fail_on == FAIL_ON_NEW && !triage->groups.items[i].known))
            return true;
    return false;
}

static int exit_code(const struct triage *triage)
{
    bool some = !triage->report_count, partial = triage->cores->missed != 0;
    for (size_t i = 0; i < triage->report_count; i++) {
        some |= triage->reports[i].code != EXIT_NOTHING;
        partial |= triage->reports[i].code != EXIT_COMPLETE;
    }
    if (fails(triage))
        return EXIT_FAIL_ON;
    if (!some)
        return EXIT_NOTHING;
    return partial ? EXIT_PARTIAL : EXIT_COMPLETE;
}

/* ---- what is looked at ---- */

static bool make_reports(struct triage *triage)
{
    triage->report_count = triage->cores->count + triage->options->exit_count;
    triage->reports = calloc(triage->report_count + 1, sizeof(*triage->reports));
    if (!triage->reports) {
        complain("out of memory");
        return false;
    }
    for (size_t i = 0; i < triage->report_count; i++)
        triage->reports[i].kept_at = -1;
    for (size_t i = 0; i < triage->cores->count; i++) {
        const struct found_core *core = &triage->cores->items[i];
        triage->reports[i] = (struct core_report){.path = core->path,
                                                  .may_be_none = core->packed,
                                                  .modified = core->modified,
                                                  .kept_at = -1};
    }
    return true;
}

/* What an earlier run has left. */
static bool take_over(struct triage *triage)
{
    bool good = true;
    for (size_t i = 0; good && i < triage->cores->count; i++)
        if (triage->reports[i].json) {
            triage->done++;
            good = mask(triage, &triage->reports[i]) && keep(triage, &triage->reports[i]);
        }
    return good;
}

/* Those that are not there yet. */
static size_t list_wanted(const struct triage *triage, bool *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < triage->cores->count; i++) {
        wanted[i] = !triage->reports[i].json;
        count += wanted[i];
    }
    return count;
}

static bool take_core(struct triage *triage, bool *wanted)
{
    struct core_end end;
    const int file = core_runs_next(triage->from->runs, &end);
    bool good = file >= 0 && end.core < triage->cores->count && wanted[end.core];
    if (good) {
        struct core_report *report = &triage->reports[end.core];
        wanted[end.core] = false;
        good = core_end_take(triage->options, &end, file, report);
        core_runs_release(triage->from->runs, &end);
        if (!good)
            complain("out of memory");
        good = good && take(triage, triage->cores->items[end.core].stored, report);
    }
    if (file >= 0)
        close(file);
    return good;
}

static bool take_cores(struct triage *triage)
{
    bool *wanted = calloc(triage->cores->count + 1, sizeof(*wanted));
    size_t count = wanted ? list_wanted(triage, wanted) : 0;
    bool good = wanted != NULL;
    if (!wanted)
        complain("out of memory");
    if (count && triage->options->resumes)
        good = core_runs_begin(triage->from->runs, wanted, triage->cores->count);
    for (size_t i = 0; good && i < count; i++)
        good = take_core(triage, wanted);
    free(wanted);
    return good;
}

static bool take_exits(struct triage *triage)
{
    bool good = true;
    uint64_t excess = 0;
    for (size_t i = 0; good && i < triage->options->exit_count; i++) {
        struct core_report *report = &triage->reports[triage->cores->count + i];
        const char *text = triage->options->exits[i];
        report->path = "a death without a core";
        const size_t size = strlen(text);
        const bool fits = json_are_affordable(text, size, &excess);
        good = core_report_take(report, text, fits ? size : 0,
                                fits ? "no report of it" : "the reports take too much memory") &&
               take(triage, NULL, report);
        if (good && !core_report_tells(report))
            report->code = EXIT_NOTHING;
        // Its own name, in the report itself.
        const char *path = report_text(report->json, "target", NULL, "path");
        report->path = path ? path : report->path;
    }
    return good;
}

/* What turned out to be no core is none of the reports. */
static void drop_none(struct triage *triage)
{
    size_t kept = 0;
    for (size_t i = 0; i < triage->report_count; i++) {
        if (triage->reports[i].is_none)
            core_report_deinit(&triage->reports[i]);
        else
            triage->reports[kept++] = triage->reports[i];
    }
    triage->report_count = kept;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct core_report *)a)->path, ((const struct core_report *)b)->path);
}

static bool look_at_all(struct triage *triage)
{
    const struct gathering *from = triage->from;
    bool good = make_reports(triage) &&
                report_lines_take_over(from->lines, from->line_count, triage->reports,
                                       triage->cores->count) &&
                take_over(triage) && take_cores(triage) && take_exits(triage);
    end_progress(triage);
    if (!good)
        return false;
    drop_none(triage);
    if (triage->options->sorts_all)
        qsort(triage->reports, triage->report_count, sizeof(*triage->reports), compare_paths);
    if (!group_reports(triage->reports, triage->report_count, &triage->groups)) {
        complain("out of memory");
        return false;
    }
    return !triage->options->baseline || mark_known(&triage->groups, triage->options->baseline);
}

static bool write_all_outputs(const struct triage *triage)
{
    const struct triage_options *options = triage->options;
    const struct triage_result result = {
        .reports = triage->reports,
        .report_count = triage->report_count,
        .groups = &triage->groups,
        .kept = &triage->kept,
        .sources = triage->from->sources,
        .junit_merge = options->junit_merge,
        .other_files = triage->others,
        .has_baseline = options->baseline != NULL,
        .redacts = options->redacts,
        .shows_values = options->shows_values,
        .shows_source = !options->hides_source,
    };
    bool good = true;
    for (size_t i = 0; i < options->output_count; i++)
        if (options->outputs[i].format->write)
            good =
                result_file_write(&triage->from->files[i], &result, &options->outputs[i]) && good;
    return good;
}

int gather(void *context)
{
    const struct gathering *from = context;
    struct triage triage = {
        .options = from->options,
        .cores = from->cores,
        .from = from,
        .kept = from->kept,
        .others = from->cores->others,
        .started = seconds_now(),
        .shows_progress = isatty(STDERR_FILENO),
    };
    int code = EXIT_NOTHING;
    if (look_at_all(&triage) && write_all_outputs(&triage))
        code = exit_code(&triage);
    triage_deinit(&triage);
    return code;
}
