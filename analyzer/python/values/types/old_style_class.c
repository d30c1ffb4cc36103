/* Python 2.7's classes that are not types, and their instances (Include/classobject.h). */
#include "types.h"

#include <inttypes.h>

#define CLASS_LIMIT 1024u
#define SCAN_LIMIT  4096u

psc_addr value_old_name(struct python *python, psc_addr class)
{
    psc_addr name;
    return py_read_u64(python, class, PY_CLASS_NAME, &name) == PSC_OK ? name : 0;
}

static void add_string(struct python *python, psc_addr object, struct text *text)
{
    const char *string = "?";
    if (py_read_string(python, object, VALUE_NAME_CHARACTERS, &string) != PSC_OK)
        string = "?";
    text_add_string(text, string);
}

void value_add_old_name(struct python *python, psc_addr class, struct text *text)
{
    psc_addr dict;
    psc_addr module;
    struct py_items items;
    if (py_read_u64(python, class, PY_CLASS_DICT, &dict) == PSC_OK &&
        py_dict_open(python, dict, &items) == PSC_OK && budget_spend(python, CLASS_LIMIT) &&
        py_items_find(python, &items, "__module__", CLASS_LIMIT, &module) == PSC_OK &&
        !py_string_equals(python, module, "__builtin__")) {
        add_string(python, module, text);
        text_add_char(text, '.');
    }
    add_string(python, value_old_name(python, class), text);
}

void value_add_old_class(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    (void)type;
    text_add_string(writer->text, "<class ");
    value_add_old_name(writer->python, object, writer->text);
    text_printf(writer->text, " at 0x%" PRIx64 ">", object);
}

void value_open_old_instance(struct value_writer *writer, const struct py_type *type,
                             psc_addr object)
{
    struct python *python = writer->python;
    struct py_items items;
    psc_addr class = 0;
    psc_addr key;
    psc_addr value;
    (void)type;
    if (py_read_u64(python, object, PY_INSTANCE_CLASS, &class) != PSC_OK)
        class = 0;
    text_add_char(writer->text, '<');
    value_add_old_name(python, class, writer->text);
    text_printf(writer->text, " instance at 0x%" PRIx64, object);
    size_t before = writer->text->size;
    struct value_level *level = value_push(writer, object, ": ", ">");
    if (!level)
        return;
    level->has_keys = true;
    level->attributes = true;
    if (py_attributes_open(python, object, &items) != PSC_OK)
        items.count = items.next = 0;
    if (items.count > SCAN_LIMIT || !budget_spend(python, items.count))
        items.count = 0;
    while (py_items_next(python, &items, &key, &value) == PSC_OK)
        value_take(writer, level, key, value);
    if (!level->count && !writer->text->failed)
        writer->text->data[writer->text->size = before] = '\0';
}
