/* Stopping all threads of a process, and letting them go. */
#include "live_private.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define THREAD_LIMIT ((size_t)1000000)
/* A thread in an uninterruptible wait holds the others no longer than this. */
#define STOP_LIMIT_NANOSECONDS INT64_C(300000000)
/* Nor one that gets no processor longer than this; nor do more threads than can be met by then. */
#define SEIZE_LIMIT_MILLISECONDS 500
#define POLL_NANOSECONDS         20000
/* Lists of the threads until one has nothing that is new. */
#define LIST_LIMIT 1000
/* XSAVE areas are 2.5 KB with AVX-512 and 11 KB with AMX. */
#define EXTENDED_LIMIT 32768

int64_t live_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_late(int64_t since)
{
    return live_now() - since > SEIZE_LIMIT_MILLISECONDS * INT64_C(1000000);
}

static int compare_threads(const void *left, const void *right)
{
    const struct live_thread *a = left, *b = right;
    return COMPARE(a->tid, b->tid);
}

/* The first `sorted` threads are in order. */
static bool is_known(const struct live_stop *stop, size_t sorted, pid_t tid)
{
    return SORTED_FIND(stop->threads, tid, sorted, tid) != NULL;
}

/* proc(5): the letter behind the name, which may hold anything; 'X' when it is gone. */
static char read_state(pid_t pid, pid_t tid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
    FILE *file = fopen(path, "re");
    if (!file)
        return 'X';
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] ? name_end[2] : 'X';
}

/* A thread that has ended but is still listed: nothing to stop. */
static bool is_ended(pid_t pid, pid_t tid)
{
    char state = read_state(pid, tid);
    return state == 'Z' || state == 'X';
}

/* False: it may not be stopped. */
static bool seize(struct live_stop *stop, struct live_thread *thread)
{
    thread->seized = !ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL);
    int error = thread->seized ? 0 : errno;
    thread->gone = error == ESRCH || (error && is_ended(stop->pid, thread->tid));
    if (thread->seized || thread->gone)
        return true;
    stop->refusal = error;
    stop->refused = thread->tid;
    return false;
}

/* Those of which it is known before that they are there: all are told, then waited for. */
static enum psc_status seize_known(struct live_stop *stop, int64_t since)
{
    size_t kept = 0;
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        stop->cut |= !thread->sleeps && is_late(since);
        if (!thread->sleeps && stop->cut)
            continue;
        if (!thread->sleeps && !seize(stop, thread))
            return PSC_ERR_IO;
        stop->threads[kept++] = *thread;
    }
    stop->count = kept;
    for (size_t i = 0; i < kept; i++)
        if (stop->threads[i].seized)
            stop->threads[i].gone = ptrace(PTRACE_INTERRUPT, stop->threads[i].tid, NULL, NULL) != 0;
    return PSC_OK;
}

/* Seizes the threads that are not known yet; *ret_new says how many there were. */
static enum psc_status seize_new(struct live_stop *stop, int64_t since, size_t *ret_new)
{
    size_t sorted = stop->count;
    const struct dirent *entry;
    *ret_new = 0;
    rewinddir(stop->tasks);
    while ((entry = readdir(stop->tasks)) && stop->count < THREAD_LIMIT) {
        struct live_thread thread = {.tid = (pid_t)strtol(entry->d_name, NULL, 10)};
        if (thread.tid <= 0 || is_known(stop, sorted, thread.tid))
            continue;
        stop->cut = is_late(since);
        if (stop->cut)
            break;
        void *threads = stop->threads;
        if (!array_reserve(&threads, &stop->capacity, stop->count + 1, sizeof(*stop->threads)))
            return PSC_ERR_MEMORY;
        stop->threads = threads;
        if (!seize(stop, &thread))
            return PSC_ERR_IO;
        if (thread.gone)
            continue;
        thread.gone = ptrace(PTRACE_INTERRUPT, thread.tid, NULL, NULL) != 0;
        stop->threads[stop->count++] = thread;
        ++*ret_new;
    }
    if (*ret_new)
        qsort(stop->threads, stop->count, sizeof(*stop->threads), compare_threads);
    return PSC_OK;
}

/* False while it runs. */
static bool take_stop(struct live_thread *thread)
{
    int status;
    pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);
    if (!got || (got < 0 && errno == EINTR))
        return false;
    if (got < 0 || !WIFSTOPPED(status)) {
        thread->gone = true;
        return true;
    }
    thread->stopped = true;
    // ptrace(2): PTRACE_EVENT_STOP is our interrupt or a group stop, which goes on afterwards;
    // without an event the thread is on its way into a signal handler.
    if (status >> 16 == 0)
        thread->signal = WSTOPSIG(status);
    else if (WSTOPSIG(status) != SIGTRAP)
        thread->group_stop = WSTOPSIG(status);
    return true;
}

