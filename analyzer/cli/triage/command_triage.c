/* `pystack-core triage`: find cores, look at each, put them together, write what was asked for. */
#include "json_cost.h"
#include "debuginfod.h"
#include "messages.h"
#include "sandbox.h"
#include "triage_private.h"

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
    struct core_list cores;
    struct core_report *reports; /* Of the cores, then of deaths without one. */
    size_t report_count;
    struct report_lines *lines;
    size_t line_count;
    struct kept_reports kept;
    struct report_groups groups;
    struct sources *sources;
    size_t done;
    time_t started;
    bool shows_progress;
    bool progress_shown;
};

static void triage_deinit(struct triage *triage)
{
    for (size_t i = 0; triage->reports && i < triage->report_count; i++)
        core_report_deinit(&triage->reports[i]);
    kept_reports_close(&triage->kept);
    report_lines_close(triage->lines, triage->line_count);
    report_groups_deinit(&triage->groups);
    sources_close(triage->sources);
    free(triage->reports);
    core_list_deinit(&triage->cores);
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
    fprintf(stderr, "\r%zu of %zu cores", triage->done, triage->cores.count);
    triage->progress_shown = true;
}

static void end_progress(struct triage *triage)
{
    if (triage->progress_shown)
        fputs("\r\033[K", stderr);
    triage->progress_shown = false;
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

/* A report_fn. */
static bool take(void *context, struct core_report *report)
{
    struct triage *triage = context;
    triage->done++;
    show_progress(triage);
    if (report->is_none) {
        triage->cores.others++;
        return true;
    }
    if (!stored_core_describe(report)) {
        complain("out of memory");
        return false;
    }
    return report_lines_add(triage->lines, triage->line_count, report) && keep(triage, report);
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
    bool some = !triage->report_count, partial = triage->cores.missed != 0;
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

static bool wants_whole_reports(const struct triage_options *options)
{
    for (size_t i = 0; i < options->output_count; i++)
        if (options->outputs[i].format->needs_whole)
            return true;
    return false;
}

static bool make_reports(struct triage *triage)
{
    triage->report_count = triage->cores.count + triage->options->exit_count;
    triage->reports = calloc(triage->report_count + 1, sizeof(*triage->reports));
    if (!triage->reports) {
        complain("out of memory");
        return false;
    }
    for (size_t i = 0; i < triage->report_count; i++)
        triage->reports[i].kept_at = -1;
    for (size_t i = 0; i < triage->cores.count; i++)
        triage->reports[i] = (struct core_report){.path = triage->cores.items[i].path,
                                                  .may_be_none = triage->cores.items[i].packed,
                                                  .kept_at = -1};
    if (!wants_whole_reports(triage->options) || kept_reports_open(&triage->kept))
        return true;
    complain("a temporary file cannot be made: %s", strerror(errno));
    return false;
}

/* What an earlier run has left. */
static bool take_over(struct triage *triage)
{
    bool good = true;
    for (size_t i = 0; good && i < triage->cores.count; i++)
        if (triage->reports[i].json) {
            triage->done++;
            good = keep(triage, &triage->reports[i]);
        }
    return good;
}

static bool take_exits(struct triage *triage)
{
    bool good = true;
    uint64_t excess = 0;
    for (size_t i = 0; good && i < triage->options->exit_count; i++) {
        struct core_report *report = &triage->reports[triage->cores.count + i];
        const char *text = triage->options->exits[i];
        report->path = "a death without a core";
        const size_t size = strlen(text);
        const bool fits = json_are_affordable(text, size, &excess);
        good = core_report_take(report, text, fits ? size : 0,
                                fits ? "no report of it" : "the reports take too much memory") &&
               take(triage, report);
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
    if (!make_reports(triage) ||
        !report_lines_open(triage->options, triage->reports, triage->cores.count, &triage->lines,
                           &triage->line_count))
        return false;
    bool good = take_over(triage) &&
                run_cores(triage->options, triage->reports, triage->cores.count, take, triage);
    good = good && take_exits(triage);
    end_progress(triage);
    drop_none(triage);
    if (good && triage->options->sorts_all)
        qsort(triage->reports, triage->report_count, sizeof(*triage->reports), compare_paths);
    if (good && !group_reports(triage->reports, triage->report_count, &triage->groups)) {
        complain("out of memory");
        good = false;
    }
    return good &&
           (!triage->options->baseline || mark_known(&triage->groups, triage->options->baseline));
}

static bool write_all_outputs(const struct triage *triage)
{
    const struct triage_result result = {
        .reports = triage->reports,
        .report_count = triage->report_count,
        .groups = &triage->groups,
        .kept = &triage->kept,
        .sources = triage->sources,
        .junit_merge = triage->options->junit_merge,
        .other_files = triage->cores.others,
        .has_baseline = triage->options->baseline != NULL,
        .redacts = triage->options->redacts,
        .shows_values = triage->options->shows_values,
        .shows_source = !triage->options->hides_source,
    };
    bool good = triage->sources != NULL;
    if (!good)
        complain("out of memory");
    for (size_t i = 0; triage->sources && i < triage->options->output_count; i++)
        good = write_output_file(&result, &triage->options->outputs[i]) && good;
    return good;
}

int triage_run(const struct triage_options *options)
{
    struct triage triage = {
        .options = options,
        .sources = sources_open(options->repository),
        .started = seconds_now(),
        .shows_progress = isatty(STDERR_FILENO),
    };
    int code = EXIT_NOTHING;
    if (options->redacts)
        messages_redact();
    if (!find_cores(options, &triage.cores))
        complain("out of memory");
    else if (!triage.cores.count && !options->exit_count && !options->may_find_nothing)
        complain("no core file was found");
    else if (look_at_all(&triage) && write_all_outputs(&triage))
        code = exit_code(&triage);
    triage_deinit(&triage);
    return code;
}

static int run_with_given(struct triage_options *options)
{
    struct given_reports given;
    int code = EXIT_NOTHING;
    if (given_reports_read(options, &given)) {
        options->exits = given.lines;
        options->exit_count = given.count;
        options->sorts_all = options->may_find_nothing = options->report_file_count != 0;
        code = triage_run(options);
        if (code == EXIT_COMPLETE && given.cut)
            code = EXIT_PARTIAL;
    }
    given_reports_deinit(&given);
    return code;
}

/* What --debuginfod runs is made by each child, which gives up its own rights then. */
static bool gives_up_nothing(const struct triage_options *options)
{
    static const char fetches[] = "--debuginfod";
    for (size_t i = 0; i < options->forwarded_count; i++)
        if (!strcmp(options->forwarded[i], "--no-sandbox") ||
            !strncmp(options->forwarded[i], fetches, sizeof(fetches) - 1))
            return true;
    return debuginfod_is_configured();
}

int command_triage(int argc, char **argv, report_one_fn *report_one)
{
    struct triage_options options;
    enum options_result result = triage_options_parse(&options, argc, argv);
    int code = command_line_exit_code(result);
    options.report_one = report_one;
    if (result == OPTIONS_RUN && !gives_up_nothing(&options))
        sandbox_begin();
    if (result == OPTIONS_RUN)
        code = run_with_given(&options);
    triage_options_deinit(&options);
    return code;
}
