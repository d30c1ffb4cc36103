/* The list of those that live: new ones, and what is known of one. */
#include "descendants_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DESCENDANTS_LIMIT 100000u

double descendants_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

size_t descendants_find(const struct descendants *all, pid_t pid)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].pid == pid)
            return i;
    return SIZE_MAX;
}

void descendant_deinit(struct descendant *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    if (process->memory >= 0)
        close(process->memory);
    free(process->working_directory);
    free(process->executable);
    free(process->arguments);
    free(process->test);
    free(process->worker);
}

static bool reserve(struct descendants *all)
{
    if (all->count < all->capacity)
        return true;
    size_t capacity = all->capacity ? 2 * all->capacity : 64;
    struct descendant *grown = reallocarray(all->items, capacity, sizeof(*grown));
    if (!grown)
        return false;
    all->items = grown;
    all->capacity = capacity;
    return true;
}

void descendants_look_at(struct descendants *all, size_t index)
{
    struct descendant *process = &all->items[index];
    struct process_stat stat;
    if (!process_stat_read(process->pid, &stat) ||
        (process->started && stat.started != process->started))
        return;
    if (!process->started)
        process->started = stat.started;
    process_facts_read(process, &stat);
    size_t parent = descendants_find(all, process->parent);
    if (parent != SIZE_MAX && process->image)
        process->forked = all->items[parent].image == process->image;
    // It may be moved to another group; one that ends has lost its memory, then its group.
    const struct kill_counter *counter =
        stat.image || !process->counter ? kill_counters_find(&all->counters, process->pid) : NULL;
    process->counter = counter ? counter->path : process->counter;
    last_test_read(process, descendants_now());
}

void descendants_hide(struct descendants *all, pid_t child)
{
    all->hidden = child;
}

static bool is_zombie(const struct descendants *all, pid_t pid)
{
    struct process_stat stat;
    for (size_t i = 0; i < all->zombie_count; i++)
        if (all->zombies[i].pid == pid)
            return !process_stat_read(pid, &stat) || stat.started == all->zombies[i].started;
    return false;
}

/* fork(2) */
static char *inherit_folder(const struct descendants *all, pid_t parent)
{
    size_t index = descendants_find(all, parent);
    const char *folder = index == SIZE_MAX ? NULL : all->items[index].working_directory;
    if (folder)
        return strdup(folder);
    return parent == getpid() ? getcwd(NULL, 0) : NULL;
}

bool descendants_add(struct descendants *all, pid_t child, pid_t parent)
{
    if (all->count >= DESCENDANTS_LIMIT || !reserve(all))
        return false;
    if (child == all->hidden || descendants_find(all, child) != SIZE_MAX || is_zombie(all, child))
        return true;
    char *folder = inherit_folder(all, parent);
    struct descendant *process = &all->items[all->count++];
    *process = (struct descendant){
        .pid = child,
        .pidfd = (int)syscall(SYS_pidfd_open, child, 0), // Closed by exec.
        .parent = parent,
        .working_directory = folder,
        .memory = -1,
        .seen = descendants_now(),
    };
    all->changes++;
    descendants_look_at(all, all->count - 1);
    return true;
}
