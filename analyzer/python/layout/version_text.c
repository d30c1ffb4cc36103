/* A version as text: PY_VERSION_HEX of it, and back. */
#include "layout.h"

#include <stdio.h>
#include <string.h>

#define VERSION_NUMBER_LIMIT 99u
#define BUILD_INFO_LIMIT     300u

static size_t parse_number(const char *bytes, size_t size, size_t at, unsigned *ret)
{
    size_t start = at;
    *ret = 0;
    while (at < size && at - start < 3 && bytes[at] >= '0' && bytes[at] <= '9')
        *ret = 10 * *ret + (unsigned)(bytes[at++] - '0');
    return *ret <= VERSION_NUMBER_LIMIT ? at - start : 0;
}

/* Level and serial of PY_VERSION_HEX: "" f0, "rc1" c1, "b4" b4, "a2" a2. */
static uint32_t parse_level(const char *bytes, size_t size)
{
    static const struct {
        const char *text;
        uint32_t level;
    } levels[] = {{"rc", 0xc0}, {"a", 0xa0}, {"b", 0xb0}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(levels); i++) {
        size_t length = strlen(levels[i].text);
        unsigned serial;
        if (size > length && memcmp(bytes, levels[i].text, length) == 0 &&
            parse_number(bytes, size, length, &serial) && serial < 16)
            return levels[i].level | serial;
    }
    return 0xf0;
}

/* CPython, Python/getversion.c: "%.80s (%.80s) %.80s", the last one "[GCC 12.2.0]". */
static bool has_build_info(const char *bytes, size_t size)
{
    size_t limit = size < BUILD_INFO_LIMIT ? size : BUILD_INFO_LIMIT;
    const char *close = memchr(bytes, ')', limit);
    return close && memchr(close, '[', limit - (size_t)(close - bytes));
}

bool parse_version_text(const char *bytes, size_t size, struct py_version_text *ret)
{
    unsigned numbers[3];
    size_t at = 0;
    for (size_t i = 0; i < 3; i++) {
        size_t digits = parse_number(bytes, size, at, &numbers[i]);
        if (!digits)
            return false;
        at += digits;
        if (i == 2)
            break;
        if (at >= size || bytes[at++] != '.')
            return false;
    }
    size_t number_end = at;
    while (at < size && at < sizeof(ret->text) - 1 && bytes[at] > ' ' && bytes[at] < 0x7f &&
           bytes[at] != '(')
        at++;
    if (at + 2 > size || at >= sizeof(ret->text) || bytes[at] != ' ' || bytes[at + 1] != '(' ||
        !has_build_info(bytes + at, size - at))
        return false;
    ret->hex = numbers[0] << 24 | numbers[1] << 16 | numbers[2] << 8 |
               parse_level(bytes + number_end, at - number_end);
    memcpy(ret->text, bytes, at);
    ret->text[at] = '\0';
    return numbers[0] == 2 || numbers[0] == 3;
}

uint32_t parse_version_name(const char *file_name)
{
    unsigned first;
    unsigned second;
    const char *found = strstr(file_name, "python");
    if (!found)
        return 0;
    const char *version = found + strlen("python");
    size_t size = strlen(version);
    size_t digits = parse_number(version, size, 0, &first);
    if (!digits || version[digits] != '.' || first < 2 || first > 3)
        return 0;
    if (!parse_number(version, size, digits + 1, &second))
        return 0;
    return first << 24 | second << 16;
}

bool layout_is_version(uint64_t hex)
{
    return hex <= UINT32_MAX && hex >> 24 == 3;
}

void layout_format_version(uint32_t hex, char *ret, size_t size)
{
    /* PY_VERSION_HEX: major, minor, micro, then level (a, b, c, f) and serial. */
    static const char *const levels[16] = {[0xa] = "a", [0xb] = "b", [0xc] = "rc"};
    unsigned major = hex >> 24;
    unsigned minor = hex >> 16 & 0xff;
    unsigned micro = hex >> 8 & 0xff;
    const char *level = levels[hex >> 4 & 0xf];
    if (level)
        snprintf(ret, size, "%u.%u.%u%s%u", major, minor, micro, level, hex & 0xf);
    else
        snprintf(ret, size, "%u.%u.%u", major, minor, micro);
}

void layout_format_short_version(uint32_t hex, char *ret, size_t size)
{
    snprintf(ret, size, "%u.%u", hex >> 24, hex >> 16 & 0xff);
}
