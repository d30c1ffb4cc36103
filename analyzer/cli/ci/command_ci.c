/* `pystack-core ci`: run, collect, put together, and the exit code. */
#include "ci_private.h"
#include "messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* As timeout(1), env(1) and the shell have them. */
#define EXIT_HUNG       124
#define EXIT_CANNOT_RUN 126
#define EXIT_NOT_FOUND  127
#define EXIT_SIGNAL     128

static bool make_folder(struct ci_run *run)
{
    const char *top = getenv("TMPDIR");
    if (asprintf(&run->folder, "%s/pystack-core-ci-XXXXXX", top && *top ? top : "/tmp") < 0)
        run->folder = NULL;
    if (run->folder && mkdtemp(run->folder))
        return true;
    complain("%s: %s", run->folder ? run->folder : "a folder", strerror(errno));
    return false;
}

static void remove_folder(struct ci_run *run)
{
    if (run->folder)
        rmdir(run->folder);
    free(run->folder);
}

static int exit_code(const struct ci_run *run, int triage)
{
    if (triage == EXIT_FAIL_ON)
        return EXIT_FAIL_ON;
    if (run->hung)
        return EXIT_HUNG;
    if (run->failed)
        return EXIT_NOTHING;
    if (WIFSIGNALED(run->command_status))
        return EXIT_SIGNAL + WTERMSIG(run->command_status);
    int code = WEXITSTATUS(run->command_status);
    return code || triage != EXIT_NOTHING ? code : EXIT_NOTHING;
}

static int run(struct ci_run *run)
{
    const char *keep = run->options->keep_cores;
    if (keep && mkdir(keep, 0777) && errno != EEXIST) {
        complain("%s: %s", keep, strerror(errno));
        return EXIT_NOTHING;
    }
    if (!make_folder(run))
        return EXIT_NOTHING;
    left_cores_init(&run->cores, keep);
    if (!run_command(run))
        return run->start_error == ENOENT ? EXIT_NOT_FOUND
               : run->start_error         ? EXIT_CANNOT_RUN
                                          : EXIT_NOTHING;
    exit_reports_say(&run->exits);
    int code = exit_code(run, ci_triage(run));
    if (run->options->slims)
        left_cores_slim(&run->cores, run->options);
    if (run->options->prunes)
        left_cores_remove(&run->cores);
    return code;
}

int command_ci(int argc, char **argv, report_one_fn *report_one)
{
    struct ci_options options;
    enum options_result result = ci_options_parse(&options, argc, argv);
    int code = command_line_exit_code(result);
    options.report_one = report_one;
    if (result == OPTIONS_RUN) {
        struct ci_run one = {.options = &options};
        code = run(&one);
        left_cores_deinit(&one.cores);
        exit_reports_deinit(&one.exits);
        remove_folder(&one);
    }
    ci_options_deinit(&options);
    return code;
}
