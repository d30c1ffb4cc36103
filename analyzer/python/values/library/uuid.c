/* uuid.UUID. */
#include "library.h"

#include <inttypes.h>

#define INT_STEPS 32u /* What reading it costs. */

/* CPython, Lib/uuid.py: an int of 128 bits, of which 30 are in each digit. */
static bool read_wide(struct python *python, psc_addr object, unsigned __int128 *ret)
{
    struct text digits = {0};
    struct value_writer writer = {.python = python, .text = &digits};
    const struct py_type *type;
    *ret = 0;
    // Of a class derived from int the text could lead back here.
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_INT || !type->exact ||
        !budget_spend(python, INT_STEPS))
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
