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
    ret->aligned = target_read_u8(target, fields + layout->flags, &flags) == PSC_OK &&
                   flags & NUMPY_DTYPE_ALIGNED;
    if (target_read_u64(target, fields + layout->subarray, &ret->subarray) != PSC_OK ||
        target_read_u64(target, fields + layout->fields, &ret->fields) != PSC_OK ||
        target_read_u64(target, fields + layout->names, &ret->names) != PSC_OK)
        ret->fields = 0;
    if (ret->fields && !py_has_flags(python, ret->fields, PY_FLAG_DICT))
        ret->fields = 0;
    if (!ret->number ||
        (ret->number->form != NUMPY_DATETIME && ret->number->form != NUMPY_TIMEDELTA) ||
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

/* One in another is left out: "…". */
static void add_inner(struct value_writer *writer, psc_addr object)
{
    struct numpy_dtype dtype;
    if (!numpy_read_dtype(writer->python, object, &dtype) || !dtype.number || dtype.fields ||
        dtype.subarray) {
        text_add_string(writer->text, "\u2026");
        return;
    }
    text_add_char(writer->text, '\'');
    add_short(&dtype, writer->text);
    text_add_char(writer->text, '\'');
}

/* Of x86-64's C types (System V ABI): the size, of complex numbers that of a part. */
static uint64_t alignment_of(const struct numpy_dtype *dtype)
{
    if (dtype->kind == 'U')
        return 4;
    if (strchr("SV", dtype->kind) || !dtype->size)
        return 1;
    return dtype->kind == 'c' ? dtype->size / 2 : dtype->size;
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
        uint64_t alignment = dtype->aligned ? alignment_of(&part) : 1;
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

static void add_record(struct value_writer *writer, const struct numpy_dtype *dtype,
                       const struct numpy_field *fields, size_t count)
{
    struct text *text = writer->text;
    if (is_packed(writer->python, dtype, fields, count)) {
        text_add_char(text, '[');
        for (size_t i = 0; i < count; i++) {
            text_add_string(text, i ? ", (" : "(");
            add_names(writer, &fields[i], 1);
            text_add_string(text, ", ");
            add_inner(writer, fields[i].dtype);
            text_add_char(text, ')');
        }
        text_add_char(text, ']');
        return;
    }
    text_add_string(text, "{'names': [");
    add_names(writer, fields, count);
    text_add_string(text, "], 'formats': [");
    for (size_t i = 0; i < count; i++) {
        text_add_string(text, i ? ", " : "");
        add_inner(writer, fields[i].dtype);
    }
    text_add_string(text, "], 'offsets': [");
    for (size_t i = 0; i < count; i++)
        text_printf(text, "%s%" PRIu64, i ? ", " : "", fields[i].offset);
    text_printf(text, "], 'itemsize': %" PRIu64 "}", dtype->size);
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
    struct numpy_field fields[NUMPY_FIELD_LIMIT];
    struct text *text = writer->text;
    size_t count = numpy_read_fields(writer->python, dtype, fields);
    uint64_t size = dtype->size ? dtype->size : dtype->number ? dtype->number->width : 0;
    if (count) {
        add_record(writer, dtype, fields, count);
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
    struct numpy_field fields[NUMPY_FIELD_LIMIT];
    struct text *text = writer->text;
    size_t count = 0;
    bool read = numpy_read_dtype(writer->python, object, &dtype);
    if (read)
        count = numpy_read_fields(writer->python, &dtype, fields);
    if (!read || !dtype.number || dtype.subarray || !numpy_get_layout(writer->python) ||
        (dtype.fields && !count)) {
        value_add_identity(writer, type, object);
        text_add_char(text, '>');
        return;
    }
    text_add_string(text, "dtype(");
    if (count) {
        add_record(writer, &dtype, fields, count);
        text_add_string(text, dtype.aligned ? ", align=True)" : ")");
        return;
    }
    text_add_char(text, '\'');
    if (dtype.kind == 'O' || strchr("SUVMm", dtype.kind))
        add_short(&dtype, text);
    else
        numpy_add_dtype(writer, &dtype);
    text_add_string(text, "')");
}
