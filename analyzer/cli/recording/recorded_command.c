/* A command that is started to be recorded. */
#include "recording_private.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the program ignores or blocks, the command must not. */
static void restore_signals(void)
{
    sigset_t none;
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int record_start_command(struct record_child *child, char **command)
{
    int channel[2], error = 0;
    *child = (struct record_child){0};
    if (pipe2(channel, O_CLOEXEC))
        return errno;
    child->pid = fork();
    if (child->pid < 0) {
        error = errno;
        child->pid = 0;
        close(channel[0]);
        close(channel[1]);
        return error;
    }
    if (!child->pid) {
        restore_signals();
        execvp(command[0], command);
        error = errno;
        if (write(channel[1], &error, sizeof(error)) < 0)
            _exit(126);
        _exit(error == ENOENT ? 127 : 126);
    }
    close(channel[1]);
    // The pipe closes with exec; else it has the reason.
    ssize_t got;
    do
        got = read(channel[0], &error, sizeof(error));
    while (got < 0 && errno == EINTR);
    close(channel[0]);
    if (got <= 0)
        return 0;
    waitpid(child->pid, &child->status, 0);
    child->pid = 0;
    return error;
}

/*
 * Its stops are seen by waitpid(2), too, whoever asks: they are left to the sampler, which waits
 * for them.
 */
static bool has_exited(pid_t pid)
{
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
        return errno == ECHILD;
    return info.si_pid == pid &&
           (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED);
}

bool record_command_ended(struct record_child *child, bool wait)
{
    if (!child->pid || child->ended || (!wait && !has_exited(child->pid)))
        return child->ended;
    pid_t got;
    do
        got = waitpid(child->pid, &child->status, 0);
    while ((got < 0 && errno == EINTR) ||
           (got > 0 && !WIFEXITED(child->status) && !WIFSIGNALED(child->status)));
    child->ended = true;
    return true;
}
