/* Text in memory: char, wchar_t, char16_t, char32_t. */
#include "value_writer.h"

#include <stdlib.h>
#include <string.h>

/* Types of their own in C++, typedefs in C. */
static bool is_wide_name(const char *name)
{
    return name && (!strcmp(name, "wchar_t") || !strcmp(name, "char8_t") ||
                    !strcmp(name, "char16_t") || !strcmp(name, "char32_t"));
}

unsigned c_character_width(const struct debug_type *type)
{
    if (type->kind == DEBUG_KIND_CHARACTER || type->kind == DEBUG_KIND_UNSIGNED_CHARACTER)
        return 1;
    if (!is_wide_name(type->tag) && !is_wide_name(type->name))
        return 0;
    return type->size == 1 || type->size == 2 || type->size == 4 ? (unsigned)type->size : 0;
}

static void add_escaped(struct text *text, uint32_t point)
{
    if (point == '"' || point == '\\')
        text_printf(text, "\\%c", (int)point);
    else if (point == '\n' || point == '\t')
        text_add_string(text, point == '\n' ? "\\n" : "\\t");
    else
        text_printf(text,
                    point < 0x100     ? "\\x%02x"
                    : point < 0x10000 ? "\\u%04x"
                                      : "\\U%08x",
                    point);
}

static bool is_plain(uint32_t point)
{
    return point >= 32 && (point < 127 || point >= 160) && point != '"' && point != '\\' &&
           (point < 0xd800 || point > 0xdfff) && point < 0x110000;
}

static uint32_t load_unit(const uint8_t *bytes, unsigned width)
{
    uint32_t unit = 0;
    for (unsigned i = 0; i < width; i++)
        unit |= (uint32_t)bytes[i] << 8 * i;
    return unit;
}

/* Two halves of one character of UTF-16. */
static bool join_units(uint32_t *point, const uint8_t *next, unsigned width)
{
    uint32_t low = width == 2 ? load_unit(next, 2) : 0;
    if (width != 2 || *point < 0xd800 || *point > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return false;
    *point = 0x10000 + ((*point - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

static void add_units(struct text *text, const uint8_t *bytes, size_t count, unsigned width)
{
    for (size_t i = 0; i < count; i++) {
        char encoded[4];
        uint32_t point = load_unit(bytes + i * width, width);
        if (i + 1 < count && join_units(&point, bytes + (i + 1) * width, width))
            i++;
        if (is_plain(point))
            text_add(text, encoded, utf8_put(point, encoded));
        else
            add_escaped(text, point);
    }
}

/* UTF-8; other bytes are escaped each. */
static void add_bytes(struct text *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size;) {
        uint32_t point;
        size_t used = utf8_decode(bytes + i, size - i, &point);
        if (used && is_plain(point))
            text_add(text, bytes + i, used);
        else
            add_escaped(text, used ? point : (uint8_t)bytes[i]);
        i += used ? used : 1;
    }
}

static size_t find_end(const uint8_t *bytes, size_t count, unsigned width, enum c_text_end how)
{
    size_t at = 0;
    if (how == C_TEXT_COUNTED)
        return count;
    if (how == C_TEXT_BYTES) {
        while (count && !load_unit(bytes + (count - 1) * width, width))
            count--;
        return count;
    }
    while (at < count && load_unit(bytes + at * width, width))
        at++;
    return at;
}

static char prefix_of(const struct debug_type *type)
{
    if (type->name[0] == 'w')
        return 'L';
    return type->size == 2 ? 'u' : 'U';
}

/* L, u or U before the quotes, as in C++; none in Cython frames. */
static void add_prefix(struct c_writer *writer, const struct debug_type *type)
{
    if (writer->cython || type->size == 1)
        return;
    text_add_char(writer->text, prefix_of(type));
}

static void free_bytes(uint8_t **bytes)
{
    free(*bytes);
}

bool c_add_text(struct c_writer *writer, const struct debug_type *type, psc_addr address,
                uint64_t count, enum c_text_end how)
{
    unsigned width = c_character_width(type);
    struct text *text = writer->text;
    if (!width)
        return false;
    const size_t most = writer->limits.characters;
    size_t wanted = count < most ? (size_t)count : most;
    uint8_t *bytes PSC_CLEANUP(free_bytes) = calloc(wanted + 1, width);
    if (!bytes) {
        text->failed = true;
        return true;
    }
    target_begin_text(writer->target);
    size_t size = wanted ? target_read_some(writer->target, address, bytes, wanted * width) : 0;
    target_end_text(writer->target);
    size_t read = size / width;
    if (!read && wanted)
        return false;
    size_t shown = find_end(bytes, read, width, how);
    bool cut = (shown == read || how == C_TEXT_BYTES) && (how == C_TEXT_TERMINATED || read < count);
    add_prefix(writer, type);
    text_add_char(text, '"');
    if (width == 1)
        add_bytes(text, (const char *)bytes, shown);
    else
        add_units(text, bytes, shown, width);
    text_add_string(text, cut ? "\"\u2026" : "\"");
    return true;
}

bool c_add_code_point(struct text *text, uint64_t value)
{
    char encoded[4];
    if (value != '"' && (value > UINT32_MAX || value == '\'' || !is_plain((uint32_t)value)))
        return false;
    text_add_char(text, '\'');
    text_add(text, encoded, utf8_put((uint32_t)value, encoded));
    text_add_char(text, '\'');
    return true;
}

void c_add_wide_character(struct text *text, const struct debug_type *type, uint64_t value)
{
    struct text letter = {0};
    if (c_character_width(type) < 2 || !c_add_code_point(&letter, value)) {
        text_deinit(&letter);
        return;
    }
    text_printf(text, " %c%s", prefix_of(type), letter.data);
    text_deinit(&letter);
}
