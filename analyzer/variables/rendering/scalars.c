/* Numbers: whole, floating, complex, of enums, and in bit fields. */
#include "value_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define EXTENDED_SIZE ((size_t)16) /* Of a long double, on all machines. */

static void add_wide(struct text *text, uint64_t low, uint64_t high, bool is_signed)
{
    char digits[40];
    size_t at = sizeof(digits);
    unsigned __int128 value = (unsigned __int128)high << 64 | low;
    bool negative = is_signed && high >> 63;
    if (negative)
        value = 0 - value;
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value);
    if (negative)
        text_add_char(text, '-');
    text_add(text, digits + at, sizeof(digits) - at);
}

static uint64_t extend_sign(uint64_t value, uint64_t bits)
{
    return bits && bits < 64 && value >> (bits - 1) & 1 ? value | ~((UINT64_C(1) << bits) - 1)
                                                        : value;
}

/* 'a' as gdb has it. */
static void add_character(struct text *text, uint8_t value)
{
    static const struct {
        uint8_t value;
        char letter;
    } escapes[] = {{7, 'a'},  {8, 'b'},  {9, 't'},     {10, 'n'},   {11, 'v'},
                   {12, 'f'}, {13, 'r'}, {'\\', '\\'}, {'\'', '\''}};
    text_add_string(text, " '");
    for (size_t i = 0; i < PSC_ARRAY_SIZE(escapes); i++)
        if (escapes[i].value == value) {
            text_printf(text, "\\%c'", escapes[i].letter);
            return;
        }
    if (value < 32 || value > 126)
        text_printf(text, "\\%03o'", value);
    else
        text_printf(text, "%c'", value);
}

/* (A | B) as gdb has it: of enumerators that are one bit each, and nothing left over. */
static bool add_flags(struct c_writer *writer, const struct debug_type *type, uint64_t value)
{
    struct text *text = writer->text;
    size_t before = text->size;
    uint64_t left = type->size < 8 ? value & ((UINT64_C(1) << 8 * type->size) - 1) : value;
    if (!(left & (left - 1)))
        return false;
    for (uint64_t bit; left; left &= left - 1) {
        bit = left & (0 - left);
        const char *name = debug_type_enumerator(type, bit);
        if (!name)
            break;
        text_add_string(text, text->size == before ? "(" : " | ");
        text_add_string(text, cython_enumerator_name(name));
    }
    if (left && !text->failed && text->size > before)
        text->data[text->size = before] = '\0';
    else if (!left)
        text_add_char(text, ')');
    return !left;
}

static void add_enum(struct c_writer *writer, const struct debug_type *type, uint64_t value)
{
    const char *name = debug_type_enumerator(type, value);
    if (name)
        text_add_string(writer->text, cython_enumerator_name(name));
    else if (!add_flags(writer, type, value))
        text_printf(writer->text, "%" PRId64, (int64_t)extend_sign(value, 8 * type->size));
}

/* A whole number of `bits` bits; the higher ones of `value` are 0. */
static void add_whole(struct c_writer *writer, const struct debug_type *type, uint64_t value,
                      uint64_t bits)
{
    struct text *text = writer->text;
    // In Cython frames these are shown as strings of one character.
    if (writer->cython && type->name && c_api_is_character_type(type->name) &&
        c_add_code_point(text, value))
        return;
    switch (type->kind) {
    case DEBUG_KIND_BOOL:
        if (writer->cython)
            text_add_string(text, value ? "True" : "False");
        else if (value <= 1)
            text_add_string(text, value ? "true" : "false");
        else
            text_printf(text, "%" PRIu64, value);
        return;
    case DEBUG_KIND_ENUM:
        add_enum(writer, type, value);
        return;
    case DEBUG_KIND_SIGNED:
    case DEBUG_KIND_CHARACTER:
        text_printf(text, "%" PRId64, (int64_t)extend_sign(value, bits));
        break;
    case DEBUG_KIND_UNSIGNED:
    case DEBUG_KIND_UNSIGNED_CHARACTER:
    case DEBUG_KIND_OTHER:
    case DEBUG_KIND_VOID:
    case DEBUG_KIND_FLOAT:
    case DEBUG_KIND_COMPLEX:
    case DEBUG_KIND_POINTER:
    case DEBUG_KIND_REFERENCE:
    case DEBUG_KIND_STRUCT:
    case DEBUG_KIND_UNION:
    case DEBUG_KIND_ARRAY:
    case DEBUG_KIND_FUNCTION:
        text_printf(text, "%" PRIu64, value);
        break;
    }
    if (writer->cython)
        return;
    bool character =
        type->kind == DEBUG_KIND_CHARACTER || type->kind == DEBUG_KIND_UNSIGNED_CHARACTER;
    if (character)
        add_character(text, (uint8_t)extend_sign(value, bits));
    else
        c_add_wide_character(text, type, value);
}

