/* The tree, looked at again and again. */
#include "descendants_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define POLLED_LIMIT   1000u
#define CHILDREN_LIMIT ((size_t)1 << 20)
/* A look every so many milliseconds; of many processes it takes longer. */
#define PAUSE_MILLISECONDS 20
#define PAUSE_LIMIT        500
/* In between those that run tests are looked at, so many at most. */
#define TEST_MILLISECONDS 3
#define TESTED_LIMIT      16u

struct descendants *descendants_create(descendant_fn *ended, void *context)
{
    struct descendants *all = calloc(1, sizeof(*all));
    if (!all)
        return NULL;
    all->on_end = ended;
    all->context = context;
    all->events = process_events_open();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return all;
}

void descendants_destroy(struct descendants *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        descendant_deinit(&all->items[i]);
    kill_counters_deinit(&all->counters);
    if (all->events >= 0)
        close(all->events);
    free(all->items);
    free(all->zombies);
    free(all);
}

/* ---- those that are new ---- */

/* Those that are gone. */
static void forget_zombies(struct descendants *all)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->zombie_count; i++) {
        struct process_stat stat;
        if (process_stat_read(all->zombies[i].pid, &stat) &&
            stat.started == all->zombies[i].started)
            all->zombies[kept++] = all->zombies[i];
    }
    all->zombie_count = kept;
}

/* "12 34 56" */
static void add_listed(struct descendants *all, char *list, pid_t parent)
{
    char *end;
    for (char *at = list;; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at || pid <= 0)
            return;
        (void)descendants_add(all, (pid_t)pid, parent);
    }
}

/* Each thread has its own list (proc(5), /proc/PID/task/TID/children). false: there are none. */
static bool add_children(struct descendants *all, pid_t parent)
{
    char path[64];
    bool known = false;
    snprintf(path, sizeof(path), "/proc/%d/task", parent);
    DIR *tasks = opendir(path);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        if (*entry->d_name == '.')
            continue;
        snprintf(path, sizeof(path), "task/%.20s/children", entry->d_name);
        char *list = process_file_read(parent, path, CHILDREN_LIMIT, NULL);
        known |= list != NULL;
        if (list)
            add_listed(all, list, parent);
        free(list);
    }
    if (tasks)
        closedir(tasks);
    return known;
}

/* A kernel without these lists: each process of the machine names its parent. */
static void add_by_parents(struct descendants *all)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    while (processes && (entry = readdir(processes))) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        struct process_stat stat;
        if (pid > 0 && descendants_find(all, pid) == SIZE_MAX && process_stat_read(pid, &stat) &&
            (stat.parent == getpid() || descendants_find(all, stat.parent) != SIZE_MAX))
            (void)descendants_add(all, pid, stat.parent);
    }
    if (processes)
        closedir(processes);
}

void descendants_look(struct descendants *all)
{
    size_t before = all->count;
    forget_zombies(all);
    for (size_t i = 0; i < before; i++)
        descendants_look_at(all, i);
    if (!add_children(all, getpid())) {
        add_by_parents(all);
        return;
    }
    for (size_t i = 0; i < all->count; i++)
        add_children(all, all->items[i].pid);
}

int descendants_pause(const struct descendants *all)
{
    size_t pause = PAUSE_MILLISECONDS * (1 + all->count / 16);
    return pause > PAUSE_LIMIT ? PAUSE_LIMIT : (int)pause;
}

/* ---- what happens ---- */

static void take_ends(struct descendants *all, const struct pollfd *fds, size_t count)
{
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; fds[k].revents && i < all->count; i++)
            if (all->items[i].pidfd == fds[k].fd) {
                descendants_find_end(all, i);
                break;
            }
}

/* Without a descriptor an end shows as a process that is not there. */
static void take_gone(struct descendants *all)
{
    for (size_t i = all->count; i-- > 0;)
        if (all->items[i].pidfd < 0 || i >= POLLED_LIMIT)
            descendants_find_end(all, i);
}

/* Which tests they are at; false: none runs any. */
static bool look_at_tests(struct descendants *all)
{
    size_t looked = 0;
    for (size_t i = 0; i < all->count && looked < TESTED_LIMIT; i++) {
        struct descendant *process = &all->items[i];
        if (!last_test_is_near(process))
            continue;
        looked++;
        (void)process_written_read(process);
        last_test_read(process, descendants_now());
    }
    return looked;
}

/* poll(2), with looks at tests in between. */
static int poll_and_look(struct descendants *all, struct pollfd *fds, size_t count,
                         int milliseconds)
{
    while (milliseconds > TEST_MILLISECONDS && look_at_tests(all)) {
        int ready = poll(fds, count, TEST_MILLISECONDS);
        if (ready)
            return ready;
        milliseconds -= TEST_MILLISECONDS;
    }
    return poll(fds, count, milliseconds);
}

bool descendants_wait(struct descendants *all, int fd, int milliseconds)
{
    struct pollfd fds[POLLED_LIMIT + 2] = {{.fd = fd, .events = POLLIN},
                                           {.fd = all->events, .events = POLLIN}};
    size_t count = 2;
    for (size_t i = 0; i < all->count && i < POLLED_LIMIT; i++)
        if (all->items[i].pidfd >= 0)
            fds[count++] = (struct pollfd){.fd = all->items[i].pidfd, .events = POLLIN};
    if (poll_and_look(all, fds, count, milliseconds) < 0)
        return false;
    if (fds[1].revents)
        process_events_take(all);
    take_ends(all, fds + 2, count - 2);
    take_gone(all);
    return fds[0].revents;
}

/* ---- those that live ---- */

size_t descendants_count(const struct descendants *all)
{
    return all->count;
}

const struct descendant *descendants_get(const struct descendants *all, size_t index)
{
    return &all->items[index];
}

double descendants_starved(struct descendants *all, double passed)
{
    double seconds = 0;
    for (size_t i = 0; i < all->count; i++) {
        struct descendant *process = &all->items[i];
        struct process_stat stat;
        const double starved = process_starved(process->pid);
        const bool ready = process_stat_read(process->pid, &stat) && stat.state == 'R';
        // A wait is counted when it has ended; who only wakes now and then is not ready twice.
        // What threads have waited that ended meanwhile is in the sum no more.
        if (ready && process->ready)
            seconds += passed;
        else if (starved > process->starved)
            seconds += starved - process->starved;
        process->starved = starved;
        process->ready = ready;
    }
    return seconds;
}

uint64_t descendants_changes(const struct descendants *all)
{
    return all->changes;
}

bool descendants_dump(const struct descendants *all)
{
    bool found = false;
    for (size_t i = 0; i < all->count && !found; i++) {
        char *text = process_file_read(all->items[i].pid, "status", 8192, NULL);
        found = text && strstr(text, "CoreDumping:\t1");
        free(text);
    }
    return found;
}

static void send_signal(struct descendant *process, int signal)
{
    process->signalled = true;
    if (process->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, process->pidfd, signal, NULL, 0);
}

void descendants_signal(struct descendants *all, int signal)
{
    for (size_t i = 0; i < all->count; i++)
        send_signal(&all->items[i], signal);
}

void descendants_signal_one(struct descendants *all, pid_t pid, int signal)
{
    size_t index = descendants_find(all, pid);
    if (index != SIZE_MAX)
        send_signal(&all->items[index], signal);
}
