/*
 * The half of a sample that takes rights: one thread is stopped, copied and let go. What is asked
 * for may come from a process that was taken over: each order is about threads of one process.
 */
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
#define LATE_LIMIT_NANOSECONDS INT64_C(5000000000)
/* Any signal that nobody else uses: it only ends waitpid(2). */
#define WAKE_SIGNAL SIGVTALRM
/* Copies of one that sleeps, and that wakes up each time; then it is stopped. */
#define ASLEEP_TRIES 3
/* Parts of the memory of which it is known what is there. */
#define WINDOW_LIMIT 65536

struct live_tracing {
    pid_t pid;
    int folder;    /* /proc/PID */
    timer_t timer; /* Ends a wait that takes too long. */
    bool has_timer;
    bool is_timed;   /* The timer runs. */
    pid_t own_child; /* The process, if this program has started it: whoever did takes its end. */
    pid_t late[LATE_THREADS];
    size_t late_count;
    struct thread_files files;
    struct live_reader *reader;    /* Of which pages are in memory; NULL until it is asked. */
    struct live_presence presence; /* In this moment: */
    uint64_t moment;
    psc_addr pages[LIVE_SAMPLE_PAGES]; /* That are to be copied, and are in memory. */
    size_t page_count;
    struct live_delivery delivery; /* What another process has is written, and never read. */
};

static void wake(int number)
{
    (void)number;
}

/* The signal interrupts this thread's waitpid(2) alone (SIGEV_THREAD_ID, timer_create(2)). */
static void create_timer(struct live_tracing *tracing)
{
    struct sigaction action = {.sa_handler = wake};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE_SIGNAL};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, WAKE_SIGNAL);
    tracing->has_timer = !sigaction(WAKE_SIGNAL, &action, NULL) &&
                         !pthread_sigmask(SIG_UNBLOCK, &own, NULL) &&
                         !timer_create(CLOCK_MONOTONIC, &event, &tracing->timer);
}

struct live_tracing *live_tracing_create(int32_t pid, int folder)
{
    struct live_tracing *tracing = calloc(1, sizeof(*tracing));
    if (!tracing)
        return NULL;
    tracing->pid = pid;
    tracing->folder = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    thread_files_init(&tracing->files, tracing->folder);
    create_timer(tracing);
    presence_init(&tracing->presence);
    tracing->own_child = live_read_parent(tracing->folder) == getpid() ? pid : 0;
    return tracing;
}

/* The signal that it was about to take, which is handed back; *ret_suspended: a group stop. */
static int signal_of(int status, uint32_t *ret_suspended)
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
static pid_t wait_for_thread(const struct live_tracing *tracing, pid_t tid, int *ret_status,
                             int options)
{
    siginfo_t info = {0};
    if (tid != tracing->own_child)
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
static void let_late_go(struct live_tracing *tracing)
{
    for (size_t i = 0; i < tracing->late_count;) {
        int status;
        uint32_t suspended;
        pid_t got = wait_for_thread(tracing, tracing->late[i], &status, WNOHANG);
        if (got > 0 && WIFSTOPPED(status))
            let_go(tracing->late[i], signal_of(status, &suspended));
        if (got)
            tracing->late[i] = tracing->late[--tracing->late_count];
        else
            i++;
    }
}

static bool is_late(const struct live_tracing *tracing, pid_t tid)
{
    for (size_t i = 0; i < tracing->late_count; i++)
        if (tracing->late[i] == tid)
            return true;
    return false;
}

void live_tracing_destroy(struct live_tracing *tracing)
{
    if (!tracing)
        return;
    // This thread stays their tracer, and nobody else will look after them; of those that are left
    // the kernel lets go when it ends.
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t since = live_now();
    for (let_late_go(tracing); tracing->late_count && live_now() - since < LATE_LIMIT_NANOSECONDS;
         let_late_go(tracing))
        nanosleep(&pause, NULL);
    if (tracing->has_timer)
        timer_delete(tracing->timer);
    thread_files_deinit(&tracing->files);
    presence_deinit(&tracing->presence);
    reader_destroy(tracing->reader);
    if (tracing->folder >= 0)
        close(tracing->folder);
    free(tracing);
}

static void set_timer(struct live_tracing *tracing, long nanoseconds)
{
    const struct itimerspec time = {.it_value.tv_nsec = nanoseconds,
                                    .it_interval.tv_nsec = nanoseconds};
    if (tracing->has_timer && tracing->is_timed != (nanoseconds != 0))
        timer_settime(tracing->timer, 0, &time, NULL);
    tracing->is_timed = nanoseconds != 0;
}

void live_tracing_rest(struct live_tracing *tracing)
{
    set_timer(tracing, 0);
}

/* True when it stands; *ret_status is that of waitpid(). */
static enum psc_status wait_for_stop(struct live_tracing *tracing, pid_t tid, int *ret_status)
{
    int64_t since = live_now();
    pid_t got = wait_for_thread(tracing, tid, ret_status, 0);
    while (got < 0 && errno == EINTR) {
        // It may have stopped just now.
        got = wait_for_thread(tracing, tid, ret_status, WNOHANG);
        if (!got && live_now() - since > STOP_LIMIT_NANOSECONDS)
            return PSC_ERR_LIMIT;
        if (!got)
            got = wait_for_thread(tracing, tid, ret_status, 0);
    }
    return got > 0 && WIFSTOPPED(*ret_status) ? PSC_OK : PSC_ERR_NOT_FOUND;
}

/* ---- what is copied ---- */

/* Of the process as it is now: after exec(3) it has another memory. */
static const struct live_reader *find_reader(struct live_tracing *tracing, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "task/%d", tid);
    const int folder =
        tracing->reader ? -1 : openat(tracing->folder, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        tracing->reader = reader_create(folder);
        close(folder);
    }
    return tracing->reader;
}

