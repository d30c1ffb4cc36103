/* How a process ended, by whoever tells. */
#include "descendants_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* include/uapi/linux/pidfd.h of Linux 6.15 and later. */
struct pidfd_info_exit {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code;
};
#define PIDFD_INFO_EXIT_BIT (1ull << 3)
#define PIDFD_GET_INFO_CALL _IOWR(0xff, 11, struct pidfd_info_exit)

static void note_zombie(struct descendants *all, const struct descendant *process)
{
    if (all->zombie_count == all->zombie_capacity) {
        size_t capacity = all->zombie_capacity ? 2 * all->zombie_capacity : 16;
        struct zombie *grown = reallocarray(all->zombies, capacity, sizeof(*grown));
        if (!grown)
            return;
        all->zombies = grown;
        all->zombie_capacity = capacity;
    }
    all->zombies[all->zombie_count++] = (struct zombie){process->pid, process->started};
}

static void forget(struct descendants *all, size_t index)
{
    struct descendant process = all->items[index];
    note_zombie(all, &process);
    memmove(&all->items[index], &all->items[index + 1],
            (all->count - index - 1) * sizeof(*all->items));
    all->count--;
    all->changes++;
    all->on_end(all->context, &process);
    descendant_deinit(&process);
}

void descendants_end(struct descendants *all, size_t index, int status, const char *known_by)
{
    struct descendant *process = &all->items[index];
    process->ended = true;
    process->end = descendants_now();
    process->status = status;
    process->status_known = known_by != NULL;
    process->known_by = known_by;
    if (known_by && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && process->counter)
        process->out_of_memory = kill_counter_take(&all->counters, process->counter);
    forget(all, index);
}

/* Somebody has waited for it: the kernel keeps what it was with the descriptor. */
static bool ask_pidfd(int pidfd, int *ret_status)
{
    struct pidfd_info_exit info = {.mask = PIDFD_INFO_EXIT_BIT};
    if (ioctl(pidfd, PIDFD_GET_INFO_CALL, &info) || !(info.mask & PIDFD_INFO_EXIT_BIT))
        return false;
    *ret_status = info.exit_code;
    return true;
}

void descendants_find_end(struct descendants *all, size_t index)
{
    struct descendant *process = &all->items[index];
    struct process_stat stat;
    int status = 0;
    pid_t pid = process->pid;
    bool is_there =
        process_stat_read(pid, &stat) && (!process->started || stat.started == process->started);
    process->cut_short = last_test_was_cut_short(process, is_there, descendants_now());
    if (is_there)
        process_name_take(process, &stat);
    if (waitpid(pid, &status, WNOHANG) == pid) {
        descendants_end(all, index, status, "wait");
        return;
    }
    // Of a zombie of another user it is not told, and 0.
    if (is_there && stat.state == 'Z' && stat.exit_code)
        descendants_end(all, index, stat.exit_code, "proc");
    else if (process->has_told_status && (!is_there || stat.state == 'Z'))
        descendants_end(all, index, process->told_status, "connector");
    else if (process->pidfd >= 0 && ask_pidfd(process->pidfd, &status))
        descendants_end(all, index, status, "pidfd");
    else if (is_there && stat.state == 'Z')
        descendants_end(all, index, 0, "proc");
    else if (!is_there)
        descendants_end(all, index, 0, NULL);
}

void descendants_reap(struct descendants *all)
{
    for (;;) {
        siginfo_t info = {0};
        int status;
        // The entry is there until it is waited for: its facts are read before.
        if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) || !info.si_pid)
            return;
        pid_t pid = info.si_pid;
        size_t index = descendants_find(all, pid);
        if (index == SIZE_MAX && descendants_add(all, pid, 0))
            index = descendants_find(all, pid);
        if (index != SIZE_MAX)
            descendants_find_end(all, index);
        else if (waitpid(pid, &status, WNOHANG) != pid)
            return;
    }
}
