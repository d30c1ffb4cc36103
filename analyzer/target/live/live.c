/* A living process as a target: looked at while it stands still for a moment. */
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

#define THREAD_STACK ((size_t)1024 * 1024)

static double now_in_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- memory ---- */

/*
 * The bytes of a file stand for its pages where nothing ever writes to them. While the target
 * stands still no file is looked for: that takes longer than to read the page.
 */
static const uint8_t *live_file_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    const struct live *live = target->backend;
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping || !mapping->file || mapping->writable)
        return NULL;
    struct target_file *file = mapping->file;
    if (!live->stands)
        target_file_open(target, file);
    uint64_t offset = mapping->offset + (address - mapping->start);
    if (!file->image || offset >= file->size || !target_file_offset_is_constant(file, offset))
        return NULL;
    uint64_t left = file->size - offset, page = LIVE_PAGE - (address & (LIVE_PAGE - 1));
    *ret_size = (size_t)(left < page ? left : page);
    return file->image + offset;
}

/* The bytes at an address and how many lie behind them in its page; NULL when not there. */
static const uint8_t *live_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    struct live *live = target->backend;
    psc_addr page = address & ~(LIVE_PAGE - 1);
    const uint8_t *bytes = pages_find(&live->pages, page);
    const uint8_t *constant = bytes ? NULL : live_file_piece(target, address, ret_size);
    if (constant)
        return constant;
    if (!bytes)
        bytes = pages_read(&live->pages, page);
    if (!bytes)
        return NULL;
    *ret_size = (size_t)(page + LIVE_PAGE - address);
    return bytes + (address - page);
}

static void live_close(struct target *target)
{
    struct live *live = target->backend;
    if (!live)
        return;
    target_drop_core(target);
    if (live->pages.memory >= 0)
        close(live->pages.memory);
    if (live->maps_fd >= 0)
        close(live->maps_fd);
    if (live->folder >= 0)
        close(live->folder);
    pages_deinit(&live->pages);
    stacks_deinit(&live->stacks);
    stop_deinit(&live->stop);
    free(live->wanted);
    free(live->maps.bytes);
    free(live);
}

const struct target_ops live_ops = {.piece = live_piece, .close = live_close};

/* ---- the look ---- */

struct snapshot {
    struct target *target;
    void (*visit)(void *context);
    void *context;
    enum psc_status status;
    int maps_error;
};

/* Of threads on another stack than their own the latter is copied, too: as soon as the first is. */
static void copy_home_stacks(struct target *target, const struct live_thread *const *threads,
                             struct live_range *others, size_t count)
{
    struct live *live = target->backend;
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct live_range home;
        if (ranges_find_home(target, threads[i], &others[i], &home))
            others[found++] = home;
    }
    if (found)
        stacks_copy(&live->stacks, &live->pages, live->memory_tid, others, found);
}

/* One call copies the stacks, and what was read before the stop and is going to be read again. */
static enum psc_status copy_stacks(struct target *target)
{
    struct live *live = target->backend;
    const struct live_save *save = &live->save;
    size_t threads = live->stop.count, count = 0, other_count = 0;
    size_t most = threads + live->wanted_count + (save->taken ? save->range_count + threads : 0);
    struct live_range *ranges PSC_CLEANUP(cleanup_free) = calloc(most + 1, sizeof(*ranges));
    struct live_range *others PSC_CLEANUP(cleanup_free) = calloc(threads + 1, sizeof(*others));
    const struct live_thread **movers PSC_CLEANUP(cleanup_free) =
        calloc(threads + 1, sizeof(*movers));
    if (!ranges || !others || !movers)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < threads; i++) {
        const struct live_thread *thread = &live->stop.threads[i];
        bool elsewhere;
        if ((!thread->stopped && !thread->waits) || thread->gone)
            continue;
        if (ranges_find_stack(target, thread, &ranges[count], &elsewhere)) {
            if (elsewhere) {
                others[other_count] = ranges[count];
                movers[other_count++] = thread;
            }
            count++;
        }
        if (save->taken && ranges_find_block(target, thread, &ranges[count]))
            count++;
    }
    for (size_t i = 0; save->taken && i < save->range_count; i++)
        ranges[count++] = save->ranges[i];
    if (live->wanted_count)
        memcpy(ranges + count, live->wanted, live->wanted_count * sizeof(*ranges));
    count += live->wanted_count;
    stacks_copy(&live->stacks, &live->pages, live->memory_tid, ranges, count);
    copy_home_stacks(target, movers, others, other_count);
    return PSC_OK;
}

static enum psc_status take_threads(struct target *target, bool standing);

