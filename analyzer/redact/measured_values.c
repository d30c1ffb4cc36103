/* Where values begin and end. */
#include "redact_private.h"

#include <string.h>

/* Between a name and its value. */
#define BLANK_LIMIT 8u

size_t skip_blanks(const struct scan *scan, size_t at)
{
    size_t end = at + BLANK_LIMIT;
    while (at < end && is_blank(byte_at(scan, at)))
        at++;
    return at;
}

size_t skip_backslashes(const struct scan *scan, size_t at)
{
    while (byte_at(scan, at) == '\\')
        at++;
    return at;
}

bool is_harmless(const char *value, size_t size)
{
    static const char *const words[] = {"None",  "True", "False",  "null", "true",
                                        "false", "...",  REDACTED, A_USER};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == size && !memcmp(words[i], value, size))
            return true;
    return !size;
}

void measure_quoted(const struct scan *scan, size_t start, size_t backslashes, char quote,
                    struct piece *ret)
{
    size_t at = start;
    ret->start = start;
    while (at < scan->size && scan->text[at] != '\n') {
        size_t behind = skip_backslashes(scan, at);
        char byte = byte_at(scan, behind);
        size_t count = behind - at;
        if (byte == quote && (count <= backslashes || (!backslashes && count % 2 == 0)))
            break;
        // Text within text ends where the text around it does.
        if (byte == '"' && scan->is_json && count % 2 == 0)
            break;
        at = behind < scan->size ? behind + 1 : behind;
    }
    ret->end = at < scan->size ? at : scan->size;
}

static void measure_plain(const struct scan *scan, size_t start, bool to_line_end,
                          struct piece *ret)
{
    size_t at = start;
    if (scan->size - at >= sizeof(REDACTED) - 1 &&
        !memcmp(scan->text + at, REDACTED, sizeof(REDACTED) - 1))
        at += sizeof(REDACTED) - 1;
    else if (scan->size - at >= sizeof(A_USER) - 1 &&
             !memcmp(scan->text + at, A_USER, sizeof(A_USER) - 1))
        at += sizeof(A_USER) - 1;
    while (at < scan->size && !strchr("\n\r\"'\\<>", scan->text[at]) &&
           (to_line_end || !strchr(" \t,;&)]}|", scan->text[at])))
        at++;
    *ret = (struct piece){start, at};
}

size_t skip_prefix(const struct scan *scan, size_t at)
{
    size_t behind = at;
    while (behind < at + 2 && byte_at(scan, behind) && strchr("bBrRuUfF", byte_at(scan, behind)))
        behind++;
    return is_quote(byte_at(scan, skip_backslashes(scan, behind))) ? behind : at;
}

void measure_value(const struct scan *scan, size_t at, bool to_line_end, struct piece *ret)
{
    size_t start = skip_prefix(scan, at), quote = skip_backslashes(scan, start);
    if (is_quote(byte_at(scan, quote)))
        measure_quoted(scan, quote + 1, quote - start, scan->text[quote], ret);
    else
        measure_plain(scan, at, to_line_end, ret);
}
