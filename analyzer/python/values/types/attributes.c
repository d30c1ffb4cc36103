/* The attributes of an object: those of __slots__, and those of its __dict__. */
#include "types.h"

#include <inttypes.h>

#define FIND_LIMIT 64u
#define TAKE_LIMIT 4096u

void value_add_identity(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    text_add_char(writer->text, '<');
    py_type_add_name(type, writer->text);
    text_printf(writer->text, " object at 0x%" PRIx64, object);
}

void value_take_attributes(struct value_writer *writer, struct value_level *level,
                           const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    struct py_items items;
    psc_addr key;
    psc_addr value;
    for (size_t i = 0; i < type->slot_count; i++)
        if (target_read_u64(python->target, object + type->slots[i].offset, &value) == PSC_OK &&
            value)
            value_take(writer, level, type->slots[i].name, value);
    if (py_attributes_open(python, object, &items) != PSC_OK)
        return;
    if (items.count > TAKE_LIMIT)
        items.count = TAKE_LIMIT;
    if (!budget_spend(python, items.count))
        return;
    while (py_items_next(python, &items, &key, &value) == PSC_OK)
        value_take(writer, level, key, value);
}

bool value_find_in_dict(struct python *python, psc_addr object, const char *name, psc_addr *ret)
{
    struct py_items items;
    return py_attributes_open(python, object, &items) == PSC_OK &&
           py_items_find(python, &items, name, FIND_LIMIT, ret) == PSC_OK;
}

bool value_find_attribute(struct python *python, const struct py_type *type, psc_addr object,
                          const char *name, psc_addr *ret)
{
    for (size_t i = 0; i < type->slot_count; i++)
        if (py_string_equals(python, type->slots[i].name, name))
            return target_read_u64(python->target, object + type->slots[i].offset, ret) == PSC_OK &&
                   *ret;
    return value_find_in_dict(python, object, name, ret);
}
