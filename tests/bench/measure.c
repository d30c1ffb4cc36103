/*
 * measure SECONDS COMMAND...: runs the command, prints "seconds peak-KB wait-status" on stdout.
 * A small process of its own: a child's peak memory begins with what its parent had at fork().
 * A command that takes longer than SECONDS is killed; its status is then that of SIGKILL.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile pid_t child;

static void on_alarm(int number)
{
    (void)number;
    kill(child, SIGKILL);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 64;
    double start = now();
    child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        int nowhere = open("/dev/null", O_RDWR);
        for (int fd = 0; fd < 3; fd++)
            dup2(nowhere, fd);
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    signal(SIGALRM, on_alarm);
    alarm((unsigned)atoi(argv[1]));
    struct rusage usage;
    int status;
    while (wait4(child, &status, 0, &usage) < 0)
        continue;
    printf("%.6f %ld %d\n", now() - start, usage.ru_maxrss, status);
    return 0;
}
