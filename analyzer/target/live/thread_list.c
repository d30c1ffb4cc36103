/* The threads of a process: as a stop found them, or what everybody may know of them; what is
 * copied of one. */
#include "live_private.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

/* Threads whose files are kept open; with more of them they are opened each time. */
#define KEPT_THREADS 512
/* Of so many of them both files, as long as others can be opened beside them. */
#define KEPT_RUNS   256
#define SPARE_FILES 64

#define THREAD_LIMIT ((size_t)1000000)
/* Parts of the memory of which it is known what is there. */
#define WINDOW_LIMIT 65536

/* The first line of a small file of a thread; empty when it cannot be read. */
static void read_line(const struct live *live, pid_t tid, const char *name, char *line, size_t size)
{
    char path[64];
    struct live_text text = {0};
    snprintf(path, sizeof(path), "%d/%s", tid, name);
    (void)live_read_path(dirfd(live->stop.tasks), path, &text);
    size_t length = 0;
    while (length < text.size && length < size - 1 && text.bytes[length] != '\n')
        length++;
    if (length)
        memcpy(line, text.bytes, length);
    line[length] = '\0';
    free(text.bytes);
}

/* proc(5): the letter behind the name; NULL for one that has ended. */
static const char *describe_state(char letter)
{
    switch (letter) {
    case 'R':
        return "it is running";
    case 'S':
        return "it is sleeping";
    case 'D':
        return "it is in an uninterruptible wait";
    case 'T':
        return "it is stopped by a signal";
    case 't':
        return "it is stopped by its tracer";
    case 'I':
        return "it is idle";
    case 'Z':
    case 'X':
    case '\0':
        return NULL;
    default:
        return "it is in another state";
    }
}

/*
 * Why a thread has neither registers nor stack, with what /proc says of what it does. In the
 * target's arena; NULL when it has ended.
 * `uninterruptible`: it could not be stopped; else nobody was allowed to.
 */
static const char *find_unreadable_reason(struct target *target, pid_t tid, bool uninterruptible)
{
    const struct live *live = live_of(target);
    char stat[512], wait_channel[128];
    read_line(live, tid, "stat", stat, sizeof(stat));
    const char *end = strrchr(stat, ')');
    const char *state = describe_state(end && end[1] ? end[2] : '\0');
    if (!state)
        return NULL;
    // The kernel's function it waits in; "0" when it does not wait, or for who may not know.
    read_line(live, tid, "wchan", wait_channel, sizeof(wait_channel));
    bool known = isalpha((unsigned char)wait_channel[0]) || wait_channel[0] == '_';
    return arena_printf(
        target->arena, "%s; %s%s%s%s",
        uninterruptible ? "it could not be stopped, and its stack not be read"
                        : "its stack cannot be read without the right to trace the process",
        state, known ? " in the kernel (" : "", known ? wait_channel : "", known ? ")" : "");
}

