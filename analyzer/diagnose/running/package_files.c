/* What the files of an installed distribution say: RECORD, METADATA, top_level.txt. */
#include "running_private.h"

#include <string.h>

/* The next line without its end; false behind the last. */
static bool next_line(const char **at, const char *end, const char **ret, size_t *ret_size)
{
    if (*at >= end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (!stop)
        stop = end;
    *ret = *at;
    *ret_size = (size_t)(stop - *at);
    *at = stop < end ? stop + 1 : end;
    if (*ret_size && (*ret)[*ret_size - 1] == '\r')
        --*ret_size;
    return true;
}

/* The first field of a line of CSV is this path; a quote in a quoted one is doubled (RFC 4180). */
static bool is_path_of(const char *line, size_t size, const char *path)
{
    bool quoted = size && line[0] == '"';
    size_t at = quoted;
    for (; *path; path++, at++) {
        if (at >= size || line[at] != *path)
            return false;
        if (*path == '"' && (++at >= size || !quoted || line[at] != '"'))
            return false;
    }
    if (quoted && (at >= size || line[at++] != '"'))
        return false;
    return at == size || line[at] == ',';
}

bool parse_record(const char *text, size_t size, const char *path)
{
    const char *line, *at = text, *end = text + size;
    size_t length;
    while (next_line(&at, end, &line, &length))
        if (is_path_of(line, length, path))
            return true;
    return false;
}

const char *parse_metadata_field(const char *text, size_t size, const char *name,
                                 size_t *ret_length)
{
    const char *line, *at = text, *end = text + size;
    size_t length, wanted = strlen(name);
    while (next_line(&at, end, &line, &length) && length) {
        if (length <= wanted || memcmp(line, name, wanted) != 0 || line[wanted] != ':')
            continue;
        size_t skip = wanted + 1;
        while (skip < length && (line[skip] == ' ' || line[skip] == '\t'))
            skip++;
        while (length > skip && (line[length - 1] == ' ' || line[length - 1] == '\t'))
            length--;
        *ret_length = length - skip;
        return length > skip ? line + skip : NULL;
    }
    return NULL;
}

bool parse_has_line(const char *text, size_t size, const char *line)
{
    const char *found, *at = text, *end = text + size;
    size_t length;
    while (next_line(&at, end, &found, &length))
        if (length == strlen(line) && !memcmp(found, line, length))
            return true;
    return false;
}
