#include "started_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void restore_signals(void)
{
    static const int changed[] = {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof(changed) / sizeof(changed[0]); i++)
        signal(changed[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void replace_streams(int output)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0)
        dup2(nothing, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
}

static void be_command(char **words, int output, int errors)
{
    restore_signals();
    if (output >= 0)
        replace_streams(output);
    execvp(words[0], words);
    int error = errno;
    ssize_t written = write(errors, &error, sizeof(error));
    (void)written;
    _exit(started_command_error_code(error));
}

int started_command_begin(struct started_command *command, char **words, int output)
{
    int channel[2], error = 0;
    *command = (struct started_command){0};
    if (pipe2(channel, O_CLOEXEC))
        return errno;
    pid_t child = fork();
    if (!child)
        be_command(words, output, channel[1]);
    int fork_error = errno;
    close(channel[1]);
    // The pipe closes with exec; else it has the reason.
    ssize_t got = 0;
    if (child > 0)
        do
            got = read(channel[0], &error, sizeof(error));
        while (got < 0 && errno == EINTR);
    close(channel[0]);
    if (child < 0)
        return fork_error;
    if (got > 0) {
        waitpid(child, NULL, 0);
        return error;
    }
    command->pid = child;
    return 0;
}

/*
 * Its stops are seen by waitpid(2), too, whoever asks: they are left to who samples it, and waits
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

bool started_command_ended(struct started_command *command, bool wait)
{
    if (!wait && command->pid && !command->ended && !has_exited(command->pid))
        return false;
    while (command->pid && !command->ended) {
        pid_t got = waitpid(command->pid, &command->status, 0);
        if (got < 0 && errno == EINTR)
            continue;
        command->ended = got < 0 || WIFEXITED(command->status) || WIFSIGNALED(command->status);
    }
    return command->ended;
}

int started_command_code(const struct started_command *command)
{
    return WIFSIGNALED(command->status) ? EXIT_SIGNAL + WTERMSIG(command->status)
                                        : WEXITSTATUS(command->status);
}

int started_command_error_code(int error)
{
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
}
