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

/* Secrets of a text that are known by their names. */
#define SECRET_LIMIT 256u

/** A part of the text. */
struct piece {
    size_t start, end;
};

/** A value without its quotes. */
struct secret {
    const char *text;
    size_t size;
};

/** Text from `at` to its end; what is before `at` can be looked at, too. */
struct scan {
    const char *text;
    size_t size;
    size_t at;
    struct piece users[USER_LIMIT]; /**< Found in home directories. */
    size_t user_count;
    struct secret secrets[SECRET_LIMIT]; /**< Values that a name says are secret. */
    size_t secret_count;
    size_t call_end; /**< Of a call whose name says secret: literals before it are. */
    bool is_json;    /**< Quotes end a text wherever an even number of backslashes stands before. */
};

/** How many bytes from here on are a key or token by their look; 0: none. */
size_t token_measure(const struct scan *scan);

/** Adds a value to the secrets, where it is long enough to be told from other text. */
void secrets_add(struct scan *scan, const struct piece *value);
/** Where a call begins at scan->at whose name says secret, moves scan->call_end to its end. */
void note_secret_call(struct scan *scan);
/**
 * Masks the literal whose quote is at scan->at, if it stands in such a call or is one of the
 * secrets.
 * @return its end, 0: it stays.
 */
size_t mask_literal(const struct scan *scan, struct text *ret);

/**
 * Masks the secret that begins at scan->at and is a word, or several, there: an argument, say. Only
 * one with letters and digits, for others are names of functions, too.
 * @return its end, 0: there is none.
 */
size_t mask_known(const struct scan *scan, struct text *ret);

/** Behind a few blanks, if there are some. */
size_t skip_blanks(const struct scan *scan, size_t at);
size_t skip_backslashes(const struct scan *scan, size_t at);
/** Behind the letters before a quote, as those of "b'...'". */
size_t skip_prefix(const struct scan *scan, size_t at);
/** A value that hides nothing, or is hidden already. */
bool is_harmless(const char *value, size_t size);
/** Behind a quote that stands behind so many backslashes: up to the next one like it. */
void measure_quoted(const struct scan *scan, size_t start, size_t backslashes, char quote,
                    struct piece *ret);
/** A value that begins at `at`, without its quotes. */
void measure_value(const struct scan *scan, size_t at, bool to_line_end, struct piece *ret);

static inline char byte_at(const struct scan *scan, size_t at)
{
    return at < scan->size ? scan->text[at] : '\0';
}

static inline bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static inline bool is_quote(char byte)
{
    return byte == '"' || byte == '\'';
}

static inline bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

#endif
