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

/* Pause where the end of another child would be told of again and again. */
#define OTHERS_NANOSECONDS 100000
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
    struct traced_memory memory;
    struct traced_order orders[LIVE_TOGETHER];
    size_t awaited; /* Of them, so many are. */
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
    traced_memory_init(&tracing->memory, tracing->folder);
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
    traced_memory_deinit(&tracing->memory);
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
static bool copy_thread(struct live_tracing *tracing, struct traced_order *one)
{
    const struct target_machine *machine = target_machine_here();
    struct live_delivery *ret = &one->delivery;
    struct iovec registers = {ret->registers, sizeof(ret->registers)};
    struct target_registers parsed;
    psc_addr pointer;
    if (ptrace(PTRACE_GETREGSET, one->order.tid, (void *)NT_PRSTATUS, &registers) ||
        registers.iov_len != machine->user_size)
        return false;
    parse_user_registers(machine, ret->registers, &parsed, &pointer);
    traced_memory_copy(&tracing->memory, one, parsed.value[machine->sp]);
    return true;
}

/* What is to be done with an order next. */
enum order_step { ORDER_DONE, ORDER_STOPS, ORDER_COPIES };

static enum order_step prepare_stop(struct live_tracing *tracing, struct traced_order *one)
{
    const pid_t tid = one->order.tid;
    one->delivery.stopped = true;
    // One timer for all waits of a moment, which ends them: it ticks until the end of that. No
    // thread stands while it is set.
    set_timer(tracing, STOP_LIMIT_NANOSECONDS / 2);
    // Whoever is stopped can be noted, should it be late.
    one->delivery.status =
        is_late(tracing, tid) || tracing->late_count + LIVE_TOGETHER > LATE_THREADS
            ? PSC_ERR_LIMIT
            : seize(tracing->pid, tid, &one->delivery);
    return one->delivery.status == PSC_OK ? ORDER_STOPS : ORDER_DONE;
}

static void ask_to_stop(struct live_tracing *tracing, struct traced_order *one)
{
    one->asked_at = live_now();
    one->awaited = !ptrace(PTRACE_INTERRUPT, one->order.tid, NULL, NULL);
    tracing->awaited += one->awaited;
    if (!one->awaited)
        one->delivery.status = PSC_ERR_NOT_FOUND;
}

/* `got` and `wait_status` are of waitpid(2). */
static void take_stopped(struct live_tracing *tracing, struct traced_order *one, pid_t got,
                         int wait_status)
{
    struct live_delivery *ret = &one->delivery;
    one->awaited = false;
    tracing->awaited--;
    ret->status = PSC_ERR_NOT_FOUND;
    if (got <= 0 || !WIFSTOPPED(wait_status))
        return;
    const int number = signal_of(wait_status, &ret->suspended);
    if (copy_thread(tracing, one))
        ret->status = PSC_OK;
    let_go(one->order.tid, number);
    ret->stood = (uint64_t)(live_now() - one->asked_at);
}

/* An awaited order whose thread stands, or has ended; NULL: there is none. */
static struct traced_order *find_standing(struct live_tracing *tracing, size_t count, int options,
                                          pid_t *ret_got, int *ret_status)
{
    for (size_t i = 0; i < count; i++) {
        struct traced_order *one = &tracing->orders[i];
        if (!one->awaited)
            continue;
        *ret_got = wait_for_thread(tracing, one->order.tid, ret_status, options);
        if (*ret_got > 0 || (*ret_got < 0 && errno != EINTR))
            return one;
    }
    return NULL;
}

/* Returns when one of them may stand, or the timer has ended the wait. */
static void await_any(const struct live_tracing *tracing, size_t count)
{
    const struct timespec pause = {.tv_nsec = OTHERS_NANOSECONDS};
    siginfo_t info = {0};
    bool is_own = false;
    if (waitid(P_ALL, 0, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL | __WNOTHREAD))
        return;
    for (size_t i = 0; i < count; i++)
        is_own |= tracing->orders[i].awaited && tracing->orders[i].order.tid == info.si_pid;
    // The end of another child is told of again and again.
    if (!is_own)
        nanosleep(&pause, NULL);
}

