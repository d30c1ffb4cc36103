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

/* Which lines a stack has: frames, and what stands for those of a recursion that are left out. */
struct stack_lines {
    const json_t *frames, *longest, *others;
    size_t index;     /* Of the next frame in the list. */
    size_t other;     /* Index of the next one of the other recursions. */
    size_t numbered;  /* Visible frames before it. */
    size_t cycle;     /* Frames in a cycle of the last recursion. */
    size_t cycle_end; /* Numbers: of the first frame behind its innermost cycle, ... */
    size_t fold_end;  /* ... and behind all of them; equal when nothing is folded. */
};

static struct stack_lines begin_lines(const json_t *thread)
{
    return (struct stack_lines){
        .frames = json_object_get(thread, "frames"),
        .longest = json_object_get(thread, "recursion"),
        .others = json_object_get(thread, "other_recursions"),
    };
}

/* The recursion whose innermost frame is the next one, or NULL. */
static const json_t *find_recursion(struct stack_lines *lines)
{
    const json_int_t index = (json_int_t)lines->index;
    if (json_is_object(lines->longest) && number_of(lines->longest, "first") == index)
        return lines->longest;
    while (lines->other < json_array_size(lines->others) &&
           number_of(json_array_get(lines->others, lines->other), "first") < index)
        lines->other++;
    const json_t *other = json_array_get(lines->others, lines->other);
    return json_is_object(other) && number_of(other, "first") == index ? other : NULL;
}

/* Whatever the report says: no more than it has frames. */
static void begin_recursion(struct stack_lines *lines)
{
    const json_t *recursion = find_recursion(lines);
    const json_int_t frames = number_of(recursion, "frames"), times = number_of(recursion, "times");
    const json_int_t left = (json_int_t)(json_array_size(lines->frames) - lines->index);
    if (lines->numbered < lines->fold_end || frames < 1 || times < 2 || frames > left / times)
        return;
    lines->cycle = (size_t)frames;
    lines->cycle_end = lines->numbered + (size_t)frames;
    lines->fold_end = lines->numbered + (size_t)(frames * times);
}

/* The next visible frame with its number; *ret_folded: it is one of a recursion that is left out.
 */
static const json_t *next_frame(struct stack_lines *lines, size_t *ret_number, bool *ret_folded)
{
    for (; lines->index < json_array_size(lines->frames); lines->index++) {
        const json_t *frame = json_array_get(lines->frames, lines->index);
        begin_recursion(lines);
        if (!is_shown(frame))
            continue;
        *ret_number = lines->numbered++;
        *ret_folded = *ret_number >= lines->cycle_end && *ret_number < lines->fold_end;
        lines->index++;
        return frame;
    }
    return NULL;
}

/* Of the names that are shown, but a long one moves its own place alone. */
static size_t name_column(const json_t *thread, size_t limit)
{
    struct stack_lines lines = begin_lines(thread);
    size_t column = 0, shown = 0, number;
    bool folded;
    for (const json_t *frame; shown < limit && (frame = next_frame(&lines, &number, &folded));) {
        size_t width = width_of(text_of(frame, "function"));
        if (folded)
            continue;
        shown++;
        if (width > column && width <= NAME_COLUMN_LIMIT && !is_gap(frame))
            column = width;
    }
    return column;
}

static void put_frame(FILE *file, const json_t *frame, size_t number, size_t column)
{
    const char *function = text_of(frame, "function");
    if (is_gap(frame)) {
        fputs("--   gap: ", file);
        put_safely(file, function);
    } else {
        fprintf(file, "#%-3zu %-7s ", number, text_of(frame, "kind"));
        function = *function ? function : "??";
        put_safely(file, function);
        size_t width = width_of(function);
        fprintf(file, "%*s  ", width < column ? (int)(column - width) : 0, "");
        put_place(file, frame);
    }
}

/* What stands for the frames of a recursion up to its end, of which the next is the first. */
static void put_fold(FILE *file, const struct stack_lines *lines)
{
    const size_t times = (lines->fold_end - lines->cycle_end) / lines->cycle;
    fprintf(file, "--   #%zu to #%zu: ", lines->cycle_end, lines->fold_end - 1);
    if (lines->cycle == 1)
        fputs("the frame above", file);
    else
        fprintf(file, "the %zu frames above", lines->cycle);
    fprintf(file, ", %zu time%s more", times, times == 1 ? "" : "s");
}

bool put_frames(FILE *file, const json_t *thread, const char *indentation, size_t limit)
{
    struct stack_lines lines = begin_lines(thread);
    size_t shown = 0, left = 0, column = name_column(thread, limit), number;
    bool folded;
    for (const json_t *frame; (frame = next_frame(&lines, &number, &folded));) {
        if (folded && number != lines.cycle_end)
            continue;
        if (shown == limit) {
            left += folded ? lines.fold_end - lines.cycle_end : 1;
            continue;
        }
        fputs(indentation, file);
        if (folded)
            put_fold(file, &lines);
        else
            put_frame(file, frame, number, column);
        shown += !folded;
        putc('\n', file);
    }
    if (left)
        fprintf(file, "%s… %zu more frames\n", indentation, left);
    return shown != 0;
}
