#include "types.h"

#include <inttypes.h>
#include <string.h>

#define BINARY_LIMIT (UINT64_C(1) << 40)

struct range {
    uint32_t first;
    uint32_t last;
};

/* What str.isprintable() denies among assigned characters (Unicode 15: Cc, Cf, Cs, Co, Zl, Zp, Zs)
   but the blank. */
static const struct range hidden_ranges[] = {
    {0x7f, 0xa0},          {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},        {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},
    {0x1680, 0x1680},      {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f},      {0x3000, 0x3000},   {0xd800, 0xf8ff},   {0xfeff, 0xfeff},
    {0xfff0, 0xfffb},      {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f},    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff},
    {0xe01f0, 0xffffffff},
};

static bool is_printable(uint32_t character)
{
    if (character < 0x20)
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(hidden_ranges) && character >= hidden_ranges[i].first;
         i++)
        if (character <= hidden_ranges[i].last)
            return false;
    return true;
}

static uint32_t character_at(const uint8_t *characters, size_t index, uint32_t width)
{
    return width == 1   ? characters[index]
           : width == 2 ? load_u16(characters + 2 * index)
                        : load_u32(characters + 4 * index);
}

static void add_escape(struct text *text, uint32_t character)
{
    if (character == '\n')
        text_add_string(text, "\\n");
    else if (character == '\r')
        text_add_string(text, "\\r");
    else if (character == '\t')
        text_add_string(text, "\\t");
    else if (character < 0x100)
        text_printf(text, "\\x%02" PRIx32, character);
    else if (character < 0x10000)
        text_printf(text, "\\u%04" PRIx32, character);
    else
        text_printf(text, "\\U%08" PRIx32, character);
}

/* CPython, Objects/unicodeobject.c, unicode_repr; bytes escape all that is not ASCII. */
static void format_quoted(const uint8_t *characters, size_t count, uint32_t width, bool ascii,
                          struct text *text)
{
    bool single = false;
    bool doubled = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t character = character_at(characters, i, width);
        single = single || character == '\'';
        doubled = doubled || character == '"';
    }
    char quote = single && !doubled ? '"' : '\'';
    text_add_char(text, quote);
    for (size_t i = 0; i < count; i++) {
        uint32_t character = character_at(characters, i, width);
        if (ascii && width == 2 && i + 1 < count && character >> 10 == 0xd800 >> 10 &&
            character_at(characters, i + 1, width) >> 10 == 0xdc00 >> 10)
            character = 0x10000 + ((character & 0x3ff) << 10) +
                        (character_at(characters, ++i, width) & 0x3ff);
        if (character == '\\' || character == (uint32_t)quote) {
            text_add_char(text, '\\');
            text_add_char(text, (char)character);
        } else if (character >= 0x20 && character < 0x7f) {
            text_add_char(text, (char)character);
        } else if (!ascii && is_printable(character)) {
            text_add_code_point(text, character);
        } else {
            add_escape(text, character);
        }
    }
    text_add_char(text, quote);
}

void format_str(const uint8_t *characters, size_t count, uint32_t width, struct text *text)
{
    format_quoted(characters, count, width, false, text);
}

void format_bytes(const uint8_t *bytes, size_t count, struct text *text)
{
    format_quoted(bytes, count, 1, true, text);
}

void value_add_rest(struct text *text, uint64_t rest)
{
    if (rest)
        text_printf(text, "\u2026 %" PRIu64 " more", rest);
}

void value_format_text(struct value_writer *writer, const uint8_t *characters, size_t count,
                       uint32_t width)
{
    switch (writer->python->layout.rules->texts) {
    case PY_TEXTS_BYTES_AND_UNICODE:
        /* All that is not ASCII is escaped, two surrogates together. */
        format_quoted(characters, count, width, true, writer->text);
        break;
    case PY_TEXTS_STR:
        format_str(characters, count, width, writer->text);
        break;
    }
}

static bool read_text(struct target *target, psc_addr address, void *buffer, size_t size)
{
    target_begin_text(target);
    enum psc_status status = target_read(target, address, buffer, size);
    target_end_text(target);
    return status == PSC_OK;
}

