/** @file The stream of a core, unpacked into a file with holes. For a child without rights. */
#ifndef PSC_UNPACK_H
#define PSC_UNPACK_H

#include "archive_calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/** Bytes as they come, with those that were read already before the others. */
struct unpack_source {
    int fd;
    size_t size;    /**< In the buffer. */
    uint64_t taken; /**< So many were handed out. */
    unsigned char buffer[256 * 1024];
};

/** Where they go. */
struct unpack_sink {
    int file;
    uint64_t at;           /**< So many came. */
    uint64_t stored;       /**< So many of them are not zero, by pages. */
    uint64_t stored_limit; /**< Most of them. */
};

/** What it says when it is done; shared with the parent. */
struct unpack_result {
    char problem[300]; /**< A sentence on what is missing; "" where nothing is. */
    bool is_core;      /**< It begins as an ELF core does. */
};

struct unpack_work {
    struct unpack_source source;
    struct unpack_sink sink;
    const struct archive_calls *calls; /**< NULL: it is not compressed, or by gzip. */
    bool is_gzip;
    const char *name; /**< For its progress. */
    struct unpack_result *result;
    time_t started;
    bool progress_shown;
};

/** Says what is missing; false. */
bool unpack_stop(struct unpack_work *work, const char *format, ...)
    __attribute__((__format__(__printf__, 2, 3)));
/** So many bytes more; false: no more is wanted. */
bool unpack_take(struct unpack_work *work, const unsigned char *bytes, size_t size);
/** What was read before, then what comes; 0 at the end, -1 with errno. */
ssize_t unpack_next_bytes(struct unpack_source *source);
/** The sentence on what is missing, for a stream that ends early or is damaged; why: or NULL. */
void unpack_say_how_it_ended(struct unpack_work *work, const char *why);

/** @return an exit code: EXIT_COMPLETE with what there was, EXIT_NOTHING for no memory. */
int unpack(struct unpack_work *work);

#endif