/* Whoever stands is copied, and let go, whatever the others do. */
static void take_all(struct live_tracing *tracing, size_t count)
{
    if (!tracing->awaited)
        return;
    const int64_t since = live_now();
    while (tracing->awaited) {
        int status = 0;
        pid_t got = 0;
        const bool alone = tracing->awaited == 1;
        struct traced_order *one =
            find_standing(tracing, count, alone ? 0 : WNOHANG, &got, &status);
        if (one)
            take_stopped(tracing, one, got, status);
        else if (live_now() - since > STOP_LIMIT_NANOSECONDS)
            break;
        else if (!alone)
            await_any(tracing, count);
    }
    for (size_t i = 0; i < count && tracing->awaited; i++) {
        struct traced_order *one = &tracing->orders[i];
        if (!one->awaited)
            continue;
        one->awaited = false;
        tracing->awaited--;
        one->delivery.status = PSC_ERR_LIMIT;
        tracing->late[tracing->late_count++] = one->order.tid;
    }
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
static bool copy_asleep(struct live_tracing *tracing, struct traced_order *one, psc_addr sp)
{
    struct live_delivery *ret = &one->delivery;
    uint64_t before = one->order.runs;
    for (int i = 0; sp && i < ASLEEP_TRIES; i++) {
        traced_memory_copy(&tracing->memory, one, sp);
        ret->copied = true;
        if (!before)
            return true; // Whoever asked knows the count alone.
        ret->runs = thread_files_read_runs(&tracing->files, one->order.tid);
        if (ret->runs == before || !ret->runs)
            return true;
        before = ret->runs;
        ret->copied = false;
        ret->runs = 0;
        sp = read_call(tracing, one->order.tid, ret) ? find_waiting_sp(ret) : 0;
    }
    return false;
}

static bool is_running(const struct live_delivery *delivery)
{
    static const char running[] = "running";
    return !strncmp(delivery->call, running, sizeof(running) - 1);
}

static bool is_of_thread(const struct live_order *order)
{
    return order->tid > 0 && order->page_count <= LIVE_SAMPLE_PAGES &&
           order->stack_size <= LIVE_SAMPLE_STACK;
}

/* Of a thread of the process: its text is that of no other one. */
static enum order_step look_at_thread(struct live_tracing *tracing, struct traced_order *one)
{
    const struct live_order *order = &one->order;
    struct live_delivery *ret = &one->delivery;
    if (!is_of_thread(order))
        return ORDER_DONE;
    ret->status = PSC_ERR_NOT_FOUND;
    if (!read_call(tracing, order->tid, ret))
        return ORDER_DONE;
    ret->status = PSC_OK;
    if (order->kind == LIVE_ORDER_STOP ||
        (order->kind == LIVE_ORDER_CALL && order->stops && is_running(ret)))
        return ORDER_STOPS;
    if (order->kind == LIVE_ORDER_COPY ||
        (order->copies && !is_running(ret) && find_waiting_sp(ret)))
        return ORDER_COPIES;
    return ORDER_DONE;
}

static enum order_step begin_order(struct live_tracing *tracing, struct traced_order *one)
{
    struct psc_error why = {0};
    one->delivery.status = PSC_ERR_ARGUMENT;
    switch ((enum live_order_kind)one->order.kind) {
    case LIVE_ORDER_CALL:
    case LIVE_ORDER_STOP:
    case LIVE_ORDER_COPY:
        return look_at_thread(tracing, one);
    case LIVE_ORDER_LATE:
        one->delivery.status = PSC_OK;
        break;
    case LIVE_ORDER_REFUSE:
        one->delivery.status =
            refuse(live_refuse(tracing->pid, one->order.error, &why), &why, &one->delivery);
        break;
    }
    return ORDER_DONE;
}

static void copy_waiting(struct live_tracing *tracing, struct traced_order *one)
{
    const struct live_order *order = &one->order;
    traced_memory_choose(&tracing->memory, one);
    if (order->kind == LIVE_ORDER_COPY) {
        traced_memory_copy(&tracing->memory, one, order->sp);
        one->delivery.copied = true;
    } else if (!copy_asleep(tracing, one, find_waiting_sp(&one->delivery)) && order->stops) {
        if (prepare_stop(tracing, one) == ORDER_STOPS)
            ask_to_stop(tracing, one);
    }
}

/* Copied, and read once: whoever gives it may change it meanwhile. */
static void take_in(struct traced_order *one, const struct live_errand *errand)
{
    const struct live_order *given = errand->order;
    memcpy(&one->order, given, offsetof(struct live_order, pages));
    __asm__ volatile("" : : "r"(&one->order) : "memory");
    if (one->order.page_count <= LIVE_SAMPLE_PAGES)
        memcpy(one->order.pages, given->pages, one->order.page_count * sizeof(*given->pages));
    __asm__ volatile("" : : "r"(&one->order) : "memory");
    memset(&one->delivery, 0, offsetof(struct live_delivery, ranges));
    one->bytes = errand->bytes;
    one->awaited = false;
}

static void hand_over(const struct live_tracing *tracing, struct traced_order *one,
                      struct live_delivery *ret)
{
    struct live_delivery *delivery = &one->delivery;
    delivery->late_count = (uint32_t)tracing->late_count;
    memcpy(ret, delivery,
           offsetof(struct live_delivery, ranges) +
               delivery->range_count * sizeof(*delivery->ranges));
}

void live_tracing_do(struct live_tracing *tracing, const struct live_errand *errands, size_t count)
{
    enum order_step steps[LIVE_TOGETHER];
    count = count < LIVE_TOGETHER ? count : LIVE_TOGETHER;
    let_late_go(tracing);
    for (size_t i = 0; i < count; i++) {
        take_in(&tracing->orders[i], &errands[i]);
        steps[i] = begin_order(tracing, &tracing->orders[i]);
        if (steps[i] == ORDER_STOPS) {
            traced_memory_choose(&tracing->memory, &tracing->orders[i]);
            steps[i] = prepare_stop(tracing, &tracing->orders[i]);
        }
    }
    // All that run are asked before one of them is waited for: while it has no processor the others
    // run on, and who is asked later is found where that one got it from him.
    for (size_t i = 0; i < count; i++)
        if (steps[i] == ORDER_STOPS)
            ask_to_stop(tracing, &tracing->orders[i]);
    take_all(tracing, count);
    for (size_t i = 0; i < count; i++) {
        if (steps[i] == ORDER_COPIES)
            copy_waiting(tracing, &tracing->orders[i]);
        take_all(tracing, count);
    }
    for (size_t i = 0; i < count; i++)
        hand_over(tracing, &tracing->orders[i], errands[i].ret);
}
