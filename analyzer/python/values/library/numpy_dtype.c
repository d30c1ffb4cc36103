/* numpy's dtypes (numpy/_core/_dtype.py writes them). */
#include "numpy_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION_LIMIT 32u

const struct numpy_layout *numpy_get_layout(struct python *python)
{
    const char *version = NULL;
    char *end;
    psc_addr found;
    if (!python->numpy &&
        py_module_find(python, python->interpreters, "numpy", "__version__", &found) == PSC_OK &&
        py_read_string(python, found, VERSION_LIMIT, &version) == PSC_OK) {
        uint64_t major = strtoul(version, &end, 10);
        python->numpy = layout_of_numpy(major, *end == '.' ? strtoul(end + 1, NULL, 10) : 0);
    }
    return python->numpy;
}

static void read_more(struct python *python, psc_addr fields, struct numpy_dtype *ret)
{
    struct target *target = python->target;
    const struct numpy_layout *layout = numpy_get_layout(python);
    psc_addr time = 0;
    uint32_t unit;
    uint32_t count;
    uint32_t small;
    uint8_t flags;
    if (!layout)
        return;
    if (layout->size_width == 8
            ? target_read_u64(target, fields + layout->size, &ret->size) != PSC_OK
            : target_read_u32(target, fields + layout->size, &small) != PSC_OK)
        ret->size = 0;
    else if (layout->size_width == 4)
        ret->size = small;
    if (layout->size_width == 8
            ? target_read_u64(target, fields + layout->alignment, &ret->alignment) != PSC_OK
            : target_read_u32(target, fields + layout->alignment, &small) != PSC_OK)
        ret->alignment = 0;
    else if (layout->size_width == 4)
        ret->alignment = small;
    ret->aligned = target_read_u8(target, fields + layout->flags, &flags) == PSC_OK &&
                   flags & NUMPY_DTYPE_ALIGNED;
    // What follows only those dtypes have that are as old as numpy 1.
    if (!ret->number || ret->number->form == NUMPY_TEXT)
        return;
    if (target_read_u64(target, fields + layout->subarray, &ret->subarray) != PSC_OK ||
        target_read_u64(target, fields + layout->fields, &ret->fields) != PSC_OK ||
        target_read_u64(target, fields + layout->names, &ret->names) != PSC_OK)
        ret->fields = 0;
    if (ret->fields && !py_has_flags(python, ret->fields, PY_FLAG_DICT))
        ret->fields = 0;
    if ((ret->number->form != NUMPY_DATETIME && ret->number->form != NUMPY_TIMEDELTA) ||
        target_read_u64(target, fields + layout->time, &time) != PSC_OK || !time ||
        target_read_u32(target, time + NUMPY_TIME_UNIT, &unit) != PSC_OK ||
        target_read_u32(target, time + NUMPY_TIME_UNIT + sizeof(unit), &count) != PSC_OK)
        return;
    ret->time = (struct numpy_time){(int32_t)unit, (int32_t)count};
}

bool numpy_read_dtype(struct python *python, psc_addr object, struct numpy_dtype *ret)
{
    const struct py_type *type;
    psc_addr fields = object + python->layout.offset[PY_OBJECT_SIZE];
    uint8_t kind;
    uint8_t order;
    uint32_t number;
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_NUMPY_DTYPE ||
        target_read_u8(python->target, fields + NUMPY_DTYPE_KIND, &kind) != PSC_OK ||
        target_read_u8(python->target, fields + NUMPY_DTYPE_BYTE_ORDER, &order) != PSC_OK ||
        target_read_u32(python->target, fields + NUMPY_DTYPE_NUMBER, &number) != PSC_OK)
        return false;
    *ret = (struct numpy_dtype){.number = layout_get_numpy_number(number),
                                .kind = (char)kind,
                                .order = (char)order,
                                .object = object,
                                .time = {.unit = -1, .count = 1}};
    read_more(python, fields, ret);
    return true;
}

