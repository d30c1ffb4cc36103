/* What refers to another object: mapping proxies, the views of a dict, weak references. */
#include "types.h"

#include <inttypes.h>
#include <string.h>

void value_open_proxy(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr mapping = 0;
    (void)type;
    if (py_read_u64(writer->python, object, PY_MAPPINGPROXY_MAPPING, &mapping) != PSC_OK)
        mapping = 0;
    struct value_level *level = value_push(writer, object, "mappingproxy(", ")");
    if (level)
        value_take(writer, level, 0, mapping);
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
        value_take(writer, level, key, keys ? key : value);
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
    else {
        text_printf(writer->text, "to '%s' at 0x%" PRIx64, referent->c_name, target);
        value_add_called(writer, target);
        text_add_char(writer->text, '>');
    }
}
