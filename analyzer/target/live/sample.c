/* One thread at a time: stopped, copied and let go, for who looks often. */
#include "live_private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* timer_create(2) names the member so, and musl has it; glibc 2.36 has only what it stands in. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* A thread in an uninterruptible wait is waited for no longer. */
#define STOP_LIMIT_NANOSECONDS 250000000
/* Threads that did not stop in time: they are let go as soon as they do. */
#define LATE_THREADS 64
/* The same, where nobody is left who would look after them: longer than a busy machine keeps a
   thread that may run from a processor. */
#define LATE_LIMIT_NANOSECONDS UINT64_C(5000000000)
/* Any signal that nobody else uses: it only ends waitpid(2). */
#define WAKE_SIGNAL SIGVTALRM

struct live_sampler {
    timer_t timer; /* Ends a wait that takes too long. */
    bool has_timer;
    bool is_timed;   /* The timer runs. */
    pid_t own_child; /* The process, if this program has started it: whoever did takes its end. */
    pid_t late[LATE_THREADS];
    size_t late_count;
    struct live_presence presence;     /* In this moment. */
    psc_addr pages[LIVE_SAMPLE_PAGES]; /* That are to be copied, and are in memory. */
    size_t page_count;
    struct iovec ranges[LIVE_SAMPLE_PAGES + 1]; /* What is copied. */
    size_t range_count;
    size_t got;           /* Bytes that were. */
    psc_addr stack_start; /* What was copied of the last stack. */
    psc_addr stack_end;
    size_t copied; /* Pages that are of the sample's moment. */
};

static uint64_t now_in_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wake(int number)
{
    (void)number;
}

/* The signal interrupts this thread's waitpid(2) alone (SIGEV_THREAD_ID, timer_create(2)). */
static void create_timer(struct live_sampler *sampler)
{
    struct sigaction action = {.sa_handler = wake};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE_SIGNAL};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, WAKE_SIGNAL);
    sampler->has_timer = !sigaction(WAKE_SIGNAL, &action, NULL) &&
                         !pthread_sigmask(SIG_UNBLOCK, &own, NULL) &&
                         !timer_create(CLOCK_MONOTONIC, &event, &sampler->timer);
}

/* proc(5), "stat": the parent is the second member behind the name. */
static pid_t read_parent(pid_t pid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static struct live_sampler *find_sampler(struct live *live)
{
    if (live->sampler)
        return live->sampler;
    live->sampler = calloc(1, sizeof(*live->sampler));
    if (!live->sampler)
        return NULL;
    create_timer(live->sampler);
    presence_init(&live->sampler->presence);
    live->sampler->own_child = read_parent(live->pid) == getpid() ? live->pid : 0;
    if (!live->stacks.bytes && !stacks_init(&live->stacks, 0))
        return NULL;
    return live->sampler;
}

/* The signal that it was about to take, which is handed back; *ret_suspended: a group stop. */
static int signal_of(int status, bool *ret_suspended)
{
    // ptrace(2): PTRACE_EVENT_STOP with another signal than SIGTRAP is a group stop.
    if (status >> 16 != 0) {
        *ret_suspended = WSTOPSIG(status) != SIGTRAP;
        return 0;
    }
    return WSTOPSIG(status);
}

static void let_go(pid_t tid, int number)
{
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)number);
}

/* As waitpid(2), but for the end of a process that this program has started, which stays. */
static pid_t wait_for_thread(const struct live_sampler *sampler, pid_t tid, int *ret_status,
                             int options)
{
    siginfo_t info = {0};
    if (tid != sampler->own_child)
        return waitpid(tid, ret_status, __WALL | options);
    if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOWAIT | __WALL | options))
        return -1;
    *ret_status = 0; // Of what has exited.
    if (!info.si_pid || info.si_code == CLD_EXITED || info.si_code == CLD_KILLED ||
        info.si_code == CLD_DUMPED)
        return info.si_pid;
    return waitpid(tid, ret_status, __WALL | WNOHANG);
}

/* Those that could not be stopped in time. */
static void let_late_go(struct live_sampler *sampler)
{
    for (size_t i = 0; i < sampler->late_count;) {
        int status;
        bool suspended;
        pid_t got = wait_for_thread(sampler, sampler->late[i], &status, WNOHANG);
        if (got > 0 && WIFSTOPPED(status))
            let_go(sampler->late[i], signal_of(status, &suspended));
        if (got)
            sampler->late[i] = sampler->late[--sampler->late_count];
        else
            i++;
    }
}

static bool is_late(const struct live_sampler *sampler, pid_t tid)
{
    for (size_t i = 0; i < sampler->late_count; i++)
        if (sampler->late[i] == tid)
            return true;
    return false;
}

