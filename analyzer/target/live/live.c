/* Snapshots of a living process: it stands still for a moment, or goes on. */
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define THREAD_STACK ((size_t)2 * 1024 * 1024)
/* Milliseconds in which everything is read once all threads stand still. */
#define HOLD_LIMIT 700
/* Snapshots when threads that slept wake up in the middle of them. */
#define SNAPSHOT_LIMIT 3
/* A process that does much never stands still for long enough. */
#define UNPAUSED_LIMIT 20
/* Another tracer is waited for so long; how often it is looked for. */
#define TRACER_LIMIT_MILLISECONDS 1000.
#define TRACER_POLL_NANOSECONDS   500000
/* A refusal without a tracer is one after so many tries. */
#define UNEXPLAINED_LIMIT 4

static double now_in_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct timespec time_of(double milliseconds)
{
    long seconds = (long)(milliseconds / 1e3);
    return (struct timespec){seconds, (long)((milliseconds - (double)seconds * 1e3) * 1e6)};
}

static int start_thread(void *(*run)(void *), void *argument, pthread_t *ret)
{
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error)
        return error;
    pthread_attr_setstacksize(&attributes, THREAD_STACK);
    error = pthread_create(ret, &attributes, run, argument);
    pthread_attr_destroy(&attributes);
    return error;
}

/* Once it has stood it goes on for as long, before it is stopped again. */
static void note_stand(struct live *live, double since)
{
    double stood = (double)live->stop.released / 1e6 - since;
    live->runs_until = now_in_milliseconds() + (stood < HOLD_LIMIT ? stood : HOLD_LIMIT);
}

static void let_run(const struct live *live)
{
    const struct timespec until = time_of(live->runs_until);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* ---- the stop ---- */

struct snapshot {
    struct target *target;
    const struct live_request *request;
    bool stop_all; /* Those that sleep, too. */
    bool moved;    /* One that slept has not done so all the time: nothing of it can be used. */
    double until;  /* It is let go then, in milliseconds of CLOCK_MONOTONIC. */
    int error;     /* errno: there is no thread to hold it. */
    enum psc_status status;
    int maps_error;
    /* Between the thread that holds the target and the one that reads. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool stands; /* Its registers are there, or the status says why not. */
    bool read;   /* Nothing more is wanted of it. */
};

static void snapshot_init(struct snapshot *snapshot)
{
    pthread_condattr_t clock;
    pthread_mutex_init(&snapshot->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&snapshot->changed, &clock);
    pthread_condattr_destroy(&clock);
}

static void snapshot_deinit(struct snapshot *snapshot)
{
    pthread_cond_destroy(&snapshot->changed);
    pthread_mutex_destroy(&snapshot->lock);
}

/* Memory that nobody serves must not hold the target; all of it takes as long as it takes. */
static void copy_for_core(struct target *target)
{
    struct live *live = live_of(target);
    save_read_libraries(target, false);
    live->held = false;
    live->pages.closed |= reader_is_over(live->reader);
    reader_set_limit(live->reader, 0);
    if (live->save.full)
        dump_copy(target);
}

/* ---- the thread that holds ---- */

/* Whoever takes the processor makes the target wait. Of this thread only, where it is allowed. */
static void put_first(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
    (void)setpriority(PRIO_PROCESS, 0, -20);
}

/* Nothing is read where that fails: the other thread is done at once. */
static void stop_and_tell(struct snapshot *snapshot)
{
    struct live *live = live_of(snapshot->target);
    struct live_pause *pause = &live->pause;
    double start = now_in_milliseconds();
    snapshot->status = stop_all(&live->stop);
    double stopped = now_in_milliseconds();
    pause->stop = stopped - start;
    if (snapshot->status == PSC_OK) {
        live->stop.vectors = snapshot->request->vectors;
        stop_read_registers(&live->stop);
        stop_read_waiting(&live->stop);
    }
    pause->registers = now_in_milliseconds() - stopped;
    pthread_mutex_lock(&snapshot->lock);
    snapshot->stands = true;
    pthread_cond_broadcast(&snapshot->changed);
    pthread_mutex_unlock(&snapshot->lock);
}

/*
 * The tracer of a thread is a thread: it alone can let go, and when it ends, the kernel lets go of
 * all that it held. It does nothing else, so that nothing that the other one does, sorting or
 * waiting for a processor, holds the target for longer.
 */
static void *hold_thread(void *argument)
{
    struct snapshot *snapshot = argument;
    struct live *live = live_of(snapshot->target);
    const struct timespec until = time_of(snapshot->until);
    put_first();
    stop_and_tell(snapshot);
    pthread_mutex_lock(&snapshot->lock);
    // All memory for a core file takes as long as it takes.
    while (!snapshot->read)
        if (live->save.taken && live->save.full)
            pthread_cond_wait(&snapshot->changed, &snapshot->lock);
        else if (pthread_cond_timedwait(&snapshot->changed, &snapshot->lock, &until) == ETIMEDOUT)
            break;
    // What is read from now on does not count: see pages_read().
    live->pages.closed |= !snapshot->read;
    pthread_mutex_unlock(&snapshot->lock);
    double start = now_in_milliseconds();
    stop_release(&live->stop);
    live->pause.resume = now_in_milliseconds() - start;
    return NULL;
}

/* ---- the thread that reads ---- */

static void read_standing(struct snapshot *snapshot)
{
    struct target *target = snapshot->target;
    struct live *live = live_of(target);
    struct live_pause *pause = &live->pause;
    double start = now_in_milliseconds();
    if (live->save.taken)
        snapshot->maps_error = live_read_file(live->maps_fd, &live->maps);
    double listed = now_in_milliseconds();
    pause->registers += listed - start;
    snapshot->status = stacks_copy_all(target);
    stop_check_waiting(&live->stop);
    if (snapshot->status == PSC_OK)
        snapshot->status = live_take_threads(target, true);
    double stacks = now_in_milliseconds();
    pause->stacks = stacks - listed;
    if (snapshot->status == PSC_OK && !live->stop.other_width)
        snapshot->request->visit(snapshot->request->context);
    double visited = now_in_milliseconds();
    pause->visit = visited - stacks;
    if (snapshot->status == PSC_OK && live->save.taken && !snapshot->maps_error)
        copy_for_core(target);
    pause->save = now_in_milliseconds() - visited;
}

/* Who has been let go in time did not stand for what was done afterwards. */
static void cut_pause(struct live_pause *pause, double after)
{
    double *parts[] = {&pause->save, &pause->visit, &pause->stacks, &pause->registers};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(parts) && after > 0; i++) {
        double part = *parts[i] < after ? *parts[i] : after;
        *parts[i] -= part;
        after -= part;
    }
}

