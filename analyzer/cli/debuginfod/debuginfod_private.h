/** @file What asks and what fetches have in common. */
#ifndef PSC_DEBUGINFOD_PRIVATE_H
#define PSC_DEBUGINFOD_PRIVATE_H

#include "debuginfod.h"

#include <limits.h>
#include <stdint.h>

/* 64 bytes, more than any linker makes. */
#define BUILD_ID_TEXT 129

/** Texts end with a zero. A parser that was taken over sends whatever it likes. */
struct debuginfod_question {
    uint32_t what; /**< enum psc_fetched */
    char build_id[BUILD_ID_TEXT];
    char path[PATH_MAX];
};

/** "": it is not to be had. */
struct debuginfod_answer {
    char path[PATH_MAX];
};

/** All of the bytes, or false. */
bool read_whole(int fd, void *bytes, size_t size);
bool write_whole(int fd, const void *bytes, size_t size);

/** What the child does until nobody can ask any more. */
void fetcher_serve(int questions, int answers, unsigned seconds);

#endif
