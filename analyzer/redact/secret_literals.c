/* Literals in lines of source whose call, or a name elsewhere in the text, says that they are
 * secret. */
#include "redact_private.h"

#include <string.h>

/* A shorter one is a word of other text, too; one without quotes may be the name of a type. */
#define QUOTED_MIN 4u
#define PLAIN_MIN  6u
/* Of the arguments of one call. */
#define CALL_LIMIT 2048u

static bool is_secret(const struct scan *scan, const char *text, size_t size)
{
    for (size_t i = 0; i < scan->secret_count; i++) {
        const struct secret *secret = &scan->secrets[i];
        if (secret->size == size && !memcmp(secret->text, text, size))
            return true;
    }
    return false;
}

void secrets_add(struct scan *scan, const struct piece *value)
{
    // A value in JSON is the text of a literal, quotes and all.
    size_t start = skip_prefix(scan, value->start), end = value->end;
    size_t quote = skip_backslashes(scan, start), before = value->start;
    bool is_quoted = quote < end && is_quote(scan->text[quote]);
    if (is_quoted) {
        struct piece inner;
        measure_quoted(scan, quote + 1, quote - start, scan->text[quote], &inner);
        start = inner.start;
        end = inner.end < end ? inner.end : end;
    }
    // What is called just "key" is mostly that of a dictionary.
    bool is_key = scan->size - scan->at > 3 && !memcmp(scan->text + scan->at, "key", 3) &&
                  !is_word(byte_at(scan, scan->at + 3));
    is_quoted = is_quoted || (before && !scan->is_json && is_quote(scan->text[before - 1]));
    if (is_key || end < start + (is_quoted ? QUOTED_MIN : PLAIN_MIN) ||
        scan->secret_count == SECRET_LIMIT || is_harmless(scan->text + start, end - start) ||
        is_secret(scan, scan->text + start, end - start))
        return;
    scan->secrets[scan->secret_count++] = (struct secret){scan->text + start, end - start};
}

/* Whether the quote at `at` behind so many backslashes is one of JSON itself. */
static bool is_of_json(const struct scan *scan, size_t at, size_t backslashes)
{
    return scan->is_json && scan->text[at] == '"' && backslashes % 2 == 0;
}

static size_t count_backslashes(const struct scan *scan, size_t before)
{
    size_t at = before;
    while (at && scan->text[at - 1] == '\\')
        at--;
    return before - at;
}

void note_secret_call(struct scan *scan)
{
    size_t end = scan->at, depth = 0;
    if (scan->at < scan->call_end)
        return;
    while (end < scan->size && end - scan->at <= NAME_LIMIT && is_word(scan->text[end]))
        end++;
    if (byte_at(scan, end) != '(' ||
        name_find_kind(scan->text + scan->at, end - scan->at) != NAME_SECRET)
        return;
    for (size_t at = end; at < scan->size && at - end < CALL_LIMIT; at++) {
        char byte = scan->text[at];
        size_t backslashes = is_quote(byte) ? count_backslashes(scan, at) : 0;
        if (byte == '\n' || (is_quote(byte) && is_of_json(scan, at, backslashes)))
            break;
        if (is_quote(byte)) {
            struct piece literal;
            measure_quoted(scan, at + 1, backslashes, byte, &literal);
            at = skip_backslashes(scan, literal.end);
        }
        depth += byte == '(';
        if (byte == ')' && !--depth)
            break;
        scan->call_end = at;
    }
}

/* The secret that a literal is; its size, 0: none. */
static size_t measure_secret(const struct scan *scan, size_t start, size_t backslashes, char quote)
{
    for (size_t i = 0; i < scan->secret_count; i++) {
        const struct secret *secret = &scan->secrets[i];
        size_t size = secret->size, end = start + size;
        if (size < scan->size - start && !memcmp(secret->text, scan->text + start, size) &&
            skip_backslashes(scan, end) == end + backslashes &&
            byte_at(scan, end + backslashes) == quote)
            return size;
    }
    return 0;
}

size_t mask_literal(const struct scan *scan, struct text *ret)
{
    size_t at = scan->at, backslashes = count_backslashes(scan, at);
    const char quote = scan->text[at];
    if (is_of_json(scan, at, backslashes))
        return 0;
    struct piece literal = {at + 1, at + 1};
    const bool in_call = at < scan->call_end;
    if (in_call)
        measure_quoted(scan, at + 1, backslashes, quote, &literal);
    else
        literal.end += measure_secret(scan, at + 1, backslashes, quote);
    size_t end = skip_backslashes(scan, literal.end), size = literal.end - literal.start;
    if (byte_at(scan, end) != quote || (!in_call && !size))
        return 0;
    // Its quotes go with it: the second one begins nothing.
    text_add(ret, scan->text + at, 1);
    if (is_harmless(scan->text + literal.start, size))
        text_add(ret, scan->text + literal.start, size);
    else
        text_add_string(ret, REDACTED);
    text_add(ret, scan->text + literal.end, end + 1 - literal.end);
    return end + 1;
}

/* Names of functions and files have letters and digits, too, but few are somebody's password. */
static bool is_no_word(const struct secret *secret)
{
    bool letter = false, digit = false;
    for (size_t i = 0; i < secret->size; i++) {
        const char byte = secret->text[i];
        letter |= (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        digit |= byte >= '0' && byte <= '9';
    }
    return letter && digit && secret->size >= PLAIN_MIN;
}

static bool parts_words(char byte)
{
    return !byte || strchr(" \t\n\"'`,;()[]{}<>=&\\", byte);
}

size_t mask_known(const struct scan *scan, struct text *ret)
{
    const size_t at = scan->at;
    if (at && !parts_words(scan->text[at - 1]))
        return 0;
    for (size_t i = 0; i < scan->secret_count; i++) {
        const struct secret *secret = &scan->secrets[i];
        if (*secret->text != scan->text[at] || secret->size > scan->size - at ||
            memcmp(secret->text, scan->text + at, secret->size) != 0 ||
            !parts_words(byte_at(scan, at + secret->size)) || !is_no_word(secret))
            continue;
        text_add_string(ret, REDACTED);
        return at + secret->size;
    }
    return 0;
}