void sampler_destroy(struct live_sampler *sampler)
{
    if (!sampler)
        return;
    // This thread stays their tracer, and nobody else will look after them; of those that are left
    // the kernel lets go when it ends.
    const struct timespec pause = {.tv_nsec = 1000000};
    uint64_t since = now_in_nanoseconds();
    for (let_late_go(sampler);
         sampler->late_count && now_in_nanoseconds() - since < LATE_LIMIT_NANOSECONDS;
         let_late_go(sampler))
        nanosleep(&pause, NULL);
    if (sampler->has_timer)
        timer_delete(sampler->timer);
    presence_deinit(&sampler->presence);
    free(sampler);
}

static void set_timer(struct live_sampler *sampler, long nanoseconds)
{
    const struct itimerspec time = {.it_value.tv_nsec = nanoseconds,
                                    .it_interval.tv_nsec = nanoseconds};
    if (sampler->has_timer && sampler->is_timed != (nanoseconds != 0))
        timer_settime(sampler->timer, 0, &time, NULL);
    sampler->is_timed = nanoseconds != 0;
}

/* True when it stands; *ret_status is that of waitpid(). */
static enum psc_status wait_for_stop(struct live_sampler *sampler, pid_t tid, int *ret_status)
{
    uint64_t since = now_in_nanoseconds();
    pid_t got = wait_for_thread(sampler, tid, ret_status, WNOHANG);
    while (!got) {
        // One timer for all waits of a moment: it ticks until the end of that.
        set_timer(sampler, STOP_LIMIT_NANOSECONDS / 2);
        got = wait_for_thread(sampler, tid, ret_status, 0);
        if (got > 0 || (got < 0 && errno != EINTR))
            break;
        // It may have stopped just now.
        got = wait_for_thread(sampler, tid, ret_status, WNOHANG);
        if (!got && now_in_nanoseconds() - since > STOP_LIMIT_NANOSECONDS)
            return PSC_ERR_LIMIT;
    }
    return got > 0 && WIFSTOPPED(*ret_status) ? PSC_OK : PSC_ERR_NOT_FOUND;
}

/* ---- what is copied ---- */

/* Asked before it stands: to read one that is not there may wait, and the thread with it. */
static void choose_pages(const struct live *live, const struct live_sample *sample)
{
    struct live_sampler *sampler = live->sampler;
    sampler->page_count = 0;
    for (size_t i = 0, run; i < sample->page_count; i += run) {
        const psc_addr *pages = sample->pages + i;
        for (run = 1; i + run < sample->page_count && pages[run] == pages[0] + run * LIVE_PAGE;)
            run++;
        for (size_t at = 0; at < run && sampler->page_count < LIVE_SAMPLE_PAGES;) {
            size_t present = presence_count(&sampler->presence, live->reader, pages[at], run - at);
            for (size_t end = at + present; at < end && sampler->page_count < LIVE_SAMPLE_PAGES;)
                sampler->pages[sampler->page_count++] = pages[at++];
            at++;
        }
    }
}

/* The part of the stack that is copied, in whole pages. */
static void choose_stack(const struct target *target, const struct target_thread *thread,
                         const struct live_sample *sample, struct live_range *ret)
{
    psc_addr sp = target_sp(target, &thread->registers) - target->machine->red_zone;
    const struct target_mapping *mapping = target_find_mapping(target, sp);
    size_t size = sample->stack_size < LIVE_SAMPLE_STACK ? sample->stack_size : LIVE_SAMPLE_STACK;
    ret->start = sp & ~(LIVE_PAGE - 1);
    ret->end = (sp + size + LIVE_PAGE - 1) & ~(LIVE_PAGE - 1);
    if (mapping && mapping->end < ret->end)
        ret->end = mapping->end;
    if (!mapping || ret->end <= ret->start)
        ret->end = ret->start + LIVE_PAGE;
    // A page that is not in memory may keep who reads it waiting, and the thread with him.
    size_t pages = (size_t)((ret->end - ret->start) / LIVE_PAGE);
    const struct live *live = live_of(target);
    ret->end =
        ret->start +
        presence_count(&live->sampler->presence, live->reader, ret->start, pages) * LIVE_PAGE;
}

static size_t add_range(struct iovec *ranges, size_t count, psc_addr start, size_t size)
{
    struct iovec *last = &ranges[count ? count - 1 : 0];
    if (count && (psc_addr)(uintptr_t)last->iov_base + last->iov_len == start) {
        last->iov_len += size;
        return count;
    }
    ranges[count] = (struct iovec){(void *)(uintptr_t)start, size};
    return count + 1;
}