static bool read_field(struct python *python, psc_addr value, struct numpy_field *ret)
{
    psc_addr items;
    psc_addr offset;
    size_t count;
    return py_read_tuple(python, value, &count, &items) == PSC_OK && count >= 2 &&
           target_read_u64(python->target, items, &ret->dtype) == PSC_OK &&
           target_read_u64(python->target, items + sizeof(psc_addr), &offset) == PSC_OK &&
           py_read_int(python, offset, &ret->offset) == PSC_OK && ret->offset <= UINT32_MAX;
}

size_t numpy_read_fields(struct python *python, const struct numpy_dtype *dtype,
                         struct numpy_field ret[NUMPY_FIELD_LIMIT])
{
    struct py_items entries;
    psc_addr items;
    psc_addr key;
    psc_addr value;
    size_t count;
    size_t found = 0;
    if (!dtype->fields || py_read_tuple(python, dtype->names, &count, &items) != PSC_OK ||
        count > NUMPY_FIELD_LIMIT || py_dict_open(python, dtype->fields, &entries) != PSC_OK ||
        !budget_spend(python, NUMPY_FIELD_LIMIT))
        return 0;
    for (size_t i = 0; i < count; i++) {
        if (target_read_u64(python->target, items + sizeof(psc_addr) * i, &ret[i].name) != PSC_OK)
            return 0;
        ret[i].dtype = 0;
    }
    // Titles are there as well, as further keys.
    for (size_t i = 0; i < 2 * count && py_items_next(python, &entries, &key, &value) == PSC_OK;
         i++)
        for (size_t at = 0; at < count; at++)
            if (ret[at].name == key && !ret[at].dtype && read_field(python, value, &ret[at]))
                found++;
    return found == count ? count : 0;
}

bool numpy_read_subarray(struct python *python, const struct numpy_dtype *dtype,
                         struct numpy_subarray *ret)
{
    // PyArray_ArrayDescr: the dtype, and a tuple.
    psc_addr shape, items, item;
    size_t count;
    if (!dtype->subarray ||
        target_read_u64(python->target, dtype->subarray, &ret->dtype) != PSC_OK ||
        target_read_u64(python->target, dtype->subarray + sizeof(psc_addr), &shape) != PSC_OK ||
        py_read_tuple(python, shape, &count, &items) != PSC_OK || !count ||
        count > NUMPY_DIMENSIONS || !budget_spend(python, count))
        return false;
    ret->count = 1;
    ret->dimension_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        if (target_read_u64(python->target, items + sizeof(psc_addr) * i, &item) != PSC_OK ||
            py_read_int(python, item, &ret->dimensions[i]) != PSC_OK ||
            __builtin_mul_overflow(ret->count, ret->dimensions[i], &ret->count)) {
            ret->dimension_count = 0;
            return false;
        }
    return true;
}

/* ---- text ---- */

/* NPY_DATETIMEUNIT. */
static const char *const unit_names[] = {"Y", "M",  "W",  "?",  "D",  "h",  "m",
                                         "s", "ms", "us", "ns", "ps", "fs", "as"};

void numpy_add_unit(const struct numpy_time *time, struct text *text)
{
    if (time->unit < 0 || (size_t)time->unit >= PSC_ARRAY_SIZE(unit_names))
        return;
    if (time->count != 1)
        text_printf(text, "%" PRId32, time->count);
    text_add_string(text, unit_names[time->unit]);
}

