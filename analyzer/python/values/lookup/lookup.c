/* Attributes and items. */
#include "values.h"
#include "lookup.h"

#include <inttypes.h>
#include <string.h>

#define FIELD_LIMIT 256u /* Of a named tuple. */
#define CLASS_LIMIT 64u  /* Of one method resolution order. */

/* ---- keys ---- */

/* A copy stays in the arena until the handle is closed. */
#define COPY_STEPS UINT64_C(256)

static bool is_ascii(const char *text)
{
    while (*text && !((unsigned char)*text & 0x80))
        text++;
    return !*text;
}

/* By length first: most keys are passed by without a copy. */
static bool is_key(struct python *python, psc_addr object, const char *key, size_t size)
{
    struct py_characters shape;
    const char *text = NULL;
    if (py_string_open(python, object, &shape) != PSC_OK || shape.length > size ||
        size > 4 * shape.length)
        return false;
    if (shape.length == size && shape.width == 1 && size <= 64)
        return py_string_equals(python, object, key);
    if ((shape.length != size && is_ascii(key)) || !budget_spend(python, COPY_STEPS))
        return false;
    return py_read_string(python, object, size, &text) == PSC_OK && !strcmp(text, key);
}

enum psc_status lookup_find_key(struct python *python, struct py_items *items, const char *key,
                                psc_addr *ret)
{
    size_t size = strlen(key);
    psc_addr found;
    for (size_t i = 0; i < LOOKUP_ITEM_LIMIT && budget_spend(python, 1); i++) {
        enum psc_status status = py_items_next(python, items, &found, ret);
        if (status != PSC_OK)
            return status;
        if (is_key(python, found, key, size))
            return PSC_OK;
    }
    return PSC_ERR_LIMIT;
}

/* ---- classes ---- */

typedef bool class_visit(void *context, struct python *python, psc_addr class);

/* The classes of a type in the order in which names are looked for. True when one was it. */
static bool visit_classes(struct python *python, psc_addr type, class_visit *visit, void *context)
{
    psc_addr order;
    psc_addr items;
    psc_addr class;
    size_t count;
    if (py_read_u64(python, type, PY_TYPE_MRO, &order) != PSC_OK ||
        py_read_tuple(python, order, &count, &items) != PSC_OK)
        return visit(context, python, type);
    for (size_t i = 0; i < count && i < CLASS_LIMIT; i++)
        if (target_read_u64(python->target, items + 8 * i, &class) == PSC_OK &&
            visit(context, python, class))
            return true;
    return false;
}

struct class_search {
    const char *name;
    psc_addr found;
};

static bool has_name(void *context, struct python *python, psc_addr class)
{
    struct class_search *search = context;
    struct py_items items;
    psc_addr dict;
    return py_read_u64(python, class, PY_TYPE_DICT, &dict) == PSC_OK && dict &&
           py_dict_open(python, dict, &items) == PSC_OK &&
           lookup_find_key(python, &items, search->name, &search->found) == PSC_OK;
}

static bool find_in_classes(struct python *python, psc_addr type, const char *name, psc_addr *ret)
{
    struct class_search search = {.name = name};
    bool found = visit_classes(python, type, has_name, &search);
    *ret = search.found;
    return found;
}

static bool is_type_named(void *context, struct python *python, psc_addr class)
{
    const struct class_search *search = context;
    const struct py_type *type;
    return py_type_find(python, class, &type) == PSC_OK && !type->module &&
           !strcmp(type->name, search->name);
}

/* Whether what is found in a class is a descriptor: its __get__ is code, and what that gives is not
   in memory. One with a __set__ goes before the object's own attribute (Descriptor Guide). */
enum descriptor { NO_DESCRIPTOR, DESCRIPTOR, DATA_DESCRIPTOR };