/* One that only waits for a processor is waited for longer than one that the kernel holds. */
static bool is_overdue(const struct live_stop *stop, pid_t tid, int64_t since, int64_t limit)
{
    return is_late(since) || (live_now() - since > limit && read_state(stop->pid, tid) == 'D');
}

static bool wait_since(const struct live_stop *stop, struct live_thread *thread, int64_t since,
                       int64_t limit)
{
    const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
    while (!thread->stopped && !thread->gone && !take_stop(thread)) {
        if (is_overdue(stop, thread->tid, since, limit))
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

bool stop_wait(const struct live_stop *stop, struct live_thread *thread, int64_t limit)
{
    return wait_since(stop, thread, live_now(), limit);
}

static void wait_for_all(struct live_stop *stop, int64_t since)
{
    stop->running = 0;
    for (size_t i = 0; i < stop->count; i++)
        if (!stop->threads[i].sleeps &&
            !wait_since(stop, &stop->threads[i], since, STOP_LIMIT_NANOSECONDS))
            stop->running++;
}

/*
 * All that there are: as many as the kernel has (fs/proc/base.c, proc_task_getattr(): links of the
 * folder, two of them its own), and each known one is there. One that was taken for asleep and has
 * ended since is found out later, by sleeping_take().
 */
static bool has_all(const struct live_stop *stop)
{
    struct stat folder;
    size_t there = 0;
    for (size_t i = 0; i < stop->count; i++)
        there += stop->threads[i].sleeps || stop->threads[i].stopped;
    return there && !fstat(dirfd(stop->tasks), &folder) && folder.st_nlink == there + 2;
}

enum psc_status stop_all(struct live_stop *stop)
{
    int64_t since = live_now();
    stop->released = 0;
    stop->cut = false;
    enum psc_status status = seize_known(stop, since);
    if (status != PSC_OK)
        return status;
    wait_for_all(stop, since);
    // A thread that still runs may clone another behind the back of a list: only a list that was
    // begun while all of them stood, and shows nothing new, is complete.
    for (size_t i = 0; i < LIST_LIMIT && !stop->cut && !has_all(stop); i++) {
        size_t found;
        status = seize_new(stop, since, &found);
        if (status != PSC_OK || (!found && (i || stop->count)))
            return status;
        wait_for_all(stop, since);
    }
    return PSC_OK;
}

/* The kernel says how much of the room it used. */
static size_t read_register_set(struct live_stop *stop, pid_t tid, int set)
{
    char bytes[EXTENDED_LIMIT];
    struct iovec registers = {bytes, sizeof(bytes)};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)(intptr_t)set, &registers))
        return 0;
    text_add(&stop->more, bytes, registers.iov_len);
    return stop->more.failed ? 0 : registers.iov_len;
}

static void read_other_registers(struct live_stop *stop, struct live_thread *thread)
{
    thread->more_at = stop->more.size;
    thread->fp_size = read_register_set(stop, thread->tid, NT_PRFPREG);
    if (stop->all_registers)
        thread->extended_size =
            read_register_set(stop, thread->tid, (int)target_machine_here()->extended_note);
}

const struct live_thread *stop_find(const struct live_stop *stop, pid_t tid)
{
    return SORTED_FIND(stop->threads, tid, stop->count, tid);
}

void stop_read_registers(struct live_stop *stop)
{
    text_clear(&stop->more);
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        struct iovec registers = {thread->registers, sizeof(thread->registers)};
        if (!thread->stopped)
            continue;
        if (ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &registers))
            thread->gone = true; /* Killed while it was stopped. */
        else if (registers.iov_len != target_machine_here()->user_size)
            stop->other_width = true;
        else if (stop->all_registers || stop->vectors)
            read_other_registers(stop, thread);
    }
}

/* ---- the end ---- */

void stop_release(struct live_stop *stop)
{
    for (size_t i = 0; i < stop->count && !stop->released; i++)
        if (stop->threads[i].stopped)
            ptrace(PTRACE_DETACH, stop->threads[i].tid, NULL,
                   (void *)(intptr_t)stop->threads[i].signal);
    stop->released = stop->released ? stop->released : live_now();
}

void stop_deinit(struct live_stop *stop)
{
    if (stop->tasks)
        closedir(stop->tasks);
    free(stop->threads);
    free(stop->quiet);
    text_deinit(&stop->more);
    *stop = (struct live_stop){0};
}
