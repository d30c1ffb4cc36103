// Ends by a system call that its own filter refuses ("trap", "kill_process"), or sends itself a
// signal ("kill", "raise").
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    (void)argc;
    if (!strcmp(argv[1], "kill"))
        kill(getpid(), SIGSEGV);
    if (!strcmp(argv[1], "raise"))
        raise(SIGSEGV);
    if (!strcmp(argv[1], "wait"))
        for (close(1);;)
            pause();
    unsigned how = !strcmp(argv[1], "trap") ? SECCOMP_RET_TRAP : SECCOMP_RET_KILL_PROCESS;
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1), BPF_STMT(BPF_RET | BPF_K, how),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}
