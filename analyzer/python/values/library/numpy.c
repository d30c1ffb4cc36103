/* numpy's arrays and scalars: the numbers in them. */
#include "library.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- one number ---- */

/* IEEE 754 binary16. */
static double half_to_double(uint16_t bits)
{
    int exponent = bits >> 10 & 0x1f;
    double fraction = bits & 0x3ff;
    double value = exponent == 0x1f ? (fraction != 0 ? NAN : INFINITY)
                   : exponent       ? ldexp(1024 + fraction, exponent - 25)
                                    : ldexp(fraction, -24);
    return bits & 0x8000 ? -value : value;
}

static void add_float_bytes(const uint8_t *bytes, size_t width, bool part, struct text *text)
{
    double value = 0;
    float single = 0;
    if (width == 4) {
        memcpy(&single, bytes, sizeof(single));
        format_single(single, !part, text);
        return;
    }
    if (width == 2)
        value = half_to_double(load_u16(bytes));
    else
        memcpy(&value, bytes, sizeof(value));
    if (part)
        format_float_part(value, text);
    else
        format_float(value, text);
}

static void add_number(const struct numpy_number *number, const uint8_t *bytes, struct text *text)
{
    uint64_t value = 0;
    size_t half = number->width / 2;
    switch (number->form) {
    case NUMPY_BOOL:
        text_add_string(text, *bytes ? "True" : "False");
        break;
    case NUMPY_INT:
    case NUMPY_UINT:
        memcpy(&value, bytes, number->width);
        if (number->form == NUMPY_UINT) {
            text_printf(text, "%" PRIu64, value);
            break;
        }
        /* Shifted up, so that the arithmetic shift back brings the sign along. */
        value <<= 64 - 8 * number->width;
        text_printf(text, "%" PRId64, (int64_t)value >> (64 - 8 * number->width));
        break;
    case NUMPY_FLOAT:
        add_float_bytes(bytes, number->width, false, text);
        break;
    case NUMPY_COMPLEX:
        text_add_char(text, '(');
        add_float_bytes(bytes, half, true, text);
        if (!(bytes[number->width - 1] & 0x80))
            text_add_char(text, '+');
        add_float_bytes(bytes + half, half, true, text);
        text_add_string(text, "j)");
        break;
    case NUMPY_NONE:
    case NUMPY_OBJECT:
        break;
    }
}

/* Big-endian parts become little-endian ones. */
static void swap_bytes(const struct numpy_number *number, uint8_t *bytes)
{
    size_t part = number->form == NUMPY_COMPLEX ? number->width / 2 : number->width;
    for (size_t start = 0; start < number->width; start += part)
        for (size_t i = 0; i < part / 2; i++) {
            uint8_t byte = bytes[start + i];
            bytes[start + i] = bytes[start + part - 1 - i];
            bytes[start + part - 1 - i] = byte;
        }
}

static void add_scalar(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    uint8_t bytes[16];
    const char *name = !strcmp(type->name, "bool_") ? "bool" : type->name;
    const struct numpy_number *number;
    for (uint32_t i = 0; (number = layout_get_numpy_number(i)); i++) {
        if (strcmp(number->name, name) != 0 || number->form == NUMPY_NONE ||
            number->form == NUMPY_OBJECT)
            continue;
        psc_addr at = object + python->layout.offset[PY_OBJECT_SIZE];
        if (target_read(python->target, at, bytes, number->width) != PSC_OK)
            break;
        text_printf(writer->text, "np.%s(", type->name);
        add_number(number, bytes, writer->text);
        text_add_char(writer->text, ')');
        return;
    }
    value_add_identity(writer, type, object);
    text_add_char(writer->text, '>');
}

/* ---- arrays ---- */

struct array {
    psc_addr data;
    uint32_t dimension_count;
    uint64_t dimensions[NUMPY_DIMENSIONS];
    uint64_t strides[NUMPY_DIMENSIONS];
    const struct numpy_number *number;
    bool swapped;
};