static size_t count_present(struct live_tracing *tracing, psc_addr page, size_t count)
{
    return tracing->reader ? presence_count(&tracing->presence, tracing->reader, page, count) : 0;
}

/* Asked before it stands: to read one that is not there may wait, and the thread with it. */
static void choose_pages(struct live_tracing *tracing, const struct live_order *order)
{
    tracing->page_count = 0;
    for (size_t i = 0, run; i < order->page_count; i += run) {
        const psc_addr *pages = order->pages + i;
        for (run = 1; i + run < order->page_count && pages[run] == pages[0] + run * LIVE_PAGE;)
            run++;
        for (size_t at = 0; at < run && tracing->page_count < LIVE_SAMPLE_PAGES;) {
            size_t present = count_present(tracing, pages[at], run - at);
            for (size_t end = at + present; at < end && tracing->page_count < LIVE_SAMPLE_PAGES;)
                tracing->pages[tracing->page_count++] = pages[at++];
            at++;
        }
    }
    // Most stacks are where they were: whether they are in memory is known before it stands.
    if (order->near)
        (void)count_present(tracing, order->near & ~(LIVE_PAGE - 1),
                            order->stack_size / (size_t)LIVE_PAGE + 1);
}

/* The part of the stack that is copied, in whole pages. */
static void choose_stack(struct live_tracing *tracing, const struct live_order *order, psc_addr sp,
                         struct live_delivery *ret)
{
    sp -= target_machine_here()->red_zone;
    ret->stack_start = sp & ~(LIVE_PAGE - 1);
    psc_addr end = (sp + order->stack_size + LIVE_PAGE - 1) & ~(LIVE_PAGE - 1);
    if (sp >= order->near_start && sp < order->near_end && order->near_end < end)
        end = order->near_end;
    if (end <= ret->stack_start)
        end = ret->stack_start + LIVE_PAGE;
    // A page that is not in memory may keep who reads it waiting, and the thread with him.
    size_t pages = (size_t)((end - ret->stack_start) / LIVE_PAGE);
    ret->stack_end = ret->stack_start + count_present(tracing, ret->stack_start, pages) * LIVE_PAGE;
}

static uint32_t add_range(struct iovec *ranges, uint32_t count, psc_addr start, size_t size)
{
    struct iovec *last = &ranges[count ? count - 1 : 0];
    if (count && (psc_addr)(uintptr_t)last->iov_base + last->iov_len == start) {
        last->iov_len += size;
        return count;
    }
    ranges[count] = (struct iovec){(void *)(uintptr_t)start, size};
    return count + 1;
}

