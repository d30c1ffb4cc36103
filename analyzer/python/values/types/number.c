#include "types.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_LIMIT 200u /* 30-bit digits that are turned into decimal ones. */
#define BILLION     1000000000u
#define CHUNK_LIMIT (DIGIT_LIMIT + 2)

/* ---- whole numbers ---- */

void format_int(const uint32_t *digits, size_t count, bool negative, struct text *text)
{
    uint32_t chunks[CHUNK_LIMIT] = {0}; /* Nine decimal digits each, the lowest first. */
    size_t used = 1;
    for (size_t i = count < DIGIT_LIMIT ? count : DIGIT_LIMIT; i-- > 0;) {
        uint64_t carry = digits[i];
        for (size_t c = 0; c < used; c++) {
            carry += (uint64_t)chunks[c] << PY_INT_DIGIT_BITS;
            chunks[c] = (uint32_t)(carry % BILLION);
            carry /= BILLION;
        }
        for (; carry && used < CHUNK_LIMIT; carry /= BILLION)
            chunks[used++] = (uint32_t)(carry % BILLION);
    }
    text_printf(text, "%s%" PRIu32, negative ? "-" : "", chunks[used - 1]);
    for (size_t c = used - 1; c-- > 0;)
        text_printf(text, "%09" PRIu32, chunks[c]);
}

/* Too long to be worth reading: its size, and where it begins. */
static void add_huge(struct value_writer *writer, psc_addr digits, uint64_t count, bool negative)
{
    uint32_t high = 0;
    uint32_t low = 0;
    struct target *target = writer->python->target;
    if (count > UINT32_MAX || target_read_u32(target, digits + 4 * (count - 1), &high) != PSC_OK ||
        target_read_u32(target, digits + 4 * (count - 2), &low) != PSC_OK) {
        text_add_string(writer->text, "<int: not readable>");
        return;
    }
    uint64_t bits = (count - 1) * PY_INT_DIGIT_BITS;
    for (uint32_t rest = high; rest; rest >>= 1)
        bits++;
    text_printf(writer->text, "<int of %" PRIu64 " bits, %s0x%" PRIx64 "\u2026>", bits,
                negative ? "-" : "", (uint64_t)high << PY_INT_DIGIT_BITS | low);
}

/* 2.7's bool is an int without digits. */
static enum py_field size_field(const struct python *python, const struct py_type *type)
{
    switch (python->layout.rules->ints) {
    case PY_INTS_PLAIN_AND_LONG:
        return type->kind == PY_KIND_BOOL ? PY_INT_VALUE : PY_INT_SIZE;
    case PY_INTS_SIGNED_SIZE:
    case PY_INTS_TAG:
        break;
    }
    return PY_INT_SIZE;
}

void value_add_int(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    uint32_t digits[DIGIT_LIMIT];
    uint64_t size;
    bool negative = false;
    if (py_read_u64(python, object, size_field(python, type), &size) != PSC_OK) {
        text_add_string(writer->text, "<int: not readable>");
        return;
    }
    switch (python->layout.rules->ints) {
    case PY_INTS_PLAIN_AND_LONG:
    case PY_INTS_SIGNED_SIZE:
        negative = (int64_t)size < 0;
        size = negative ? 0 - size : size;
        break;
    case PY_INTS_TAG:
        negative = (size & PY_INT_TAG_SIGN) == PY_INT_TAG_NEGATIVE;
        size = (size & PY_INT_TAG_SIGN) == PY_INT_TAG_ZERO ? 0 : size >> PY_INT_TAG_SHIFT;
        break;
    }
    if (type->kind == PY_KIND_BOOL) {
        text_add_string(writer->text, size ? "True" : "False");
        return;
    }
    const char *suffix = python->layout.rules->spelling->long_suffix;
    psc_addr at = py_field_address(python, object, PY_INT_DIGITS);
    if (size > DIGIT_LIMIT)
        add_huge(writer, at, size, negative);
    else if (target_read(python->target, at, digits, 4 * (size_t)size) == PSC_OK)
        format_int(digits, (size_t)size, negative, writer->text);
    else
        suffix = "<int: not readable>";
    text_add_string(writer->text, size > DIGIT_LIMIT ? "" : suffix);
}

void value_add_plain_int(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint64_t value;
    (void)type;
    if (py_read_u64(writer->python, object, PY_INT_VALUE, &value) == PSC_OK)
        text_printf(writer->text, "%" PRId64, (int64_t)value);
    else
        text_add_string(writer->text, "<int: not readable>");
}

/* ---- floats ---- */

#define DIGIT_COUNT      24u
#define DOUBLE_PRECISION 17
#define LONG_PRECISION   21 /* Of x87's numbers of 64 bits. */

/* IEEE 754 binary16: half way to the next number on either side is another one. */
static bool is_half(double found, double value)
{
    int exponent;
    double size = fabs(value);
    frexp(size, &exponent);
    double step = ldexp(1, (exponent - 1 < -14 ? -14 : exponent - 1) - 10);
    double below = size > ldexp(1, -14) && size == ldexp(1, exponent - 1) ? step / 2 : step;
    double difference = fabs(found) - size;
    return difference < step / 2 && -difference < below / 2;
}

