/* Instances by their attributes, members of enumerations, exceptions, slices and ranges. */
#include "types.h"

#include <inttypes.h>
#include <string.h>

/* Lib/dataclasses.py, field(repr=False). */
static bool is_hidden(struct python *python, psc_addr field)
{
    const struct py_type *type;
    psc_addr shown;
    uint64_t value;
    return py_type_of(python, field, &type) == PSC_OK &&
           value_find_attribute(python, type, field, "repr", &shown) &&
           py_read_int(python, shown, &value) == PSC_OK && !value;
}

/* Fields alone, in the order of declaration; names of attributes are interned, so that addresses
   tell. */
static void take_data(struct value_writer *writer, struct value_level *level, psc_addr fields)
{
    struct python *python = writer->python;
    struct py_items items;
    psc_addr key;
    psc_addr field;
    size_t sorted = 0;
    if (py_dict_open(python, fields, &items) != PSC_OK)
        return;
    while (sorted < level->count && budget_spend(python, level->count) &&
           py_items_next(python, &items, &key, &field) == PSC_OK) {
        size_t at = sorted;
        while (at < level->count && level->keys[at] != key)
            at++;
        if (at == level->count || is_hidden(python, field))
            continue;
        psc_addr value = level->values[at];
        memmove(&level->keys[sorted + 1], &level->keys[sorted], (at - sorted) * sizeof(psc_addr));
        memmove(&level->values[sorted + 1], &level->values[sorted],
                (at - sorted) * sizeof(psc_addr));
        level->keys[sorted] = key;
        level->values[sorted++] = value;
    }
    level->count = sorted;
}

/* "<Color.RED: 1>" */
static void open_member(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr name;
    psc_addr value;
    bool named = value_find_in_dict(python, object, "_name_", &name) &&
                 py_has_flags(python, name, PY_FLAG_STR);
    bool valued = value_find_in_dict(python, object, "_value_", &value);
    text_printf(writer->text, "<%s", py_type_short_name(type));
    if (named) {
        text_add_char(writer->text, '.');
        value_add_name(writer, name);
    } else if (valued) {
        value_add_flag_names(writer, type, value);
    }
    if (!valued) {
        text_add_char(writer->text, '>');
        return;
    }
    struct value_level *level = value_push(writer, object, ": ", ">");
    if (level)
        value_take(writer, level, 0, value);
}

/* One whose __repr__ is of the program. */
static void open_unknown_member(struct value_writer *writer, const struct py_type *type,
                                psc_addr object)
{
    psc_addr found;
    value_add_identity(writer, type, object);
    struct value_level *level = value_push(writer, object, ": ", ">");
    if (!level)
        return;
    value_take_word(writer, level, "_name_",
                    value_find_in_dict(writer->python, object, "_name_", &found) ? found : 0);
    value_take_word(writer, level, "_value_",
                    value_find_in_dict(writer->python, object, "_value_", &found) ? found : 0);
}

void value_open_instance(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    bool data = type->data && !type->own_repr;
    if (type->enumeration) {
        (type->own_repr ? open_unknown_member : open_member)(writer, type, object);
        return;
    }
    if (data)
        text_add_string(writer->text, type->name);
    else
        value_add_identity(writer, type, object);
    size_t before = writer->text->size;
    struct value_level *level = value_push(writer, object, data ? "(" : ": ", data ? ")" : ">");
    if (!level)
        return;
    level->has_keys = true;
    level->attributes = true;
    value_take_attributes(writer, level, type, object);
    if (data)
        take_data(writer, level, type->data);
    else if (!level->count && !writer->text->failed)
        writer->text->data[writer->text->size = before] = '\0';
}

/* ---- exceptions ---- */

void value_open_exception(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    psc_addr args;
    psc_addr items;
    size_t count;
    text_add_string(writer->text, py_type_short_name(type));
    if (py_read_u64(python, object, PY_EXC_ARGS, &args) != PSC_OK ||
        py_read_tuple(python, args, &count, &items) != PSC_OK) {
        text_add_string(writer->text, "(?)");
        return;
    }
    bool comma = count == 1 && python->layout.rules->reprs < PY_REPRS_FRAMES;
    struct value_level *level = value_push(writer, object, "(", comma ? ",)" : ")");
    if (level)
        value_take_array(writer, level, items, count);
}

/* ---- of three parts ---- */

void value_open_slice(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    static const enum py_field parts[] = {PY_SLICE_START, PY_SLICE_STOP, PY_SLICE_STEP};
    struct value_level *level = value_push(writer, object, "slice(", ")");
    psc_addr part;
    (void)type;
    for (size_t i = 0; level && i < PSC_ARRAY_SIZE(parts); i++)
        if (py_read_u64(writer->python, object, parts[i], &part) == PSC_OK)
            value_take(writer, level, 0, part);
}

/* CPython 2.7, Objects/rangeobject.c, range_repr(). */
static void add_xrange(struct value_writer *writer, psc_addr object)
{
    struct python *python = writer->python;
    uint64_t start = 0;
    uint64_t step = 1;
    uint64_t count;
    if (py_read_u64(python, object, PY_RANGE_START, &start) != PSC_OK ||
        py_read_u64(python, object, PY_RANGE_STEP, &step) != PSC_OK ||
        py_read_u64(python, object, PY_RANGE_COUNT, &count) != PSC_OK) {
        text_add_string(writer->text, "<xrange: not readable>");
        return;
    }
    int64_t stop = (int64_t)(start + count * step);
    if (start == 0 && step == 1)
        text_printf(writer->text, "xrange(%" PRId64 ")", stop);
    else if (step == 1)
        text_printf(writer->text, "xrange(%" PRId64 ", %" PRId64 ")", (int64_t)start, stop);
    else
        text_printf(writer->text, "xrange(%" PRId64 ", %" PRId64 ", %" PRId64 ")", (int64_t)start,
                    stop, (int64_t)step);
}

static void open_range(struct value_writer *writer, psc_addr object)
{
    static const enum py_field parts[] = {PY_RANGE_START, PY_RANGE_STOP, PY_RANGE_STEP};
    struct value_level *level = value_push(writer, object, "range(", ")");
    psc_addr part;
    uint64_t step;
    for (size_t i = 0; level && i < PSC_ARRAY_SIZE(parts); i++)
        if (py_read_u64(writer->python, object, parts[i], &part) == PSC_OK &&
            (i < 2 || py_read_int(writer->python, part, &step) != PSC_OK || step != 1))
            value_take(writer, level, 0, part);
}

void value_open_range(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    (void)type;
    switch (writer->python->layout.rules->ranges) {
    case PY_RANGES_NUMBERS:
        add_xrange(writer, object);
        break;
    case PY_RANGES_OBJECTS:
        open_range(writer, object);
        break;
    }
}
