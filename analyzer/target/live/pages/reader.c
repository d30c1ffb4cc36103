/*
 * Reads of the target's memory, each under a time limit. The kernel waits for whoever serves a
 * page: the process's own handler (userfaultfd(2)), a file system in user space, a disk. Such a
 * wait cannot be broken off but by the death of the waiting process (mm/gup.c:
 * FAULT_FLAG_KILLABLE), so a thread of its own waits, and is left behind.
 */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define READER_STACK ((size_t)256 * 1024)
/* Milliseconds that one read may wait, and how many that waited so long. */
#define READ_LIMIT 250
#define LATE_LIMIT 4
/* The longest of all, when the thread is ready to run and no processor is free. */
#define STARVED_LIMIT 5000

/* A thread that reads, and what it is to read. */
struct reader_thread {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { READER_FREE, READER_ASKED, READER_DONE } state;
    bool left; /* Nobody waits for it any more: it ends when its read does, and frees this. */
    pid_t tid;
    int error;
    ssize_t got;
    /* What is asked: a file's bytes, or, where count is not 0, ranges of a process. */
    int file;
    uint64_t offset;
    pid_t pid;
    void *buffer;
    size_t size;
    size_t count;
    struct iovec ranges[READER_RANGES];
};

struct live_reader {
    struct reader_thread *thread; /* NULL: none has been needed since the last was left behind. */
    pthread_t id;
    pid_t owner;  /* The process whose thread it is: a child has none of its parent's. */
    int pagemap;  /* -1: not known. */
    size_t late;  /* Reads that were given up. */
    double until; /* 0: no limit of all reads. */
    bool direct;  /* No other thread reads what is in memory. */
};

static double now_in_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* ---- the thread ---- */

static void free_thread(struct reader_thread *thread)
{
    pthread_cond_destroy(&thread->changed);
    pthread_mutex_destroy(&thread->lock);
    free(thread);
}

static void do_read(struct reader_thread *thread)
{
    const struct iovec local = {thread->buffer, thread->size};
    do
        thread->got =
            thread->count
                ? process_vm_readv(thread->pid, &local, 1, thread->ranges, thread->count, 0)
                : pread(thread->file, thread->buffer, thread->size, (off_t)thread->offset);
    while (thread->got < 0 && errno == EINTR);
    thread->error = thread->got < 0 ? errno : 0;
}

static void *run_thread(void *argument)
{
    struct reader_thread *thread = argument;
    pthread_mutex_lock(&thread->lock);
    thread->tid = (pid_t)syscall(SYS_gettid);
    // Of this thread only, where it is allowed: the target may wait for it.
    (void)setpriority(PRIO_PROCESS, 0, -20);
    while (!thread->left) {
        if (thread->state != READER_ASKED) {
            pthread_cond_wait(&thread->changed, &thread->lock);
            continue;
        }
        pthread_mutex_unlock(&thread->lock);
        do_read(thread);
        pthread_mutex_lock(&thread->lock);
        thread->state = READER_DONE;
        pthread_cond_signal(&thread->changed);
    }
    pthread_mutex_unlock(&thread->lock);
    free_thread(thread);
    return NULL;
}

static struct reader_thread *start_thread(pthread_t *ret)
{
    struct reader_thread *thread = calloc(1, sizeof(*thread));
    if (!thread)
        return NULL;
    pthread_condattr_t clock;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&thread->changed, &clock);
    pthread_condattr_destroy(&clock);
    // The program's signals are for its own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (!error) {
        pthread_attr_setstacksize(&attributes, READER_STACK);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        error = pthread_create(ret, &attributes, run_thread, thread);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
    }
    if (!error)
        return thread;
    free_thread(thread);
    return NULL;
}

/* ---- asking it ---- */

