/*
 * Which threads of a process have run. The kernel counts how often a thread was given a processor
 * (Documentation/scheduler/sched-stats.rst, /proc/PID/task/TID/schedstat): with an unchanged count
 * a thread that slept sleeps on, and its stack is what it was.
 */
#include "record_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREAD_LIMIT ((size_t)1000000)
/* How often a thread that slept is given a processor when it is stopped: to stop, and to go on. */
#define RUNS_OF_STOP 2

int threads_open(struct thread_table *table, int32_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    table->tasks = opendir(path);
    return table->tasks ? 0 : errno;
}

static void close_thread(struct recorded_thread *thread)
{
    if (thread->schedstat >= 0)
        close(thread->schedstat);
    thread->schedstat = -1;
    stack_memory_deinit(&thread->memory);
}

void threads_close(struct thread_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        close_thread(&table->items[i]);
    free(table->items);
    if (table->tasks)
        closedir(table->tasks);
    *table = (struct thread_table){0};
}

static int compare_threads(const void *one, const void *other)
{
    const struct recorded_thread *a = one, *b = other;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int open_runs(const struct thread_table *table, int32_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/schedstat", tid);
    return openat(dirfd(table->tasks), path, O_RDONLY | O_CLOEXEC);
}

static enum psc_status list_one(struct thread_table *table, size_t sorted, int32_t tid)
{
    struct recorded_thread *known = SORTED_FIND(table->items, tid, sorted, tid);
    if (known) {
        known->listed = true;
        return PSC_OK;
    }
    if (!array_reserve(&table->items, &table->capacity, table->count + 1, sizeof(*table->items)))
        return PSC_ERR_MEMORY;
    const int schedstat = open_runs(table, tid);
    if (schedstat < 0 && (errno == EMFILE || errno == ENFILE))
        return PSC_ERR_LIMIT;
    table->items[table->count++] =
        (struct recorded_thread){.tid = tid, .listed = true, .schedstat = schedstat};
    return PSC_OK;
}

enum psc_status threads_list(struct thread_table *table)
{
    struct stat folder;
    enum psc_status status = PSC_OK;
    // fs/proc/base.c, proc_task_getattr(): the folder has a link for each thread.
    bool known = !fstat(dirfd(table->tasks), &folder);
    if (known && table->links && table->links == (uint64_t)folder.st_nlink)
        return PSC_OK;
    size_t sorted = table->count;
    const struct dirent *entry;
    for (size_t i = 0; i < table->count; i++)
        table->items[i].listed = false;
    rewinddir(table->tasks);
    while (status == PSC_OK && (entry = readdir(table->tasks)) && table->count < THREAD_LIMIT) {
        int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0)
            status = list_one(table, sorted, tid);
    }
    if (table->count)
        qsort(table->items, table->count, sizeof(*table->items), compare_threads);
    table->links = known ? (uint64_t)folder.st_nlink : 0;
    return status;
}

void threads_sweep(struct thread_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].listed)
            table->items[kept++] = table->items[i];
        else
            close_thread(&table->items[i]);
    }
    table->count = kept;
}

/* Where it waits in the kernel, by /proc/PID/task/TID/syscall; false: it does not. */
static bool read_wait(const struct recorded_thread *thread, struct capture_session *session,
                      struct thread_wait *ret)
{
    ret->size = capture_session_ask(session, thread->tid, ret->text, &ret->runs);
    // fs/proc/base.c, proc_pid_syscall(): the last two words, unless it is "running".
    const char *last = strrchr(ret->text, ' '), *before = last;
    while (before && before > ret->text && before[-1] != ' ')
        before--;
    if (!before || before == ret->text)
        return false;
    ret->pc = strtoull(last, NULL, 16);
    ret->sp = strtoull(before, NULL, 16);
    return true;
}

bool threads_look(struct thread_table *table, struct recorded_thread *thread)
{
    thread->sleeps_on = false;
    if (!live_read_runs(thread->schedstat, &thread->run_time, &thread->now_runs)) {
        thread->listed = false;
        table->links = 0;
        return false;
    }
    thread->sleeps_on = thread->now_runs && thread->asleep &&
                        thread->now_runs == thread->slept_runs &&
                        (thread->has_sample || !table->wants_waits);
    return !thread->sleeps_on;
}

enum thread_news threads_ask(struct recorded_thread *thread, struct capture_session *session,
                             struct thread_wait *ret_wait)
{
    if (thread->sleeps_on)
        return thread->has_sample ? THREAD_SLEPT : THREAD_WAITS;
    uint64_t own_runs = thread->was_stopped ? RUNS_OF_STOP : 0;
    bool waits = read_wait(thread, session, ret_wait);
    // It may have run since it was looked at, and slept then.
    thread->slept_on = ret_wait->runs != 0;
    if (thread->slept_on)
        thread->now_runs = ret_wait->runs;
    const uint64_t runs = thread->now_runs;
    const bool counted = runs != 0;
    bool unmoved = waits && counted && thread->has_sample && ret_wait->sp == thread->sp &&
                   ret_wait->pc == thread->pc && runs - thread->runs <= own_runs;
    if (!unmoved)
        thread->has_sample = false;
    // The count was read before: if it has run since, the next one is another.
    thread->asleep = waits && counted;
    thread->slept_runs = runs;
    if (!thread->has_sample)
        thread->runs = runs;
    return unmoved ? THREAD_SLEPT : waits ? THREAD_WAITS : THREAD_RAN;
}
