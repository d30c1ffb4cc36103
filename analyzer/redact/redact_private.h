/** Shared by the files of room `redact` only. */
#ifndef PSC_REDACT_PRIVATE_H
#define PSC_REDACT_PRIVATE_H

#include "redact.h"

#include <stdbool.h>
#include <stddef.h>

#define REDACTED "[redacted]"
#define A_USER   "[user]"

/** Bytes of a name: longer ones say nothing. */
#define NAME_LIMIT 64u

/** What a name says of its value. */
enum name_kind {
    NAME_PLAIN,
    NAME_SECRET,
    NAME_HEADER, /**< Secret, and to the end of the line where it is not quoted. */
    NAME_USER
};

/** Of the words in it, which underscores, hyphens or capitals part. */
enum name_kind name_find_kind(const char *name, size_t size);

/* Names of users that a text may have. */
#define USER_LIMIT 16u

/** A part of the text. */
struct piece {
    size_t start, end;
};

/** Text from `at` to its end; what is before `at` can be looked at, too. */
struct scan {
    const char *text;
    size_t size;
    size_t at;
    struct piece users[USER_LIMIT]; /**< Found in home directories. */
    size_t user_count;
    bool is_json; /**< Quotes end a text wherever an even number of backslashes stands before. */
};

/** How many bytes from here on are a key or token by their look; 0: none. */
size_t token_measure(const struct scan *scan);

static inline bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

#endif
