/*
 * `pystack-core triage`: finds cores and opens what is read and written. Who starts processes for
 * the cores, and who reads the reports, are processes of their own: the second one without rights.
 */
#include "core_runs.h"

#include "debuginfod.h"
#include "messages.h"
#include "sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What --debuginfod runs is made by each child, which gives up its own rights then. */
static bool runs_programs(const struct triage_options *options)
{
    static const char fetches[] = "--debuginfod";
    for (size_t i = 0; i < options->forwarded_count; i++)
        if (!strncmp(options->forwarded[i], fetches, sizeof(fetches) - 1))
            return true;
    return debuginfod_is_configured();
}

static bool wants_whole_reports(const struct triage_options *options)
{
    for (size_t i = 0; i < options->output_count; i++)
        if (options->outputs[i].format->needs_whole)
            return true;
    return false;
}

/*
 * Whose files the reports may show lines of, beside what all may read: of the caller, or where that
 * is root, of the one user whose cores they are. Deaths without a core are of the caller's command.
 */
static size_t find_owner(const struct triage_options *options, const struct core_list *cores,
                         struct sandbox_owner *ret)
{
    *ret = (struct sandbox_owner){.user = geteuid(), .group = getegid(), .folder = -1};
    if (ret->user || (!cores->count && !options->report_file_count))
        return 1;
    ret->user = cores->owner;
    ret->group = cores->group;
    return cores->count && !cores->several && !options->report_file_count;
}

static int gather_without_rights(struct gathering *gathering)
{
    const struct triage_options *options = gathering->options;
    struct sandbox_owner owner;
    const char *files[2];
    struct sandbox_rules rules = {
        .owners = &owner,
        .owner_count = find_owner(options, gathering->cores, &owner),
        .files = files,
        .sources = sources_folder(gathering->sources),
        .heard = gathering->runs->socket > 0 ? gathering->runs->socket : 0,
    };
    if (options->baseline)
        files[rules.file_count++] = options->baseline;
    if (options->junit_merge)
        files[rules.file_count++] = options->junit_merge;
    return sandbox_run(&rules, gather, gathering);
}

static bool open_all(struct gathering *gathering)
{
    const struct triage_options *options = gathering->options;
    gathering->sources = sources_open(options->repository);
    if (gathering->sources)
        sources_take_options(gathering->sources, options->forwarded, options->forwarded_count);
    if (!gathering->sources)
        complain("out of memory");
    else if (wants_whole_reports(options) && !kept_reports_open(&gathering->kept))
        complain("a temporary file cannot be made: %s", strerror(errno));
    else if (report_lines_open(options, &gathering->lines, &gathering->line_count))
        gathering->files = result_files_open(options);
    return gathering->files != NULL;
}

/* A test runner that died has left no file. */
static void forget_missing(struct triage_options *options)
{
    struct stat status;
    if (options->junit_merge && stat(options->junit_merge, &status) && errno == ENOENT)
        options->junit_merge = NULL;
}

static int run_on(const struct triage_options *options, const struct core_list *cores)
{
    struct triage_options own = *options;
    struct core_runs runs = {.socket = -1};
    struct gathering gathering = {.options = &own, .cores = cores, .runs = &runs};
    int code = EXIT_NOTHING;
    forget_missing(&own);
    if (!runs_programs(options))
        sandbox_begin();
    if (open_all(&gathering) &&
        (!cores->count || core_runs_start(&own, cores, own.resumes, &runs))) {
        sandbox_begin();
        code = gather_without_rights(&gathering);
    }
    core_runs_end(&runs);
    if (!result_files_close(gathering.files, &own))
        code = EXIT_NOTHING;
    report_lines_close(gathering.lines, gathering.line_count);
    kept_reports_close(&gathering.kept);
    sources_close(gathering.sources);
    return code;
}

int triage_run(const struct triage_options *options)
{
    struct core_list cores;
    int code = EXIT_NOTHING;
    if (options->redacts)
        messages_redact();
    if (!find_cores(options, &cores))
        complain("out of memory");
    else if (cores.count || options->exit_count || options->may_find_nothing)
        code = run_on(options, &cores);
    else if (!cores.missed) // What is not there, or cannot be read, was told of.
        complain("no core file was found");
    core_list_deinit(&cores);
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

int command_triage(int argc, char **argv, report_one_fn *report_one)
{
    struct triage_options options;
    enum options_result result = triage_options_parse(&options, argc, argv);
    int code = command_line_exit_code(result);
    options.report_one = report_one;
    if (result == OPTIONS_RUN)
        code = run_with_given(&options);
    triage_options_deinit(&options);
    return code;
}
