/* The command line of `pystack-core triage`. */
#include "messages.h"
#include "triage_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_LIMIT      1024
#define DEFAULT_SECONDS 60u
#define DEFAULT_MEMORY  4096u

static const struct option_choice failures[] = {
    {"any", FAIL_ON_ANY}, {"new", FAIL_ON_NEW}, {"none", FAIL_ON_NONE}, {NULL, 0}};

static enum options_result take_format(void *request, const struct option_spec *spec,
                                       const char *value)
{
    struct triage_options *options = request;
    int format;
    if (!option_choose(spec, value, &format))
        return OPTIONS_WRONG;
    options->outputs[0].format = &output_formats[format];
    return OPTIONS_RUN;
}

static enum options_result take_file(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct triage_options *options = request;
    (void)spec;
    options->outputs[0].path = strcmp(value, "-") ? value : NULL;
    return OPTIONS_RUN;
}

static enum options_result take_output(void *request, const struct option_spec *spec,
                                       const char *value)
{
    struct triage_options *options = request;
    struct triage_output *output = &options->outputs[options->output_count];
    int format;
    if (!option_parse_output(spec, value, &format, &output->path))
        return OPTIONS_WRONG;
    output->format = &output_formats[format];
    options->output_count++;
    return OPTIONS_RUN;
}

static enum options_result take_jobs(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct triage_options *options = request;
    uint64_t number;
    if (!option_parse_number(spec, value, JOBS_LIMIT, &number))
        return OPTIONS_WRONG;
    options->jobs = (uint32_t)number;
    return OPTIONS_RUN;
}

static enum options_result take_seconds(void *request, const struct option_spec *spec,
                                        const char *value)
{
    struct triage_options *options = request;
    uint64_t number;
    if (!option_parse_number(spec, value, UINT32_MAX, &number))
        return OPTIONS_WRONG;
    options->seconds = (uint32_t)number;
    return OPTIONS_RUN;
}

static enum options_result take_memory(void *request, const struct option_spec *spec,
                                       const char *value)
{
    struct triage_options *options = request;
    return option_parse_number(spec, value, UINT64_MAX >> 20, &options->megabytes) ? OPTIONS_RUN
                                                                                   : OPTIONS_WRONG;
}

static enum options_result take_resume(void *request, const struct option_spec *spec,
                                       const char *value)
{
    struct triage_options *options = request;
    (void)spec;
    (void)value;
    options->resumes = true;
    return OPTIONS_RUN;
}

static enum options_result take_reports(void *request, const struct option_spec *spec,
                                        const char *value)
{
    struct triage_options *options = request;
    (void)spec;
    options->report_files[options->report_file_count++] = value;
    return OPTIONS_RUN;
}

static enum options_result take_skip_others(void *request, const struct option_spec *spec,
                                            const char *value)
{
    struct triage_options *options = request;
    (void)spec;
    (void)value;
    options->skips_others = true;
    return OPTIONS_RUN;
}

static enum options_result take_baseline(void *request, const struct option_spec *spec,
                                         const char *value)
{
    struct triage_options *options = request;
    (void)spec;
    options->baseline = value;
    return OPTIONS_RUN;
}

static enum options_result take_fail_on(void *request, const struct option_spec *spec,
                                        const char *value)
{
    struct triage_options *options = request;
    int what;
    if (!option_choose(spec, value, &what))
        return OPTIONS_WRONG;
    options->fail_on = (enum fail_on)what;
    return OPTIONS_RUN;
}

static enum options_result take_repository(void *request, const struct option_spec *spec,
                                           const char *value)
{
    struct triage_options *options = request;
    (void)spec;
    options->repository = value;
    return OPTIONS_RUN;
}

static enum options_result take_junit_merge(void *request, const struct option_spec *spec,
                                            const char *value)
{
    struct triage_options *options = request;
    (void)spec;
    options->junit_merge = value;
    return OPTIONS_RUN;
}

/* One of a single report, as one word: "--sysroot=DIR". */
static enum options_result take_forwarded(void *request, const struct option_spec *spec,
                                          const char *value)
{
    struct triage_options *options = request;
    char *word;
    if (!strcmp(spec->long_name, "redact")) {
        // Of each report by us: what it says is secret stands in lines of source, too.
        options->redacts = true;
        return OPTIONS_RUN;
    }
    if (asprintf(&word, value ? "--%s=%s" : "--%s", spec->long_name, value) < 0)
        return OPTIONS_NO_MEMORY;
    options->forwarded[options->forwarded_count++] = word;
    options->shows_values |= !strcmp(spec->long_name, "locals");
    options->hides_source |= !strcmp(spec->long_name, "no-source");
    return OPTIONS_RUN;
}