static enum descriptor descriptor_of(struct python *python, psc_addr value)
{
    struct class_search property = {.name = "property"};
    struct class_search getset = {.name = "getset_descriptor"};
    const struct py_type *type;
    psc_addr method;
    if (py_type_of(python, value, &type) != PSC_OK)
        return NO_DESCRIPTOR;
    if (visit_classes(python, type->address, is_type_named, &property) ||
        visit_classes(python, type->address, is_type_named, &getset))
        return DATA_DESCRIPTOR;
    if (!(type->flags & PY_FLAG_HEAPTYPE) || type->kind != PY_KIND_OBJECT ||
        !find_in_classes(python, type->address, "__get__", &method))
        return NO_DESCRIPTOR;
    return find_in_classes(python, type->address, "__set__", &method) ? DATA_DESCRIPTOR
                                                                      : DESCRIPTOR;
}

/* ---- attributes ---- */

/* __slots__, and such of C types. */
static bool read_member(struct python *python, psc_addr descriptor, psc_addr object, psc_addr *ret)
{
    uint64_t offset;
    return py_member_offset(python, descriptor, &offset) && offset < PY_DICT_LIMIT &&
           target_read_u64(python->target, object + offset, ret) == PSC_OK && *ret;
}

static enum psc_status refuse_code(const struct py_type *type, const char *name,
                                   struct psc_error *err)
{
    return psc_fail(err, PSC_ERR_UNSUPPORTED,
                    "'%s' of this %s object is what code of the program gives, and nothing is run",
                    name, type->name);
}

static bool find_own(struct python *python, const struct py_type *type, psc_addr object,
                     const char *name, psc_addr *ret)
{
    struct py_items items;
    if (type->kind == PY_KIND_TYPE)
        return find_in_classes(python, object, name, ret);
    for (size_t i = 0; i < type->slot_count; i++)
        if (is_key(python, type->slots[i].name, name, strlen(name)) &&
            target_read_u64(python->target, object + type->slots[i].offset, ret) == PSC_OK && *ret)
            return true;
    return py_attributes_open(python, object, &items) == PSC_OK &&
           lookup_find_key(python, &items, name, ret) == PSC_OK;
}

static bool find_field(struct python *python, const struct py_type *type, psc_addr object,
                       const char *name, psc_addr *ret)
{
    psc_addr names;
    psc_addr field;
    size_t count;
    if (!type->fields || py_read_tuple(python, type->fields, &count, &names) != PSC_OK)
        return false;
    for (size_t i = 0; i < count && i < FIELD_LIMIT; i++)
        if (target_read_u64(python->target, names + 8 * i, &field) == PSC_OK &&
            is_key(python, field, name, strlen(name)))
            return target_read_u64(python->target,
                                   py_field_address(python, object, PY_TUPLE_ITEMS) + 8 * i,
                                   ret) == PSC_OK;
    return false;
}

/* What code of the standard library gives, but is simple to read. */
static bool find_known(struct python *python, const struct py_type *type, psc_addr object,
                       const char *name, psc_addr *ret)
{
    *ret = 0;
    if (type->enumeration && (!strcmp(name, "value") || !strcmp(name, "name")))
        return find_own(python, type, object, !strcmp(name, "name") ? "_name_" : "_value_", ret);
    if (find_field(python, type, object, name, ret))
        return true;
    if (!strcmp(name, "__class__"))
        *ret = type->address;
    else if (type->kind == PY_KIND_EXCEPTION && !strcmp(name, "args"))
        return py_read_u64(python, object, PY_EXC_ARGS, ret) == PSC_OK && *ret;
    else if (type->kind == PY_KIND_EXCEPTION && !strcmp(name, "__cause__"))
        return py_read_u64(python, object, PY_EXC_CAUSE, ret) == PSC_OK && *ret;
    else if (type->kind == PY_KIND_EXCEPTION && !strcmp(name, "__context__"))
        return py_read_u64(python, object, PY_EXC_CONTEXT, ret) == PSC_OK && *ret;
    return *ret;
}

