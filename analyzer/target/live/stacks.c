/* Which memory of threads is their stack; the stacks of many, copied at one go. */
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14, madvise(2); musl 1.2.3 does not name it. */
#endif

#define ROOM           ((size_t)1024 * 1024 * 1024) /* Of addresses; memory only as it is used. */
#define READY_AT_LEAST ((size_t)4 * 1024 * 1024)
#define READY_AT_MOST  ((size_t)64 * 1024 * 1024)
#define REGION_A_RANGE ((size_t)512 * 1024 * 1024)
/* Taken of a stack of which neither mapping nor end is known, and searched for its end. */
#define UNKNOWN_STACK         ((psc_addr)256 * 1024)
#define LARGEST_UNKNOWN_STACK ((psc_addr)64 * 1024 * 1024)
/* Taken of a stack that lies in other memory than the thread's own: it may be a part of the heap.
 */
#define OTHER_STACK ((psc_addr)1024 * 1024)
/* Mappings that one stack may be split into, by mprotect() or madvise(). */
#define PART_LIMIT 64
/* Room is made ready for so much of one stack; what is deeper is copied a little slower. */
#define LARGEST_READY_STACK ((psc_addr)32 * 1024 * 1024)
/* Pages: more than these are not looked for, nor copied beforehand. */
#define WANTED_LIMIT ((size_t)16384)