/* A thread that waits for a page sleeps ("D"); one that is ready to run waits for a processor. */
static bool is_starved(const struct reader_thread *thread)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread->tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *state = strrchr(text, ')');
    return !thread->tid || (state && !strncmp(state, ") R", 3));
}

static struct timespec time_of(double milliseconds)
{
    long seconds = (long)(milliseconds / 1e3);
    return (struct timespec){seconds, (long)((milliseconds - (double)seconds * 1e3) * 1e6)};
}

/* Waits until the read is done; false: it is given up. The lock is held. */
static bool wait_for_read(struct live_reader *reader, struct reader_thread *thread)
{
    double start = now_in_milliseconds(), limit = start + READ_LIMIT;
    while (thread->state != READER_DONE) {
        double until = reader->until > 0 && reader->until < limit ? reader->until : limit;
        struct timespec time = time_of(until);
        if (pthread_cond_timedwait(&thread->changed, &thread->lock, &time) != ETIMEDOUT)
            continue;
        if (until < limit || limit > start + STARVED_LIMIT || !is_starved(thread))
            return thread->state == READER_DONE;
        limit += READ_LIMIT;
    }
    return true;
}

/* Leaves the thread behind; it ends with its read, or with the program. */
static void leave_thread(struct live_reader *reader)
{
    reader->thread->left = true;
    pthread_detach(reader->id);
    reader->thread = NULL;
    reader->late++;
}

/* The read that is asked for, as reader_thread has it. */
struct request {
    void *buffer;
    size_t size;
    int file;
    uint64_t offset;
    pid_t pid;
    size_t count;
    const struct iovec *ranges;
};

bool reader_is_over(const struct live_reader *reader)
{
    return reader->until > 0 && now_in_milliseconds() >= reader->until;
}

/* fork(2) copies the calling thread alone; what the other one held is lost. */
static void forget_thread_of_parent(struct live_reader *reader)
{
    if (reader->thread && reader->owner != getpid())
        reader->thread = NULL;
}

static ssize_t read_here(const struct request *request)
{
    const struct iovec local = {request->buffer, request->size};
    return request->count
               ? process_vm_readv(request->pid, &local, 1, request->ranges, request->count, 0)
               : pread(request->file, request->buffer, request->size, (off_t)request->offset);
}

/* Whether all of it is in memory; of a file of /proc the offset is the address. */
static bool is_present(const struct live_reader *reader, const struct request *request)
{
    const struct iovec one = {(void *)(uintptr_t)request->offset, request->size};
    const struct iovec *ranges = request->count ? request->ranges : &one;
    for (size_t i = 0; i < (request->count ? request->count : 1); i++) {
        psc_addr start = (psc_addr)(uintptr_t)ranges[i].iov_base & ~(LIVE_PAGE - 1);
        psc_addr end = (psc_addr)(uintptr_t)ranges[i].iov_base + ranges[i].iov_len;
        size_t pages = (size_t)((end - start + LIVE_PAGE - 1) / LIVE_PAGE);
        if (reader_count_present(reader, start, pages) < pages)
            return false;
    }
    return true;
}

static ssize_t ask(struct live_reader *reader, const struct request *request)
{
    if (reader->direct && is_present(reader, request))
        return read_here(request);
    forget_thread_of_parent(reader);
    bool none = reader->late >= LATE_LIMIT || reader_is_over(reader);
    if (!none && !reader->thread) {
        reader->thread = start_thread(&reader->id);
        reader->owner = getpid();
    }
    struct reader_thread *thread = none ? NULL : reader->thread;
    if (!thread) {
        errno = none ? ETIMEDOUT : EAGAIN;
        return -1;
    }
    pthread_mutex_lock(&thread->lock);
    thread->file = request->file;
    thread->offset = request->offset;
    thread->pid = request->pid;
    thread->buffer = request->buffer;
    thread->size = request->size;
    thread->count = request->count;
    if (request->count)
        memcpy(thread->ranges, request->ranges, request->count * sizeof(*request->ranges));
    thread->state = READER_ASKED;
    pthread_cond_signal(&thread->changed);
    bool done = wait_for_read(reader, thread);
    ssize_t got = done ? thread->got : -1;
    errno = done ? thread->error : ETIMEDOUT;
    if (done)
        thread->state = READER_FREE;
    else
        leave_thread(reader);
    pthread_mutex_unlock(&thread->lock);
    return got;
}

