/* numpy's arrays and scalars. */
#include "numpy_private.h"

#include <inttypes.h>
#include <string.h>

#define NUMBER_SIZE 32u

/* ---- scalars ---- */

static void add_bare(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    value_add_identity(writer, type, object);
    text_add_char(writer->text, '>');
}

static const struct numpy_number *find_number(const char *name)
{
    const struct numpy_number *number;
    size_t size = strlen(name);
    /* 1.x: "bool_", "float128"; C's int and long have their own types of a number's width. */
    if (size && name[size - 1] == '_')
        size--;
    for (uint32_t i = 0; (number = layout_get_numpy_number(i)); i++)
        if (strlen(number->name) == size && !strncmp(number->name, name, size))
            return number;
    if (!strcmp(name, "float128") || !strcmp(name, "complex256"))
        return find_number(*name == 'f' ? "longdouble" : "clongdouble");
    return NULL;
}

static bool is_named(struct python *python)
{
    const struct numpy_layout *layout = numpy_get_layout(python);
    return layout && layout->named_scalars;
}

/* From 2.x on with the module's short name: "np.float64(1.5)". */
static void add_number(struct value_writer *writer, const struct numpy_number *number,
                       const char *name, const uint8_t *bytes)
{
    struct text *text = writer->text;
    bool long_number = number->form == NUMPY_LONG_FLOAT || number->form == NUMPY_LONG_COMPLEX;
    if (!is_named(writer->python)) {
        numpy_add_number(writer, number, bytes, text);
        return;
    }
    if (number->form == NUMPY_BOOL) {
        text_add_string(text, *bytes ? "np.True_" : "np.False_");
        return;
    }
    /* All whole numbers by their width: what C calls it is not said. */
    if (number->form == NUMPY_INT || number->form == NUMPY_UINT)
        text_printf(text, "np.%sint%u(", number->form == NUMPY_UINT ? "u" : "", 8u * number->width);
    else
        text_printf(text, long_number ? "np.%s('" : "np.%s(", name);
    struct text digits PSC_CLEANUP(text_deinit) = {0};
    numpy_add_number(writer, number, bytes, &digits);
    bool bracketed = digits.size > 1 && digits.data[0] == '(';
    text_add(text, digits.data + bracketed, digits.size - 2 * (size_t)bracketed);
    text_add_string(text, long_number ? "')" : ")");
}

static void add_time(struct value_writer *writer, const struct numpy_number *number,
                     psc_addr fields)
{
    struct target *target = writer->python->target;
    struct text *text = writer->text;
    struct text unit PSC_CLEANUP(text_deinit) = {0};
    struct numpy_time time;
    uint64_t value;
    uint32_t base;
    uint32_t count;
    if (target_read_u64(target, fields, &value) != PSC_OK ||
        target_read_u32(target, fields + NUMPY_SCALAR_TIME_UNIT, &base) != PSC_OK ||
        target_read_u32(target, fields + NUMPY_SCALAR_TIME_COUNT, &count) != PSC_OK) {
        text_printf(text, "<numpy.%s: not readable>", number->name);
        return;
    }
    time = (struct numpy_time){(int32_t)base, (int32_t)count};
    numpy_add_unit(&time, &unit);
    text_printf(text, "%s.%s(", !is_named(writer->python) ? "numpy" : "np", number->name);
    bool moment = number->form == NUMPY_DATETIME;
    bool none = numpy_is_no_time((int64_t)value);
    if (moment || none) {
        text_add_char(text, '\'');
        numpy_add_moment(&time, (int64_t)value, text);
        text_add_char(text, '\'');
    } else {
        text_printf(text, "%" PRId64, (int64_t)value);
    }
    /* numpy/_core/src/multiarray/scalartypes.c.src: where the text would be read with another. */
    const struct numpy_layout *layout = numpy_get_layout(writer->python);
    if (moment && none && layout && layout->unit_of_no_time)
        text_printf(text, ",'%s'", unit.size ? unit.data : "generic");
    else if (unit.size && (!moment || time.count != 1 || !strcmp(unit.data, "h")))
        text_printf(text, ",'%s'", unit.data);
    text_add_char(text, ')');
}