/* The stack, then the pages, by one call. */
static void copy_memory(struct live_tracing *tracing, const struct live_order *order, psc_addr sp,
                        uint8_t *bytes, struct live_delivery *ret)
{
    struct iovec ranges[LIVE_SAMPLE_PAGES + 1];
    size_t pages = 0;
    choose_stack(tracing, order, sp, ret);
    const size_t stack = (size_t)(ret->stack_end - ret->stack_start);
    uint32_t count = add_range(ranges, 0, ret->stack_start, stack);
    for (size_t i = 0; i < tracing->page_count; i++) {
        psc_addr page = tracing->pages[i];
        if (page >= ret->stack_start && page < ret->stack_end)
            continue;
        count = add_range(ranges, count, page, (size_t)LIVE_PAGE);
        pages++;
    }
    const struct iovec local = {bytes, stack + pages * (size_t)LIVE_PAGE};
    ssize_t got = process_vm_readv(order->tid, &local, 1, ranges, count, 0);
    memcpy(ret->ranges, ranges, count * sizeof(*ranges));
    ret->range_count = count;
    ret->got = got > 0 ? (uint64_t)got : 0;
}

/* ---- the orders ---- */

static enum psc_status refuse(enum psc_status status, const struct psc_error *why,
                              struct live_delivery *ret)
{
    snprintf(ret->message, sizeof(ret->message), "%s", why->message);
    return status;
}

static enum psc_status seize(pid_t pid, pid_t tid, struct live_delivery *ret)
{
    struct psc_error why = {0};
    if (!ptrace(PTRACE_SEIZE, tid, NULL, NULL))
        return PSC_OK;
    if (errno == ESRCH)
        return PSC_ERR_NOT_FOUND;
    struct live_stop stop = {.pid = pid, .refusal = errno, .refused = tid};
    live_find_tracer(tid, &stop.tracer);
    // Not found: it has ended, and its parent has not asked for its exit status yet.
    return refuse(live_refuse_stop(&stop, &why), &why, ret);
}

/* Registers and memory; false: it was killed meanwhile, or is no 64-bit one. */
static bool copy_thread(struct live_tracing *tracing, const struct live_order *order,
                        uint8_t *bytes, struct live_delivery *ret)
{
    const struct target_machine *machine = target_machine_here();
    struct iovec registers = {ret->registers, sizeof(ret->registers)};
    struct target_registers parsed;
    psc_addr pointer;
    if (ptrace(PTRACE_GETREGSET, order->tid, (void *)NT_PRSTATUS, &registers) ||
        registers.iov_len != machine->user_size)
        return false;
    parse_user_registers(machine, ret->registers, &parsed, &pointer);
    copy_memory(tracing, order, parsed.value[machine->sp], bytes, ret);
    return true;
}

static enum psc_status stop_and_copy(struct live_tracing *tracing, const struct live_order *order,
                                     uint8_t *bytes, struct live_delivery *ret)
{
    const pid_t tid = order->tid;
    // Whoever is stopped can be noted, should it be late.
    if (is_late(tracing, tid) || tracing->late_count == LATE_THREADS)
        return PSC_ERR_LIMIT;
    enum psc_status status = seize(tracing->pid, tid, ret);
    if (status != PSC_OK)
        return status;
    int stopped = 0;
    // One timer for all waits of a moment, which ends them: it ticks until the end of that.
    set_timer(tracing, STOP_LIMIT_NANOSECONDS / 2);
    int64_t since = live_now();
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
        return PSC_ERR_NOT_FOUND;
    status = wait_for_stop(tracing, tid, &stopped);
    if (status == PSC_ERR_LIMIT)
        tracing->late[tracing->late_count++] = tid;
    if (status != PSC_OK)
        return status;
    int number = signal_of(stopped, &ret->suspended);
    bool copied = copy_thread(tracing, order, bytes, ret);
    let_go(tid, number);
    ret->stood = (uint64_t)(live_now() - since);
    return copied ? PSC_OK : PSC_ERR_NOT_FOUND;
}

/* Of one that waits, as its text has it; 0: it runs, or that is not known. */
static psc_addr find_waiting_sp(const struct live_delivery *delivery)
{
    const size_t word = target_machine_here()->user_syscall_words[TARGET_SYSCALL_WORDS - 2];
    uint8_t registers[TARGET_USER_REGISTERS_LIMIT];
    uint64_t sp = 0;
    if (parse_waiting(delivery->call, delivery->call_size, registers))
        memcpy(&sp, registers + word * sizeof(sp), sizeof(sp));
    return sp;
}

/* Which pages are in memory is asked anew in each moment, of the process as it is. */
static void begin_copies(struct live_tracing *tracing, const struct live_order *order)
{
    if (tracing->moment != order->moment || tracing->presence.windows.count > WINDOW_LIMIT)
        presence_forget(&tracing->presence);
    tracing->moment = order->moment;
    (void)find_reader(tracing, order->tid);
    choose_pages(tracing, order);
}

