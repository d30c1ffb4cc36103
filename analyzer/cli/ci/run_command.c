/* The command: started, watched, and its signals. */
#include "ci_private.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* A core that is being written when the command has ended is waited for so long. */
#define DUMP_SECONDS 60.
/* What was killed is gone within so long. */
#define KILL_SECONDS 5.
/* pytest's own statuses end with this one (_pytest/config/__init__.py, ExitCode). */
#define PYTEST_LAST_STATUS 5
/* Of an interrupted session, whose variable of the test stays. */
#define PYTEST_INTERRUPTED 2

static const int passed_signals[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* ---- the start ---- */

static void allow_cores(void)
{
    struct rlimit limit;
    const struct rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    if (getrlimit(RLIMIT_CORE, &limit))
        return;
    if (!limit.rlim_max && !setrlimit(RLIMIT_CORE, &unlimited))
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
}

static void warn_of_limit(void)
{
    struct rlimit limit;
    if (!getrlimit(RLIMIT_CORE, &limit) && !limit.rlim_max && geteuid())
        complain("the hard limit of core files is 0: none will be written; see pystack-core "
                 "doctor");
}

static void be_command(const struct ci_options *options, const sigset_t *mask,
                       const struct rlimit *files, int errors)
{
    allow_cores();
    setrlimit(RLIMIT_NOFILE, files);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(options->command[0], options->command);
    int error = errno;
    ssize_t written = write(errors, &error, sizeof(error));
    (void)written;
    _exit(error == ENOENT ? 127 : 126);
}

/* Each process that is watched takes two descriptors. */
static void raise_file_limit(struct rlimit *ret_before)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, ret_before))
        *ret_before = (struct rlimit){1024, 1024};
    limit = *ret_before;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static bool start(struct ci_run *run, const sigset_t *mask)
{
    int errors[2];
    struct rlimit files;
    if (pipe2(errors, O_CLOEXEC)) {
        complain("no pipe can be made: %s", strerror(errno));
        return false;
    }
    warn_of_limit();
    raise_file_limit(&files);
    run->command = fork();
    if (!run->command)
        be_command(run->options, mask, &files, errors[1]);
    close(errors[1]);
    if (run->command < 0)
        complain("no process can be made: %s", strerror(errno));
    else if (read(errors[0], &run->start_error, sizeof(int)) == (ssize_t)sizeof(int))
        complain("%s: %s", run->options->command[0], strerror(run->start_error));
    close(errors[0]);
    if (run->start_error)
        waitpid(run->command, NULL, 0);
    return run->command > 0 && !run->start_error &&
           descendants_add(run->all, run->command, getpid());
}

/* ---- ends ---- */

/* Whether a signal of this number is no way to stop what is not needed any more. */
static bool is_violent(int number)
{
    static const int quiet[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof(quiet) / sizeof(quiet[0]); i++)
        if (quiet[i] == number)
            return false;
    return true;
}

/*
 * pytest ends with statuses of its own when all tests are over, having told how they went, and a
 * worker of pytest-xdist with 0; another status (but for pytest.exit(), behind which its session is
 * over), or an end in the midst of a test without a word, is os._exit() or the like.
 */
static bool is_test_exit(const struct descendant *process)
{
    int status = WEXITSTATUS(process->status);
    if (!status || !process->test || process->forked)
        return false;
    if (process->worker || process->session_over)
        return process->worker;
    return status > PYTEST_LAST_STATUS ||
           (process->cut_short && (status != PYTEST_INTERRUPTED || process->session_seen));
}

static bool is_death(const struct ci_run *run, const struct descendant *process)
{
    int number = WIFSIGNALED(process->status) ? WTERMSIG(process->status) : 0;
    if (process->signalled || (number && number == run->passed_signal) || !process->status)
        return false;
    if (run->options->reports_exits)
        return true;
    if (!number)
        return is_test_exit(process);
    return is_violent(number) || process->pid == run->command ||
           (process->in_test && !process->forked);
}

/* A descendant_fn. */
static void take_end(void *context, const struct descendant *process)
{
    struct ci_run *run = context;
    if (process->pid == run->command) {
        run->command_ended = true;
        run->command_status = process->status;
        run->failed = !process->status_known;
    }
    if (left_cores_find(&run->cores, process) || !process->status_known)
        return;
    if (is_death(run, process))
        exit_reports_add(&run->exits, process, &run->cores.pattern);
    else if (process->status && !process->signalled && process->pid != run->command)
        exit_reports_count(&run->exits, process);
}

/* ---- signals ---- */

static void pass(struct ci_run *run, const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;
    if (number == SIGCHLD)
        return;
    run->passed_signal = number;
    // One of the terminal goes to all of its processes.
    if (info->ssi_code != SI_KERNEL && !run->command_ended)
        kill(run->command, number);
}

static void take_signals(struct ci_run *run, int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        pass(run, &info);
}

/* ---- the loop ---- */

/* What is to end. */
struct ending {
    double killed; /* When it is killed, or was; 0: it is not to end. */
    bool done;
};

static void end_all(struct ci_run *run, struct ending *ending, const char *why)
{
    hang_show(run, why);
    run->hung = true;
    descendants_look(run->all);
    descendants_signal(run->all, SIGTERM);
    descendants_signal(run->all, SIGCONT);
    ending->killed = descendants_now() + (double)run->options->grace_seconds;
}

/* Those that were told to end, and have not. */
static void end_stubborn(struct ci_run *run, struct ending *ending, double now)
{
    if (!ending->killed && run->passed_signal == SIGTERM)
        ending->killed = now + (double)run->options->grace_seconds;
    if (!ending->killed || now < ending->killed)
        return;
    descendants_signal(run->all, SIGKILL);
    ending->done = now > ending->killed + KILL_SECONDS;
}

static bool is_over(const struct ci_run *run, const struct ending *ending)
{
    if (run->hung)
        return ending->done || !descendants_count(run->all);
    return run->command_ended;
}

static void wait_for_cores(struct ci_run *run, int signals)
{
    double until = descendants_now() + DUMP_SECONDS;
    descendants_look(run->all);
    while (descendants_dump(run->all) && descendants_now() < until) {
        descendants_wait(run->all, signals, descendants_pause(run->all));
        descendants_reap(run->all);
    }
}

static void watch(struct ci_run *run, int signals)
{
    struct hang_watch hang;
    struct ending ending = {0};
    double looked = 0;
    hang_watch_init(&hang);
    while (!is_over(run, &ending)) {
        int pause = descendants_pause(run->all);
        if (descendants_wait(run->all, signals, pause))
            take_signals(run, signals);
        descendants_reap(run->all);
        double now = descendants_now();
        if (now - looked < pause / 2e3)
            continue;
        looked = now;
        descendants_look(run->all);
        const char *why = run->hung || run->passed_signal ? NULL : hang_watch_check(&hang, run);
        if (why)
            end_all(run, &ending, why);
        end_stubborn(run, &ending, now);
    }
    wait_for_cores(run, signals);
    left_cores_sweep(&run->cores);
}

bool run_command(struct ci_run *run)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof(passed_signals) / sizeof(passed_signals[0]); i++)
        sigaddset(&set, passed_signals[i]);
    sigprocmask(SIG_BLOCK, &set, &before);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    run->all = signals < 0 ? NULL : descendants_create(take_end, run);
    bool good = run->all && start(run, &before);
    if (good)
        watch(run, signals);
    else if (!run->start_error)
        complain("the command cannot be run");
    descendants_destroy(run->all);
    run->all = NULL;
    if (signals >= 0)
        close(signals);
    return good;
}