static void add_void(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct target *target = writer->python->target;
    struct text *text = writer->text;
    /* Behind ob_size. */
    psc_addr fields = object + writer->python->layout.offset[PY_OBJECT_SIZE];
    struct numpy_dtype dtype;
    psc_addr data;
    psc_addr address;
    if (target_read_u64(target, fields + NUMPY_VOID_DATA, &data) != PSC_OK ||
        target_read_u64(target, fields + NUMPY_VOID_DTYPE, &address) != PSC_OK ||
        !numpy_read_dtype(writer->python, address, &dtype) || !dtype.size) {
        add_bare(writer, type, object);
        return;
    }
    bool second = is_named(writer->python);
    bool record = dtype.fields;
    text_add_string(text, second ? "np.void(" : record ? "" : "void(");
    if (!numpy_add_item(writer, &dtype, data))
        text_add_string(text, "\u2026");
    if (second && record) {
        text_add_string(text, ", dtype=");
        numpy_add_dtype(writer, &dtype);
    }
    text_add_string(text, second || !record ? ")" : "");
}

/* numpy.str_ and bytes_ are Python's, with a name around them from 2.x on. */
static void add_text(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    bool named = is_named(writer->python);
    if (named)
        text_printf(writer->text, "np.%s(", type->name);
    if (type->flags & PY_FLAG_STR)
        value_add_str(writer, type, object);
    else
        value_add_bytes(writer, type, object);
    text_add_string(writer->text, named ? ")" : "");
}

void value_add_numpy_scalar(struct value_writer *writer, const struct py_type *type,
                            psc_addr object)
{
    struct python *python = writer->python;
    uint8_t bytes[NUMBER_SIZE];
    if (type->kind == PY_KIND_NUMPY_TEXT) {
        add_text(writer, type, object);
        return;
    }
    psc_addr at = object + python->layout.offset[PY_OBJECT_SIZE];
    const struct numpy_number *number = find_number(type->name);
    if (number && (number->form == NUMPY_DATETIME || number->form == NUMPY_TIMEDELTA))
        add_time(writer, number, at);
    else if (number && number->form == NUMPY_VOID)
        add_void(writer, type, object);
    else if (number && number->form != NUMPY_OBJECT && number->width &&
             target_read(python->target, at, bytes, number->width) == PSC_OK)
        add_number(writer, number, type->name, bytes);
    else
        add_bare(writer, type, object);
}

/* ---- arrays ---- */

struct array {
    psc_addr data;
    uint32_t dimension_count;
    uint64_t dimensions[NUMPY_DIMENSIONS];
    uint64_t strides[NUMPY_DIMENSIONS];
    struct numpy_dtype dtype;
};

static bool read_array(struct python *python, psc_addr object, struct array *ret)
{
    struct target *target = python->target;
    psc_addr fields = object + python->layout.offset[PY_OBJECT_SIZE];
    psc_addr dimensions;
    psc_addr strides;
    psc_addr dtype;
    if (target_read_u64(target, fields + NUMPY_ARRAY_DATA, &ret->data) != PSC_OK ||
        target_read_u32(target, fields + NUMPY_ARRAY_DIMENSION_COUNT, &ret->dimension_count) !=
            PSC_OK ||
        target_read_u64(target, fields + NUMPY_ARRAY_DIMENSIONS, &dimensions) != PSC_OK ||
        target_read_u64(target, fields + NUMPY_ARRAY_STRIDES, &strides) != PSC_OK ||
        target_read_u64(target, fields + NUMPY_ARRAY_DTYPE, &dtype) != PSC_OK ||
        ret->dimension_count > NUMPY_DIMENSIONS || !numpy_read_dtype(python, dtype, &ret->dtype))
        return false;
    for (size_t i = 0; i < ret->dimension_count; i++)
        if (target_read_u64(target, dimensions + 8 * i, &ret->dimensions[i]) != PSC_OK ||
            target_read_u64(target, strides + 8 * i, &ret->strides[i]) != PSC_OK)
            return false;
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
    for (; shown < count && shown < value_array_items(writer); shown++) {
        size_t before = text->size;
        text_add_string(text, shown ? ", " : ": ");
        if (!numpy_add_item(writer, &array->dtype, find_item(array, shown))) {
            if (!text->failed)
                text->data[text->size = before] = '\0';
            break;
        }
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

void value_open_numpy_array(struct value_writer *writer, const struct py_type *type,
                            psc_addr object)
{
    struct array array;
    const struct numpy_number *number;
    text_add_char(writer->text, '<');
    py_type_add_name(type, writer->text);
    if (!read_array(writer->python, object, &array)) {
        text_printf(writer->text, " object at 0x%" PRIx64 ": not readable>", object);
        return;
    }
    number = array.dtype.number;
    text_add_char(writer->text, ' ');
    if (number)
        numpy_add_dtype(writer, &array.dtype);
    else
        text_add_string(writer->text, "of another dtype");
    add_shape(&array, writer->text);
    if (!number || number->form == NUMPY_NONE || !count_items(&array))
        text_add_char(writer->text, '>');
    else if (number->form == NUMPY_OBJECT)
        open_objects(writer, &array, object);
    else
        add_items(writer, &array);
}
