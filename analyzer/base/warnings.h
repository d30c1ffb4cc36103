/**
 * @file
 * Warnings: sentences about what could not be done, each once.
 */
#ifndef PSC_WARNINGS_H
#define PSC_WARNINGS_H

#include "arena.h"

struct warning {
    const char *code; /**< Short, static, for programs: "file-missing". */
    const char *message;
};

/** Each sentence once, in the order they came. */
struct warnings {
    struct arena *arena; /**< Owns the messages. */
    struct warning *items;
    size_t count;
    size_t capacity;
};

void warnings_init(struct warnings *warnings, struct arena *arena);
void warnings_deinit(struct warnings *warnings);
/** At most 1,000 are kept; the last says that there were more. */
void warnings_add(struct warnings *warnings, const char *code, const char *format, ...)
    PSC_PRINTF(3, 4);

#endif
