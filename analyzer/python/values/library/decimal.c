/* decimal.Decimal. */
#include "library.h"

#include <inttypes.h>
#include <stdio.h>

#define WORD_LIMIT     16u
#define EXPONENT_LIMIT (INT64_C(1) << 61)

struct decimal {
    uint8_t flags;
    int64_t exponent;
    uint64_t digits;
    uint64_t length;
    char text[WORD_LIMIT * PY_DECIMAL_WORD_DIGITS + 1];
};

static bool read_coefficient(struct python *python, psc_addr data, struct decimal *decimal)
{
    char *end = decimal->text;
    for (uint64_t i = decimal->length; i-- > 0;) {
        uint64_t word;
        if (target_read_u64(python->target, data + 8 * i, &word) != PSC_OK ||
            word >= PY_DECIMAL_WORD)
            return false;
        bool first = i + 1 == decimal->length;
        end += snprintf(end, PY_DECIMAL_WORD_DIGITS + 1, first ? "%" PRIu64 : "%019" PRIu64, word);
    }
    return (uint64_t)(end - decimal->text) == decimal->digits;
}

static bool read_decimal(struct python *python, psc_addr object, struct decimal *ret)
{
    psc_addr data;
    uint64_t exponent;
    if (py_read_u8(python, object, PY_DECIMAL_FLAGS, &ret->flags) != PSC_OK ||
        py_read_u64(python, object, PY_DECIMAL_EXPONENT, &exponent) != PSC_OK ||
        py_read_u64(python, object, PY_DECIMAL_DIGITS, &ret->digits) != PSC_OK ||
        py_read_u64(python, object, PY_DECIMAL_LENGTH, &ret->length) != PSC_OK ||
        py_read_u64(python, object, PY_DECIMAL_DATA, &data) != PSC_OK)
        return false;
    ret->exponent = (int64_t)exponent;
    ret->text[0] = '\0';
    if (ret->flags & (PY_DECIMAL_INFINITE | PY_DECIMAL_NAN | PY_DECIMAL_SIGNALLING))
        return true;
    return ret->length && ret->length <= WORD_LIMIT && ret->exponent > -EXPONENT_LIMIT &&
           ret->exponent < EXPONENT_LIMIT && read_coefficient(python, data, ret);
}

/* The General Decimal Arithmetic Specification, "to-scientific-string". */
static void add_scientific(const struct decimal *decimal, struct text *text)
{
    int64_t count = (int64_t)decimal->digits;
    int64_t adjusted = decimal->exponent + count - 1;
    if (decimal->exponent > 0 || adjusted < -6) {
        text_add(text, decimal->text, 1);
        if (count > 1)
            text_printf(text, ".%s", decimal->text + 1);
        text_printf(text, "E%+" PRId64, adjusted);
        return;
    }
    int64_t whole = count + decimal->exponent;
    if (whole <= 0)
        text_add_string(text, "0");
    else
        text_add(text, decimal->text, (size_t)whole);
    if (!decimal->exponent)
        return;
    text_add_char(text, '.');
    for (int64_t i = whole; i < 0; i++)
        text_add_char(text, '0');
    text_add_string(text, decimal->text + (whole > 0 ? whole : 0));
}

void value_add_decimal(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct decimal decimal;
    struct text *text = writer->text;
    if (!read_decimal(writer->python, object, &decimal)) {
        value_add_identity(writer, type, object);
        text_add_char(text, '>');
        return;
    }
    text_printf(text, "%s('%s", py_type_short_name(type),
                decimal.flags & PY_DECIMAL_NEGATIVE ? "-" : "");
    if (decimal.flags & PY_DECIMAL_INFINITE)
        text_add_string(text, "Infinity");
    else if (decimal.flags & (PY_DECIMAL_NAN | PY_DECIMAL_SIGNALLING))
        text_add_string(text, decimal.flags & PY_DECIMAL_NAN ? "NaN" : "sNaN");
    else
        add_scientific(&decimal, text);
    text_add_string(text, "')");
}