/*
 * The stack, then the pages, by one call. The thread may stand meanwhile: what was copied is sorted
 * in when it runs again, by take_copied().
 */
static void copy_memory(struct target *target, const struct target_thread *thread,
                        const struct live_sample *sample)
{
    struct live *live = live_of(target);
    struct live_sampler *sampler = live->sampler;
    struct iovec *ranges = sampler->ranges;
    struct live_range stack;
    size_t count = 0, pages = 0;
    choose_stack(target, thread, sample, &stack);
    sampler->stack_start = stack.start;
    sampler->stack_end = stack.end;
    count = add_range(ranges, count, stack.start, (size_t)(stack.end - stack.start));
    for (size_t i = 0; i < sampler->page_count; i++) {
        psc_addr page = sampler->pages[i];
        if (page >= stack.start && page < stack.end)
            continue;
        count = add_range(ranges, count, page, (size_t)LIVE_PAGE);
        pages++;
    }
    size_t size = (size_t)(stack.end - stack.start) + pages * (size_t)LIVE_PAGE;
    const struct iovec local = {live->stacks.bytes, size};
    ssize_t got = process_vm_readv(sample->tid, &local, 1, ranges, count, 0);
    sampler->range_count = count;
    sampler->got = got > 0 ? (size_t)got : 0;
}

/* What could not be copied is read when it is wanted. */
static void take_copied(struct live *live)
{
    struct live_sampler *sampler = live->sampler;
    const uint8_t *bytes = live->stacks.bytes;
    size_t left = sampler->got;
    for (size_t i = 0; i < sampler->range_count && left >= LIVE_PAGE; i++) {
        const struct iovec *range = &sampler->ranges[i];
        for (size_t at = 0; at < range->iov_len && left >= LIVE_PAGE; at += LIVE_PAGE) {
            if (!pages_add(&live->pages, (psc_addr)(uintptr_t)range->iov_base + at, bytes))
                break;
            bytes += LIVE_PAGE;
            left -= LIVE_PAGE;
        }
    }
    sampler->range_count = sampler->got = 0;
    sampler->copied = live->pages.table.count;
}

/* Registers and memory; false: it was killed meanwhile, or is no 64-bit one. */
static bool copy_thread(struct target *target, const struct live_sample *sample)
{
    uint8_t bytes[TARGET_USER_REGISTERS_LIMIT];
    struct iovec registers = {bytes, sizeof(bytes)};
    struct target_thread *thread = &target->threads[0];
    if (ptrace(PTRACE_GETREGSET, sample->tid, (void *)NT_PRSTATUS, &registers) ||
        registers.iov_len != target->machine->user_size)
        return false;
    *thread = (struct target_thread){.tid = sample->tid};
    parse_user_registers(target->machine, bytes, &thread->registers, &thread->thread_pointer);
    copy_memory(target, thread, sample);
    target->thread_count = 1;
    return true;
}

/* ---- one that sleeps ---- */

/*
 * The count rises whenever the thread is given a processor (kernel/sched/stats.h,
 * sched_info_arrive()), and "syscall" was written while it had none (lib/syscall.c,
 * task_current_syscall()): with the same count behind the copy it had none in between.
 */
static bool copy_asleep(struct target *target, const struct live_sample *sample)
{
    const struct target_machine *machine = target->machine;
    const struct live_sleep *sleep = sample->sleep;
    uint8_t bytes[TARGET_USER_REGISTERS_LIMIT];
    struct target_thread *thread = &target->threads[0];
    uint64_t time, runs;
    psc_addr pointer;
    if (!sleep->runs || !sleep->thread_pointer ||
        !parse_waiting(sleep->call, sleep->call_size, bytes))
        return false;
    *thread = (struct target_thread){.tid = sample->tid, .thread_pointer = sleep->thread_pointer};
    parse_user_registers(machine, bytes, &thread->registers, &pointer);
    thread->registers.unknown = ((UINT64_C(1) << machine->register_count) - 1) &
                                ~(UINT64_C(1) << machine->sp | UINT64_C(1) << machine->pc);
    copy_memory(target, thread, sample);
    if (!live_read_runs(sleep->schedstat, &time, &runs) || runs != sleep->runs) {
        live_sample_nothing(target);
        return false;
    }
    take_copied(live_of(target));
    target->thread_count = 1;
    return true;
}

/* ---- the door ---- */

void live_read_directly(struct target *target)
{
    reader_read_directly(live_of(target)->reader);
    pages_expect_few(&live_of(target)->pages);
}

void live_sample_only_copied(struct target *target, bool only)
{
    live_of(target)->pages.closed = only;
}