bool stacks_init(struct live_stacks *stacks, size_t ready)
{
    ready = ready < READY_AT_LEAST ? READY_AT_LEAST : ready > READY_AT_MOST ? READY_AT_MOST : ready;
    // Where addresses are limited (ulimit -v) less of them has to do.
    for (size_t room = ROOM; !stacks->bytes && room >= READY_AT_LEAST; room /= 4) {
        void *bytes = mmap(NULL, room, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (bytes == MAP_FAILED)
            continue;
        stacks->bytes = bytes;
        stacks->size = room;
    }
    if (!stacks->bytes)
        return false;
    if (ready > stacks->size)
        ready = stacks->size;
    stacks->used = 0;
    // Before the stop, so that the copy does not wait for the kernel to clear pages (Linux 5.14;
    // an older kernel refuses, and the copy takes a little longer).
    madvise(stacks->bytes, ready, MADV_POPULATE_WRITE);
    return true;
}

void stacks_deinit(struct live_stacks *stacks, bool keep)
{
    if (stacks->bytes && !keep)
        munmap(stacks->bytes, stacks->size);
    *stacks = (struct live_stacks){0};
}

/* Where process_vm_readv() is forbidden (seccomp) /proc/PID/mem does. */
static ssize_t read_by_file(const struct live_pages *pages, uint8_t *buffer,
                            const struct iovec *ranges, size_t count)
{
    ssize_t done = 0;
    for (size_t i = 0; i < count; i++) {
        ssize_t got = reader_pread(pages->reader, pages->memory, buffer + done, ranges[i].iov_len,
                                   (uintptr_t)ranges[i].iov_base);
        if (got > 0)
            done += got;
        if (got < (ssize_t)ranges[i].iov_len)
            break;
    }
    return done;
}

/* Makes the first `size` bytes of what the ranges named pages. */
static void keep(struct live_pages *pages, const uint8_t *bytes, const struct iovec *ranges,
                 size_t count, size_t size)
{
    for (size_t i = 0; i < count && size >= LIVE_PAGE; i++) {
        for (size_t at = 0; at < ranges[i].iov_len && size >= LIVE_PAGE; at += LIVE_PAGE) {
            if (!pages_add(pages, (psc_addr)(uintptr_t)ranges[i].iov_base + at, bytes))
                return;
            bytes += LIVE_PAGE;
            size -= LIVE_PAGE;
        }
    }
}

/* One call; returns how many of the ranges were dealt with, the last one perhaps in part. */
static size_t copy_ranges(struct live_stacks *stacks, struct live_pages *pages, pid_t pid,
                          const struct iovec *ranges, size_t count, size_t wanted)
{
    uint8_t *buffer = stacks->bytes + stacks->used;
    ssize_t got = reader_copy(pages->reader, pid, buffer, wanted, ranges, count);
    if (got < 0 && errno != EFAULT && !reader_was_late(pages->reader))
        got = read_by_file(pages, buffer, ranges, count);
    // Who was let go meanwhile may have run while they were copied.
    size_t size = got < 0 || pages->closed ? 0 : (size_t)got & ~(size_t)(LIVE_PAGE - 1),
           left = size;
    keep(pages, buffer, ranges, count, size);
    stacks->used += size;
    size_t done = 0;
    while (done < count && left >= ranges[done].iov_len)
        left -= ranges[done++].iov_len;
    // What stopped it is a page of this one that is not there; the rest is read when it is wanted.
    return done < count ? done + 1 : done;
}

void stacks_copy(struct live_stacks *stacks, struct live_pages *pages, pid_t pid,
                 const struct live_range *ranges, size_t count)
{
    struct iovec remote[READER_RANGES];
    // Once a read was given up, each page is looked at before it is read.
    for (size_t i = 0; i < count && !reader_was_late(pages->reader);) {
        size_t n = 0, wanted = 0;
        for (; i + n < count && n < READER_RANGES; n++) {
            psc_addr start = ranges[i + n].start & ~(LIVE_PAGE - 1);
            psc_addr end = (ranges[i + n].end + LIVE_PAGE - 1) & ~(LIVE_PAGE - 1);
            size_t size = end > start ? (size_t)(end - start) : 0;
            if (size > REGION_A_RANGE)
                size = REGION_A_RANGE;
            if (wanted + size > stacks->size - stacks->used)
                break;
            remote[n] = (struct iovec){(void *)(uintptr_t)start, size};
            wanted += size;
        }
        if (!n)
            return;
        i += copy_ranges(stacks, pages, pid, remote, n, wanted);
    }
}

bool stacks_peek(struct live_stacks *stacks, const struct live_pages *pages, pid_t pid,
                 const struct live_range *ranges, size_t count, uint8_t *ret)
{
    struct iovec remote[READER_RANGES];
    uint8_t *buffer = stacks->bytes + stacks->used;
    size_t size = 0;
    if (count > READER_RANGES || reader_was_late(pages->reader))
        return false;
    for (size_t i = 0; i < count; i++) {
        remote[i].iov_base = (void *)(uintptr_t)ranges[i].start;
        remote[i].iov_len = (size_t)(ranges[i].end - ranges[i].start);
        size += remote[i].iov_len;
    }
    if (size > stacks->size - stacks->used)
        return false;
    ssize_t got = reader_copy(pages->reader, pid, buffer, size, remote, count);
    if (got < 0 && errno != EFAULT && !reader_was_late(pages->reader))
        got = read_by_file(pages, buffer, remote, count);
    if (got != (ssize_t)size)
        return false;
    memcpy(ret, buffer, size);
    return true;
}

/* ---- which memory that is ---- */

static bool may_be_stack(const struct target_mapping *mapping)
{
    return mapping && !mapping->file && mapping->readable && mapping->writable;
}

/*
 * The end of the stack that the thread was started on: the kernel's (with the program's name above
 * argv and environment), or the thread's own block, which glibc and musl put at the end. 0:
 * unknown.
 */
static psc_addr find_own_end(const struct target *target, pid_t tid, psc_addr thread_pointer)
{
    if (tid != target->process.pid)
        return thread_pointer ? thread_pointer + LIVE_PAGE : 0;
    const struct target_mapping *mapping = target_find_mapping(target, target->auxv.execfn);
    return may_be_stack(mapping) ? mapping->end : 0;
}

/* True when memory that may be stack reaches from one address to the other without a hole. */
static bool reaches(const struct target *target, psc_addr from, psc_addr to)
{
    for (size_t i = 0; from < to && i < PART_LIMIT; i++) {
        const struct target_mapping *mapping = target_find_mapping(target, from);
        if (!may_be_stack(mapping))
            return false;
        from = mapping->end;
    }
    return from >= to;
}

static bool find_stack(const struct target *target, const struct live_thread *thread,
                       struct live_range *ret, bool *ret_elsewhere)
{
    struct target_registers registers;
    psc_addr pointer;
    parse_user_registers(target->machine, thread->registers, &registers, &pointer);
    psc_addr sp = target_sp(target, &registers), from = sp - target->machine->red_zone;
    psc_addr own_end = find_own_end(target, thread->tid, pointer);
    const struct target_mapping *mapping = target_find_mapping(target, from);
    *ret_elsewhere = false;
    if (!mapping || !may_be_stack(mapping))
        mapping = target_find_mapping(target, sp);
    if (!mapping) {
        // Mapped since the list was read: a thread that was born since. Its own block is at the
        // end of its stack.
        ret->start = sp;
        ret->end = sp + UNKNOWN_STACK;
        if (pointer > sp && pointer - sp < LARGEST_UNKNOWN_STACK)
            ret->end = pointer + LIVE_PAGE;
        return true;
    }
    if (mapping->file)
        return false;
    ret->start = from < mapping->start ? mapping->start : from;
    ret->end = mapping->end;
    if (own_end > sp && reaches(target, sp, own_end - LIVE_PAGE)) {
        // The block may be in the last page; what lies behind it would end the call that copies.
        const struct target_mapping *last = target_find_mapping(target, own_end - LIVE_PAGE);
        ret->end = last && last->end < own_end ? last->end : own_end;
        return true;
    }
    // A signal's own stack, a coroutine's.
    *ret_elsewhere = own_end != 0;
    if (own_end && ret->end - ret->start > OTHER_STACK)
        ret->end = ret->start + OTHER_STACK;
    return true;
}

/* The lowest address of the stack that ends there. */
static psc_addr find_own_start(const struct target *target, psc_addr end)
{
    psc_addr start = end;
    for (size_t i = 0; start && i < PART_LIMIT; i++) {
        const struct target_mapping *mapping = target_find_mapping(target, start - 1);
        if (!may_be_stack(mapping))
            break;
        start = mapping->start;
    }
    return start;
}

/*
 * What was interrupted left its stack pointer on the other stack: in the signal's frame, or where a
 * coroutine keeps it. All words that point into the stack that the thread was started on are taken
 * for such.
 */
static psc_addr find_lowest_pointer(struct live_pages *pages, const struct live_range *other,
                                    psc_addr start, psc_addr end)
{
    psc_addr lowest = end;
    for (psc_addr at = (other->start + 7) & ~(psc_addr)7; at + 8 <= other->end; at += 8) {
        const uint8_t *page = pages_find(pages, at & ~(LIVE_PAGE - 1));
        if (!page) {
            at = (at | (LIVE_PAGE - 1)) - 7;
            continue;
        }
        psc_addr word = load_u64(page + (at & (LIVE_PAGE - 1)));
        if (word >= start && word < lowest)
            lowest = word;
    }
    return lowest;
}

static bool find_own_stack(struct target *target, const struct live_thread *thread,
                           const struct live_range *other, struct live_range *ret)
{
    struct live *live = live_of(target);
    struct target_registers registers;
    psc_addr pointer;
    parse_user_registers(target->machine, thread->registers, &registers, &pointer);
    psc_addr end = find_own_end(target, thread->tid, pointer);
    // The thread's block may end its mapping, too.
    psc_addr top = target_find_mapping(target, end - 1) ? end : end - LIVE_PAGE;
    psc_addr start = find_own_start(target, top);
    psc_addr lowest = find_lowest_pointer(&live->pages, other, start, top);
    psc_addr red_zone = target->machine->red_zone;
    *ret = (struct live_range){lowest - start > red_zone ? lowest - red_zone : start, end};
    return lowest < top;
}

static bool find_block(const struct target *target, const struct live_thread *thread,
                       struct live_range *ret)
{
    struct target_registers registers;
    psc_addr pointer;
    parse_user_registers(target->machine, thread->registers, &registers, &pointer);
    const struct target_mapping *mapping = target_find_mapping(target, pointer);
    if (!mapping)
        return false;
    *ret = (struct live_range){mapping->start, mapping->end};
    if (pointer - ret->start > LIVE_PAGE)
        ret->start = pointer - LIVE_PAGE;
    if (ret->end - pointer > LIVE_PAGE)
        ret->end = pointer + LIVE_PAGE;
    return true;
}

/* ---- those of threads ---- */

/* What is copied by one call. */
struct copied {
    struct live_range *ranges;
    size_t count;
    struct live_range *others; /* Of them, stacks that threads were not started on. */
    const struct live_thread **movers;
    size_t other_count;
};

static void copied_deinit(struct copied *copied)
{
    free(copied->ranges);
    free(copied->others);
    free(copied->movers);
}

static void add_thread(const struct target *target, const struct live_thread *thread, bool block,
                       struct copied *copied)
{
    struct live_range *range = &copied->ranges[copied->count];
    bool elsewhere;
    if (find_stack(target, thread, range, &elsewhere)) {
        if (elsewhere) {
            copied->others[copied->other_count] = *range;
            copied->movers[copied->other_count++] = thread;
        }
        copied->count++;
    }
    if (block && find_block(target, thread, &copied->ranges[copied->count]))
        copied->count++;
}

/* A thread on another stack: its own is found by words on the other, once that is copied. */
static void copy_own_stacks(struct target *target, struct copied *copied)
{
    struct live *live = live_of(target);
    size_t found = 0;
    for (size_t i = 0; i < copied->other_count; i++) {
        struct live_range own;
        if (find_own_stack(target, copied->movers[i], &copied->others[i], &own))
            copied->others[found++] = own;
    }
    if (found)
        stacks_copy(&live->stacks, &live->pages, live->memory_tid, copied->others, found);
}

enum psc_status stacks_copy_threads(struct target *target, const struct live_thread *threads,
                                    size_t thread_count, bool sleeping,
                                    const struct live_range *more, size_t more_count)
{
    struct live *live = live_of(target);
    struct copied copied PSC_CLEANUP(copied_deinit) = {
        .ranges = calloc(2 * thread_count + more_count + 1, sizeof(*copied.ranges)),
        .others = calloc(thread_count + 1, sizeof(*copied.others)),
        .movers = calloc(thread_count + 1, sizeof(const struct live_thread *)),
    };
    if (!copied.ranges || !copied.others || !copied.movers)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < thread_count; i++)
        if ((threads[i].stopped || threads[i].waits) && !threads[i].gone &&
            threads[i].sleeps == sleeping)
            add_thread(target, &threads[i], live->save.taken, &copied);
    if (more_count)
        memcpy(copied.ranges + copied.count, more, more_count * sizeof(*more));
    stacks_copy(&live->stacks, &live->pages, live->memory_tid, copied.ranges,
                copied.count + more_count);
    copy_own_stacks(target, &copied);
    return PSC_OK;
}

