/* A source file as the compiler saw it: in UTF-8, without its byte order mark, and by lines. */
#include "source_files.h"

#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#define NAME_LIMIT 40u

static bool is_name_character(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
}

/* In lower case, with '-' for '_'. */
static char plain_letter(char c)
{
    if (c == '_')
        return '-';
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* PEP 263: "coding[:=]\s*([-\w.]+)" in a comment that has a line to itself. */
static bool find_declaration(const char *line, size_t size, char ret[NAME_LIMIT])
{
    static const char word[] = "coding";
    const char *end = line + size;
    while (line < end && (*line == ' ' || *line == '\t' || *line == '\f'))
        line++;
    if (line == end || *line != '#')
        return false;
    const char *at = line;
    while ((at = memmem(at, (size_t)(end - at), word, sizeof(word) - 1))) {
        at += sizeof(word) - 1;
        if (at == end || (*at != ':' && *at != '='))
            continue;
        const char *name = at + 1;
        while (name < end && (*name == ' ' || *name == '\t'))
            name++;
        size_t length = 0;
        while (name + length < end && length + 1 < NAME_LIMIT && is_name_character(name[length]))
            length++;
        if (!length)
            continue;
        for (size_t i = 0; i < length; i++)
            ret[i] = plain_letter(name[i]);
        ret[length] = '\0';
        return true;
    }
    return false;
}

/* Of the first two lines; the second counts only behind a comment or a blank line. */
static bool find_encoding(const char *text, size_t size, char ret[NAME_LIMIT])
{
    static const char blanks[] = {' ', '\t', '\f', '\r', '\n'};
    for (size_t line = 0; line < 2 && size; line++) {
        size_t length = source_line_length(text, size);
        if (find_declaration(text, length, ret))
            return true;
        size_t blank = 0;
        while (blank < length && memchr(blanks, text[blank], sizeof(blanks)))
            blank++;
        if (blank < length && text[blank] != '#')
            return false;
        text += length;
        size -= length;
    }
    return false;
}

/* Of a text with ends of one kind alone, all of it would be searched for the other one each time.
 */
#define SEARCHED_BYTES ((size_t)256)

size_t source_line_length(const char *text, size_t size)
{
    const char *end = NULL;
    size_t length = 0;
    while (length < size && !end) {
        const char *part = text + length;
        size_t searched = size - length < SEARCHED_BYTES ? size - length : SEARCHED_BYTES;
        end = memchr(part, '\n', searched);
        // CPython, Parser/tokenizer, translate_newlines(): "\r" alone ends a line, too.
        const char *alone = memchr(part, '\r', end ? (size_t)(end - part) : searched);
        end = alone ? alone : end;
        length += end ? (size_t)(end - part) : searched;
    }
    if (length + 1 < size && text[length] == '\r' && text[length + 1] == '\n')
        length++;
    return length < size ? length + 1 : size;
}

/* Names that Python knows (Lib/encodings/aliases.py) and iconv does not. */
static const char *iconv_name(const char *name)
{
    if (!strncmp(name, "latin-1", 7) || !strncmp(name, "iso-latin-1", 11) || !strcmp(name, "l1") ||
        !strcmp(name, "8859"))
        return "ISO-8859-1";
    return name;
}

/* Malloc'd; NULL: iconv does not know the encoding, or the text is not in it. */
static char *convert(const char *text, size_t size, const char *from, size_t *ret_size)
{
    iconv_t converter = iconv_open("UTF-8", iconv_name(from));
    if (converter == (iconv_t)-1)
        return NULL;
    /* A byte becomes at most one character of the Basic Multilingual Plane, of three bytes. */
    size_t room = 3 * size;
    char *converted = malloc(room + 1);
    char *in = (char *)(uintptr_t)text;
    char *out = converted;
    size_t left = size;
    if (converted && iconv(converter, &in, &left, &out, &room) == (size_t)-1) {
        free(converted);
        converted = NULL;
    }
    iconv_close(converter);
    *ret_size = converted ? (size_t)(out - converted) : 0;
    return converted;
}

enum source_encoding source_decode(const char *text, size_t size, char **ret, size_t *ret_size)
{
    char name[NAME_LIMIT];
    *ret = NULL;
    if (size >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
        return SOURCE_UTF8_MARKED;
    if (!find_encoding(text, size, name) || !strncmp(name, "utf-8", 5) || !strcmp(name, "utf8") ||
        !strcmp(name, "ascii") || !strcmp(name, "us-ascii"))
        return SOURCE_UTF8;
    *ret = convert(text, size, name, ret_size);
    return *ret ? SOURCE_CONVERTED : SOURCE_UNKNOWN;
}
