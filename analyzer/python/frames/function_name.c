/*
 * Qualified names before co_qualname (3.11): a frame knows its code only. Its generator
 * or a class in the __mro__ of its first argument may hold the function with that code.
 */
#include "frames_private.h"

#include <string.h>

#define MRO_LIMIT        64u
#define CLASS_DICT_LIMIT 4096u
#define CELL_LIMIT       256u
#define CLASS_NAME_LIMIT 256u
#define WRAPPER_LIMIT    8u
#define WRAPPER_ITEMS    16u

static const char *read_qualname(struct python *python, psc_addr object, enum py_field field)
{
    psc_addr string;
    const char *name = NULL;
    if (py_read_u64(python, object, field, &string) != PSC_OK ||
        py_read_string(python, string, PY_NAME_LIMIT, &name) != PSC_OK)
        return NULL;
    return name;
}

/* The name of the generator that the frame points to, when that points back. */
static const char *name_from_generator(struct python *python, psc_addr frame)
{
    psc_addr generator;
    psc_addr owned;
    if (py_read_u64(python, frame, PY_FRAMEOBJ_GEN, &generator) != PSC_OK ||
        !py_is_object_address(generator) ||
        py_read_u64(python, generator, PY_GEN_FRAME, &owned) != PSC_OK || owned != frame)
        return NULL;
    return read_qualname(python, generator, PY_GEN_QUALNAME);
}

/* functools.wraps() leaves the function that it hides in the wrapper's __dict__. */
static psc_addr find_wrapped(struct python *python, psc_addr function)
{
    psc_addr dict;
    psc_addr wrapped;
    struct py_items items;
    if (py_read_u64(python, function, PY_FUNC_DICT, &dict) != PSC_OK || !dict ||
        py_dict_open(python, dict, &items) != PSC_OK ||
        py_items_find(python, &items, "__wrapped__", WRAPPER_ITEMS, &wrapped) != PSC_OK)
        return 0;
    return wrapped;
}

/* The function with this code, at or below `object`; 0 when it is another. */
static psc_addr match_function(struct python *python, psc_addr object, psc_addr code)
{
    for (size_t i = 0; i < WRAPPER_LIMIT; i++) {
        psc_addr type;
        psc_addr found;
        uint64_t flags;
        if (py_read_type(python, object, &type, &flags) != PSC_OK)
            return 0;
        if (type == python->types.function) {
            if (py_read_u64(python, object, PY_FUNC_CODE, &found) == PSC_OK && found == code)
                return object;
            object = find_wrapped(python, object);
        } else if (type == python->types.classmethod_) {
            if (py_read_u64(python, object, PY_CLASSMETHOD_CALLABLE, &object) != PSC_OK)
                return 0;
        } else if (type == python->types.staticmethod_) {
            if (py_read_u64(python, object, PY_STATICMETHOD_CALLABLE, &object) != PSC_OK)
                return 0;
        } else {
            return 0;
        }
    }
    return 0;
}

static psc_addr match_attribute(struct python *python, psc_addr object, psc_addr code)
{
    static const enum py_field accessors[] = {PY_PROPERTY_GET, PY_PROPERTY_SET, PY_PROPERTY_DEL};
    psc_addr type;
    uint64_t flags;
    if (py_read_type(python, object, &type, &flags) != PSC_OK)
        return 0;
    if (type != python->types.property)
        return match_function(python, object, code);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(accessors); i++) {
        psc_addr accessor;
        psc_addr function;
        if (py_read_u64(python, object, accessors[i], &accessor) != PSC_OK)
            continue;
        function = match_function(python, accessor, code);
        if (function)
            return function;
    }
    return 0;
}

static psc_addr search_dict(struct python *python, psc_addr class, enum py_field field,
                            psc_addr code)
{
    psc_addr dict;
    psc_addr key;
    psc_addr value;
    struct py_items items;
    if (py_read_u64(python, class, field, &dict) != PSC_OK ||
        py_dict_open(python, dict, &items) != PSC_OK)
        return 0;
    for (size_t i = 0; i < CLASS_DICT_LIMIT; i++) {
        if (py_items_next(python, &items, &key, &value) != PSC_OK)
            return 0;
        psc_addr function = match_attribute(python, value, code);
        if (function)
            return function;
    }
    return 0;
}

/* 2.7's functions do not know their class; it is the one that they were found in. */
static const char *name_within(struct python *python, const char *class, psc_addr function)
{
    const char *name = read_qualname(python, function, PY_FUNC_QUALNAME);
    return class && name ? arena_printf(python->arena, "%s.%s", class, name) : name;
}

const char *function_name_of_class(struct python *python, psc_addr class)
{
    char name[CLASS_NAME_LIMIT];
    psc_addr at;
    if (py_read_u64(python, class, PY_TYPE_NAME, &at) != PSC_OK ||
        target_read_string(python->target, at, name, sizeof(name)) != PSC_OK)
        return NULL;
    const char *dot = strrchr(name, '.');
    return arena_strdup(python->arena, dot ? dot + 1 : name);
}

