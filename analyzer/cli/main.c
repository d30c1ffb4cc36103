/* The program: a command, or a core or process to be shown. */
#include "ci.h"
#include "commands.h"
#include "crashes.h"
#include "debuginfod.h"
#include "doctor.h"
#include "handle.h"
#include "heap_command.h"
#include "input.h"
#include "kept_cores.h"
#include "messages.h"
#include "options.h"
#include "recording.h"
#include "sandbox.h"
#include "show_target.h"
#include "slim_cores.h"
#include "top.h"
#include "triage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What help, version or a command printed went through stdio. */
static int finish_stdout(void)
{
    if (!fflush(stdout) || errno == EPIPE)
        return EXIT_COMPLETE;
    complain("standard output: %s", strerror(errno));
    return EXIT_NOTHING;
}

/* So that no file that is opened later takes the number of a closed standard stream. */
static void hold_standard_streams(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

static int report_one(struct options *options)
{
    if (options->starts_keeper)
        return kept_cores_start(options, options->starts_keeper) ? EXIT_COMPLETE : EXIT_NOTHING;
    if (options->redacts)
        messages_redact();
    // What runs another program is made before the right to do so is given up.
    const struct debuginfod_request request = {options->debuginfod_urls,
                                               options->debuginfod_seconds};
    struct debuginfod *debuginfod = options->debuginfod ? debuginfod_begin(&request) : NULL;
    options->open.fetch_file = debuginfod ? debuginfod_fetch : NULL;
    options->open.fetch_context = debuginfod;
    if (!options->no_sandbox)
        sandbox_begin();
    int code = show_target(options);
    debuginfod_end(debuginfod);
    return code;
}

static int run_triage(int argc, char **argv)
{
    return command_triage(argc, argv, report_one);
}

static int run_ci(int argc, char **argv)
{
    return command_ci(argc, argv, report_one);
}

/* All commands, in the order of --help. */
static const struct command commands[] = {
    {&triage_command, run_triage},
    {&ci_command, run_ci},
    {&doctor_command, command_doctor},
    {&summary_command, command_summary},
    {&record_command, command_record},
    {&top_command, command_top},
    {&heap_command, command_heap},
    {&slim_command, command_slim},
    {&handle_command, command_handle},
    {&crashes_command, command_crashes},
    {&demangle_command, command_demangle},
    {&schema_command, command_schema},
    {NULL, NULL},
};

/* Where no command is named. */
static int run_report(int argc, char **argv)
{
    struct options options;
    enum options_result result = options_parse(&options, argc, argv);
    int code = command_line_exit_code(result);
    // debuginfod's files have a line of their own, and a keeper lives on.
    if (result == OPTIONS_RUN && options.core && !options.debuginfod && !options.starts_keeper)
        progress_begin("reading", options.core);
    if (result == OPTIONS_RUN)
        code = report_one(&options);
    else if (result == OPTIONS_HELP)
        help_print(&report_command, commands);
    else if (result == OPTIONS_COMPLETE)
        completion_print(options.shell, &report_command, commands);
    else if (result == OPTIONS_MANUAL)
        manual_print(psc_version(), &report_command, commands);
    options_deinit(&options);
    return result == OPTIONS_RUN || finish_stdout() == EXIT_COMPLETE ? code : EXIT_NOTHING;
}

int main(int argc, char **argv)
{
    hold_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* A file that is too large is an error that is named. */
    shrunk_files_watch();
    for (const struct command *command = commands; argc > 1 && command->spec; command++)
        if (!strcmp(argv[1], command->spec->name)) {
            int code = command->run(argc - 1, argv + 1);
            return finish_stdout() == EXIT_COMPLETE ? code : EXIT_NOTHING;
        }
    return run_report(argc, argv);
}