enum psc_status stacks_copy_all(struct target *target)
{
    struct live *live = live_of(target);
    const struct live_save *save = &live->save;
    size_t saved = save->taken ? save->range_count : 0;
    struct live_range *more PSC_CLEANUP(cleanup_free) =
        calloc(saved + live->wanted_count + 1, sizeof(*more));
    if (!more)
        return PSC_ERR_MEMORY;
    if (saved)
        memcpy(more, save->ranges, saved * sizeof(*more));
    if (live->wanted_count)
        memcpy(more + saved, live->wanted, live->wanted_count * sizeof(*more));
    return stacks_copy_threads(target, live->stop.threads, live->stop.count, false, more,
                               saved + live->wanted_count);
}

/* ---- before the stop ---- */

/* Where the stack of a thread that waits begins (proc(5), /proc/PID/syscall); 0: it runs. */
static psc_addr read_stack_pointer(const struct live *live, const char *tid)
{
    char path[64], text[512];
    unsigned long long sp = 0;
    snprintf(path, sizeof(path), "../%.16s/syscall", tid);
    int fd = openat(live->folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    // The last two words are the stack pointer and the program counter.
    char *last = strrchr(text, ' ');
    if (last)
        *last = '\0';
    last = last ? strrchr(text, ' ') : NULL;
    return last && sscanf(last, " 0x%llx", &sp) == 1 ? sp : 0;
}

/* How many bytes of stacks there are, about. */
static size_t estimate_stacks(struct target *target)
{
    const struct live *live = live_of(target);
    size_t total = 0;
    int fd = openat(live->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    while (tasks && (entry = readdir(tasks))) {
        psc_addr sp = entry->d_name[0] == '.' ? 0 : read_stack_pointer(live, entry->d_name);
        const struct target_mapping *mapping = sp ? target_find_mapping(target, sp) : NULL;
        psc_addr size = mapping && !mapping->file ? mapping->end - sp : 0;
        total += size < LARGEST_READY_STACK ? size : LARGEST_READY_STACK;
    }
    if (tasks)
        closedir(tasks);
    else if (fd >= 0)
        close(fd);
    return total;
}

void visit_now(struct target *target, const struct live_request *request)
{
    target->stands = true;
    request->visit(request->context);
    target->stands = false;
}

/*
 * Lets the visitor read while the process runs, as it is going to in the stop. What it gets may be
 * a mixture of moments and is thrown away, but most of its pages will be read again.
 * @return how many pages those are.
 */
static size_t find_wanted(struct target *target, const struct live_request *request)
{
    struct live *live = live_of(target);
    size_t warnings = target->warnings.count, threads = target->thread_count;
    size_t count = 0, used = 0;
    free(live->wanted);
    live->wanted = NULL;
    live->wanted_count = 0;
    // Registers of an earlier snapshot would lead astray.
    target->thread_count = 0;
    live->pages.most = WANTED_LIMIT;
    visit_now(target, request);
    live->pages.most = 0;
    target->thread_count = threads;
    target->warnings.count = warnings;
    PSC_CLEANUP(cleanup_free) psc_addr *pages = pages_list(&live->pages, &count);
    if (count > WANTED_LIMIT)
        count = WANTED_LIMIT;
    live->wanted = calloc(count ? count : 1, sizeof(*live->wanted));
    for (size_t i = 0; live->wanted && i < count; i++) {
        // A page that may not be read, a guard between stacks, would end the call that copies.
        const struct target_mapping *mapping = target_find_mapping(target, pages[i]);
        if (!mapping || !mapping->readable)
            continue;
        if (used && live->wanted[used - 1].end == pages[i])
            live->wanted[used - 1].end += LIVE_PAGE;
        else
            live->wanted[used++] = (struct live_range){pages[i], pages[i] + LIVE_PAGE};
    }
    live->wanted_count = used;
    return live->wanted ? count : 0;
}

bool prefetch_for_snapshot(struct target *target, const struct live_request *request)
{
    struct live *live = live_of(target);
    size_t size = find_wanted(target, request) * LIVE_PAGE + estimate_stacks(target);
    pages_clear(&live->pages);
    return stacks_init(&live->stacks, size);
}
