/* Threads that wait in the kernel: of these /proc tells where they are, without a stop. */
#include "live_private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define THREAD_LIMIT ((size_t)1000000)
/* Threads that slept are stopped so many at a time, when the others go on. */
#define SLEEPING_AT_ONCE 16
/* Files that stay open to read counts through, which takes half as long: so many, and this part of
 * those that may be open. */
#define SCHEDSTATS_KEPT 256u
#define SCHEDSTATS_PART 4u
/* One that the kernel holds is not waited for then. */
#define SLEEPING_LIMIT_NANOSECONDS INT64_C(2000000)
/* Bytes of a stack, from the stack pointer on, that tell whether it is the same one still. */
#define INNERMOST ((psc_addr)4096)

/* ---- what /proc tells ---- */

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
    char path[64], line[256];
    snprintf(path, sizeof(path), "%d/syscall", tid);
    int fd = openat(dirfd(stop->tasks), path, O_RDONLY | O_CLOEXEC);
    // It is one line, and whether more comes would ask the kernel for the thread once more.
    ssize_t got = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
    if (fd >= 0)
        close(fd);
    return got > 0 && line[got - 1] == '\n' && parse_waiting(line, (size_t)got, ret);
}

/* ---- where nothing can stop them ---- */

void stop_read_waiting(struct live_stop *stop)
{
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        if (!thread->stopped && !thread->gone && !thread->sleeps)
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

/* ---- those that sleep while the others are stopped ---- */

static int open_schedstat(const struct live_stop *stop, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/schedstat", tid);
    return openat(dirfd(stop->tasks), path, O_RDONLY | O_CLOEXEC);
}

/*
 * How often it was given a processor (kernel/sched/stats.h, sched_info_arrive()). False where the
 * kernel does not count, and for a thread that has ended.
 */
static bool read_runs(const struct live_stop *stop, const struct live_quiet *quiet, uint64_t *ret)
{
    uint64_t time;
    int fd = quiet->schedstat >= 0 ? quiet->schedstat : open_schedstat(stop, quiet->tid);
    bool counted = fd >= 0 && live_read_runs(fd, &time, ret) && *ret;
    if (fd >= 0 && fd != quiet->schedstat)
        close(fd);
    return counted;
}

void sleeping_forget(struct live_stop *stop)
{
    for (size_t i = 0; i < stop->quiet_count; i++)
        if (stop->quiet[i].schedstat >= 0)
            close(stop->quiet[i].schedstat);
    stop->quiet_count = 0;
}

static int compare_quiet(const void *left, const void *right)
{
    const struct live_quiet *a = left, *b = right;
    return COMPARE(a->tid, b->tid);
}

static size_t kept_schedstats(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur / SCHEDSTATS_PART >= SCHEDSTATS_KEPT)
        return SCHEDSTATS_KEPT;
    return (size_t)files.rlim_cur / SCHEDSTATS_PART;
}

void sleeping_note(struct live_stop *stop)
{
    const struct dirent *entry;
    const size_t kept = kept_schedstats();
    sleeping_forget(stop);
    rewinddir(stop->tasks);
    while ((entry = readdir(stop->tasks)) && stop->quiet_count < THREAD_LIMIT) {
        struct live_quiet quiet = {.tid = (pid_t)strtol(entry->d_name, NULL, 10), .schedstat = -1};
        void *items = stop->quiet;
        if (quiet.tid <= 0)
            continue;
        if (!array_reserve(&items, &stop->quiet_capacity, stop->quiet_count + 1, sizeof(quiet)))
            break; // It is found when the others stand.
        if (stop->quiet_count < kept)
            quiet.schedstat = open_schedstat(stop, quiet.tid);
        if (!read_runs(stop, &quiet, &quiet.runs))
            quiet.runs = 0;
        stop->quiet = items;
        stop->quiet[stop->quiet_count++] = quiet;
    }
    if (stop->quiet_count)
        qsort(stop->quiet, stop->quiet_count, sizeof(*stop->quiet), compare_quiet);
}

