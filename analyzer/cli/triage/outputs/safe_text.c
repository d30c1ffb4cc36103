/* Names of a target, and its frames, as text that can drive nothing. */
#include "outputs_private.h"

#include <string.h>

#define NAME_COLUMN_LIMIT 40u

/* Bytes of the character at `text` if it must not be printed as it is, else 0. */
static size_t control_length(const unsigned char *text)
{
    if (text[0] < 0x20 || text[0] == 0x7f)
        return 1;
    if (text[0] == 0xc2 && text[1] >= 0x80 && text[1] <= 0x9f)
        return 2;
    // U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069: the order of characters.
    if (text[0] == 0xe2 && text[1] == 0x80 &&
        (text[2] == 0x8e || text[2] == 0x8f || (text[2] >= 0xa8 && text[2] <= 0xae)))
        return 3;
    if (text[0] == 0xe2 && text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9)
        return 3;
    return 0;
}

void put_safely(FILE *file, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        size_t length = control_length(at);
        for (size_t i = 0; i < length; i++)
            fprintf(file, "\\x%02x", at[i]);
        if (!length)
            putc(*at, file);
        at += length ? length : 1;
    }
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void put_place(FILE *file, const json_t *frame)
{
    const char *path = text_of(frame, "file");
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    if (*path) {
        put_safely(file, path);
        if (line)
            fprintf(file, ":%lld", (long long)line);
    } else {
        put_safely(file, last_component(text_of(frame, "module")));
        if (*text_of(frame, "offset"))
            fprintf(file, "+%s", text_of(frame, "offset"));
    }
}

/* Columns, roughly: bytes that begin a character. */
static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Of the names that are shown, but a long one moves its own place alone. */
static size_t name_column(const json_t *frames, size_t limit)
{
    size_t column = 0, shown = 0;
    for (size_t i = 0; i < json_array_size(frames) && shown < limit; i++) {
        const json_t *frame = json_array_get(frames, i);
        size_t width = width_of(text_of(frame, "function"));
        if (json_is_true(json_object_get(frame, "hidden")))
            continue;
        shown++;
        if (width > column && width <= NAME_COLUMN_LIMIT &&
            strcmp(text_of(frame, "kind"), "gap") != 0)
            column = width;
    }
    return column;
}

bool put_frames(FILE *file, const json_t *frames, const char *indentation, size_t limit)
{
    size_t shown = 0, left = 0, column = name_column(frames, limit);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *kind = text_of(frame, "kind"), *function = text_of(frame, "function");
        if (json_is_true(json_object_get(frame, "hidden")))
            continue;
        if (shown == limit) {
            left++;
            continue;
        }
        shown++;
        if (!strcmp(kind, "gap")) {
            fprintf(file, "%s--   gap: ", indentation);
            put_safely(file, function);
        } else {
            fprintf(file, "%s#%-3zu %-7s ", indentation, shown - 1, kind);
            function = *function ? function : "??";
            put_safely(file, function);
            size_t width = width_of(function);
            fprintf(file, "%*s  ", width < column ? (int)(column - width) : 0, "");
            put_place(file, frame);
        }
        putc('\n', file);
    }
    if (left)
        fprintf(file, "%s… %zu more frames\n", indentation, left);
    return shown != 0;
}
