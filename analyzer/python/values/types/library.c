/* Objects of the standard library whose repr() is worth more than their address. */
#include "types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void value_open_proxy(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr mapping = 0;
    (void)type;
    if (py_read_u64(writer->python, object, PY_MAPPINGPROXY_MAPPING, &mapping) != PSC_OK)
        mapping = 0;
    struct value_level *level = value_push(writer, object, "mappingproxy(", ")");
    if (level)
        value_take(level, 0, mapping);
}

/* Those of an OrderedDict are odict_keys and so on. */
static bool is_view_of(const struct py_type *type, const char *what)
{
    const char *part = strrchr(type->name, '_');
    return part && !strcmp(part + 1, what);
}

static void take_view(struct value_writer *writer, struct value_level *level, psc_addr dict,
                      bool keys)
{
    struct python *python = writer->python;
    const struct py_type *type;
    struct py_items items;
    psc_addr key;
    psc_addr value;
    uint64_t used;
    if (py_type_of(python, dict, &type) != PSC_OK || py_dict_open(python, dict, &items) != PSC_OK)
        return;
    if (type->ordered) {
        if (py_read_u64(python, dict, PY_DICT_USED, &used) == PSC_OK && used <= items.count)
            value_take_ordered(writer, level, dict, used);
        for (size_t i = 0; keys && i < level->count; i++)
            level->values[i] = level->keys[i];
        return;
    }
    if (!budget_spend(python, items.count))
        return;
    while (py_items_next(python, &items, &key, &value) == PSC_OK)
        value_take(level, key, keys ? key : value);
}

/* The keys, values or items of a dict: "dict_keys(['a'])"; items are written as "'a': 1". */
void value_open_view(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr dict;
    text_add_string(writer->text, type->name);
    bool both = is_view_of(type, "items");
    struct value_level *level = value_push(writer, object, both ? "({" : "([", both ? "})" : "])");
    if (!level || py_read_u64(writer->python, object, PY_DICTVIEW_DICT, &dict) != PSC_OK)
        return;
    level->has_keys = both;
    take_view(writer, level, dict, is_view_of(type, "keys"));
}

/* "<weakref at 0x...; to 'Point' at 0x...>"; what is gone has left None there. */
void value_add_weakref(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    const struct py_type *referent;
    psc_addr target;
    (void)type;
    text_printf(writer->text, "<weakref at 0x%" PRIx64 "; ", object);
    if (py_read_u64(writer->python, object, PY_WEAKREF_OBJECT, &target) != PSC_OK ||
        py_type_of(writer->python, target, &referent) != PSC_OK)
        text_add_string(writer->text, "not readable>");
    else if (referent->kind == PY_KIND_NONE)
        text_add_string(writer->text, "dead>");
    else
        text_printf(writer->text, "to '%s' at 0x%" PRIx64 ">", py_type_short_name(referent),
                    target);
}

/* ---- decimal ---- */

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

/* ---- uuid ---- */

/* CPython, Lib/uuid.py: an int of 128 bits, of which 30 are in each digit. */
static bool read_wide(struct python *python, psc_addr object, unsigned __int128 *ret)
{
    struct text digits = {0};
    struct value_writer writer = {.python = python, .text = &digits};
    const struct py_type *type;
    *ret = 0;
    // Of a class derived from int the text could lead back here.
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_INT || !type->exact ||
        !budget_spend(python, VALUE_ITEM_LIMIT))
        return false;
    value_add_int(&writer, type, object);
    bool whole = digits.data && digits.size && digits.size <= 39 && !digits.failed;
    for (size_t i = 0; whole && i < digits.size; i++) {
        whole = digits.data[i] >= '0' && digits.data[i] <= '9';
        *ret = *ret * 10 + (unsigned)(digits.data[i] - '0');
    }
    text_deinit(&digits);
    return whole;
}

void value_add_uuid(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    unsigned __int128 value;
    psc_addr number;
    if (!value_find_attribute(writer->python, type, object, "int", &number) ||
        !read_wide(writer->python, number, &value)) {
        value_open_instance(writer, type, object);
        return;
    }
    uint64_t high = (uint64_t)(value >> 64);
    uint64_t low = (uint64_t)value;
    text_printf(writer->text,
                "UUID('%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64 "')",
                high >> 32, high >> 16 & 0xffff, high & 0xffff, low >> 48,
                low & ((UINT64_C(1) << 48) - 1));
}