/* "<i4", "U2", as within a structured dtype. */
static void add_short(const struct numpy_dtype *dtype, struct text *text)
{
    if (dtype->kind == 'b') {
        text_add_char(text, '?');
        return;
    }
    if (dtype->kind == 'O') {
        text_add_char(text, 'O');
        return;
    }
    if (dtype->order == '=' || dtype->order == '<')
        text_add_char(text, '<');
    else if (dtype->order == NUMPY_BIG_ENDIAN)
        text_add_char(text, NUMPY_BIG_ENDIAN);
    text_add_char(text, dtype->kind);
    if (dtype->size)
        text_printf(text, "%" PRIu64, dtype->kind == 'U' ? dtype->size / 4 : dtype->size);
    if (dtype->time.unit < 0 || !strchr("Mm", dtype->kind))
        return;
    struct text unit PSC_CLEANUP(text_deinit) = {0};
    numpy_add_unit(&dtype->time, &unit);
    if (unit.size)
        text_printf(text, "[%s]", unit.data);
}

static uint64_t round_up(uint64_t number, uint64_t step)
{
    return (number + step - 1) / step * step;
}

/* Whether its fields lie one behind the other, or, where it is aligned, where C would put them. */
static bool is_packed(struct python *python, const struct numpy_dtype *dtype,
                      const struct numpy_field *fields, size_t count)
{
    struct numpy_dtype part;
    uint64_t end = 0;
    uint64_t most = 1;
    for (size_t i = 0; i < count; i++) {
        if (!numpy_read_dtype(python, fields[i].dtype, &part))
            return false;
        uint64_t alignment = dtype->aligned && part.alignment ? part.alignment : 1;
        if (fields[i].offset != round_up(end, alignment))
            return false;
        end = fields[i].offset + part.size;
        most = alignment > most ? alignment : most;
    }
    return round_up(end, most) == dtype->size;
}

static void add_names(struct value_writer *writer, const struct numpy_field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        text_add_string(writer->text, i ? ", '" : "'");
        value_add_name(writer, fields[i].name);
        text_add_char(writer->text, '\'');
    }
}

/* A structured dtype whose text has been begun. */
struct open_dtype {
    struct numpy_dtype dtype;
    struct numpy_field fields[NUMPY_FIELD_LIMIT];
    size_t count, at;
    bool listed;                    /* [('a', '<i4')]; else {'names': ['a'], ... } */
    bool says_alignment;            /* In the second form. */
    struct numpy_subarray subarray; /* Of which it is the items' dtype; no dimensions: of none. */
};

static bool read_open(struct python *python, const struct numpy_dtype *dtype, bool says_alignment,
                      struct open_dtype *ret)
{
    ret->dtype = *dtype;
    ret->count = numpy_read_fields(python, dtype, ret->fields);
    ret->at = 0;
    ret->says_alignment = says_alignment && dtype->aligned;
    ret->subarray.dimension_count = 0;
    ret->listed =
        ret->count && !ret->says_alignment && is_packed(python, dtype, ret->fields, ret->count);
    return ret->count > 0;
}

static void add_shape(const struct numpy_subarray *subarray, struct text *text)
{
    text_add_string(text, ", (");
    for (uint32_t i = 0; i < subarray->dimension_count; i++)
        text_printf(text, "%s%" PRIu64, i ? ", " : "", subarray->dimensions[i]);
    text_add_string(text, subarray->dimension_count == 1 ? ",)" : ")");
}

static void begin_open(struct value_writer *writer, const struct open_dtype *open)
{
    text_add_string(writer->text, open->listed ? "[" : "{'names': [");
    if (!open->listed) {
        add_names(writer, open->fields, open->count);
        text_add_string(writer->text, "], 'formats': [");
    }
}

static void end_open(const struct open_dtype *open, struct text *text)
{
    text_add_char(text, ']');
    if (open->listed)
        return;
    text_add_string(text, ", 'offsets': [");
    for (size_t i = 0; i < open->count; i++)
        text_printf(text, "%s%" PRIu64, i ? ", " : "", open->fields[i].offset);
    text_printf(text, "], 'itemsize': %" PRIu64 "%s}", open->dtype.size,
                open->says_alignment ? ", 'aligned': True" : "");
}

