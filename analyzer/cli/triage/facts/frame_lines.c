/* Frames of a target as lines. */
#include "facts.h"
#include "messages.h"

#include <string.h>

#define NAME_COLUMN_LIMIT 40u

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
