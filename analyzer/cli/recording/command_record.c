/* `pystack-core record`: samples until somebody or something ends it, then the files. */
#include "recording.h"
#include "messages.h"
#include "recording_private.h"
#include "started_command.h"
#include "tracing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Nanoseconds between two lines of progress. */
#define PROGRESS_INTERVAL UINT64_C(500000000)
/* Milliseconds in which a command that has begun to end is over. */
#define ENDING_TRIES 200

/** What goes on while it records. */
struct recorder {
    struct record_request request;
    struct started_command child;
    struct held_outputs outputs;
    struct profile_files files;
    bool shows;     /**< Progress, on a terminal. */
    bool shown;     /**< A line of it stands there. */
    uint64_t since; /**< The last one. */
};

static uint64_t now_in_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void show_progress(struct recorder *recorder, const struct profile *profile)
{
    uint64_t now = now_in_nanoseconds();
    const struct profile_counts *counts = &profile->counts;
    if (!recorder->shows || now - recorder->since < PROGRESS_INTERVAL)
        return;
    recorder->since = now;
    recorder->shown = true;
    fprintf(stderr,
            "\rrecording %.0f s: %" PRIu64 " samples, %" PRIu64 " failed, %" PRIu64
            " late, %" PRIu64 " lost \033[K",
            (double)profile->duration / 1e9, counts->samples, counts->failed, counts->late,
            counts->lost);
    fflush(stderr);
}

static void end_progress(struct recorder *recorder)
{
    if (recorder->shown)
        fputs("\r\033[K", stderr);
    recorder->shown = false;
}

/*
 * Ctrl-C at a terminal goes to the command, too, which ends in its own way; the second one ends
 * the recording.
 */
static int tick(void *context, struct profile *profile)
{
    struct recorder *recorder = context;
    show_progress(recorder, profile);
    if (recorder->child.pid)
        return tracing_command_ended() || tracing_interrupts() > 1;
    return tracing_interrupts() > 0;
}

static int finish(struct recorder *recorder, struct profile *profile, enum record_end end)
{
    struct record_request *request = &recorder->request;
    // What was recorded is written, whatever else comes.
    int code = record_write(request, profile, &recorder->outputs);
    if (!request->quiet)
        record_tell_counts(request, profile, tracing_command_ended() ? RECORD_EXITED : end);
    if (code == EXIT_COMPLETE && profile->counts.failed)
        code = EXIT_PARTIAL;
    return code;
}

static void name_target(struct recorder *recorder, struct profile *profile, struct text *target)
{
    const struct profile_process *process = &profile->processes[1];
    text_printf(target, "process %d", (int)recorder->request.record.pid);
    if (profile->process_count > 1 && process->arguments)
        text_printf(target, ": %s", profile_string(profile, process->arguments));
    profile->target = target->data;
}

/* A process has no threads any more some time before it is a zombie. */
static bool is_ending(const struct started_command *child)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < ENDING_TRIES && child->pid && !tracing_command_ended(); i++)
        nanosleep(&pause, NULL);
    return tracing_command_ended();
}

/* In the parser. */
static int record(void *context)
{
    struct recorder *recorder = context;
    struct record_options *options = &recorder->request.record;
    struct psc_error why = {0};
    enum record_end end = RECORD_EXITED;
    struct text target = {0};
    struct profile *profile = profile_create(&recorder->files);
    options->sources = record_sources_create();
    if (!profile || !options->sources) {
        complain("out of memory");
        record_sources_destroy(options->sources);
        profile_destroy(profile);
        return EXIT_NOTHING;
    }
    options->tick = tick;
    options->tick_context = recorder;
    enum psc_status status = record_run(options, profile, &end, &why);
    end_progress(recorder);
    int code = EXIT_NOTHING;
    // It was over before the first look: there was nothing to record, which is no error.
    if (status == PSC_ERR_NOT_FOUND && is_ending(&recorder->child))
        status = PSC_OK;
    if (status != PSC_OK)
        complain_of_process((int)options->pid, why.message);
    if (status == PSC_OK || profile->counts.samples) {
        name_target(recorder, profile, &target);
        int written = finish(recorder, profile, end);
        code = status == PSC_OK || written > EXIT_PARTIAL ? written : EXIT_PARTIAL;
    }
    text_deinit(&target);
    record_sources_destroy(options->sources);
    profile_destroy(profile);
    return code;
}

/* A command has been started by now: nothing else will be, and none be signalled or written to. */
static int trace(struct recorder *recorder)
{
    const struct tracing_task task = {.record = &recorder->request.record,
                                      .command = &recorder->child,
                                      .work = record,
                                      .context = recorder};
    return tracing_run(&task);
}

static int record_started(struct recorder *recorder)
{
    struct started_command *child = &recorder->child;
    char **command = recorder->request.command;
    int error = started_command_begin(child, command, -1);
    if (error) {
        complain("%s: %s", command[0], strerror(error));
        return started_command_error_code(error);
    }
    recorder->request.record.pid = child->pid;
    int code = trace(recorder);
    // The recording may be over before the command is.
    started_command_ended(child, true);
    return code <= EXIT_PARTIAL ? started_command_code(child) : code;
}

int command_record(int argc, char **argv)
{
    struct recorder recorder = {.shows = isatty(STDERR_FILENO)};
    enum options_result result = record_options_parse(&recorder.request, argc, argv);
    if (result != OPTIONS_RUN)
        return command_line_exit_code(result);
    recorder.shows = recorder.shows && !recorder.request.quiet;
    if (!tracing_watch() || !held_outputs_open(&recorder.request, &recorder.outputs))
        return EXIT_NOTHING;
    // The parser may open none.
    recorder.files = profile_open_files();
    int code = recorder.request.command ? record_started(&recorder) : trace(&recorder);
    profile_close_files(&recorder.files);
    held_outputs_end(&recorder.outputs);
    return code;
}