static void begin_field(struct value_writer *writer, const struct open_dtype *open, bool subarray)
{
    if (open->at)
        text_add_string(writer->text, ", ");
    if (!open->listed) {
        text_add_string(writer->text, subarray ? "(" : "");
        return;
    }
    text_add_char(writer->text, '(');
    add_names(writer, &open->fields[open->at], 1);
    text_add_string(writer->text, ", ");
}

static void end_field(const struct open_dtype *open, const struct numpy_subarray *subarray,
                      struct text *text)
{
    if (subarray->dimension_count)
        add_shape(subarray, text);
    if (open->listed || subarray->dimension_count)
        text_add_char(text, ')');
}

/* One that is not structured, within another. */
static void add_leaf(struct value_writer *writer, bool read, const struct numpy_dtype *dtype)
{
    if (!read || !dtype->number || dtype->fields || dtype->subarray) {
        text_add_string(writer->text, "\u2026");
        return;
    }
    text_add_char(writer->text, '\'');
    add_short(dtype, writer->text);
    text_add_char(writer->text, '\'');
}

/* A structured dtype with those in it. `stack` has its first level. */
static void add_record(struct value_writer *writer, struct open_dtype stack[NUMPY_NESTING])
{
    struct python *python = writer->python;
    size_t depth = 1;
    begin_open(writer, &stack[0]);
    while (depth) {
        struct open_dtype *open = &stack[depth - 1];
        if (open->at == open->count) {
            end_open(open, writer->text);
            if (--depth) {
                end_field(&stack[depth - 1], &open->subarray, writer->text);
                stack[depth - 1].at++;
            }
            continue;
        }
        struct numpy_dtype part;
        struct numpy_subarray subarray = {0};
        bool read = numpy_read_dtype(python, open->fields[open->at].dtype, &part);
        if (read && numpy_read_subarray(python, &part, &subarray))
            read = numpy_read_dtype(python, subarray.dtype, &part);
        begin_field(writer, open, subarray.dimension_count);
        if (read && part.fields && depth < NUMPY_NESTING &&
            read_open(python, &part, false, &stack[depth])) {
            stack[depth].subarray = subarray;
            begin_open(writer, &stack[depth++]);
            continue;
        }
        add_leaf(writer, read, &part);
        end_field(open, &subarray, writer->text);
        open->at++;
    }
}

/* False, and nothing, for one that is not structured. */
static bool add_structured(struct value_writer *writer, const struct numpy_dtype *dtype,
                           bool says_alignment)
{
    struct open_dtype stack[NUMPY_NESTING];
    if (!dtype->fields || !read_open(writer->python, dtype, says_alignment, &stack[0]))
        return false;
    add_record(writer, stack);
    return true;
}

/* "(('<f4', (3,)))"; false, and nothing, for other dtypes. */
static bool add_subarray(struct value_writer *writer, const struct numpy_dtype *dtype)
{
    struct numpy_subarray subarray;
    struct numpy_dtype item;
    if (!numpy_read_subarray(writer->python, dtype, &subarray))
        return false;
    bool read = numpy_read_dtype(writer->python, subarray.dtype, &item);
    text_add_char(writer->text, '(');
    if (!read || !add_structured(writer, &item, false))
        add_leaf(writer, read, &item);
    add_shape(&subarray, writer->text);
    text_add_char(writer->text, ')');
    return true;
}

void numpy_add_missing(struct value_writer *writer, const struct numpy_dtype *dtype)
{
    struct python *python = writer->python;
    psc_addr fields = dtype->object + python->layout.offset[PY_OBJECT_SIZE];
    const struct py_type *type;
    psc_addr missing;
    if (target_read_u64(python->target, fields + NUMPY_TEXT_MISSING, &missing) != PSC_OK ||
        py_type_of(python, missing, &type) != PSC_OK)
        text_add_string(writer->text, "\u2026");
    else if (type->flags & PY_FLAG_STR)
        value_add_str(writer, type, missing);
    else if (!strcmp(type->name, "NoneType"))
        text_add_string(writer->text, "None");
    else // What is no text and no None, but allowed, is not a number as a rule.
        text_add_string(writer->text, !strcmp(type->name, "float") ? "nan" : "\u2026");
}

