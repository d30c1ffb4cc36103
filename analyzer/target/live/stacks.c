/* The stacks of all threads, copied at one go. */
#include "live_private.h"

#include <errno.h>
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