/* A number of that sign; `exponent` is that of two, as it is stored with a bias of 16383. */
static long double make_extended(bool negative, unsigned exponent, uint64_t high, int high_bits,
                                 uint64_t low)
{
    int power = (int)(exponent ? exponent : 1) - 16383 - high_bits;
    long double value = ldexpl((long double)high, power) + ldexpl((long double)low, power - 64);
    if (exponent == 0x7fff)
        value = low || high << (64 - high_bits) ? NAN : INFINITY;
    return copysignl(value, negative ? -1.0L : 1.0L);
}

static long double load_extended(const struct target_machine *machine, const uint8_t *bytes)
{
    uint64_t low = load_u64(bytes), high = load_u64(bytes + 8);
    switch (machine->long_double) {
    case TARGET_LONG_DOUBLE_X87:
        return make_extended(high & 0x8000, high & 0x7fff, low, 63, 0);
    case TARGET_LONG_DOUBLE_QUAD:
        break;
    }
    unsigned exponent = (unsigned)(high >> 48) & 0x7fff;
    uint64_t fraction = high & ((UINT64_C(1) << 48) - 1);
    return make_extended(high >> 63, exponent, fraction | (uint64_t)(exponent != 0) << 48, 48, low);
}

bool c_add_float(const struct c_writer *writer, const uint8_t *bytes, uint64_t size,
                 struct text *text)
{
    float single;
    double value;
    if (size == sizeof(single)) {
        memcpy(&single, bytes, sizeof(single));
        python_add_single(single, text);
    } else if (size == sizeof(value)) {
        memcpy(&value, bytes, sizeof(value));
        python_add_float(value, text);
    } else if (size == EXTENDED_SIZE) {
        text_printf(text, "%.18Lg", load_extended(writer->target->machine, bytes));
    } else {
        return false;
    }
    return true;
}

bool c_add_complex(struct c_writer *writer, const uint8_t *bytes, uint64_t size)
{
    float singles[2];
    double parts[2];
    if (size == sizeof(singles)) {
        memcpy(singles, bytes, sizeof(singles));
        python_add_complex(singles[0], singles[1], true, writer->text);
    } else if (size == sizeof(parts)) {
        memcpy(parts, bytes, sizeof(parts));
        python_add_complex(parts[0], parts[1], false, writer->text);
    } else if (size == 2 * EXTENDED_SIZE) {
        struct text imaginary = {0};
        c_add_float(writer, bytes + EXTENDED_SIZE, EXTENDED_SIZE, &imaginary);
        text_add_char(writer->text, '(');
        c_add_float(writer, bytes, EXTENDED_SIZE, writer->text);
        if (!imaginary.failed)
            text_printf(writer->text, "%s%s", imaginary.data[0] == '-' ? "" : "+", imaginary.data);
        text_deinit(&imaginary);
        text_add_string(writer->text, "j)");
    } else {
        return false;
    }
    return true;
}

void c_add_number(struct c_writer *writer, const struct debug_type *type, struct c_storage storage)
{
    uint8_t bytes[32] = {0};
    if (!type->size || type->size > sizeof(bytes)) {
        text_printf(writer->text, "<%" PRIu64 " bytes>", type->size);
        return;
    }
    // A long double has 10 bytes and padding, which a constant may lack.
    bool extended = type->kind == DEBUG_KIND_FLOAT && type->size == sizeof(long double);
    enum c_read found = c_read(writer, storage, 0, bytes, extended ? 10 : type->size);
    if (found != C_READ_OK)
        c_add_missing(writer, found, storage.at);
    else if ((type->kind == DEBUG_KIND_COMPLEX && c_add_complex(writer, bytes, type->size)) ||
             (type->kind == DEBUG_KIND_FLOAT &&
              c_add_float(writer, bytes, type->size, writer->text)))
        return;
    else if (type->size == 16 && type->kind != DEBUG_KIND_COMPLEX)
        add_wide(writer->text, load_u64(bytes), load_u64(bytes + 8),
                 type->kind == DEBUG_KIND_SIGNED);
    else if (type->size <= 8 && type->kind != DEBUG_KIND_COMPLEX)
        add_whole(writer, type, load_u64(bytes), 8 * type->size);
    else
        text_printf(writer->text, "<%" PRIu64 " bytes>", type->size);
}

void c_add_bits(struct c_writer *writer, const struct debug_member *member,
                struct c_storage storage)
{
    uint8_t bytes[8] = {0};
    size_t size = (member->bit_offset + member->bit_size + 7) / 8;
    enum c_read found = c_read(writer, storage, member->offset, bytes, size);
    if (found != C_READ_OK || !member->type) {
        c_add_missing(writer, found, storage.at + member->offset);
        return;
    }
    uint64_t value = load_u64(bytes) >> member->bit_offset;
    if (member->bit_size < 64)
        value &= (UINT64_C(1) << member->bit_size) - 1;
    add_whole(writer, member->type, value, member->bit_size);
}