/* "__name" within a class body is _Class__name (Python Language Reference, 6.2.1). */
static bool find_private(struct python *python, const struct py_type *type, psc_addr object,
                         const char *name, psc_addr *ret)
{
    size_t size = strlen(name);
    const char *class = py_type_short_name(type);
    if (size < 3 || memcmp(name, "__", 2) != 0 || memcmp(name + size - 2, "__", 2) == 0)
        return false;
    while (*class == '_')
        class ++;
    const char *mangled = arena_printf(python->arena, "_%s%s", class, name);
    return mangled && *class && find_own(python, type, object, mangled, ret);
}

enum psc_status lookup_attribute(struct python *python, psc_addr object, const char *name,
                                 psc_addr *ret, struct psc_error *err)
{
    const struct py_type *type;
    const struct py_type *kind;
    psc_addr in_class = 0;
    if (py_type_of(python, object, &type) != PSC_OK)
        return psc_fail(err, PSC_ERR_FAULT, "there is no object at 0x%" PRIx64, object);
    if (find_known(python, type, object, name, ret))
        return PSC_OK;
    bool classy = find_in_classes(python, type->address, name, &in_class);
    enum descriptor descriptor = classy ? descriptor_of(python, in_class) : NO_DESCRIPTOR;
    if (descriptor == DATA_DESCRIPTOR && type->kind != PY_KIND_TYPE)
        return refuse_code(type, name, err);
    if (classy && py_type_of(python, in_class, &kind) == PSC_OK && kind->kind == PY_KIND_MEMBER) {
        if (read_member(python, in_class, object, ret))
            return PSC_OK;
        return psc_fail(err, PSC_ERR_NOT_FOUND, "'%s' of this %s object has no value", name,
                        type->name);
    }
    if (find_own(python, type, object, name, ret) || find_private(python, type, object, name, ret))
        return PSC_OK;
    if (descriptor != NO_DESCRIPTOR)
        return refuse_code(type, name, err);
    if (!classy)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "this %s object has no attribute '%s'", type->name,
                        name);
    *ret = in_class;
    return PSC_OK;
}

struct class_listing {
    bool (*take)(void *context, psc_addr name);
    void *context;
};

static bool list_items(const struct class_listing *listing, struct python *python,
                       struct py_items *items)
{
    psc_addr key;
    psc_addr value;
    for (size_t i = 0; i < LOOKUP_ITEM_LIMIT && budget_spend(python, 1); i++) {
        if (py_items_next(python, items, &key, &value) != PSC_OK)
            return true;
        if (!listing->take(listing->context, key))
            return false;
    }
    return true;
}

static bool list_class(void *context, struct python *python, psc_addr class)
{
    const struct class_listing *listing = context;
    struct py_items items;
    psc_addr dict;
    return py_read_u64(python, class, PY_TYPE_DICT, &dict) == PSC_OK && dict &&
           py_dict_open(python, dict, &items) == PSC_OK && !list_items(listing, python, &items);
}

void lookup_list_attributes(struct python *python, psc_addr object,
                            bool (*take)(void *context, psc_addr name), void *context)
{
    struct class_listing listing = {take, context};
    const struct py_type *type;
    struct py_items items;
    if (py_type_of(python, object, &type) != PSC_OK)
        return;
    if (py_attributes_open(python, object, &items) == PSC_OK &&
        !list_items(&listing, python, &items))
        return;
    if (type->kind == PY_KIND_TYPE)
        visit_classes(python, object, list_class, &listing);
    else if (type->kind != PY_KIND_MODULE)
        visit_classes(python, type->address, list_class, &listing);
}

/* ---- items ---- */

/* The items of a list or a tuple. */
struct array {
    const char *what;
    psc_addr items;
    uint64_t count;
};