static void hold_and_copy(struct snapshot *snapshot)
{
    struct target *target = snapshot->target;
    struct live *live = target->backend;
    struct target_pause *pause = &target->pause;
    double start = now_in_milliseconds();
    snapshot->status = stop_all(&live->stop);
    double stopped = now_in_milliseconds();
    pause->stop = stopped - start;
    if (snapshot->status != PSC_OK)
        return;
    live->stop.vectors = target->wants_vectors;
    stop_read_registers(&live->stop);
    stop_read_waiting(&live->stop);
    snapshot->maps_error = live_read_file(live->maps_fd, &live->maps);
    double registers = now_in_milliseconds();
    pause->registers = registers - stopped;
    snapshot->status = copy_stacks(target);
    stop_check_waiting(&live->stop);
    if (snapshot->status == PSC_OK)
        snapshot->status = take_threads(target, true);
    double stacks = now_in_milliseconds();
    pause->stacks = stacks - registers;
    if (snapshot->status == PSC_OK && snapshot->visit && !live->stop.other_width)
        snapshot->visit(snapshot->context);
    double visited = now_in_milliseconds();
    pause->visit = visited - stacks;
    if (snapshot->status == PSC_OK && live->save.taken) {
        save_read_libraries(target);
        if (live->save.full && !snapshot->maps_error)
            dump_copy(target);
    }
    pause->save = now_in_milliseconds() - visited;
}

/* The tracer of a thread is a thread: when it ends, the kernel lets go of all that it held. */
static void *snapshot_thread(void *argument)
{
    struct snapshot *snapshot = argument;
    struct live *live = snapshot->target->backend;
    prctl(PR_SET_TIMERSLACK, 1UL);
    // Of this thread only, where it is allowed: whoever takes the processor makes the target wait.
    (void)setpriority(PRIO_PROCESS, 0, -20);
    live->stands = true;
    hold_and_copy(snapshot);
    live->stands = false;
    double start = now_in_milliseconds();
    stop_release(&live->stop);
    snapshot->target->pause.resume = now_in_milliseconds() - start;
    return NULL;
}

/* Whoever stops us from the terminal must not stop us while the target stands: it would stay so. */
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
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (!error) {
        pthread_attr_setstacksize(&attributes, THREAD_STACK);
        error = pthread_create(&thread, &attributes, snapshot_thread, snapshot);
        pthread_attr_destroy(&attributes);
    }
    pthread_sigmask(SIG_SETMASK, &during, NULL);
    if (!error)
        pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* ---- threads ---- */

const char *live_read_name(struct target *target, pid_t tid)
{
    const struct live *live = target->backend;
    char path[64], name[64];
    snprintf(path, sizeof(path), "../%d/comm", tid);
    int fd = openat(live->folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return NULL;
    name[got] = '\0';
    name[strcspn(name, "\n")] = '\0';
    return arena_strdup(target->arena, name);
}

static void take_thread(struct target *target, const struct live_thread *from,
                        const char *unreadable)
{
    struct target_thread *thread = &target->threads[target->thread_count++];
    *thread = (struct target_thread){.tid = from->tid, .unreadable = unreadable};
    if (!unreadable)
        parse_user_registers(from->registers, &thread->registers, &thread->thread_pointer);
    if (!unreadable && from->stopped && from->fp_size == TARGET_VECTORS_SIZE) {
        const struct live *live = target->backend;
        thread->vectors = (const uint8_t *)arena_strndup(
            target->arena, live->stop.more.data + from->more_at, from->fp_size);
    }
    if (from->tid == target->process.pid && target->thread_count > 1) {
        struct target_thread main_thread = *thread;
        memmove(target->threads + 1, target->threads,
                (target->thread_count - 1) * sizeof(*target->threads));
        target->threads[0] = main_thread;
    }
}

/* How a thread that was not stopped is shown: without a unreadable, or why not. */
static const char *take_waiting(struct target *target, struct live_thread *thread)
{
    const char *unreadable =
        thread->waits ? NULL : live_unreadable_reason(target, thread->tid, true);
    thread->gone = !thread->waits && !unreadable;
    if (!thread->gone)
        target_warn(target, "thread-not-stopped",
                    "thread %d is in an uninterruptible wait in the kernel and could not be "
                    "stopped; %s",
                    thread->tid,
                    unreadable ? "its native stack is not shown"
                               : "its stack is shown by its stack pointer alone");
    return unreadable;
}

/* Of threads that were not stopped, which the core file of the look has, too. */
static void find_thread_pointers(struct target *target)
{
    struct live_stop *stop = &((struct live *)target->backend)->stop;
    target_search_thread_pointers(target);
    for (size_t i = 0; i < stop->count; i++)
        for (size_t j = 0; !stop->threads[i].stopped && j < target->thread_count; j++)
            if (target->threads[j].tid == stop->threads[i].tid)
                store_thread_pointer(target->threads[j].thread_pointer, stop->threads[i].registers);
}

/* `standing`: those that are stopped alone. The others, and names, may take longer. */
static enum psc_status take_threads(struct target *target, bool standing)
{
    struct live_stop *stop = &((struct live *)target->backend)->stop;
    bool waiting = false;
    free(target->threads);
    target->thread_count = 0;
    target->threads = calloc(stop->count + 1, sizeof(*target->threads));
    if (!target->threads)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < stop->count; i++) {
        struct live_thread *thread = &stop->threads[i];
        const char *unreadable = NULL;
        if (standing && !thread->stopped)
            continue;
        if (!thread->stopped && !thread->gone) {
            unreadable = take_waiting(target, thread);
            waiting |= !unreadable;
        }
        if (!thread->gone)
            take_thread(target, thread, unreadable);
    }
    if (waiting)
        find_thread_pointers(target);
    return PSC_OK;
}

