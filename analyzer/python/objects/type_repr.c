/* Whether the repr() of a class is the one that is known, or one that the program has written. */
#include "objects_private.h"

#include <string.h>

#define BASE_LIMIT       32u
#define CLASS_LIMIT      64u /* Of one method resolution order. */
#define CLASS_DICT_LIMIT 1024u
#define PATH_LIMIT       4096u

/* The type that is made in C whose objects these are: the one that is known, or the first. */
static psc_addr find_origin(struct python *python, const struct py_type *type)
{
    psc_addr base = type->address;
    uint64_t flags;
    if (type->origin)
        return type->origin;
    for (size_t i = 0; i < BASE_LIMIT && py_is_object_address(base); i++) {
        if (py_read_u64(python, base, PY_TYPE_FLAGS, &flags) != PSC_OK)
            return 0;
        if (!(flags & PY_FLAG_HEAPTYPE))
            return base;
        if (py_read_u64(python, base, PY_TYPE_BASE, &base) != PSC_OK)
            return 0;
    }
    return 0;
}

/* A class that says nothing else has the tp_repr of its base. */
static bool has_repr_of_c(struct python *python, const struct py_type *type)
{
    psc_addr origin = find_origin(python, type);
    psc_addr own;
    psc_addr known;
    return origin && py_read_u64(python, type->address, PY_TYPE_REPR, &own) == PSC_OK &&
           py_read_u64(python, origin, PY_TYPE_REPR, &known) == PSC_OK && own == known;
}

bool type_find_in_classes(struct python *python, psc_addr type, const char *name, psc_addr *ret)
{
    psc_addr order;
    psc_addr items;
    psc_addr class;
    psc_addr dict;
    struct py_items names;
    size_t count;
    if (py_read_u64(python, type, PY_TYPE_MRO, &order) != PSC_OK ||
        py_read_tuple(python, order, &count, &items) != PSC_OK)
        return false;
    for (size_t i = 0; i < count && i < CLASS_LIMIT; i++)
        if (target_read_u64(python->target, items + 8 * i, &class) == PSC_OK &&
            py_read_u64(python, class, PY_TYPE_DICT, &dict) == PSC_OK && dict &&
            py_dict_open(python, dict, &names) == PSC_OK &&
            budget_spend(python, names.count < CLASS_DICT_LIMIT ? names.count : CLASS_DICT_LIMIT) &&
            py_items_find(python, &names, name, CLASS_DICT_LIMIT, ret) == PSC_OK)
            return true;
    return false;
}

/* What functools.wraps() was given: reprlib.recursive_repr() is put around some. */
static psc_addr unwrap(struct python *python, psc_addr function)
{
    struct py_items items;
    psc_addr dict;
    psc_addr wrapped;
    if (py_read_u64(python, function, PY_FUNC_DICT, &dict) == PSC_OK && dict &&
        py_dict_open(python, dict, &items) == PSC_OK && budget_spend(python, CLASS_LIMIT) &&
        py_items_find(python, &items, "__wrapped__", CLASS_LIMIT, &wrapped) == PSC_OK)
        return wrapped;
    return function;
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    size_t end_size = strlen(end);
    return size >= end_size && !strcmp(text + size - end_size, end);
}

/* Whether a class's __repr__ is a function of that file, and `named`: of that name. */
static bool has_repr_of(struct python *python, const struct py_type *type, const char *file,
                        bool named)
{
    const char *path = NULL;
    psc_addr function;
    psc_addr code;
    psc_addr string;
    if (!type_find_in_classes(python, type->address, "__repr__", &function))
        return false;
    function = unwrap(python, function);
    /* What is no function of Python has no such names there. */
    if (py_read_u64(python, function, PY_FUNC_CODE, &code) != PSC_OK ||
        py_read_u64(python, code, PY_CODE_FILENAME, &string) != PSC_OK ||
        py_read_string(python, string, PATH_LIMIT, &path) != PSC_OK || !ends_with(path, file))
        return false;
    return !named || (py_read_u64(python, code, PY_CODE_NAME, &string) == PSC_OK &&
                      py_string_equals(python, string, "__repr__"));
}

/*
 * The __repr__ of a named tuple is in collections/__init__.py from 3.7 on, and made of text before;
 * that of a dataclass is made of text in all versions; that of an enumeration is a method in
 * enum.py, where global_enum() puts functions of other names in its place.
 */
static bool is_known(struct python *python, const struct py_type *type)
{
    if (type->enumeration)
        return has_repr_of(python, type, "enum.py", true);
    if (type->fields)
        return has_repr_of(python, type, "<string>", true) ||
               has_repr_of(python, type, "collections/__init__.py", true);
    if (type->data)
        return has_repr_of(python, type, "<string>", false);
    if (type->kind == PY_KIND_UUID || type->kind == PY_KIND_PATH)
        return true;
    return has_repr_of_c(python, type);
}

void type_set_repr(struct python *python, struct py_type *type)
{
    bool special = type->enumeration || type->fields || type->data;
    /* Whatever a metaclass says, a class is shown as one; arrays have a form of their own. */
    if (!(type->flags & PY_FLAG_HEAPTYPE) || type->kind == PY_KIND_TYPE ||
        type->kind == PY_KIND_NUMPY_ARRAY ||
        (!special && (type->kind == PY_KIND_OBJECT || type->exact)))
        return;
    type->own_repr = !is_known(python, type);
}
