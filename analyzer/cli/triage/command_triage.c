/* `pystack-core triage`: find cores, look at each, put them together, write what was asked for. */
#include "messages.h"
#include "output.h"
#include "triage_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Where a rule of --fail-on applies. */
#define EXIT_FAIL_ON 3

/* Progress is shown on work that takes longer. */
#define PROGRESS_SECONDS 1

/* A run on its way. */
struct triage {
    const struct triage_options *options;
    struct core_list cores;
    struct core_report *reports;
    struct report_lines *lines;
    size_t line_count;
    struct report_groups groups;
    size_t done;
    time_t started;
    bool shows_progress;
    bool progress_shown;
};

static void triage_deinit(struct triage *triage)
{
    for (size_t i = 0; triage->reports && i < triage->cores.count; i++)
        core_report_deinit(&triage->reports[i]);
    report_lines_close(triage->lines, triage->line_count);
    report_groups_deinit(&triage->groups);
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

/* A report_fn. */
static bool take(void *context, struct core_report *report)
{
    struct triage *triage = context;
    triage->done++;
    show_progress(triage);
    if (!report_lines_add(triage->lines, triage->line_count, report))
        return false;
    if (core_report_slim(report))
        return true;
    complain("out of memory");
    return false;
}

/* ---- what is written ---- */

static bool wants_color(const struct triage_output *output)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !output->path && !(no_color && *no_color) && isatty(STDOUT_FILENO) && terminal &&
           strcmp(terminal, "dumb") != 0;
}

static void write_format(FILE *file, enum triage_format format, const struct triage_result *result)
{
    switch (format) {
    case TRIAGE_TEXT:
        write_group_text(file, result);
        return;
    case TRIAGE_GROUPS:
        write_group_json(file, result);
        return;
    case TRIAGE_MARKDOWN:
        write_markdown(file, result);
        return;
    case TRIAGE_GITHUB:
        write_annotations(file, result);
        return;
    case TRIAGE_NDJSON:
        return;
    }
}

static bool write_bytes(const struct triage_options *options, const struct triage_output *output,
                        const char *bytes, size_t size)
{
    struct output_file file;
    bool good = open_output(&file, output->path, options->shows_values);
    if (good)
        good = !write_output(&file, bytes, size);
    good = close_output(&file, good);
    if (!good && !output->path && file.error == EPIPE)
        return true;
    if (!good)
        complain("%s: %s", output->path ? output->path : "standard output", strerror(file.error));
    return good;
}

static bool write_one(const struct triage *triage, const struct triage_output *output)
{
    const struct triage_result result = {
        .reports = triage->reports,
        .report_count = triage->cores.count,
        .groups = &triage->groups,
        .has_baseline = triage->options->baseline != NULL,
        .color = wants_color(output),
    };
    char *bytes = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&bytes, &size);
    if (file)
        write_format(file, output->format, &result);
    bool good = file && !ferror(file);
    good = file && !fclose(file) && good;
    if (!good)
        complain("out of memory");
    good = good && write_bytes(triage->options, output, bytes, size);
    free(bytes);
    return good;
}

static bool write_outputs(const struct triage *triage)
{
    bool good = true;
    for (size_t i = 0; i < triage->options->output_count; i++)
        if (triage->options->outputs[i].format != TRIAGE_NDJSON)
            good = write_one(triage, &triage->options->outputs[i]) && good;
    return good;
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
    bool some = false, partial = triage->cores.missed != 0;
    for (size_t i = 0; i < triage->cores.count; i++) {
        some |= triage->reports[i].code != EXIT_NOTHING;
        partial |= triage->reports[i].code != EXIT_COMPLETE;
    }
    if (fails(triage))
        return EXIT_FAIL_ON;
    if (!some)
        return EXIT_NOTHING;
    return partial ? EXIT_PARTIAL : EXIT_COMPLETE;
}

static bool look_at_all(struct triage *triage)
{
    const size_t count = triage->cores.count;
    triage->reports = calloc(count + 1, sizeof(*triage->reports));
    if (!triage->reports) {
        complain("out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        triage->reports[i].path = triage->cores.paths[i];
    if (!report_lines_open(triage->options, triage->reports, count, &triage->lines,
                           &triage->line_count))
        return false;
    for (size_t i = 0; i < count; i++)
        triage->done += triage->reports[i].json != NULL;
    bool good = run_cores(triage->options, triage->reports, count, take, triage);
    end_progress(triage);
    if (good && !group_reports(triage->reports, count, &triage->groups)) {
        complain("out of memory");
        good = false;
    }
    return good &&
           (!triage->options->baseline || mark_known(&triage->groups, triage->options->baseline));
}

static int run_triage(const struct triage_options *options)
{
    struct triage triage = {
        .options = options, .started = seconds_now(), .shows_progress = isatty(STDERR_FILENO)};
    int code = EXIT_NOTHING;
    if (!find_cores(options->words, options->word_count, &triage.cores))
        complain("out of memory");
    else if (!triage.cores.count)
        complain("no core file was found");
    else if (look_at_all(&triage) && write_outputs(&triage))
        code = exit_code(&triage);
    triage_deinit(&triage);
    return code;
}

int command_triage(int argc, char **argv, report_one_fn *report_one)
{
    struct triage_options options;
    enum options_result result = triage_options_parse(&options, argc, argv);
    int code = command_line_exit_code(result);
    options.report_one = report_one;
    if (result == OPTIONS_RUN)
        code = run_triage(&options);
    triage_options_deinit(&options);
    return code;
}