/* ---- mappings ---- */

/* Files of code and where they are; data files come and go. */
static bool is_module_mapping(const struct target_mapping *mapping)
{
    return mapping->file && (mapping->executable || mapping->offset == 0);
}

static bool same_modules(const struct target_mapping *a, size_t a_count,
                         const struct target_mapping *b, size_t b_count)
{
    for (size_t i = 0, j = 0;; i++, j++) {
        while (i < a_count && !is_module_mapping(&a[i]))
            i++;
        while (j < b_count && !is_module_mapping(&b[j]))
            j++;
        if (i == a_count || j == b_count)
            return i == a_count && j == b_count;
        if (a[i].file != b[j].file || a[i].start != b[j].start || a[i].end != b[j].end)
            return false;
    }
}

static enum psc_status take_maps(struct target *target, bool *ret_changed, struct psc_error *err)
{
    const struct live *live = target->backend;
    struct target_mapping *before = target->mappings;
    size_t before_count = target->mapping_count;
    target->mappings = NULL;
    target->mapping_count = 0;
    enum psc_status status = live_take_maps(target, &live->maps, live->root);
    *ret_changed = !same_modules(before, before_count, target->mappings, target->mapping_count);
    free(before);
    return status == PSC_OK ? PSC_OK : psc_fail(err, status, "out of memory");
}

enum psc_status target_prepare_snapshot(struct target *target, bool *ret_changed,
                                        struct psc_error *err)
{
    struct live *live = target->backend;
    target->pause = (struct target_pause){.prepare = now_in_milliseconds()};
    if (target->refusal) {
        target->warnings.count = 0;
        *ret_changed = false;
        return PSC_OK;
    }
    int error = live_read_file(live->maps_fd, &live->maps);
    if (error || !live->maps.size)
        return live_refuse(live->pid, error ? error : ESRCH, err);
    pages_clear(&live->pages);
    target->warnings.count = 0; // Of the last look.
    return take_maps(target, ret_changed, err);
}

enum psc_status target_snapshot(struct target *target, void (*visit)(void *context), void *context,
                                bool *ret_changed, struct psc_error *err)
{
    struct live *live = target->backend;
    struct snapshot snapshot = {.target = target, .visit = visit, .context = context};
    live->stop.count = 0;
    live->stop.refusal = 0;
    live->save.taken = live->save.wanted && !target->tentative;
    if (live->save.taken && !save_prepare(target))
        return psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    pages_clear(&live->pages);
    if (!prefetch_for_snapshot(target, visit, context))
        return psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    target->pause.prepare = now_in_milliseconds() - target->pause.prepare;
    int error = run_snapshot(&snapshot);
    if (error)
        return psc_fail(err, PSC_ERR_IO,
                        "no thread can be started, for lack of memory or of threads: %s",
                        strerror(error));
    if (snapshot.status == PSC_ERR_MEMORY)
        return psc_fail(err, snapshot.status, "out of memory");
    if (snapshot.status != PSC_OK) {
        enum psc_status status =
            live_refuse_thread(live->pid, live->stop.refused, live->stop.refusal, err);
        target->pause.refused = status == PSC_ERR_IO;
        return status;
    }
    if (live->stop.other_width)
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "process %d is a 32-bit one; only x86-64 is handled", live->pid);
    if (!snapshot.maps_error && live->maps.size) {
        enum psc_status status = take_maps(target, ret_changed, err);
        if (status != PSC_OK)
            return status;
    }
    if (take_threads(target, false) != PSC_OK)
        return psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < target->thread_count; i++)
        target->threads[i].name = live_read_name(target, target->threads[i].tid);
    if (!target->thread_count && !live->stop.running)
        return live_refuse(live->pid, ESRCH, err);
    return PSC_OK;
}