static void read_while_held(struct snapshot *snapshot, pthread_t holder)
{
    struct live *live = live_of(snapshot->target);
    pthread_mutex_lock(&snapshot->lock);
    while (!snapshot->stands)
        pthread_cond_wait(&snapshot->changed, &snapshot->lock);
    pthread_mutex_unlock(&snapshot->lock);
    if (snapshot->status == PSC_OK)
        read_standing(snapshot);
    double end = now_in_milliseconds();
    pthread_mutex_lock(&snapshot->lock);
    snapshot->read = true;
    pthread_cond_broadcast(&snapshot->changed);
    pthread_mutex_unlock(&snapshot->lock);
    pthread_join(holder, NULL);
    cut_pause(&live->pause, end - ((double)live->stop.released / 1e6 - live->pause.resume));
}

/*
 * What did not have to be taken in the stop: the list of mappings, which is joined with that from
 * before it, and the threads that slept; this thread stops them.
 */
static void take_rest(struct snapshot *snapshot)
{
    struct live *live = live_of(snapshot->target);
    bool slept = true;
    if (!live->save.taken)
        snapshot->maps_error = live_read_file(live->maps_fd, &live->maps);
    bool closed = live->pages.closed;
    live->pages.closed = false;
    if (snapshot->status == PSC_OK && !live->stop.other_width)
        snapshot->status = sleeping_take(snapshot->target, &slept);
    live->pages.closed = closed;
    snapshot->moved = !slept;
    live->pause.threads = live->stop.count;
    live->pause.asleep = 0;
    for (size_t i = 0; i < live->stop.count; i++)
        live->pause.asleep += live->stop.threads[i].sleeps;
}

static void *snapshot_thread(void *argument)
{
    struct snapshot *snapshot = argument;
    struct live *live = live_of(snapshot->target);
    pthread_t holder;
    put_first();
    sleeping_find(snapshot->target, snapshot->stop_all);
    snapshot->target->stands = live->held = true;
    snapshot->until = now_in_milliseconds() + HOLD_LIMIT;
    reader_set_limit(live->reader, snapshot->until);
    snapshot->error = start_thread(hold_thread, snapshot, &holder);
    if (!snapshot->error)
        read_while_held(snapshot, holder);
    live->save.held_pages = live->pages.table.count;
    reader_set_limit(live->reader, 0);
    snapshot->target->stands = live->held = false;
    if (!snapshot->error) {
        take_rest(snapshot);
        note_stand(live, snapshot->until - HOLD_LIMIT);
    }
    return NULL;
}

