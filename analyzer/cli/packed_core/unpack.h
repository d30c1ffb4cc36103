/** @file The stream of a core, unpacked into a file with holes. For a child without rights. */
#ifndef PSC_UNPACK_H
#define PSC_UNPACK_H

#include "archive_calls.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/** Bytes as they come, with those that were read already before the others. */
struct unpack_source {
    int fd;
    size_t size; /**< In the buffer. */
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
    const struct archive_calls *calls; /**< NULL: it is not compressed. */
    const char *name;                  /**< For its progress. */
    struct unpack_result *result;
    time_t started;
    bool progress_shown;
};

/** @return an exit code: EXIT_COMPLETE with what there was, EXIT_NOTHING for no memory. */
int unpack(struct unpack_work *work);

#endif
