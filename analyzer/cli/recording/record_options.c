/* The command line of `pystack-core record`. */
#include "messages.h"
#include "profile_formats.h"
#include "recording_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PID_LIMIT 4194304 /* include/linux/threads.h, PID_MAX_LIMIT */

static enum options_result take_pid(void *request, const struct option_spec *spec,
                                    const char *value)
{
    uint64_t pid;
    if (!option_parse_number(spec, value, PID_LIMIT, &pid))
        return OPTIONS_WRONG;
    ((struct record_request *)request)->record.pid = (int32_t)pid;
    return OPTIONS_RUN;
}

static bool parse_positive(const struct option_spec *spec, const char *value, double most,
                           double *ret)
{
    char *end;
    *ret = strtod(value, &end);
    if (end != value && !*end && isfinite(*ret) && *ret > 0 && *ret <= most)
        return true;
    complain_of_usage("--%s: '%s' is no number above 0 and up to %g", spec->long_name, value, most);
    return false;
}

static enum options_result take_rate(void *request, const struct option_spec *spec,
                                     const char *value)
{
    double *rate = &((struct record_request *)request)->record.rate;
    return parse_positive(spec, value, 100000, rate) ? OPTIONS_RUN : OPTIONS_WRONG;
}

static enum options_result take_duration(void *request, const struct option_spec *spec,
                                         const char *value)
{
    double *duration = &((struct record_request *)request)->record.duration;
    return parse_positive(spec, value, 1e8, duration) ? OPTIONS_RUN : OPTIONS_WRONG;
}

static enum options_result take_seed(void *request, const struct option_spec *spec,
                                     const char *value)
{
    uint64_t *seed = &((struct record_request *)request)->record.seed;
    return option_parse_number(spec, value, UINT64_MAX, seed) ? OPTIONS_RUN : OPTIONS_WRONG;
}

static enum options_result take_mode(void *request, const struct option_spec *spec,
                                     const char *value)
{
    int mode;
    if (!option_choose(spec, value, &mode))
        return OPTIONS_WRONG;
    ((struct record_request *)request)->record.python_only = mode != 0;
    return OPTIONS_RUN;
}

static enum options_result take_output(void *request, const struct option_spec *spec,
                                       const char *value)
{
    struct record_request *record = request;
    struct record_output *output = &record->outputs[record->output_count];
    if (record->output_count == RECORD_OUTPUTS) {
        complain_of_usage("--output: more than %d files", RECORD_OUTPUTS);
        return OPTIONS_WRONG;
    }
    if (!option_parse_output(spec, value, &output->format, &output->path))
        return OPTIONS_WRONG;
    record->output_count++;
    return OPTIONS_RUN;
}

/* Flags: the member that each sets. */
static enum options_result take_flag(void *request, const struct option_spec *spec,
                                     const char *value)
{
    struct record_options *record = &((struct record_request *)request)->record;
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {{"idle", &record->idle},
                 {"gil", &record->only_gil},
                 {"cpu", &record->by_cpu},
                 {"threads", &record->splits_threads},
                 {"children", &record->children},
                 {"function", &record->folds_lines},
                 {"no-pause", &record->no_pause},
                 {"tasks", &record->tasks},
                 {"quiet", &((struct record_request *)request)->quiet}};
    (void)value;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (!strcmp(flags[i].name, spec->long_name))
            *flags[i].flag = true;
    return OPTIONS_RUN;
}

static const struct option_choice modes[] = {{"merged", 0}, {"python", 1}, {NULL, 0}};

enum format_number {
#define FORMAT_NUMBER(name, help) FORMAT_##name,
    PROFILE_FORMATS(FORMAT_NUMBER)
#undef FORMAT_NUMBER
};

static const struct option_choice formats[] = {
#define FORMAT_CHOICE(name, help) {#name, FORMAT_##name},
    PROFILE_FORMATS(FORMAT_CHOICE)
#undef FORMAT_CHOICE
        {NULL, 0},
};

