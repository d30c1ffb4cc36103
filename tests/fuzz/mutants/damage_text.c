/* Damage to texts: sources, generated C, XML, maps of names. */
#include "mutants.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define GROWTH_MAX ((size_t)4 << 20)

struct text {
    struct choice *choice;
    uint8_t *bytes;
    size_t size, capacity;
};

static void replace(struct text *text, size_t at, size_t old, const void *bytes, size_t size)
{
    if (at + old > text->size || text->size - old + size > text->capacity)
        return;
    memmove(text->bytes + at + size, text->bytes + at + old, text->size - at - old);
    memcpy(text->bytes + at, bytes, size);
    text->size = text->size - old + size;
}

static size_t line_start(const struct text *text, size_t at)
{
    while (at && text->bytes[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const struct text *text, size_t at)
{
    while (at < text->size && text->bytes[at] != '\n')
        at++;
    return at < text->size ? at + 1 : at;
}

static void insert_bytes(struct text *text)
{
    static const struct {
        const char *bytes;
        size_t size;
    } odd[] = {{"\0", 1},
               {"\0\0\0\0\0\0\0\0", 8},
               {"\xff\xfe", 2},
               {"\xc0\x80", 2},
               {"\xed\xa0\x80", 3},
               {"\xf5\x80", 2},
               {"\xef\xbb\xbf", 3},
               {"\r", 1},
               {"\r\n", 2},
               {"\f", 1},
               {"\n", 1},
               {"\x1b[31m", 5},
               {"\xe2\x80\xae", 3},
               {"\"", 1},
               {"<", 1},
               {">", 1},
               {"&#0;", 4},
               {"]]>", 3},
               {"*/", 2},
               {"/* \"", 4},
               {"# <<<<<<<<<<<<<<\n", 17},
               {"<!DOCTYPE a [<!ENTITY b 'c'>]>", 30},
               {"# -*- coding: utf-16 -*-\n", 25},
               {"# coding: euc_jp\n", 17},
               {"#line 4294967295 \"x\"\n", 21},
               {" * ", 3}};
    size_t one = choose_below(text->choice, sizeof(odd) / sizeof(*odd));
    size_t at = choose_below(text->choice, text->size + 1);
    if (choose_one_in(text->choice, 3))
        at = line_start(text, at);
    if (choose_one_in(text->choice, 8))
        at = 0;
    replace(text, at, 0, odd[one].bytes, odd[one].size);
}

/* Line numbers, addresses and sizes: another number in place of one that is there. */
static void change_number(struct text *text)
{
    static const char *const numbers[] = {"0",
                                          "-1",
                                          "4294967295",
                                          "4294967296",
                                          "2147483647",
                                          "2147483648",
                                          "18446744073709551616",
                                          "1",
                                          "999999999999999999999999999999",
                                          "",
                                          "0x10",
                                          "1e9",
                                          "ffffffffffffffff"};
    size_t at = choose_below(text->choice, text->size), limit = at + 4096;
    while (at < text->size && at < limit && !isdigit(text->bytes[at]))
        at++;
    size_t size = 0;
    while (at + size < text->size && isdigit(text->bytes[at + size]))
        size++;
    const char *other = numbers[choose_below(text->choice, sizeof(numbers) / sizeof(*numbers))];
    if (size)
        replace(text, at, size, other, strlen(other));
}

static void repeat(struct text *text)
{
    size_t start = line_start(text, choose_below(text->choice, text->size));
    size_t end = line_end(text, start), size = end - start;
    static const size_t often[] = {1, 2, 100, 10000};
    size_t times = often[choose_below(text->choice, sizeof(often) / sizeof(*often))];
    // Without its end it becomes one long line.
    size_t part = choose_one_in(text->choice, 3) && size > 1 ? size - 1 : size;
    if (part && times > GROWTH_MAX / 2 / part)
        times = GROWTH_MAX / 2 / part;
    uint8_t *lines = malloc(part * times + 1);
    if (!lines)
        return;
    for (size_t i = 0; i < times; i++)
        memcpy(lines + i * part, text->bytes + start, part);
    replace(text, start, 0, lines, part * times);
    free(lines);
}

static void long_line(struct text *text)
{
    static const uint8_t fillings[] = {' ', 'a', '"', '<', '(', 0, 0xe2, '\t', '\n', '9'};
    size_t size = (size_t)1 << (8 + choose_below(text->choice, 13));
    uint8_t *filling = malloc(size);
    if (!filling)
        return;
    memset(filling, fillings[choose_below(text->choice, sizeof(fillings))], size);
    replace(text, choose_below(text->choice, text->size + 1), 0, filling, size);
    free(filling);
}

static void drop(struct text *text)
{
    size_t at = choose_below(text->choice, text->size);
    size_t end = line_end(text, at);
    switch (choose_below(text->choice, 4)) {
    case 0:
        text->size = at;
        break;
    case 1:
        at = line_start(text, at);
        replace(text, at, end - at, "", 0);
        break;
    case 2: // Two lines become one.
        if (end)
            replace(text, end - 1, 1, "", 0);
        break;
    default:
        replace(text, at, end - at, "", 0);
    }
}

static void change_bytes(struct text *text)
{
    for (size_t times = 1 + choose_below(text->choice, 16); times && text->size; times--)
        text->bytes[choose_below(text->choice, text->size)] =
            (uint8_t)choose_number(text->choice, 'a');
}

size_t damage_text_bytes(struct choice *choice, void *bytes, size_t size, size_t capacity)
{
    struct text text = {choice, bytes, size, capacity};
    for (size_t times = 1 + choose_below(choice, 6); times; times--)
        switch (choose_below(choice, 12)) {
        case 0:
        case 1:
        case 2:
            insert_bytes(&text);
            break;
        case 3:
        case 4:
        case 5:
            change_number(&text);
            break;
        case 6:
            repeat(&text);
            break;
        case 7:
            long_line(&text);
            break;
        case 8:
        case 9:
            drop(&text);
            break;
        default:
            change_bytes(&text);
        }
    return text.size;
}

void damage_text(struct choice *choice, struct damaged_file *file)
{
    uint8_t *bytes = malloc(file->size + GROWTH_MAX);
    if (!bytes)
        return;
    memcpy(bytes, file->bytes, file->size);
    size_t size = damage_text_bytes(choice, bytes, file->size, file->size + GROWTH_MAX);
    file_rewrite(file, bytes, size);
    free(bytes);
}
