/* The name of the process that sent a signal, as it is called now. */
#include "debugger_private.h"

#include "target_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMM_SIZE 64 /* TASK_COMM_LEN is 16; threads of the kernel have more (proc(5), comm). */

/* Of this machine: the debugger says where its memory is here (gdb and lldb of no remote one). */
static bool is_here(const struct psc_debugger *debugger)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", debugger->pid);
    return debugger->memory_path && !strcmp(debugger->memory_path, path);
}

/* si_pid is the sender's number where the receiver lives (kernel/signal.c, __send_signal_locked).
 */
static bool has_our_numbers(int32_t pid)
{
    char path[64];
    struct stat ours, theirs;
    snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
    return !stat("/proc/self/ns/pid", &ours) && !stat(path, &theirs) &&
           ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

void debugger_name_sender(struct target *target, const struct psc_debugger *debugger)
{
    struct target_signal *signal = &target->process.signal;
    char path[64], name[COMM_SIZE];
    if (!signal->has_sender || signal->sender_pid <= 0 || signal->sender_pid == debugger->pid ||
        !is_here(debugger) || !has_our_numbers(debugger->pid))
        return;
    snprintf(path, sizeof(path), "/proc/%d/comm", signal->sender_pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, name, sizeof(name)) : 0;
    if (fd >= 0)
        close(fd);
    if (size > 1)
        signal->sender_name = arena_strndup(target->arena, name, (size_t)size - 1);
}
