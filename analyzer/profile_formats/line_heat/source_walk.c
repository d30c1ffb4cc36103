/* The text of a source file, line by line. */
#include "line_heat_private.h"

#include <stdlib.h>

void source_open(struct source_walk *walk, const struct profile_output *output, const char *file)
{
    size_t size = 0;
    *walk = (struct source_walk){.line = 1};
    if (*file && output->read_source)
        walk->text = output->read_source(output->source_context, file, &size);
    walk->at = walk->text;
    walk->end = walk->text ? walk->text + size : NULL;
}

void source_deinit(struct source_walk *walk)
{
    free(walk->text);
}

static const char *end_of_line(const struct source_walk *walk)
{
    const char *newline = memchr(walk->at, '\n', (size_t)(walk->end - walk->at));
    return newline ? newline : walk->end;
}

/* Tabs are eight columns wide in a terminal and in a page; escaped they would be "\x09". */
static void add_without_tabs(struct text *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == '\t')
            do
                text_add_char(text, ' ');
            while (text->size % 8 && !text->failed);
        else if (bytes[i] && bytes[i] != '\r' && bytes[i] != '\f')
            text_add_char(text, bytes[i]);
}

bool source_add_line(struct source_walk *walk, uint32_t line, struct text *ret)
{
    while (walk->at && walk->line < line) {
        const char *end = end_of_line(walk);
        walk->at = end < walk->end ? end + 1 : NULL;
        walk->line++;
    }
    if (!walk->at || walk->line != line || walk->at == walk->end)
        return false;
    size_t size = (size_t)(end_of_line(walk) - walk->at);
    if (size > SOURCE_LINE_LIMIT) {
        size = SOURCE_LINE_LIMIT;
        while (size && utf8_continues(walk->at[size]))
            size--;
    }
    struct text plain = {0};
    add_without_tabs(&plain, walk->at, size);
    if (plain.data)
        text_add_escaped(ret, plain.data);
    ret->failed |= plain.failed;
    text_deinit(&plain);
    return true;
}
