/* The program: a command, or a core or process to be shown. Uses the public header only. */
#include "commands.h"
#include "messages.h"
#include "options.h"
#include "sandbox.h"
#include "show_target.h"
#include "shrunk_files.h"
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
    if (!options->no_sandbox)
        sandbox_begin();
    return show_target(options);
}

static int run_triage(int argc, char **argv)
{
    return command_triage(argc, argv, report_one);
}

/* The commands of commands.c. */
static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} runners[] = {
    {"demangle", command_demangle},
    {"summary", command_summary},
    {"triage", run_triage},
};

int main(int argc, char **argv)
{
    struct options options;
    int code = EXIT_USAGE;
    hold_standard_streams();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* A file that is too large is an error that is named. */
    shrunk_files_watch();
    for (size_t i = 0; argc > 1 && i < sizeof(runners) / sizeof(runners[0]); i++) {
        if (!strcmp(argv[1], runners[i].name)) {
            code = runners[i].run(argc - 1, argv + 1);
            return finish_stdout() == EXIT_COMPLETE ? code : EXIT_NOTHING;
        }
    }
    switch (options_parse(&options, argc, argv)) {
    case OPTIONS_RUN:
        code = report_one(&options);
        break;
    case OPTIONS_DONE:
    case OPTIONS_HELP:
    case OPTIONS_COMPLETE:
        code = finish_stdout();
        break;
    case OPTIONS_WRONG:
        break;
    case OPTIONS_NO_MEMORY:
        code = EXIT_NOTHING;
        break;
    }
    options_deinit(&options);
    return code;
}