void live_begin_moment(struct target *target)
{
    const struct live *live = live_of(target);
    live_sample_nothing(target);
    if (live->sampler)
        presence_forget(&live->sampler->presence);
}

void live_end_moment(struct target *target)
{
    struct live *live = live_of(target);
    if (live->sampler)
        set_timer(live->sampler, 0);
}

size_t live_late_pages(const struct target *target)
{
    const struct live *live = live_of(target);
    return live->pages.table.count - (live->sampler ? live->sampler->copied : 0);
}

bool live_was_late(const struct target *target, psc_addr start, size_t size)
{
    const struct live *live = live_of(target);
    size_t copied = live->sampler ? live->sampler->copied : 0;
    // What was copied stands first.
    for (size_t i = copied; i < live->pages.table.count; i++) {
        psc_addr page = pages_at(&live->pages, i)->address;
        if (page < start + size && start < page + LIVE_PAGE)
            return true;
    }
    return false;
}

static void sampler_forget(struct live_sampler *sampler)
{
    sampler->stack_start = sampler->stack_end = 0;
    sampler->copied = sampler->range_count = sampler->got = 0;
}

void live_sample_nothing(struct target *target)
{
    struct live *live = live_of(target);
    pages_clear(&live->pages);
    target->thread_count = 0;
    target->warnings.count = 0;
    if (live->sampler)
        sampler_forget(live->sampler);
}

void live_let_late_go(struct target *target)
{
    const struct live *live = live_of(target);
    if (live->sampler && live->sampler->late_count)
        let_late_go(live->sampler);
}

bool live_has_late(const struct target *target)
{
    const struct live *live = live_of(target);
    return live->sampler && live->sampler->late_count;
}

static enum psc_status seize(pid_t pid, pid_t tid, struct psc_error *err)
{
    if (!ptrace(PTRACE_SEIZE, tid, NULL, NULL))
        return PSC_OK;
    if (errno == ESRCH)
        return PSC_ERR_NOT_FOUND;
    struct live_stop stop = {.pid = pid, .refusal = errno, .refused = tid};
    live_find_tracer(tid, &stop.tracer);
    // Not found: it has ended, and its parent has not asked for its exit status yet.
    return live_refuse_stop(&stop, err);
}

enum psc_status live_sample_thread(struct target *target, struct live_sample *sample,
                                   struct psc_error *err)
{
    struct live *live = live_of(target);
    struct live_sampler *sampler = find_sampler(live);
    if (!sampler)
        return psc_fail_memory(err);
    if (!target->threads && !(target->threads = calloc(1, sizeof(*target->threads))))
        return psc_fail_memory(err);
    live_sample_nothing(target);
    let_late_go(sampler);
    sample->suspended = false;
    sample->stood = 0;
    // Whoever is stopped can be noted, should it be late.
    if (is_late(sampler, sample->tid) || sampler->late_count == LATE_THREADS)
        return PSC_ERR_LIMIT;
    choose_pages(live, sample);
    // Most stacks are where they were: whether they are in memory is known before it stands.
    if (sample->near)
        (void)presence_count(&sampler->presence, live->reader, sample->near & ~(LIVE_PAGE - 1),
                             sample->stack_size / (size_t)LIVE_PAGE + 1);
    if (sample->sleep && copy_asleep(target, sample))
        return PSC_OK;
    enum psc_status status = seize(live->pid, sample->tid, err);
    if (status != PSC_OK)
        return status;
    int stopped = 0;
    uint64_t since = now_in_nanoseconds();
    if (ptrace(PTRACE_INTERRUPT, sample->tid, NULL, NULL))
        return PSC_ERR_NOT_FOUND;
    status = wait_for_stop(sampler, sample->tid, &stopped);
    if (status == PSC_ERR_LIMIT)
        sampler->late[sampler->late_count++] = sample->tid;
    if (status != PSC_OK)
        return status;
    int number = signal_of(stopped, &sample->suspended);
    bool copied = copy_thread(target, sample);
    let_go(sample->tid, number);
    sample->stood = now_in_nanoseconds() - since;
    take_copied(live);
    return copied ? PSC_OK : PSC_ERR_NOT_FOUND;
}

size_t live_sample_pages(const struct target *target, psc_addr *ret, size_t limit)
{
    const struct live *live = live_of(target);
    const struct live_sampler *sampler = live->sampler;
    size_t listed = 0, count = 0;
    psc_addr *pages PSC_CLEANUP(cleanup_free) = pages_list_wanted(&live->pages, &listed);
    for (size_t i = 0; pages && i < listed && count < limit; i++)
        if (!sampler || pages[i] < sampler->stack_start || pages[i] >= sampler->stack_end)
            ret[count++] = pages[i];
    return count;
}