ssize_t reader_pread(struct live_reader *reader, int file, void *buffer, size_t size,
                     uint64_t offset)
{
    return ask(reader,
               &(struct request){.buffer = buffer, .size = size, .file = file, .offset = offset});
}

ssize_t reader_copy(struct live_reader *reader, pid_t pid, void *buffer, size_t size,
                    const struct iovec *ranges, size_t count)
{
    return ask(reader, &(struct request){.buffer = buffer,
                                         .size = size,
                                         .pid = pid,
                                         .count = count < READER_RANGES ? count : READER_RANGES,
                                         .ranges = ranges});
}

void reader_read_directly(struct live_reader *reader)
{
    reader->direct = true;
}

/* ---- what it knows ---- */

struct live_reader *reader_create(int folder)
{
    struct live_reader *reader = calloc(1, sizeof(*reader));
    if (reader)
        reader->pagemap = openat(folder, "pagemap", O_RDONLY | O_CLOEXEC);
    return reader;
}

void reader_destroy(struct live_reader *reader)
{
    if (!reader)
        return;
    forget_thread_of_parent(reader);
    if (reader->thread) {
        pthread_mutex_lock(&reader->thread->lock);
        reader->thread->left = true;
        pthread_cond_signal(&reader->thread->changed);
        pthread_mutex_unlock(&reader->thread->lock);
        pthread_join(reader->id, NULL);
    }
    if (reader->pagemap >= 0)
        close(reader->pagemap);
    free(reader);
}

void reader_set_limit(struct live_reader *reader, double until)
{
    reader->until = until;
}

size_t reader_count_late(const struct live_reader *reader)
{
    return reader->late;
}

bool reader_was_late(const struct live_reader *reader)
{
    return reader->late > 0;
}

bool reader_may_wait(const struct live_reader *reader, psc_addr page)
{
    uint64_t entry = 0;
    if (!reader->late)
        return false;
    return pread(reader->pagemap, &entry, sizeof(entry),
                 (off_t)(page / LIVE_PAGE * sizeof(entry))) != sizeof(entry) ||
           !(entry & (PAGE_PRESENT | PAGE_SWAPPED));
}

/* The entries of pages one after the other. @return how many the kernel has told. */
static size_t read_entries(const struct live_reader *reader, psc_addr page, size_t count,
                           uint64_t *ret)
{
    ssize_t got =
        pread(reader->pagemap, ret, count * sizeof(*ret), (off_t)(page / LIVE_PAGE * sizeof(*ret)));
    return got > 0 ? (size_t)got / sizeof(*ret) : 0;
}

static bool is_there(uint64_t entry)
{
    return (entry & (PAGE_PRESENT | PAGE_SWAPPED)) != 0;
}

size_t reader_count_present(const struct live_reader *reader, psc_addr page, size_t count)
{
    uint64_t entries[READER_RANGES];
    size_t present = 0;
    size_t told =
        read_entries(reader, page, count < READER_RANGES ? count : READER_RANGES, entries);
    while (present < told && is_there(entries[present]))
        present++;
    return present;
}

uint64_t reader_list_present(const struct live_reader *reader, psc_addr page, size_t count)
{
    uint64_t entries[64], present = 0;
    size_t most = PSC_ARRAY_SIZE(entries);
    size_t told = read_entries(reader, page, count < most ? count : most, entries);
    for (size_t i = 0; i < told; i++)
        present |= (uint64_t)is_there(entries[i]) << i;
    return present;
}