static enum psc_status take_from_array(struct python *python, const struct array *array,
                                       const struct value_step *step, psc_addr *ret,
                                       struct psc_error *err)
{
    int64_t index = step->index;
    if (step->kind != VALUE_STEP_INDEX)
        return psc_fail(err, PSC_ERR_ARGUMENT, "a %s has numbers for its items, no keys",
                        array->what);
    if (array->count > PY_DICT_LIMIT << 8)
        return psc_fail(err, PSC_ERR_FORMAT, "this %s can not be read", array->what);
    if (index < 0)
        index += (int64_t)array->count;
    if (index < 0 || (uint64_t)index >= array->count)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "this %s has %" PRIu64 " items, none at %s",
                        array->what, array->count, step->text);
    if (target_read_u64(python->target, array->items + 8 * (uint64_t)index, ret) != PSC_OK)
        return psc_fail(err, PSC_ERR_FAULT, "item %s of this %s can not be read", step->text,
                        array->what);
    return PSC_OK;
}

/* An int of any size, and what is derived from it, by its digits. */
static bool is_number(struct python *python, psc_addr object, const char *digits)
{
    struct text text = {0};
    const struct py_type *type;
    if (py_type_of(python, object, &type) != PSC_OK || type->kind != PY_KIND_INT)
        return false;
    value_add(python, object, &text);
    bool equal = !text.failed && text.data && !strcmp(text.data, digits);
    text_deinit(&text);
    return equal;
}

static enum psc_status take_from_dict(struct python *python, psc_addr dict,
                                      const struct value_step *step, psc_addr *ret,
                                      struct psc_error *err)
{
    struct py_items items;
    psc_addr key;
    if (py_dict_open_unchecked(python, dict, &items) != PSC_OK)
        return psc_fail(err, PSC_ERR_FORMAT, "this dict can not be read");
    enum psc_status status = PSC_ERR_LIMIT;
    if (step->kind == VALUE_STEP_KEY)
        status = lookup_find_key(python, &items, step->text, ret);
    for (size_t i = 0;
         step->kind == VALUE_STEP_INDEX && i < LOOKUP_ITEM_LIMIT && budget_spend(python, 1); i++) {
        status = py_items_next(python, &items, &key, ret);
        if (status != PSC_OK || is_number(python, key, step->text))
            break;
        status = PSC_ERR_LIMIT;
    }
    const char *quote = step->kind == VALUE_STEP_KEY ? "'" : "";
    if (status == PSC_ERR_LIMIT)
        return psc_fail(err, status, "this dict has too many items to look for %s%s%s", quote,
                        step->text, quote);
    if (status != PSC_OK)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "this dict has no key %s%s%s", quote, step->text,
                        quote);
    return PSC_OK;
}

enum psc_status lookup_item(struct python *python, psc_addr object, const struct value_step *step,
                            psc_addr *ret, struct psc_error *err)
{
    const struct py_type *type;
    if (py_type_of(python, object, &type) != PSC_OK)
        return psc_fail(err, PSC_ERR_FAULT, "there is no object at 0x%" PRIx64, object);
    if (type->kind == PY_KIND_DICT)
        return take_from_dict(python, object, step, ret, err);
    if (type->kind != PY_KIND_LIST && type->kind != PY_KIND_TUPLE)
        return psc_fail(err, PSC_ERR_UNSUPPORTED,
                        "this %s object is no list, tuple or dict: its items are what code gives",
                        type->name);
    struct array array = {.what = type->kind == PY_KIND_LIST ? "list" : "tuple",
                          .items = py_field_address(python, object, PY_TUPLE_ITEMS)};
    enum psc_status status = py_read_u64(python, object, PY_VAR_SIZE, &array.count);
    if (status == PSC_OK && type->kind == PY_KIND_LIST)
        status = py_read_u64(python, object, PY_LIST_ITEMS, &array.items);
    if (status != PSC_OK)
        return psc_fail(err, status, "this %s can not be read", array.what);
    return take_from_array(python, &array, step, ret, err);
}