const char *live_read_name(struct target *target, pid_t tid)
{
    const struct live *live = live_of(target);
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
        parse_user_registers(target->machine, from->registers, &thread->registers,
                             &thread->thread_pointer);
    if (!unreadable && from->stopped && from->fp_size == target->machine->vectors_size) {
        const struct live *live = live_of(target);
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

/* Why a thread that was not stopped has no stack; NULL: it has one. Warns of it either way. */
static const char *take_waiting(struct target *target, struct live_thread *thread)
{
    const char *unreadable =
        thread->waits ? NULL : find_unreadable_reason(target, thread->tid, true);
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

/* Those of threads that were not stopped; the core file of the snapshot has them, too. */
static void find_thread_pointers(struct target *target)
{
    struct live_stop *stop = &live_of(target)->stop;
    target_search_thread_pointers(target);
    for (size_t i = 0; i < stop->count; i++)
        for (size_t j = 0; !stop->threads[i].stopped && j < target->thread_count; j++)
            if (target->threads[j].tid == stop->threads[i].tid)
                store_thread_pointer(target->machine, target->threads[j].thread_pointer,
                                     stop->threads[i].registers);
}

enum psc_status live_take_threads(struct target *target, bool standing)
{
    struct live_stop *stop = &live_of(target)->stop;
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

enum psc_status live_list_threads(struct target *target, struct psc_error *err)
{
    struct live *live = live_of(target);
    const struct dirent *entry;
    size_t capacity = 0;
    free(target->threads);
    target->threads = NULL;
    target->thread_count = 0;
    rewinddir(live->stop.tasks);
    while ((entry = readdir(live->stop.tasks)) && target->thread_count < THREAD_LIMIT) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        const char *unreadable = tid > 0 ? find_unreadable_reason(target, tid, false) : NULL;
        void *threads = target->threads;
        if (!unreadable)
            continue;
        if (!array_reserve(&threads, &capacity, target->thread_count + 1, sizeof(*target->threads)))
            return psc_fail_memory(err);
        target->threads = threads;
        target->threads[target->thread_count++] = (struct target_thread){
            .tid = tid, .name = live_read_name(target, tid), .unreadable = unreadable};
    }
    if (arena_is_exhausted(target->arena))
        return psc_fail_memory(err);
    return target->thread_count ? PSC_OK : live_refuse(live->pid, ESRCH, err);
}

/* Documentation/scheduler/sched-stats.rst: time on a processor, time waiting for one, how often. */
bool live_read_runs(int schedstat, uint64_t *ret_nanoseconds, uint64_t *ret_runs)
{
    char text[96];
    *ret_nanoseconds = *ret_runs = 0;
    if (schedstat < 0)
        return true;
    ssize_t got = pread(schedstat, text, sizeof(text) - 1, 0);
    if (got <= 0)
        return false;
    text[got] = '\0';
    char *at = text;
    *ret_nanoseconds = strtoull(at, &at, 10);
    (void)strtoull(at, &at, 10);
    *ret_runs = strtoull(at, &at, 10);
    return true;
}

pid_t live_read_parent(int folder)
{
    char text[512];
    int fd = openat(folder, "stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* ---- files that are kept open: each is of that thread alone, whoever gets its id later ---- */

struct thread_file {
    uint64_t tid; /* The key. */
    int call;     /* "syscall"; -1: not open. */
    int runs;     /* "schedstat"; -1. */
};

void thread_files_init(struct thread_files *files, int folder)
{
    struct rlimit open;
    *files = (struct thread_files){.folder = folder, .table = HASH_TABLE_OF(struct thread_file)};
    if (!getrlimit(RLIMIT_NOFILE, &open) && open.rlim_cur > SPARE_FILES)
        files->limit = open.rlim_cur - SPARE_FILES;
}

static void close_files(struct thread_files *files, struct thread_file *file)
{
    if (file->call >= 0)
        close(file->call);
    if (file->runs >= 0)
        close(file->runs);
    files->run_count -= file->runs >= 0;
    file->call = file->runs = -1;
}

static void close_all(struct thread_files *files)
{
    for (size_t i = 0; i < files->table.count; i++)
        close_files(files, hash_table_at(&files->table, i));
}

void thread_files_deinit(struct thread_files *files)
{
    close_all(files);
    hash_table_deinit(&files->table);
}

static int open_file(const struct thread_files *files, pid_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "task/%d/%s", tid, name);
    return openat(files->folder, path, O_RDONLY | O_CLOEXEC);
}

/* The counts can be done without. */
static void close_runs(struct thread_files *files)
{
    for (size_t i = 0; i < files->table.count; i++) {
        struct thread_file *file = hash_table_at(&files->table, i);
        if (file->runs >= 0)
            close(file->runs);
        file->runs = -1;
    }
    files->run_count = 0;
}

/* In its place, if it was known; or -1. */
static int open_call(struct thread_files *files, pid_t tid)
{
    int fd = open_file(files, tid, "syscall");
    const bool lacks = fd < 0 ? errno == EMFILE || errno == ENFILE : (uint64_t)fd >= files->limit;
    if (files->run_count && lacks) {
        close_runs(files);
        files->limit = 0;
        fd = fd < 0 ? open_file(files, tid, "syscall") : fd;
    }
    struct thread_file *file = hash_table_find(&files->table, (uint64_t)tid);
    if (file) {
        close_files(files, file);
    } else {
        // Threads come and go: those that have ended are not missed.
        if (files->table.count >= KEPT_THREADS) {
            close_all(files);
            hash_table_clear(&files->table);
        }
        file = hash_table_add(&files->table, (uint64_t)tid);
        if (file)
            file->runs = -1;
    }
    if (file)
        file->call = fd;
    else if (fd >= 0)
        close(fd);
    return file ? fd : -1;
}

ssize_t thread_files_read_call(struct thread_files *files, pid_t tid, char *ret, size_t size)
{
    const struct thread_file *known = hash_table_find(&files->table, (uint64_t)tid);
    const bool open = known && known->call >= 0;
    ssize_t got = open ? pread(known->call, ret, size, 0) : -1;
    if (open && (got > 0 || errno != ESRCH))
        return got > 0 ? got : 0;
    // It has ended; another thread of the process may have its id by now.
    const int fd = open_call(files, tid);
    got = fd < 0 ? -1 : pread(fd, ret, size, 0);
    return fd < 0 || (got < 0 && errno == ESRCH) ? -1 : got > 0 ? got : 0;
}

uint64_t thread_files_read_runs(struct thread_files *files, pid_t tid)
{
    struct thread_file *file = hash_table_find(&files->table, (uint64_t)tid);
    uint64_t time, runs;
    if (!file)
        return 0;
    if (file->runs < 0 && files->limit && files->run_count < KEPT_RUNS) {
        file->runs = open_file(files, tid, "schedstat");
        files->run_count += file->runs >= 0;
    }
    return file->runs >= 0 && live_read_runs(file->runs, &time, &runs) ? runs : 0;
}

/* ---- what is copied of one thread ---- */

void traced_memory_init(struct traced_memory *memory, int folder)
{
    *memory = (struct traced_memory){.folder = folder};
    presence_init(&memory->presence);
}

void traced_memory_deinit(struct traced_memory *memory)
{
    presence_deinit(&memory->presence);
    reader_destroy(memory->reader);
}

/* Of the process as it is now: after exec(3) it has another memory. */
static void find_reader(struct traced_memory *memory, pid_t tid)
{
    char path[64];
    snprintf(path, sizeof(path), "task/%d", tid);
    const int folder =
        memory->reader ? -1 : openat(memory->folder, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        memory->reader = reader_create(folder);
        close(folder);
    }
}

static size_t count_present(struct traced_memory *memory, psc_addr page, size_t count)
{
    return memory->reader ? presence_count(&memory->presence, memory->reader, page, count) : 0;
}

/* Asked before it stands: to read one that is not there may wait, and the thread with it. */
static void choose_pages(struct traced_memory *memory, struct traced_order *one)
{
    const struct live_order *order = &one->order;
    one->page_count = 0;
    for (size_t i = 0, run; i < order->page_count; i += run) {
        const psc_addr *pages = order->pages + i;
        for (run = 1; i + run < order->page_count && pages[run] == pages[0] + run * LIVE_PAGE;)
            run++;
        for (size_t at = 0; at < run && one->page_count < LIVE_SAMPLE_PAGES;) {
            size_t present = count_present(memory, pages[at], run - at);
            for (size_t end = at + present; at < end && one->page_count < LIVE_SAMPLE_PAGES;)
                one->pages[one->page_count++] = pages[at++];
            at++;
        }
    }
    // Most stacks are where they were: whether they are in memory is known before it stands.
    if (order->near)
        (void)count_present(memory, order->near & ~(LIVE_PAGE - 1),
                            order->stack_size / (size_t)LIVE_PAGE + 1);
}

/* The part of the stack that is copied, in whole pages. */
static void choose_stack(struct traced_memory *memory, const struct live_order *order, psc_addr sp,
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
    ret->stack_end = ret->stack_start + count_present(memory, ret->stack_start, pages) * LIVE_PAGE;
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
void traced_memory_copy(struct traced_memory *memory, struct traced_order *one, psc_addr sp)
{
    struct iovec ranges[LIVE_SAMPLE_PAGES + 1];
    struct live_delivery *ret = &one->delivery;
    size_t pages = 0;
    choose_stack(memory, &one->order, sp, ret);
    const size_t stack = (size_t)(ret->stack_end - ret->stack_start);
    uint32_t count = add_range(ranges, 0, ret->stack_start, stack);
    for (size_t i = 0; i < one->page_count; i++) {
        psc_addr page = one->pages[i];
        if (page >= ret->stack_start && page < ret->stack_end)
            continue;
        count = add_range(ranges, count, page, (size_t)LIVE_PAGE);
        pages++;
    }
    const struct iovec local = {one->bytes, stack + pages * (size_t)LIVE_PAGE};
    ssize_t got = process_vm_readv(one->order.tid, &local, 1, ranges, count, 0);
    memcpy(ret->ranges, ranges, count * sizeof(*ranges));
    ret->range_count = count;
    ret->got = got > 0 ? (uint64_t)got : 0;
}

void traced_memory_choose(struct traced_memory *memory, struct traced_order *one)
{
    const struct live_order *order = &one->order;
    // Which pages are in memory is asked anew in each moment, of the process as it is.
    if (memory->moment != order->moment || memory->presence.windows.count > WINDOW_LIMIT)
        presence_forget(&memory->presence);
    memory->moment = order->moment;
    find_reader(memory, order->tid);
    choose_pages(memory, one);
}