/* The part of its stack that is compared; false: where that is cannot be told. */
static bool find_innermost(const struct target *target, const struct live_thread *thread,
                           struct live_range *ret)
{
    struct target_registers registers;
    psc_addr pointer;
    parse_user_registers(target->machine, thread->registers, &registers, &pointer);
    psc_addr sp = target_sp(target, &registers);
    const struct target_mapping *mapping = target_find_mapping(target, sp);
    if (!registers.in_system_call || !mapping || !mapping->readable || !mapping->writable)
        return false;
    *ret = (struct live_range){sp, mapping->end - sp < INNERMOST ? mapping->end : sp + INNERMOST};
    return true;
}

/* The count is read before the place: with the same count later on it was there all the time. */
static bool is_asleep(const struct target *target, const struct live_quiet *quiet,
                      struct live_thread *thread)
{
    const struct live *live = live_of(target);
    struct live_range innermost;
    uint64_t runs;
    return quiet->runs && quiet->tid != live->memory_tid && read_runs(&live->stop, quiet, &runs) &&
           runs == quiet->runs && read_waiting(&live->stop, quiet->tid, thread->registers) &&
           find_innermost(target, thread, &innermost);
}

void sleeping_find(struct target *target, bool none)
{
    struct live_stop *stop = &live_of(target)->stop;
    stop->count = 0;
    for (size_t i = 0; i < stop->quiet_count; i++) {
        struct live_thread thread = {.tid = stop->quiet[i].tid};
        void *threads = stop->threads;
        thread.sleeps = !none && is_asleep(target, &stop->quiet[i], &thread);
        if (!array_reserve(&threads, &stop->capacity, stop->count + 1, sizeof(thread)))
            return; // It is found when the others stand.
        stop->threads = threads;
        stop->threads[stop->count++] = thread;
    }
}

/* False for one that has run since it was noted. */
static bool has_slept(const struct live_stop *stop, pid_t tid)
{
    const struct live_quiet *quiet = SORTED_FIND(stop->quiet, tid, stop->quiet_count, tid);
    uint64_t runs;
    return quiet && read_runs(stop, quiet, &runs) && runs == quiet->runs;
}

/* The next snapshot stops it with the others. */
static void leave_out(const struct live_stop *stop, pid_t tid)
{
    struct live_quiet *quiet = SORTED_FIND(stop->quiet, tid, stop->quiet_count, tid);
    if (quiet)
        quiet->runs = 0;
}

/* One that is stopped now. */
struct sleeper {
    struct live_thread *thread;
    uint8_t call[TARGET_USER_REGISTERS_LIMIT]; /* As /proc told it. */
    struct live_range innermost;
    uint8_t bytes[INNERMOST]; /* Of it. */
};

static size_t choose_sleepers(const struct target *target, struct live_thread *threads,
                              size_t count, struct sleeper *ret)
{
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        struct sleeper *sleeper = &ret[chosen];
        if (!threads[i].sleeps || !find_innermost(target, &threads[i], &sleeper->innermost))
            continue;
        sleeper->thread = &threads[i];
        memcpy(sleeper->call, threads[i].registers, sizeof(sleeper->call));
        chosen++;
    }
    return chosen;
}

/* What is there while they sleep: that they do is asked afterwards. */
static bool read_innermost(struct live *live, struct sleeper *sleepers, size_t count)
{
    struct live_range ranges[SLEEPING_AT_ONCE];
    uint8_t bytes[SLEEPING_AT_ONCE * INNERMOST], *at = bytes;
    for (size_t i = 0; i < count; i++)
        ranges[i] = sleepers[i].innermost;
    if (count && !stacks_peek(&live->stacks, &live->pages, live->memory_tid, ranges, count, bytes))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)(ranges[i].end - ranges[i].start);
        memcpy(sleepers[i].bytes, at, size);
        at += size;
    }
    return true;
}