/* Asks what it does; false: there is no such thread in the process. */
static bool read_call(struct live_tracing *tracing, pid_t tid, struct live_delivery *ret)
{
    ssize_t size = thread_files_read_call(&tracing->files, tid, ret->call, sizeof(ret->call) - 1);
    ret->call_size = size > 0 ? (uint32_t)size : 0;
    ret->call[ret->call_size] = '\0';
    return size >= 0;
}

/*
 * Its memory as it was while it slept. One that wakes up meanwhile and sleeps again, as those do
 * that wait for the GIL, is copied anew; false: it woke up each time, or runs now.
 */
static bool copy_asleep(struct live_tracing *tracing, const struct live_order *order, psc_addr sp,
                        uint8_t *bytes, struct live_delivery *ret)
{
    uint64_t before = order->runs;
    for (int i = 0; sp && i < ASLEEP_TRIES; i++) {
        copy_memory(tracing, order, sp, bytes, ret);
        ret->copied = true;
        if (!before)
            return true; // Whoever asked knows the count alone.
        ret->runs = thread_files_read_runs(&tracing->files, order->tid);
        if (ret->runs == before || !ret->runs)
            return true;
        before = ret->runs;
        ret->copied = false;
        ret->runs = 0;
        sp = read_call(tracing, order->tid, ret) ? find_waiting_sp(ret) : 0;
    }
    return false;
}

/* Of a thread of the process: its text is that of no other one. */
static enum psc_status take_sample(struct live_tracing *tracing, const struct live_order *order,
                                   uint8_t *bytes, struct live_delivery *ret)
{
    static const char running[] = "running";
    let_late_go(tracing);
    if (!read_call(tracing, order->tid, ret))
        return PSC_ERR_NOT_FOUND;
    const bool asks = order->kind == LIVE_ORDER_CALL;
    const bool runs = !strncmp(ret->call, running, sizeof(running) - 1);
    const psc_addr sp = asks && order->copies && !runs ? find_waiting_sp(ret) : 0;
    if (asks && !sp && (!order->stops || !runs))
        return PSC_OK;
    begin_copies(tracing, order);
    if (order->kind == LIVE_ORDER_COPY) {
        copy_memory(tracing, order, order->sp, bytes, ret);
        ret->copied = true;
        return PSC_OK;
    }
    if (sp && (copy_asleep(tracing, order, sp, bytes, ret) || !order->stops))
        return PSC_OK;
    ret->stopped = true;
    return stop_and_copy(tracing, order, bytes, ret);
}

void live_tracing_do(struct live_tracing *tracing, const struct live_order *given, uint8_t *bytes,
                     struct live_delivery *ret)
{
    // Copied, and read once: whoever gives it may change it meanwhile.
    struct live_order order;
    memcpy(&order, given, offsetof(struct live_order, pages));
    __asm__ volatile("" : : "r"(&order) : "memory");
    if (order.page_count <= LIVE_SAMPLE_PAGES)
        memcpy(order.pages, given->pages, order.page_count * sizeof(*order.pages));
    __asm__ volatile("" : : "r"(&order) : "memory");
    struct live_delivery *delivery = &tracing->delivery;
    struct psc_error why = {0};
    enum psc_status status = PSC_ERR_ARGUMENT;
    memset(delivery, 0, offsetof(struct live_delivery, ranges));
    switch ((enum live_order_kind)order.kind) {
    case LIVE_ORDER_CALL:
    case LIVE_ORDER_STOP:
    case LIVE_ORDER_COPY:
        if (order.tid > 0 && order.page_count <= LIVE_SAMPLE_PAGES &&
            order.stack_size <= LIVE_SAMPLE_STACK)
            status = take_sample(tracing, &order, bytes, delivery);
        break;
    case LIVE_ORDER_LATE:
        let_late_go(tracing);
        status = PSC_OK;
        break;
    case LIVE_ORDER_REFUSE:
        status = refuse(live_refuse(tracing->pid, order.error, &why), &why, delivery);
        break;
    }
    delivery->status = status;
    delivery->late_count = (uint32_t)tracing->late_count;
    memcpy(ret, delivery,
           offsetof(struct live_delivery, ranges) +
               delivery->range_count * sizeof(*delivery->ranges));
}