static bool read_array(struct python *python, psc_addr object, struct array *ret)
{
    struct target *target = python->target;
    uint64_t header = python->layout.offset[PY_OBJECT_SIZE];
    psc_addr fields = object + header;
    psc_addr dimensions;
    psc_addr strides;
    psc_addr dtype;
    uint8_t order;
    uint32_t number;
    if (target_read_u64(target, fields + NUMPY_ARRAY_DATA, &ret->data) != PSC_OK ||
        target_read_u32(target, fields + NUMPY_ARRAY_DIMENSION_COUNT, &ret->dimension_count) !=
            PSC_OK ||
        target_read_u64(target, fields + NUMPY_ARRAY_DIMENSIONS, &dimensions) != PSC_OK ||
        target_read_u64(target, fields + NUMPY_ARRAY_STRIDES, &strides) != PSC_OK ||
        target_read_u64(target, fields + NUMPY_ARRAY_DTYPE, &dtype) != PSC_OK ||
        ret->dimension_count > NUMPY_DIMENSIONS ||
        target_read_u8(target, dtype + header + NUMPY_DTYPE_BYTE_ORDER, &order) != PSC_OK ||
        target_read_u32(target, dtype + header + NUMPY_DTYPE_NUMBER, &number) != PSC_OK)
        return false;
    for (size_t i = 0; i < ret->dimension_count; i++)
        if (target_read_u64(target, dimensions + 8 * i, &ret->dimensions[i]) != PSC_OK ||
            target_read_u64(target, strides + 8 * i, &ret->strides[i]) != PSC_OK)
            return false;
    ret->number = layout_get_numpy_number(number);
    ret->swapped = order == NUMPY_BIG_ENDIAN;
    return true;
}

/* The item of that number, the last dimension running fastest. */
static psc_addr find_item(const struct array *array, uint64_t index)
{
    psc_addr at = array->data;
    for (uint32_t i = array->dimension_count; i-- > 0;) {
        at += index % array->dimensions[i] * array->strides[i];
        index /= array->dimensions[i];
    }
    return at;
}

static void add_shape(const struct array *array, struct text *text)
{
    text_add_string(text, " (");
    for (uint32_t i = 0; i < array->dimension_count; i++)
        text_printf(text, "%s%" PRIu64, i ? ", " : "", array->dimensions[i]);
    text_add_string(text, array->dimension_count == 1 ? ",)" : ")");
}

static uint64_t count_items(const struct array *array)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < array->dimension_count; i++)
        if (!array->dimensions[i])
            return 0;
    for (uint32_t i = 0; i < array->dimension_count; i++)
        if (__builtin_mul_overflow(count, array->dimensions[i], &count))
            return UINT64_MAX;
    return count;
}

static void add_items(struct value_writer *writer, const struct array *array)
{
    struct text *text = writer->text;
    uint64_t count = count_items(array);
    uint64_t shown = 0;
    uint8_t bytes[16];
    for (; shown < count && shown < value_array_items(writer); shown++) {
        if (target_read(writer->python->target, find_item(array, shown), bytes,
                        array->number->width) != PSC_OK)
            break;
        if (array->swapped)
            swap_bytes(array->number, bytes);
        text_add_string(text, shown ? ", " : ": ");
        add_number(array->number, bytes, text);
    }
    if (shown < count)
        text_printf(text, "%s\u2026 %" PRIu64 " more", shown ? ", " : ": ", count - shown);
    text_add_char(text, '>');
}

static void open_objects(struct value_writer *writer, const struct array *array, psc_addr object)
{
    uint64_t count = count_items(array);
    uint64_t shown = 0;
    psc_addr item;
    struct value_level *level = value_push(writer, object, ": ", ">");
    if (!level)
        return;
    for (; shown < count && shown < value_array_items(writer); shown++) {
        if (target_read_u64(writer->python->target, find_item(array, shown), &item) != PSC_OK)
            break;
        value_take(writer, level, 0, item);
    }
    level->more = count - shown;
}

static void add_array(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct array array;
    text_add_char(writer->text, '<');
    py_type_add_name(type, writer->text);
    if (!read_array(writer->python, object, &array)) {
        text_printf(writer->text, " object at 0x%" PRIx64 ": not readable>", object);
        return;
    }
    text_printf(writer->text, " %s", array.number ? array.number->name : "of another dtype");
    add_shape(&array, writer->text);
    if (!array.number || array.number->form == NUMPY_NONE || !count_items(&array))
        text_add_char(writer->text, '>');
    else if (array.number->form == NUMPY_OBJECT)
        open_objects(writer, &array, object);
    else
        add_items(writer, &array);
}

void value_add_numpy(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    if (type->kind == PY_KIND_NUMPY_SCALAR)
        add_scalar(writer, type, object);
    else
        add_array(writer, type, object);
}
