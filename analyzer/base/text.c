#include "text.h"

#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_deinit(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

void text_clear(struct text *text)
{
    text->size = 0;
    if (text->data)
        text->data[0] = '\0';
}

void text_add(struct text *text, const char *bytes, size_t size)
{
    if (size > SIZE_MAX / 2 - text->size ||
        !array_reserve(&text->data, &text->capacity, text->size + size + 1, 1)) {
        text->failed = true;
        return;
    }
    if (size)
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_add_char(struct text *text, char character)
{
    text_add(text, &character, 1);
}

void text_add_number(struct text *text, uint64_t number)
{
    char digits[20];
    size_t first = sizeof(digits);
    do
        digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    text_add(text, digits + first, sizeof(digits) - first);
}

void text_printf(struct text *text, const char *format, ...)
{
    char small[256];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (size < 0)
        return;
    if ((size_t)size < sizeof(small)) {
        text_add(text, small, (size_t)size);
        return;
    }
    if (!array_reserve(&text->data, &text->capacity, text->size + (size_t)size + 1, 1)) {
        text->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(text->data + text->size, (size_t)size + 1, format, args);
    va_end(args);
    text->size += (size_t)size;
}

size_t utf8_put(uint32_t code_point, char ret[4])
{
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff))
        code_point = 0xfffd;
    if (code_point < 0x80) {
        ret[0] = (char)code_point;
        return 1;
    }
    size_t size = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i; i--, code_point >>= 6)
        ret[i] = (char)(0x80 | (code_point & 0x3f));
    ret[0] = (char)((0xf00u >> size & 0xf0u) | code_point);
    return size;
}

void text_add_code_point(struct text *text, uint32_t code_point)
{
    char bytes[4];
    text_add(text, bytes, utf8_put(code_point, bytes));
}

size_t utf8_decode(const char *text, size_t size, uint32_t *ret)
{
    const uint8_t *b = (const uint8_t *)text;
    size_t length = b[0] < 0x80   ? 1
                    : b[0] < 0xc2 ? 0
                    : b[0] < 0xe0 ? 2
                    : b[0] < 0xf0 ? 3
                    : b[0] < 0xf5 ? 4
                                  : 0;
    if (!length || length > size)
        return 0;
    uint32_t value = length == 1 ? b[0] : b[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (b[i] & 0x3fu);
    }
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (value < smallest[length] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *ret = value;
    return length;
}

static bool drives_terminal(uint32_t code_point)
{
    return code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f) || code_point == 0x61c ||
           code_point == 0x200e || code_point == 0x200f || code_point == 0x2028 ||
           code_point == 0x2029 || (code_point >= 0x202a && code_point <= 0x202e) ||
           (code_point >= 0x2066 && code_point <= 0x2069);
}

void text_add_escaped(struct text *text, const char *string)
{
    size_t left = strlen(string);
    while (left) {
        uint32_t code_point;
        // Printable ASCII, which nearly all is, goes in one piece.
        size_t plain = 0;
        while (plain < left && string[plain] >= 0x20 && string[plain] < 0x7f)
            plain++;
        text_add(text, string, plain);
        string += plain;
        left -= plain;
        if (!left)
            break;
        size_t used = utf8_decode(string, left, &code_point);
        if (!used) {
            text_printf(text, "\\x%02x", (uint8_t)*string);
            used = 1;
        } else if (code_point == '\n') {
            text_add_string(text, "\\n");
        } else if (code_point == '\t') {
            text_add_string(text, "\\t");
        } else if (drives_terminal(code_point)) {
            text_printf(text, code_point < 0x100 ? "\\x%02x" : "\\u%04x", code_point);
        } else {
            text_add(text, string, used);
        }
        string += used;
        left -= used;
    }
}

static void add_html_byte(struct text *text, char byte)
{
    switch (byte) {
    case '&':
        text_add_string(text, "&amp;");
        return;
    case '<':
        text_add_string(text, "&lt;");
        return;
    case '>':
        text_add_string(text, "&gt;");
        return;
    case '"':
        text_add_string(text, "&quot;");
        return;
    case '\'':
        text_add_string(text, "&#39;");
        return;
    default:
        text_add_char(text, byte);
    }
}

void text_add_html(struct text *text, const char *string)
{
    struct text safe = {0};
    text_add_escaped(&safe, string);
    for (size_t i = 0; i < safe.size; i++)
        add_html_byte(text, safe.data[i]);
    text->failed |= safe.failed;
    text_deinit(&safe);
}
