/* Modules, and where they came from. */
#include "types.h"

#include <string.h>

#define GLOBALS_LIMIT 4096u

static bool find_global(struct python *python, psc_addr module, const char *name, psc_addr *ret)
{
    psc_addr dict;
    struct py_items items;
    return py_read_u64(python, module, PY_MODULE_DICT, &dict) == PSC_OK &&
           py_dict_open(python, dict, &items) == PSC_OK && budget_spend(python, items.count) &&
           py_items_find(python, &items, name, GLOBALS_LIMIT, ret) == PSC_OK;
}

/* Where a module came from, as importlib's spec says: a file, or in one word ("built-in"). */
struct origin {
    psc_addr file; /* A str, or 0. */
    const char *word;
};

static const char *importer_word(struct python *python, psc_addr spec)
{
    const struct py_type *importer;
    psc_addr loader;
    if (!value_find_in_dict(python, spec, "loader", &loader) ||
        py_type_find(python, loader, &importer) != PSC_OK)
        return NULL;
    return !strcmp(importer->name, "BuiltinImporter")  ? "built-in"
           : !strcmp(importer->name, "FrozenImporter") ? "frozen"
                                                       : NULL;
}

/* CPython, Lib/importlib/_bootstrap.py, _module_repr_from_spec(). */
static struct origin read_origin(struct python *python, psc_addr module)
{
    struct origin origin = {0};
    psc_addr spec;
    psc_addr origin_name = 0;
    psc_addr has_file;
    uint64_t is_file = 0;
    struct py_items items;
    if (!find_global(python, module, "__spec__", &spec) ||
        py_attributes_open(python, spec, &items) != PSC_OK) {
        if (find_global(python, module, "__file__", &origin_name))
            origin.file = origin_name;
        else
            origin.word = python->layout.rules->spelling->module_without_file;
        return origin;
    }
    if (value_find_in_dict(python, spec, "_set_fileattr", &has_file) &&
        py_read_int(python, has_file, &is_file) != PSC_OK)
        is_file = 0;
    if (!value_find_in_dict(python, spec, "origin", &origin_name) ||
        !py_has_flags(python, origin_name, PY_FLAG_STR))
        origin.word = importer_word(python, spec);
    else if (is_file)
        origin.file = origin_name;
    else if (py_read_string(python, origin_name, VALUE_NAME_CHARACTERS, &origin.word) != PSC_OK)
        origin.word = NULL;
    return origin;
}

static void add_quoted(struct value_writer *writer, const struct py_type *type, psc_addr string)
{
    switch (writer->python->layout.rules->texts) {
    case PY_TEXTS_BYTES_AND_UNICODE:
        value_add_bytes(writer, type, string);
        break;
    case PY_TEXTS_STR:
        value_add_str(writer, type, string);
        break;
    }
}

void value_add_module(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct text *text = writer->text;
    struct origin origin = read_origin(writer->python, object);
    psc_addr name;
    text_add_string(text, "<module ");
    if (!find_global(writer->python, object, "__name__", &name))
        text_add_char(text, '?');
    else
        add_quoted(writer, type, name);
    if (origin.file) {
        text_add_string(text, " from ");
        add_quoted(writer, type, origin.file);
    } else if (origin.word) {
        text_printf(text, " (%s)", origin.word);
    }
    text_add_char(text, '>');
}
