/* Stopping all threads of a process, and letting them go. */
#include "live_private.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
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

static int64_t now_in_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_late(int64_t since)
{
    return now_in_nanoseconds() - since > SEIZE_LIMIT_MILLISECONDS * INT64_C(1000000);
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

/* Seizes the threads that are not known yet; *ret_new says how many there were. */
static enum psc_status seize_new(struct live_stop *stop, int64_t since, size_t *ret_new)
{
    size_t sorted = stop->count;
    const struct dirent *entry;
    *ret_new = 0;
    rewinddir(stop->tasks);
    while ((entry = readdir(stop->tasks)) && stop->count < THREAD_LIMIT) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || is_known(stop, sorted, tid))
            continue;
        stop->cut = is_late(since);
        if (stop->cut)
            break;
        void *threads = stop->threads;
        if (!array_reserve(&threads, &stop->capacity, stop->count + 1, sizeof(*stop->threads)))
            return PSC_ERR_MEMORY;
        stop->threads = threads;
        if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
            int error = errno;
            if (error == ESRCH || is_ended(stop->pid, tid))
                continue;
            stop->refusal = error;
            stop->refused = tid;
            return PSC_ERR_IO;
        }
        struct live_thread *thread = &stop->threads[stop->count++];
        *thread = (struct live_thread){.tid = tid};
        thread->gone = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0;
        ++*ret_new;
    }
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
    return true;
}

/* One that only waits for a processor is waited for longer than one that the kernel holds. */
static bool is_overdue(const struct live_stop *stop, pid_t tid, int64_t since)
{
    return is_late(since) || (now_in_nanoseconds() - since > STOP_LIMIT_NANOSECONDS &&
                              read_state(stop->pid, tid) == 'D');
}

static void wait_for_all(struct live_stop *stop, int64_t since)
{
    const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
    stop->running = 0;
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        while (!thread->stopped && !thread->gone && !take_stop(thread)) {
            if (is_overdue(stop, thread->tid, since)) {
                stop->running++;
                break;
            }
            nanosleep(&pause, NULL);
        }
    }
}

enum psc_status stop_all(struct live_stop *stop)
{
    int64_t since = now_in_nanoseconds();
    stop->released = 0;
    stop->cut = false;
    // A thread that still runs may clone another behind the back of a list: only a list that was
    // begun while all of them stood, and shows nothing new, is complete.
    for (size_t i = 0; i < LIST_LIMIT; i++) {
        size_t found;
        enum psc_status status = seize_new(stop, since, &found);
        if (status != PSC_OK || (!found && i))
            return status;
        wait_for_all(stop, since);
        if (stop->cut)
            break;
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

/* ---- threads that wait in the kernel where nothing can stop them ---- */

/* Blanks, then a number, decimal or hexadecimal behind 0x; negative ones wrap around. */
static bool take_number(const char **at, uint64_t *ret)
{
    char *end;
    *ret = strtoull(*at, &end, 0);
    bool taken = end != *at;
    *at = end;
    return taken;
}

bool parse_waiting(const char *text, size_t size, uint8_t ret[TARGET_USER_REGISTERS_LIMIT])
{
    /*
     * fs/proc/base.c, proc_pid_syscall(): "running", "-1 sp pc" where it is in no system call, or
     * "number a1 a2 a3 a4 a5 a6 sp pc".
     */
    const uint8_t *words = target_machine_here()->user_syscall_words;
    uint64_t numbers[TARGET_SYSCALL_WORDS];
    char line[256];
    size_t count = 0;
    if (size >= sizeof(line))
        return false;
    memcpy(line, text, size);
    line[size] = '\0';
    for (const char *at = line; count < TARGET_SYSCALL_WORDS && take_number(&at, &numbers[count]);)
        count++;
    memset(ret, 0, TARGET_USER_REGISTERS_LIMIT);
    if (count != TARGET_SYSCALL_WORDS && (count != 3 || numbers[0] != UINT64_MAX))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t word = words[count == 3 && i ? TARGET_SYSCALL_WORDS - 3 + i : i];
        memcpy(ret + 8 * word, &numbers[i], sizeof(numbers[i]));
    }
    return true;
}

static bool read_waiting(const struct live_stop *stop, pid_t tid,
                         uint8_t ret[TARGET_USER_REGISTERS_LIMIT])
{
    char path[64];
    struct live_text text = {0};
    snprintf(path, sizeof(path), "%d/syscall", tid);
    bool waits = !live_read_path(dirfd(stop->tasks), path, &text) && text.size &&
                 parse_waiting(text.bytes, text.size, ret);
    free(text.bytes);
    return waits;
}

void stop_read_waiting(struct live_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        if (!thread->stopped && !thread->gone)
            thread->waits = read_waiting(stop, thread->tid, thread->registers);
    }
}

void stop_check_waiting(struct live_stop *stop)
{
    uint8_t now[TARGET_USER_REGISTERS_LIMIT];
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        if (thread->waits)
            thread->waits = read_waiting(stop, thread->tid, now) &&
                            !memcmp(now, thread->registers, sizeof(now));
    }
}

/* ---- the end ---- */

void stop_release(struct live_stop *stop)
{
    for (size_t i = 0; i < stop->count && !stop->released; i++)
        if (stop->threads[i].stopped)
            ptrace(PTRACE_DETACH, stop->threads[i].tid, NULL,
                   (void *)(intptr_t)stop->threads[i].signal);
    stop->released = stop->released ? stop->released : now_in_nanoseconds();
}

void stop_deinit(struct live_stop *stop)
{
    if (stop->tasks)
        closedir(stop->tasks);
    free(stop->threads);
    text_deinit(&stop->more);
    *stop = (struct live_stop){0};
}
