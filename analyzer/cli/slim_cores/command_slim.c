/* `pystack-core slim`: its command line. */
#include "slim_cores.h"

#include "messages.h"
#include "options.h"
#include "sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Options of a report are words, each malloc'd. */
static enum options_result take_word(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct slim_job *job = request;
    char *word;
    if (asprintf(&word, value ? "--%s=%s" : "--%s", spec->long_name, value) < 0) {
        complain("out of memory");
        return OPTIONS_NO_MEMORY;
    }
    job->words[job->word_count++] = word;
    return OPTIONS_RUN;
}

static enum options_result take_small(void *request, const struct option_spec *spec,
                                      const char *value)
{
    (void)spec;
    ((struct slim_job *)request)->small = value;
    return OPTIONS_RUN;
}

static enum options_result take_files(void *request, const struct option_spec *spec,
                                      const char *value)
{
    (void)spec;
    (void)value;
    ((struct slim_job *)request)->with_files = true;
    return OPTIONS_RUN;
}

static enum options_result take_redact(void *request, const struct option_spec *spec,
                                       const char *value)
{
    (void)spec;
    (void)value;
    ((struct slim_job *)request)->redacts = true;
    return OPTIONS_RUN;
}

static enum options_result take_no_sandbox(void *request, const struct option_spec *spec,
                                           const char *value)
{
    (void)spec;
    (void)value;
    ((struct slim_job *)request)->no_sandbox = true;
    return OPTIONS_RUN;
}

static const struct option_spec option_list[] = {
    {NULL, NULL, 'o', OPTION_REQUIRED, "SMALL", "the file to write", take_small, COMPLETE_FILES,
     NULL},
    {NULL, "with-files", 0, OPTION_FLAG, NULL,
     "put the files of the dead machine that the report needs into it:\n"
     "programs, libraries, debug files, sources; it is read alone then",
     take_files, COMPLETE_NOTHING, NULL},
    {NULL, "redact", 0, OPTION_FLAG, NULL,
     "leave out text of values, arguments and the environment; a note\n"
     "in it, and each report of it, says so",
     take_redact, COMPLETE_NOTHING, NULL},
    {NULL, "no-sandbox", 0, OPTION_FLAG, NULL, "parse with all rights", take_no_sandbox,
     COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

static const char *const shared_names[] = {"sysroot",    "lib-dir",    "debug-dir",
                                           "source-map", "source-dir", NULL};
static const struct shared_options shared = {
    .from = &report_command,
    .heading = "Where the files of the dead machine are now, as of a report:",
    .names = shared_names,
    .take = take_word,
};

const struct command_spec slim_command = {
    .name = "slim",
    .summary = "make a core small: what its report reads, and no more",
    .usage = "[OPTIONS] CORE [EXECUTABLE] -o SMALL",
    .about =
        "Writes a core file of the same death with the memory that reports read: stacks, frames,\n"
        "values, tasks, what diagnosis and signatures ask. Its report is that of CORE, and gdb,\n"
        "lldb and eu-stack show the same backtrace. CORE may be compressed, or - for standard\n"
        "input.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .shared = &shared,
    .examples = "pystack-core slim core.1234 -o small.core\n"
                "pystack-core slim --with-files core.1234 -o alone.core\n"
                "pystack-core slim --redact core.1234 -o shared.core",
    .exit_status = "Exit status: 0 written, 1 written, but not all that a report reads fits into\n"
                   "it, 2 nothing was written, 64 wrong usage.",
};

/* How much smaller, for people. */
static void say_sizes(const struct slim_job *job)
{
    struct stat core, small;
    if (!strcmp(job->core, "-") || stat(job->core, &core) || stat(job->small, &small))
        return;
    printf("%s: %.1f MB, of %.1f MB\n", job->small, (double)small.st_size / 1e6,
           (double)core.st_size / 1e6);
}

static int run(struct slim_job *job, int argc, char **argv)
{
    int first;
    enum options_result result = command_line_parse(&slim_command, job, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    int count = argc - first;
    if (!job->small || count < 1 || count > 2) {
        complain_of_usage(!job->small ? "slim: -o SMALL is missing"
                          : count     ? "slim: more than CORE and EXECUTABLE"
                                      : "slim: no core file is given");
        return EXIT_USAGE;
    }
    job->core = argv[first];
    job->executable = count > 1 ? argv[first + 1] : NULL;
    if (!job->no_sandbox)
        sandbox_begin();
    progress_begin("making small", job->core);
    int code = slim_core_make(job);
    if (code <= EXIT_PARTIAL)
        say_sizes(job);
    return code;
}

int command_slim(int argc, char **argv)
{
    struct slim_job job = {.words = calloc((size_t)argc + 1, sizeof(*job.words))};
    int code = EXIT_NOTHING;
    if (job.words)
        code = run(&job, argc, argv);
    else
        complain("out of memory");
    for (int i = 0; i < job.word_count; i++)
        free(job.words[i]);
    free(job.words);
    return code;
}