/* Ctrl-Z must not stop this program while the target is stopped: it would stay stopped. */
static int run_snapshot(struct snapshot *snapshot)
{
    sigset_t all, stops, before, during;
    pthread_t thread;
    sigfillset(&all);
    sigemptyset(&stops);
    sigaddset(&stops, SIGTSTP);
    sigaddset(&stops, SIGTTIN);
    sigaddset(&stops, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stops, &before);
    pthread_sigmask(SIG_SETMASK, &all, &during);
    int error = start_thread(snapshot_thread, snapshot, &thread);
    pthread_sigmask(SIG_SETMASK, &during, NULL);
    if (!error)
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error ? error : snapshot->error;
}

/* Waits until nobody traces the thread any more. False: it took too long, and there is one. */
static bool wait_for_tracer(pid_t tid, struct live_tracer *last, double end)
{
    const struct timespec pause = {.tv_nsec = TRACER_POLL_NANOSECONDS};
    struct live_tracer tracer;
    while (live_find_tracer(tid, &tracer)) {
        if (tracer.pid)
            *last = tracer;
        if (now_in_milliseconds() >= end)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/*
 * ptrace(2): EPERM is the answer where another tracer is, and where none is allowed. Others that
 * look at the process stop it for milliseconds: they are waited for. Meanwhile nothing is held.
 */
static int run_when_free(struct snapshot *snapshot)
{
    const struct timespec pause = {.tv_nsec = TRACER_POLL_NANOSECONDS};
    struct live_stop *stop = &live_of(snapshot->target)->stop;
    double end = now_in_milliseconds() + TRACER_LIMIT_MILLISECONDS;
    size_t unexplained = 0;
    stop->tracer = (struct live_tracer){0};
    for (;;) {
        stop->refusal = 0;
        snapshot->stands = snapshot->read = false;
        int error = run_snapshot(snapshot);
        if (error || snapshot->status != PSC_ERR_IO || stop->refusal != EPERM)
            return error;
        if (!wait_for_tracer(stop->refused, &stop->tracer, end) || now_in_milliseconds() >= end)
            return 0;
        // One that has gone before it was seen.
        if (!stop->tracer.pid && ++unexplained == UNEXPLAINED_LIMIT)
            return 0;
        nanosleep(&pause, NULL);
    }
}

/* ---- mappings ---- */

/* `join`: with those that were there before and are not any more. */
static enum psc_status take_maps(struct target *target, bool join, bool *ret_changed,
                                 struct psc_error *err)
{
    struct live *live = live_of(target);
    struct target_mapping *before = target->mappings;
    size_t before_count = target->mapping_count;
    target->mappings = NULL;
    target->chained_count = 0;
    target->mapping_count = 0;
    enum psc_status status = live_take_maps(target, &live->files, &live->maps, live->root);
    *ret_changed =
        !live_same_modules(before, before_count, target->mappings, target->mapping_count);
    if (status == PSC_OK && join && !*ret_changed)
        status = live_join_maps(target, before, before_count);
    free(before);
    return psc_fail_status(err, status);
}

void live_note_threads(struct target *target)
{
    let_run(live_of(target));
    sleeping_note(&live_of(target)->stop);
}

enum psc_status live_prepare(struct target *target, bool *ret_changed, struct psc_error *err)
{
    struct live *live = live_of(target);
    live->pause = (struct live_pause){.prepare = now_in_milliseconds()};
    if (live->refusal) {
        target->warnings.count = 0;
        *ret_changed = false;
        return PSC_OK;
    }
    int error = live_read_file(live->maps_fd, &live->maps);
    if (error || !live->maps.size)
        return live_refuse_target(target, error ? error : ESRCH, err);
    pages_clear(&live->pages);
    target->warnings.count = 0; // Of the last snapshot.
    return take_maps(target, false, ret_changed, err);
}

static void warn_of_unread(struct target *target)
{
    const struct live *live = live_of(target);
    if (live->stop.cut)
        target_warn(target, "let-go",
                    "only %zu of its threads could be stopped in time: the others are missing",
                    live->stop.count);
    if (live->pages.closed)
        target_warn(target, "let-go",
                    "it was let go after %.1f s: what was not read by then is missing",
                    HOLD_LIMIT / 1e3);
    if (reader_was_late(live->reader))
        target_warn(target, "memory-waits",
                    "some of its memory could not be read in time (userfaultfd, a file system in "
                    "user space, or a slow disk): pages that are not in memory are left out");
}

/* The list as it is just before the stop. */
static enum psc_status refresh_maps(struct target *target, bool *ret_changed, struct psc_error *err)
{
    struct live *live = live_of(target);
    if (live_read_file(live->maps_fd, &live->maps) || !live->maps.size)
        return PSC_OK; // As it was.
    return take_maps(target, false, ret_changed, err);
}

/*
 * Threads that sleep are not stopped with the others. When one of them wakes up in the middle of
 * it, another snapshot is taken, the last one of all threads: as is the first one where the target
 * stands for longer, or where each register counts, and the second where the time has run out.
 */
static enum psc_status stop_and_copy(struct snapshot *snapshot, bool *ret_changed,
                                     struct psc_error *err)
{
    struct target *target = snapshot->target;
    struct live *live = live_of(target);
    snapshot->stop_all = live->save.taken || snapshot->request->vectors;
    for (live->pause.tries = 1;; live->pause.tries++) {
        bool changed = false;
        let_run(live);
        enum psc_status status = refresh_maps(target, &changed, err);
        if (status != PSC_OK)
            return status;
        *ret_changed |= changed;
        int error = run_when_free(snapshot);
        if (error)
            return psc_fail(err, PSC_ERR_IO,
                            "no thread can be started, for lack of memory or of threads: %s",
                            describe_errno(error, &(struct errno_text){0}));
        if (snapshot->status != PSC_OK || !snapshot->moved)
            return PSC_OK;
        snapshot->stop_all |= live->pause.tries + 1 >= SNAPSHOT_LIMIT || live->pages.closed;
        pages_clear(&live->pages);
        live->stacks.used = 0;
    }
}

enum psc_status live_snapshot(struct target *target, const struct live_request *request,
                              bool *ret_changed, struct psc_error *err)
{
    struct live *live = live_of(target);
    struct snapshot snapshot PSC_CLEANUP(snapshot_deinit) = {.target = target, .request = request};
    bool changed = false, changed_since = false;
    snapshot_init(&snapshot);
    live->save.taken = live->save.wanted && !request->passing;
    if (live->save.taken && !save_prepare(target))
        return psc_fail_memory(err);
    pages_clear(&live->pages);
    if (!prefetch_for_snapshot(target, request))
        return psc_fail_memory(err);
    live->pause.prepare = now_in_milliseconds() - live->pause.prepare;
    enum psc_status status = stop_and_copy(&snapshot, &changed, err);
    if (status != PSC_OK)
        return status;
    if (snapshot.status == PSC_ERR_MEMORY)
        return psc_fail_memory(err);
    if (snapshot.status != PSC_OK) {
        status = live_refuse_stop(&live->stop, err);
        live->pause.refused = status == PSC_ERR_IO;
        return status;
    }
    if (live->stop.other_width)
        return psc_fail(err, PSC_ERR_UNSUPPORTED, "process %d is a 32-bit one; only %s is handled",
                        live->pid, target_machine_titles());
    if (!snapshot.maps_error && live->maps.size)
        status = take_maps(target, !live->save.taken, &changed_since, err);
    if (status != PSC_OK)
        return status;
    *ret_changed = changed || changed_since;
    if (live_take_threads(target, false) != PSC_OK)
        return psc_fail_memory(err);
    for (size_t i = 0; i < target->thread_count; i++)
        target->threads[i].name = live_read_name(target, target->threads[i].tid);
    if (!target->thread_count && !live->stop.running)
        return live_refuse(live->pid, ESRCH, err);
    warn_of_unread(target);
    return PSC_OK;
}

enum psc_status live_snapshot_unpaused(struct target *target, const struct live_request *request,
                                       struct psc_error *err)
{
    struct live *live = live_of(target);
    struct live_pause *pause = &live->pause;
    size_t warnings = target->warnings.count;
    live_forget_seen(live);
    for (size_t i = 0; i < UNPAUSED_LIMIT; i++) {
        target->warnings.count = warnings;
        pages_clear(&live->pages);
        visit_now(target, request);
        pause->pages = live->pages.table.count;
        pause->changed = pages_count_changed(&live->pages, live->memory_tid);
        if (!pause->changed)
            break;
    }
    target->thread_count = 0;
    if (!pause->pages)
        return live_refuse(live->pid, ESRCH, err);
    warn_of_unread(target);
    return psc_fail_status(err, live_see_threads(live));
}
