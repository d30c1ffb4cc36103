/* The command line of `pystack-core ci`. */
#include "ci_private.h"
#include "messages.h"

#include <stdlib.h>
#include <string.h>

#define SECONDS_LIMIT (UINT64_C(366) * 24 * 3600)
#define DEFAULT_GRACE 5u

static enum options_result take_seconds(const struct option_spec *spec, const char *value,
                                        uint64_t *ret)
{
    return option_parse_number(spec, value, SECONDS_LIMIT, ret) ? OPTIONS_RUN : OPTIONS_WRONG;
}

static enum options_result take_hang(void *request, const struct option_spec *spec,
                                     const char *value)
{
    return take_seconds(spec, value, &((struct ci_options *)request)->hang_seconds);
}

static enum options_result take_timeout(void *request, const struct option_spec *spec,
                                        const char *value)
{
    return take_seconds(spec, value, &((struct ci_options *)request)->timeout_seconds);
}

static enum options_result take_grace(void *request, const struct option_spec *spec,
                                      const char *value)
{
    return take_seconds(spec, value, &((struct ci_options *)request)->grace_seconds);
}

static enum options_result take_keep(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)spec;
    ((struct ci_options *)request)->keep_cores = value;
    return OPTIONS_RUN;
}

static enum options_result take_prune(void *request, const struct option_spec *spec,
                                      const char *value)
{
    (void)spec;
    (void)value;
    ((struct ci_options *)request)->prunes = true;
    return OPTIONS_RUN;
}

static enum options_result take_slim(void *request, const struct option_spec *spec,
                                     const char *value)
{
    (void)spec;
    (void)value;
    ((struct ci_options *)request)->slims = true;
    return OPTIONS_RUN;
}

static enum options_result take_exits(void *request, const struct option_spec *spec,
                                      const char *value)
{
    (void)spec;
    (void)value;
    ((struct ci_options *)request)->reports_exits = true;
    return OPTIONS_RUN;
}

static enum options_result take_no_github(void *request, const struct option_spec *spec,
                                          const char *value)
{
    (void)spec;
    (void)value;
    ((struct ci_options *)request)->no_github = true;
    return OPTIONS_RUN;
}

/* One for triage, as one word: "--output=markdown=FILE". */
static enum options_result take_forwarded(void *request, const struct option_spec *spec,
                                          const char *value)
{
    struct ci_options *options = request;
    char *word;
    if (asprintf(&word, value ? "--%s=%s" : "--%s", spec->long_name, value) < 0)
        return OPTIONS_NO_MEMORY;
    options->forwarded[options->forwarded_count++] = word;
    return OPTIONS_RUN;
}

static const struct option_spec option_list[] = {
    {NULL, "hang-after", 0, OPTION_REQUIRED, "SECONDS",
     "when so long nothing is written and hardly any processor time used:\n"
     "print all stacks, save small cores, and end what runs",
     take_hang, COMPLETE_NOTHING, NULL},
    {NULL, "timeout", 0, OPTION_REQUIRED, "SECONDS", "the same after so long in all", take_timeout,
     COMPLETE_NOTHING, NULL},
    {NULL, "grace", 0, OPTION_REQUIRED, "SECONDS", "from SIGTERM to SIGKILL, for what is ended (5)",
     take_grace, COMPLETE_NOTHING, NULL},
    {NULL, "keep-cores", 0, OPTION_REQUIRED, "DIR", "move cores to DIR", take_keep,
     COMPLETE_DIRECTORIES, NULL},
    {NULL, "slim-cores", 0, OPTION_FLAG, NULL,
     "make cores small when they have been looked at: what their reports\n"
     "read is kept; with --redact without text of values",
     take_slim, COMPLETE_NOTHING, NULL},
    {NULL, "prune", 0, OPTION_FLAG, NULL, "remove cores when they have been looked at", take_prune,
     COMPLETE_NOTHING, NULL},
    {NULL, "report-exits", 0, OPTION_FLAG, NULL,
     "report every process that ended by a signal or with a status other\n"
     "than 0, also where that may be in order",
     take_exits, COMPLETE_NOTHING, NULL},
    {NULL, "no-github", 0, OPTION_FLAG, NULL,
     "no annotations and no summary of the step where GITHUB_ACTIONS=true", take_no_github,
     COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

static const char *const forwarded_names[] = {
    "output",     "baseline",     "fail-on",    "repository", "jobs",
    "time-limit", "memory-limit", "rules",      "sysroot",    "lib-dir",
    "debug-dir",  "source-map",   "source-dir", "no-source",  "all-inlined",
    "tasks",      "locals",       "redact",     "debuginfod", "debuginfod-limit",
    NULL};
/* So many of the first ones are triage's own, and none of a single report. */
#define OWN_OF_TRIAGE 7u

bool ci_option_is_of_report(const char *word)
{
    for (size_t i = 0; i < OWN_OF_TRIAGE; i++) {
        size_t size = strlen(forwarded_names[i]);
        if (!strncmp(word + 2, forwarded_names[i], size) &&
            (!word[2 + size] || word[2 + size] == '='))
            return false;
    }
    return true;
}

static const struct shared_options forwarded_options = {
    .from = &triage_command,
    .heading = "As of triage, for what died:",
    .names = forwarded_names,
    .take = take_forwarded,
};

const struct command_spec ci_command = {
    .name = "ci",
    .summary = "run a command; show what dies or hangs in it",
    .usage = "[OPTIONS] [--] COMMAND [ARGUMENT...]",
    .about =
        "Runs the command with core files allowed. Cores that it and its descendants leave, "
        "deaths\n"
        "without a core and, with --hang-after, hangs are put together by their causes and shown\n"
        "on standard error; of pytest, also below pytest-xdist, with the test.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .shared = &forwarded_options,
    .examples = "pystack-core ci -- pytest -n 4\n"
                "pystack-core ci --hang-after 300 --keep-cores cores --slim-cores -- pytest\n"
                "pystack-core ci --output groups=groups.json --baseline known.json --fail-on new "
                "-- make check",
    .exit_status =
        "Exit status: the command's own; 128 + N when signal N ended it; 124 when it was ended\n"
        "because it hung; 126 and 127 when it cannot be run or is not there; 3 by --fail-on; 2 "
        "when\n"
        "it ended with 0 and an output cannot be written; 64 wrong usage.",
    .words = WORDS_COMMAND_LINE,
};

enum options_result ci_options_parse(struct ci_options *options, int argc, char **argv)
{
    int first;
    *options = (struct ci_options){
        .forwarded = calloc((size_t)argc + 1, sizeof(*options->forwarded)),
        .grace_seconds = DEFAULT_GRACE,
    };
    if (!options->forwarded) {
        complain("out of memory");
        return OPTIONS_NO_MEMORY;
    }
    enum options_result result = command_line_parse(&ci_command, options, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return result;
    options->command = argv + first;
    if (first == argc)
        complain_of_usage("ci: no command is given");
    else if ((options->keep_cores || options->slims) && options->prunes)
        complain_of_usage("ci: %s and --prune exclude each other",
                          options->slims ? "--slim-cores" : "--keep-cores");
    else
        return ci_triage_check(options);
    return OPTIONS_WRONG;
}

void ci_options_deinit(struct ci_options *options)
{
    for (size_t i = 0; i < options->forwarded_count; i++)
        free(options->forwarded[i]);
    free(options->forwarded);
}