static const struct option_spec option_list[] = {
    {NULL, "format", 0, OPTION_REQUIRED, "FORMAT", output_formats_help, take_format,
     COMPLETE_CHOICES, output_choices},
    {NULL, NULL, 'o', OPTION_REQUIRED, "FILE", "write there instead of standard output", take_file,
     COMPLETE_FILES, NULL},
    {NULL, "output", 0, OPTION_REQUIRED, "FORMAT=FILE", "write FILE as well; may be repeated",
     take_output, COMPLETE_FORMATS, output_choices},
    {NULL, "jobs", 'j', OPTION_REQUIRED, "N",
     "so many cores at once (as many as there are processors)", take_jobs, COMPLETE_NOTHING, NULL},
    {NULL, "resume", 0, OPTION_FLAG, NULL,
     "go on where an ndjson FILE ends: cores that it names are not\n"
     "looked at again",
     take_resume, COMPLETE_NOTHING, NULL},
    {NULL, "reports", 0, OPTION_REQUIRED, "FILE",
     "reports that other runs wrote (ndjson), also of other machines,\n"
     "are put in the groups; may be repeated",
     take_reports, COMPLETE_FILES, NULL},
    {NULL, "skip-others", 0, OPTION_FLAG, NULL,
     "leave out what is no core, as in directories, of named files, too", take_skip_others,
     COMPLETE_NOTHING, NULL},
    {NULL, "baseline", 0, OPTION_REQUIRED, "FILE",
     "signatures that are known: their hashes, a line each, or what\n"
     "--output groups=FILE or ndjson=FILE wrote",
     take_baseline, COMPLETE_FILES, NULL},
    {NULL, "fail-on", 0, OPTION_REQUIRED, "WHAT",
     "exit with 3 where there is any death, a new one (one that the\n"
     "baseline does not have), or none (default)",
     take_fail_on, COMPLETE_CHOICES, failures},
    {NULL, "repository", 0, OPTION_REQUIRED, "DIR",
     "where the sources of what died are: annotations and SARIF name\n"
     "its files (GITHUB_WORKSPACE, else the working directory)",
     take_repository, COMPLETE_DIRECTORIES, NULL},
    {NULL, "junit-merge", 0, OPTION_REQUIRED, "FILE",
     "what a test runner wrote, or could not write: --output junit=FILE\n"
     "goes on with it, and may name the same file",
     take_junit_merge, COMPLETE_FILES, NULL},
    {NULL, "time-limit", 0, OPTION_REQUIRED, "SECONDS", "of one core (60)", take_seconds,
     COMPLETE_NOTHING, NULL},
    {NULL, "memory-limit", 0, OPTION_REQUIRED, "MB", "of one core (4096)", take_memory,
     COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

static const char *const forwarded_names[] = {
    "rules",       "sysroot", "lib-dir", "debug-dir", "source-map", "source-dir",       "no-source",
    "all-inlined", "tasks",   "locals",  "redact",    "debuginfod", "debuginfod-limit", NULL};

static const struct shared_options forwarded_options = {
    .from = &report_command,
    .heading = "As of a single report:",
    .names = forwarded_names,
    .take = take_forwarded,
};

const struct command_spec triage_command = {
    .name = "triage",
    .summary = "many cores, put together by what they died of",
    .usage = "[OPTIONS] CORE|DIRECTORY...",
    .about =
        "Looks at each core, at those in directories too, and puts deaths of one cause together\n"
        "(by their signatures: pystack-core --explain-signature CORE).",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .shared = &forwarded_options,
    .examples = "pystack-core triage /var/lib/cores\n"
                "pystack-core triage --output groups=known.json cores/\n"
                "pystack-core triage --baseline known.json --fail-on new --format github cores/",
    .exit_status =
        "Exit status: 0 all shown, 1 shown with parts missing, 2 nothing could be shown or a file\n"
        "not be written, 3 by --fail-on, 64 wrong usage.",
};

/* What a report's own parser says of them is said once, not of each core. */
static bool check_forwarded(const struct triage_options *options)
{
    static char program[] = "pystack-core", core[] = "core";
    char **words = calloc(options->forwarded_count + 3, sizeof(*words));
    struct options report;
    if (!words)
        return false;
    words[0] = program;
    memcpy(words + 1, options->forwarded, options->forwarded_count * sizeof(*words));
    words[options->forwarded_count + 1] = core;
    bool good = options_parse(&report, (int)options->forwarded_count + 2, words) == OPTIONS_RUN;
    options_deinit(&report);
    free(words);
    return good;
}

static bool check(const struct triage_options *options)
{
    size_t files = 0;
    for (size_t i = 0; i < options->output_count; i++)
        files += !options->outputs[i].format->write && options->outputs[i].path;
    if (!options->word_count && !options->report_file_count)
        complain_of_usage("triage: no core and no directory is named");
    else if (options->resumes && files != 1)
        complain_of_usage("--resume goes on with one file of ndjson");
    else if (options->fail_on == FAIL_ON_NEW && !options->baseline)
        complain_of_usage("--fail-on new: what is known is named by --baseline");
    else
        return check_forwarded(options);
    return false;
}

enum options_result triage_options_parse(struct triage_options *options, int argc, char **argv)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int first;
    *options = (struct triage_options){
        .outputs = calloc((size_t)argc + 1, sizeof(*options->outputs)),
        .output_count = 1,
        .forwarded = calloc((size_t)argc + 1, sizeof(*options->forwarded)),
        .report_files = calloc((size_t)argc + 1, sizeof(*options->report_files)),
        .jobs = processors > 0 && processors < JOBS_LIMIT ? (uint32_t)processors : 1,
        .seconds = DEFAULT_SECONDS,
        .megabytes = DEFAULT_MEMORY,
    };
    if (!options->outputs || !options->forwarded || !options->report_files) {
        complain("out of memory");
        return OPTIONS_NO_MEMORY;
    }
    options->outputs[0].format = &output_formats[OUTPUT_TEXT];
    enum options_result result = command_line_parse(&triage_command, options, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return result;
    options->words = argv + first;
    options->word_count = (size_t)(argc - first);
    return check(options) ? OPTIONS_RUN : OPTIONS_WRONG;
}

void triage_options_deinit(struct triage_options *options)
{
    for (size_t i = 0; i < options->forwarded_count; i++)
        free(options->forwarded[i]);
    free(options->forwarded);
    free(options->outputs);
    free(options->report_files);
}