/* Depth first, as attributes of 2.7's classes without a type are looked up. */
static const char *name_from_old_class(struct python *python, psc_addr class, psc_addr code)
{
    psc_addr pending[MRO_LIMIT] = {class};
    size_t count = 1;
    for (size_t i = 0; count && i < MRO_LIMIT; i++) {
        psc_addr bases;
        psc_addr items;
        psc_addr name;
        size_t base_count = 0;
        const char *text = NULL;
        class = pending[--count];
        psc_addr function = search_dict(python, class, PY_CLASS_DICT, code);
        if (function)
            return py_read_u64(python, class, PY_CLASS_NAME, &name) == PSC_OK &&
                           py_read_string(python, name, CLASS_NAME_LIMIT, &text) == PSC_OK
                       ? name_within(python, text, function)
                       : NULL;
        if (py_read_u64(python, class, PY_CLASS_BASES, &bases) != PSC_OK ||
            py_read_tuple(python, bases, &base_count, &items) != PSC_OK)
            continue;
        for (size_t b = base_count; b-- > 0 && count < MRO_LIMIT;)
            if (b < MRO_LIMIT &&
                target_read_u64(python->target, items + 8 * b, &pending[count]) == PSC_OK)
                count++;
    }
    return NULL;
}

static const char *name_of_method(struct python *python, psc_addr class, psc_addr function)
{
    switch (python->layout.rules->classes) {
    case PY_CLASSES_OLD_AND_NEW:
        return name_within(python, function_name_of_class(python, class), function);
    case PY_CLASSES_NEW:
        break;
    }
    return read_qualname(python, function, PY_FUNC_QUALNAME);
}

static const char *name_from_class(struct python *python, psc_addr class, psc_addr code)
{
    psc_addr mro;
    psc_addr items;
    psc_addr base;
    size_t count;
    if (!py_has_flags(python, class, PY_FLAG_TYPE) ||
        py_read_u64(python, class, PY_TYPE_MRO, &mro) != PSC_OK ||
        py_read_tuple(python, mro, &count, &items) != PSC_OK)
        return NULL;
    for (size_t i = 0; i < count && i < MRO_LIMIT; i++) {
        if (target_read_u64(python->target, items + 8 * i, &base) != PSC_OK)
            return NULL;
        psc_addr function = search_dict(python, base, PY_TYPE_DICT, code);
        if (function)
            return name_of_method(python, base, function);
    }
    return NULL;
}

/* An argument that an inner function uses lives in a cell, behind the locals. */
static psc_addr read_cell_argument(struct python *python, psc_addr frame, psc_addr code,
                                   const char *name)
{
    psc_addr tuple;
    psc_addr items;
    psc_addr cell;
    psc_addr value;
    int32_t locals;
    size_t count;
    if (py_read_i32(python, code, PY_CODE_NLOCALS, &locals) != PSC_OK || locals < 0 ||
        py_read_u64(python, code, PY_CODE_CELLVARS, &tuple) != PSC_OK ||
        py_read_tuple(python, tuple, &count, &items) != PSC_OK)
        return 0;
    for (size_t i = 0; i < count && i < CELL_LIMIT; i++) {
        psc_addr slot =
            py_field_address(python, frame, PY_FRAMEOBJ_LOCALSPLUS) + 8 * ((uint64_t)locals + i);
        if (target_read_u64(python->target, items + 8 * i, &cell) != PSC_OK)
            return 0;
        if (!py_string_equals(python, cell, name))
            continue;
        if (target_read_u64(python->target, slot, &cell) != PSC_OK || !py_is_object_address(cell) ||
            py_read_u64(python, cell, PY_CELL_REF, &value) != PSC_OK)
            return 0;
        return value;
    }
    return 0;
}

/* The first argument when it is named as that of a method is. */
static psc_addr read_self(struct python *python, psc_addr frame, psc_addr code)
{
    static const char *const names[] = {"self", "cls"};
    int32_t arguments;
    psc_addr tuple;
    psc_addr items;
    psc_addr first;
    psc_addr value;
    size_t count;
    if (py_read_i32(python, code, PY_CODE_ARGCOUNT, &arguments) != PSC_OK || arguments < 1 ||
        py_read_u64(python, code, PY_CODE_VARNAMES, &tuple) != PSC_OK ||
        py_read_tuple(python, tuple, &count, &items) != PSC_OK || !count ||
        target_read_u64(python->target, items, &first) != PSC_OK ||
        py_read_u64(python, frame, PY_FRAMEOBJ_LOCALSPLUS, &value) != PSC_OK)
        return 0;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (py_string_equals(python, first, names[i]))
            return value ? value : read_cell_argument(python, frame, code, names[i]);
    return 0;
}

const char *function_name_read(struct python *python, psc_addr frame, psc_addr code)
{
    const char *name = name_from_generator(python, frame);
    psc_addr self = name ? 0 : read_self(python, frame, code);
    psc_addr type;
    uint64_t flags;
    if (!self || py_read_type(python, self, &type, &flags) != PSC_OK)
        return name;
    if (python->types.class && type == python->types.class)
        return name_from_old_class(python, self, code);
    if (python->types.instance && type == python->types.instance)
        return py_read_u64(python, self, PY_INSTANCE_CLASS, &type) == PSC_OK
                   ? name_from_old_class(python, type, code)
                   : NULL;
    if (flags & PY_FLAG_TYPE)
        name = name_from_class(python, self, code);
    return name ? name : name_from_class(python, type, code);
}
