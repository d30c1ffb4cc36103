/* Unpacked bytes on their way into a file with holes. */
#include "unpack.h"

#include "elf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a core: systemd-coredump keeps 32 GB of one at most (coredump.conf(5)), others all. */
#define UNPACKED_LIMIT ((uint64_t)256 << 30)
#define PAGE           4096u
/* Milliseconds of processor time, which a gigabyte of zeros takes a third of, and more for each
 * megabyte behind the first of what is read: a few of them can become as many gigabytes. */
#define UNPACK_TIME_LIMIT  3000u
#define UNPACK_TIME_PER_MB 1000u
#define UNPACK_TIME_BYTES  ((uint64_t)20 << 20)
/* Progress is shown on work that takes longer, and then so often. */
#define PROGRESS_SECONDS 1
#define PROGRESS_BYTES   ((uint64_t)64 << 20)

bool unpack_stop(struct unpack_work *work, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(work->result->problem, sizeof(work->result->problem), format, args);
    va_end(args);
    return false;
}

/* ---- where it goes ---- */

static bool is_zero(const unsigned char *bytes, size_t size)
{
    return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

static bool store(struct unpack_work *work, const unsigned char *bytes, size_t size, uint64_t at)
{
    struct unpack_sink *sink = &work->sink;
    if (!size)
        return true;
    if (size > sink->stored_limit - sink->stored)
        return unpack_stop(
            work,
            "the core takes more than %llu MB, half of what is free where it is unpacked; "
            "what is behind them is missing (TMPDIR can name a larger place)",
            (unsigned long long)(sink->stored_limit >> 20));
    sink->stored += size;
    return unpacked_write_at(sink->file, bytes, size, at) ||
           unpack_stop(work,
                       "the core cannot be unpacked whole: %s (TMPDIR can name a larger place)",
                       strerror(errno));
}

/* Pages of zeros stay holes, which are read as zeros. */
static bool add_bytes(struct unpack_work *work, const unsigned char *bytes, size_t size)
{
    struct unpack_sink *sink = &work->sink;
    size_t begin = 0, end = 0;
    if (size > UNPACKED_LIMIT - sink->at)
        return unpack_stop(work, "the core is larger than %llu GB; what is behind them is missing",
                           (unsigned long long)(UNPACKED_LIMIT >> 30));
    while (end < size) {
        size_t piece = PAGE - (size_t)((sink->at + end) % PAGE);
        if (piece > size - end)
            piece = size - end;
        if (is_zero(bytes + end, piece)) {
            if (!store(work, bytes + begin, end - begin, sink->at + begin))
                return false;
            begin = end + piece;
        }
        end += piece;
    }
    if (!store(work, bytes + begin, end - begin, sink->at + begin))
        return false;
    sink->at += size;
    return true;
}

/* Of what is no core the rest is not wanted: its begin tells the reader what it is. */
static bool begins_as_core(const unsigned char *bytes, size_t size)
{
    uint16_t type;
    return parse_elf_type(bytes, size, &type) && type == ET_CORE;
}

static void show_progress(struct unpack_work *work, uint64_t before)
{
    struct timespec now;
    if (before / PROGRESS_BYTES == work->sink.at / PROGRESS_BYTES || !isatty(STDERR_FILENO))
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!work->started)
        work->started = now.tv_sec;
    if (now.tv_sec - work->started < PROGRESS_SECONDS)
        return;
    fprintf(stderr, "\runpacking: %llu MB, %llu MB of them not zero",
            (unsigned long long)(work->sink.at >> 20),
            (unsigned long long)(work->sink.stored >> 20));
    work->progress_shown = true;
}

static bool has_time(struct unpack_work *work)
{
    const uint64_t read = work->source.taken;
    uint64_t limit = UNPACK_TIME_LIMIT;
    struct timespec used;
    if (read > UNPACK_TIME_BYTES)
        limit += ((read - UNPACK_TIME_BYTES) >> 20) * UNPACK_TIME_PER_MB;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) ||
        (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000 < limit)
        return true;
    return unpack_stop(work,
                       "the core takes long to unpack for its size; what is behind its first "
                       "%llu MB is missing (decompress it first)",
                       (unsigned long long)(work->sink.at >> 20));
}

bool unpack_take(struct unpack_work *work, const unsigned char *bytes, size_t size)
{
    uint64_t before = work->sink.at;
    bool is_first = !before;
    if (!size)
        return true;
    if (!has_time(work) || !add_bytes(work, bytes, size))
        return false;
    show_progress(work, before);
    if (is_first)
        work->result->is_core = begins_as_core(bytes, size);
    return work->result->is_core;
}

/* ---- where it comes from ---- */

ssize_t unpack_next_bytes(struct unpack_source *source)
{
    ssize_t got = (ssize_t)source->size;
    source->size = 0;
    source->taken += (size_t)got;
    if (got)
        return got;
    do
        got = read(source->fd, source->buffer, sizeof(source->buffer));
    while (got < 0 && errno == EINTR);
    source->taken += got > 0 ? (size_t)got : 0;
    return got;
}

void unpack_say_how_it_ended(struct unpack_work *work, const char *why)
{
    unpack_stop(
        work,
        "the compressed core ends early or is damaged, after %llu KB%s%.100s%s; what is behind "
        "them is missing",
        (unsigned long long)(work->sink.at >> 10), why ? " (" : "", why ? why : "", why ? ")" : "");
}