static bool has_same_call(const struct sleeper *sleeper)
{
    const uint8_t *words = target_machine_here()->user_syscall_words;
    for (size_t i = 0; i < TARGET_SYSCALL_WORDS; i++) {
        const size_t at = words[i] * sizeof(uint64_t);
        if (memcmp(sleeper->call + at, sleeper->thread->registers + at, sizeof(uint64_t)) != 0)
            return false;
    }
    return true;
}

static bool has_same_stack(struct live *live, const struct sleeper *sleeper)
{
    psc_addr start = sleeper->innermost.start, size = sleeper->innermost.end - start, left;
    for (psc_addr at = 0; at < size; at += left) {
        psc_addr inside = (start + at) & (LIVE_PAGE - 1);
        const uint8_t *page = pages_find(&live->pages, start + at - inside);
        left = LIVE_PAGE - inside < size - at ? LIVE_PAGE - inside : size - at;
        if (!page || memcmp(page + inside, sleeper->bytes + at, (size_t)left) != 0)
            return false;
    }
    return true;
}

/* False where one of them cannot be stopped, or has moved. Some may be held then. */
static bool stop_sleepers(struct live_stop *stop, struct sleeper *sleepers, size_t count)
{
    bool stand = true;
    for (size_t i = 0; i < count && stand; i++) {
        pid_t tid = sleepers[i].thread->tid;
        stand = has_slept(stop, tid) && !ptrace(PTRACE_SEIZE, tid, NULL, NULL) &&
                !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
        if (!stand)
            leave_out(stop, tid);
    }
    for (size_t i = 0; i < count && stand; i++) {
        struct live_thread *thread = sleepers[i].thread;
        struct iovec registers = {thread->registers, sizeof(thread->registers)};
        stand = stop_wait(stop, thread, SLEEPING_LIMIT_NANOSECONDS) && !thread->gone &&
                !ptrace(PTRACE_GETREGSET, thread->tid, (void *)NT_PRSTATUS, &registers) &&
                has_same_call(&sleepers[i]);
        if (!stand)
            leave_out(stop, thread->tid);
    }
    return stand;
}

/* The registers of some, and their stacks. */
static enum psc_status take_some(struct target *target, struct live_thread *threads, size_t count,
                                 bool *ret_slept)
{
    struct live *live = live_of(target);
    struct sleeper sleepers[SLEEPING_AT_ONCE];
    enum psc_status status = PSC_OK;
    size_t chosen = choose_sleepers(target, threads, count, sleepers);
    *ret_slept =
        read_innermost(live, sleepers, chosen) && stop_sleepers(&live->stop, sleepers, chosen);
    if (*ret_slept)
        status = stacks_copy_threads(target, threads, count, true, NULL, 0);
    for (size_t i = 0; i < chosen; i++)
        if (sleepers[i].thread->stopped)
            ptrace(PTRACE_DETACH, sleepers[i].thread->tid, NULL,
                   (void *)(intptr_t)sleepers[i].thread->signal);
    for (size_t i = 0; i < chosen && *ret_slept; i++) {
        *ret_slept = has_same_stack(live, &sleepers[i]);
        if (!*ret_slept)
            leave_out(&live->stop, sleepers[i].thread->tid);
    }
    return status;
}

enum psc_status sleeping_take(struct target *target, bool *ret_slept)
{
    struct live_stop *stop = &live_of(target)->stop;
    enum psc_status status = PSC_OK;
    *ret_slept = true;
    for (size_t i = 0; i < stop->count; i++) {
        if (!stop->threads[i].sleeps || has_slept(stop, stop->threads[i].tid))
            continue;
        leave_out(stop, stop->threads[i].tid);
        *ret_slept = false;
    }
    for (size_t first = 0, end; first < stop->count && *ret_slept && status == PSC_OK;
         first = end) {
        size_t sleeping = 0;
        for (end = first; end < stop->count && sleeping < SLEEPING_AT_ONCE; end++)
            sleeping += stop->threads[end].sleeps;
        status = take_some(target, stop->threads + first, end - first, ret_slept);
    }
    return status;
}
