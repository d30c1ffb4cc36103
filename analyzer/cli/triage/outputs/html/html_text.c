/* Text of a target in a page. */
#include "html_private.h"
#include "messages.h"

#include <stdlib.h>
#include <string.h>

static void put_byte(FILE *file, char byte)
{
    switch (byte) {
    case '&':
        fputs("&amp;", file);
        return;
    case '<':
        fputs("&lt;", file);
        return;
    case '>':
        fputs("&gt;", file);
        return;
    case '"':
        fputs("&quot;", file);
        return;
    case '\'':
        fputs("&#39;", file);
        return;
    default:
        putc(byte, file);
    }
}

/* A line; what drives a terminal would be no better in a page. */
static void put_line(FILE *file, const char *text)
{
    char *safe = NULL;
    size_t size;
    FILE *memory = open_memstream(&safe, &size);
    if (!memory)
        return;
    put_safely(memory, text);
    if (!fclose(memory))
        for (const char *at = safe; *at; at++)
            put_byte(file, *at);
    free(safe);
}

void put_html_bytes(FILE *file, const char *text, size_t size)
{
    char *copy = strndup(text, size);
    for (char *line = copy; line;) {
        char *end = line + strcspn(line, "\n\t");
        const char separator = *end;
        *end = '\0';
        put_line(file, line);
        if (separator)
            putc(separator, file);
        line = separator ? end + 1 : NULL;
    }
    free(copy);
}

void put_html(FILE *file, const char *text)
{
    put_html_bytes(file, text, strlen(text));
}

void put_element(FILE *file, const char *tag, const char *classes, const char *text)
{
    if (!text || !*text)
        return;
    fprintf(file, "<%s class=\"%s\">", tag, classes);
    put_html(file, text);
    fprintf(file, "</%s>", tag);
}