#define FORMAT_HELP(name, help) "\n" #name ": " help

#define FLAG(name, help)                                                          \
    {                                                                             \
        NULL, name, 0, OPTION_FLAG, NULL, help, take_flag, COMPLETE_NOTHING, NULL \
    }

static const struct option_spec option_list[] = {
    {NULL, "pid", 'p', OPTION_REQUIRED, "PID", "the process", take_pid, COMPLETE_PROCESSES, NULL},
    {"When", "rate", 'r', OPTION_REQUIRED, "N", "samples a second of each thread (100)", take_rate,
     COMPLETE_NOTHING, NULL},
    {NULL, "duration", 'd', OPTION_REQUIRED, "SECONDS",
     "how long; else until Ctrl-C, or until the process ends", take_duration, COMPLETE_NOTHING,
     NULL},
    {NULL, "seed", 0, OPTION_REQUIRED, "N", "of the moments, which are drawn at random", take_seed,
     COMPLETE_NOTHING, NULL},
    {"What", "mode", 0, OPTION_REQUIRED, "merged|python",
     "native frames in their places between Python's (the\ndefault), or Python frames alone",
     take_mode, COMPLETE_CHOICES, modes},
    FLAG("idle", "threads that wait, too"),
    FLAG("gil", "only the thread that holds the GIL"),
    FLAG("cpu", "count processor time, as the kernel has it, not moments"),
    FLAG("threads", "split by threads"),
    FLAG("children", "processes that it starts, too"),
    FLAG("function", "functions, not their lines"),
    FLAG("tasks", "frames of the asyncio tasks that await a running one stand\noutside of its own, "
                  "as those of callers do"),
    FLAG("no-pause", "stop nothing: Python frames alone"),
    {"Output", "output", 'o', OPTION_REQUIRED, "FORMAT=FILE",
     "where the profile goes, may be given several times; '-' is\nstandard output, where "
     "collapsed goes without this option" PROFILE_FORMATS(FORMAT_HELP),
     take_output, COMPLETE_FORMATS, formats},
    {NULL, "quiet", 'q', OPTION_FLAG, NULL, "no progress and no counts", take_flag,
     COMPLETE_NOTHING, NULL},
    OPTION_HELP,
};

const struct command_spec record_command = {
    .name = "record",
    .summary = "sample a living process over time",
    .usage = "[OPTIONS] --pid PID\n[OPTIONS] -- COMMAND [ARGUMENT...]",
    .about =
        "Looks at a process again and again and writes where its time went: Python, Cython\n"
        "and native frames in one stack. A thread is stopped for some microseconds each time;\n"
        "one that has not run since is left alone. Ctrl-C ends the recording and writes it; the\n"
        "process runs on.",
    .options = option_list,
    .option_count = sizeof(option_list) / sizeof(option_list[0]),
    .examples = "pystack-core record --pid 1234 --duration 10 --output collapsed=out.txt\n"
                "pystack-core record --output lines=- -- python3 app.py\n"
                "pystack-core record --pid 1234 --idle --threads --rate 1000 -d 5",
    .exit_status = "Exit status: 0 written, 1 written, but samples failed, 2 nothing could be\n"
                   "recorded, 64 wrong usage. With COMMAND its own, if the profile was written.",
    .words = WORDS_COMMAND_LINE,
};

enum options_result record_options_parse(struct record_request *request, int argc, char **argv)
{
    int first;
    *request = (struct record_request){.record = {.rate = 100}};
    enum options_result result = command_line_parse(&record_command, request, argc, argv, &first);
    if (result != OPTIONS_RUN)
        return result;
    request->command = first < argc ? argv + first : NULL;
    if (!request->record.pid == !request->command) {
        complain_of_usage(request->command ? "--pid and a COMMAND: only one can be recorded"
                                           : "--pid PID or -- COMMAND is missing");
        return OPTIONS_WRONG;
    }
    return OPTIONS_RUN;
}