/* numpy/_core/src/multiarray/stringdtype/dtype.c, stringdtype_repr(). */
static void add_text_dtype(struct value_writer *writer, const struct numpy_dtype *dtype)
{
    struct python *python = writer->python;
    struct text *text = writer->text;
    psc_addr fields = dtype->object + python->layout.offset[PY_OBJECT_SIZE];
    psc_addr missing;
    uint8_t coerce;
    if (target_read_u64(python->target, fields + NUMPY_TEXT_MISSING, &missing) != PSC_OK ||
        target_read_u8(python->target, fields + NUMPY_TEXT_COERCE, &coerce) != PSC_OK) {
        text_add_string(text, "StringDType(\u2026)");
        return;
    }
    text_add_string(text, missing ? "StringDType(na_object=" : "StringDType(");
    if (missing)
        numpy_add_missing(writer, dtype);
    text_add_string(text, coerce ? ")" : missing ? ", coerce=False)" : "coerce=False)");
}

static bool is_native(const struct numpy_dtype *dtype)
{
    return dtype->order != NUMPY_BIG_ENDIAN;
}

void numpy_add_dtype(struct value_writer *writer, const struct numpy_dtype *dtype)
{
    static const struct {
        char kind;
        const char *name;
    } names[] = {{'i', "int"}, {'u', "uint"}, {'f', "float"}, {'c', "complex"}};
    struct text *text = writer->text;
    uint64_t size = dtype->size ? dtype->size : dtype->number ? dtype->number->width : 0;
    if (add_structured(writer, dtype, true) || add_subarray(writer, dtype))
        return;
    if (dtype->number && dtype->number->form == NUMPY_TEXT) {
        add_text_dtype(writer, dtype);
        return;
    }
    for (size_t i = 0; is_native(dtype) && i < PSC_ARRAY_SIZE(names); i++)
        if (names[i].kind == dtype->kind) {
            text_printf(text, "%s%" PRIu64, names[i].name, 8 * size);
            return;
        }
    if (dtype->kind == 'b' || dtype->kind == 'O')
        text_add_string(text, dtype->kind == 'b' ? "bool" : "object");
    else if (is_native(dtype) && strchr("Mm", dtype->kind)) {
        text_add_string(text, dtype->kind == 'M' ? "datetime64" : "timedelta64");
        struct text unit PSC_CLEANUP(text_deinit) = {0};
        numpy_add_unit(&dtype->time, &unit);
        if (unit.size)
            text_printf(text, "[%s]", unit.data);
    } else {
        if (strchr("SV", dtype->kind))
            text_add_char(text, '|');
        add_short(dtype, text);
    }
}

/* repr() of it: "dtype('<U2')". */
void value_add_numpy_dtype(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct numpy_dtype dtype;
    struct text *text = writer->text;
    if (!numpy_read_dtype(writer->python, object, &dtype) || !dtype.number ||
        !numpy_get_layout(writer->python)) {
        value_add_identity(writer, type, object);
        text_add_char(text, '>');
        return;
    }
    if (dtype.number->form == NUMPY_TEXT) {
        add_text_dtype(writer, &dtype);
        return;
    }
    text_add_string(text, "dtype(");
    if (add_structured(writer, &dtype, false)) {
        text_add_string(text, dtype.aligned ? ", align=True)" : ")");
        return;
    }
    if (add_subarray(writer, &dtype)) {
        text_add_char(text, ')');
        return;
    }
    text_add_char(text, '\'');
    if (dtype.kind == 'O' || strchr("SUVMm", dtype.kind))
        add_short(&dtype, text);
    else
        numpy_add_dtype(writer, &dtype);
    text_add_string(text, "')");
}