static void add_characters(struct value_writer *writer, const struct py_characters *characters)
{
    struct python *python = writer->python;
    size_t count = python->limits.length;
    count = characters->length < count ? (size_t)characters->length : count;
    uint8_t *buffer = value_buffer(writer, 4 * count + 1);
    if (!buffer)
        return;
    if (!read_text(python->target, characters->data, buffer, count * characters->width)) {
        text_add_string(writer->text, "<str: not readable>");
        return;
    }
    text_add_string(writer->text, python->layout.rules->spelling->text_prefix);
    value_format_text(writer, buffer, count, characters->width);
    value_add_rest(writer->text, characters->length - count);
}

void value_add_str(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct py_characters characters;
    (void)type;
    if (py_string_open(writer->python, object, &characters) == PSC_OK)
        add_characters(writer, &characters);
    else
        text_add_string(writer->text, "<str: not readable>");
}

void value_add_name(struct value_writer *writer, psc_addr object)
{
    uint8_t buffer[4 * VALUE_NAME_CHARACTERS];
    struct py_characters characters;
    struct python *python = writer->python;
    if (py_string_open(python, object, &characters) != PSC_OK ||
        characters.length > VALUE_NAME_CHARACTERS ||
        target_read(python->target, characters.data, buffer,
                    (size_t)characters.length * characters.width) != PSC_OK) {
        text_add_char(writer->text, '?');
        return;
    }
    size_t used = 1;
    for (size_t i = 0; i < characters.length; i += used) {
        uint32_t character = character_at(buffer, i, characters.width);
        if (characters.encoded)
            used = utf8_decode((const char *)buffer + i, characters.length - i, &character);
        used = used ? used : 1;
        if (is_printable(character))
            text_add_code_point(writer->text, character);
        else
            add_escape(writer->text, character);
    }
}

static void add_binary(struct value_writer *writer, psc_addr data, uint64_t size,
                       const char *prefix)
{
    size_t count = writer->python->limits.length;
    count = size < count ? (size_t)size : count;
    uint8_t *buffer = value_buffer(writer, count + 1);
    if (!buffer)
        return;
    if (size > BINARY_LIMIT || !read_text(writer->python->target, data, buffer, count)) {
        text_add_string(writer->text, "<bytes: not readable>");
        return;
    }
    text_add_string(writer->text, prefix);
    format_bytes(buffer, count, writer->text);
    value_add_rest(writer->text, size - count);
}

void value_add_bytes(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint64_t size;
    (void)type;
    if (py_read_u64(writer->python, object, PY_VAR_SIZE, &size) != PSC_OK)
        size = UINT64_MAX;
    add_binary(writer, py_field_address(writer->python, object, PY_BYTES_DATA), size,
               writer->python->layout.rules->spelling->bytes_prefix);
}

void value_add_bytes_as_text(struct value_writer *writer, psc_addr object)
{
    uint64_t size;
    if (py_read_u64(writer->python, object, PY_VAR_SIZE, &size) != PSC_OK)
        size = UINT64_MAX;
    add_binary(writer, py_field_address(writer->python, object, PY_BYTES_DATA), size, "");
}

bool value_add_part(struct value_writer *writer, psc_addr object, uint64_t start, uint64_t end)
{
    const struct py_type *type;
    struct py_characters characters;
    struct python *python = writer->python;
    uint64_t size;
    if (py_type_of(python, object, &type) != PSC_OK || start > end)
        return false;
    if (type->kind == PY_KIND_BYTES) {
        if (py_read_u64(python, object, PY_VAR_SIZE, &size) != PSC_OK || end > size)
            return false;
        add_binary(writer, py_field_address(python, object, PY_BYTES_DATA) + start, end - start,
                   python->layout.rules->spelling->bytes_prefix);
        return true;
    }
    if (type->kind != PY_KIND_STR || py_string_open(python, object, &characters) != PSC_OK ||
        end > characters.length)
        return false;
    characters.data += start * characters.width;
    characters.length = end - start;
    add_characters(writer, &characters);
    return true;
}

void value_add_bytearray(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint64_t size;
    psc_addr start = 0;
    (void)type;
    if (py_read_u64(writer->python, object, PY_VAR_SIZE, &size) != PSC_OK ||
        py_read_u64(writer->python, object, PY_BYTEARRAY_START, &start) != PSC_OK)
        size = UINT64_MAX;
    text_add_string(writer->text, "bytearray(");
    add_binary(writer, start, size, "b");
    text_add_char(writer->text, ')');
}