static bool reads_back(const char *text, long double value, enum float_form form)
{
    switch (form) {
    case FLOAT_HALF:
        return is_half(strtod(text, NULL), (double)value);
    case FLOAT_SINGLE:
        return strtof(text, NULL) == (float)value;
    case FLOAT_DOUBLE:
        return strtod(text, NULL) == (double)value;
    case FLOAT_LONG:
        break;
    }
    return strtold(text, NULL) == value;
}

/* Decimal digits and the power of ten of the first; the shortest that reads back. */
static size_t shortest_digits(long double value, enum float_form form, char ret[DIGIT_COUNT],
                              int *ret_exponent)
{
    char buffer[48];
    const int most = form == FLOAT_LONG ? LONG_PRECISION : DOUBLE_PRECISION;
    for (int precision = 0; precision < most; precision++) {
        if (form == FLOAT_LONG)
            snprintf(buffer, sizeof(buffer), "%.*Le", precision, value);
        else
            snprintf(buffer, sizeof(buffer), "%.*e", precision, (double)value);
        if (reads_back(buffer, value, form))
            break;
    }
    /* The decimal point is the locale's. */
    size_t count = 0;
    const char *exponent = strchr(buffer, 'e');
    for (const char *c = buffer; c < exponent; c++)
        if (*c >= '0' && *c <= '9' && count < DIGIT_COUNT)
            ret[count++] = *c;
    while (count > 1 && ret[count - 1] == '0')
        count--;
    *ret_exponent = exponent ? (int)strtol(exponent + 1, NULL, 10) : 0;
    return count;
}

/* CPython, Python/pystrtod.c, format code 'r'. */
static void add_finite(long double value, const struct float_style *style, struct text *text)
{
    char digits[DIGIT_COUNT];
    int exponent;
    size_t count = shortest_digits(fabsl(value), style->form, digits, &exponent);
    if (signbit(value))
        text_add_char(text, '-');
    bool small = style->least > 0 ? value != 0 && fabsl(value) < style->least : exponent < -4;
    if (small || exponent >= style->most) {
        text_add(text, digits, 1);
        if (count > 1) {
            text_add_char(text, '.');
            text_add(text, digits + 1, count - 1);
        }
        text_printf(text, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    if (exponent < 0) {
        text_add_string(text, "0.");
        for (int i = -1; i > exponent; i--)
            text_add_char(text, '0');
        text_add(text, digits, count);
        return;
    }
    size_t whole = (size_t)exponent + 1;
    for (size_t i = 0; i < whole; i++)
        text_add_char(text, (char)(i < count ? digits[i] : '0'));
    if (count > whole) {
        text_add_char(text, '.');
        text_add(text, digits + whole, count - whole);
    } else if (style->point) {
        text_add_string(text, ".0");
    }
}

void format_float_as(long double value, const struct float_style *style, struct text *text)
{
    if (isnan(value))
        text_add_string(text, "nan");
    else if (isinf(value))
        text_add_string(text, value < 0 ? "-inf" : "inf");
    else
        add_finite(value, style, text);
}

void format_float(double value, struct text *text)
{
    format_float_as(value, &(struct float_style){FLOAT_DOUBLE, true, 0, FLOAT_MOST}, text);
}

/* The same as in a complex number: no ".0". */
static void format_float_part(double value, struct text *text)
{
    format_float_as(value, &(struct float_style){FLOAT_DOUBLE, false, 0, FLOAT_MOST}, text);
}

void format_single(float value, bool point, struct text *text)
{
    format_float_as(value, &(struct float_style){FLOAT_SINGLE, point, 0, FLOAT_MOST}, text);
}

void python_add_float(double value, struct text *text)
{
    format_float(value, text);
}

void python_add_single(float value, struct text *text)
{
    format_single(value, true, text);
}

static bool read_double(struct python *python, psc_addr address, double *ret)
{
    uint64_t bits;
    if (!address || target_read_u64(python->target, address, &bits) != PSC_OK)
        return false;
    memcpy(ret, &bits, sizeof(*ret));
    return true;
}

void value_add_float(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    double value;
    (void)type;
    if (read_double(writer->python, py_field_address(writer->python, object, PY_FLOAT_VALUE),
                    &value))
        format_float(value, writer->text);
    else
        text_add_string(writer->text, "<float: not readable>");
}

void value_add_complex(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct text *text = writer->text;
    double real;
    double imaginary;
    psc_addr at = py_field_address(writer->python, object, PY_COMPLEX_VALUE);
    (void)type;
    if (!read_double(writer->python, at, &real) ||
        !read_double(writer->python, at + 8, &imaginary)) {
        text_add_string(text, "<complex: not readable>");
        return;
    }
    python_add_complex(real, imaginary, false, text);
}

static void add_part(double value, bool single, struct text *text)
{
    if (single)
        format_single((float)value, false, text);
    else
        format_float_part(value, text);
}

void python_add_complex(double real, double imaginary, bool single, struct text *text)
{
    /* CPython, Objects/complexobject.c: a real part of 0 is left out, one of -0 is not. */
    bool both = real != 0 || signbit(real);
    if (both) {
        text_add_char(text, '(');
        add_part(real, single, text);
        if (isnan(imaginary) || !signbit(imaginary))
            text_add_char(text, '+');
    }
    add_part(imaginary, single, text);
    text_add_string(text, both ? "j)" : "j");
}
