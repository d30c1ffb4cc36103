/* functools.partial, the callables of operator, itertools.count and repeat; SimpleNamespace. */
#include "library.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_LIMIT      64u
#define PART_LIMIT      32u
#define NAMESPACE_LIMIT 4096u

static bool read_member(struct value_writer *writer, psc_addr object, enum py_field field,
                        psc_addr *ret)
{
    return py_read_u64(writer->python, object, field, ret) == PSC_OK;
}

static void add_bare(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    value_add_identity(writer, type, object);
    text_add_char(writer->text, '>');
}

/* Takes a tuple's items, or those of a dict with their names. */
static void take_tuple(struct value_writer *writer, struct value_level *level, psc_addr tuple)
{
    psc_addr item;
    psc_addr items;
    size_t count;
    if (py_read_tuple(writer->python, tuple, &count, &items) != PSC_OK)
        return;
    for (size_t i = 0; i < count && !value_is_full(writer, level); i++)
        if (target_read_u64(writer->python->target, items + 8 * i, &item) == PSC_OK)
            value_take(writer, level, 0, item);
}

static void take_dict(struct value_writer *writer, struct value_level *level, psc_addr dict)
{
    struct py_items items;
    psc_addr key;
    psc_addr value;
    if (!dict || py_dict_open(writer->python, dict, &items) != PSC_OK)
        return;
    if (items.count > NAMESPACE_LIMIT)
        items.count = NAMESPACE_LIMIT;
    if (!budget_spend(writer->python, items.count))
        return;
    while (py_items_next(writer->python, &items, &key, &value) == PSC_OK)
        value_take(writer, level, key, value);
}

/* Modules/_functoolsmodule.c, partial_repr(). */
void value_open_partial(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr function;
    psc_addr arguments;
    psc_addr words;
    if (writer->python->layout.rules->reprs < PY_REPRS_3 ||
        !read_member(writer, object, PY_PARTIAL_FUNCTION, &function) ||
        !read_member(writer, object, PY_PARTIAL_ARGS, &arguments) ||
        !read_member(writer, object, PY_PARTIAL_KEYWORDS, &words)) {
        add_bare(writer, type, object);
        return;
    }
    if (writer->python->layout.rules->reprs < PY_REPRS_STRUCTS)
        text_add_string(writer->text, type->c_name);
    else
        py_type_add_name(type, writer->text);
    struct value_level *level = value_push(writer, object, "(", ")");
    if (!level)
        return;
    level->has_keys = true;
    level->attributes = true;
    value_take(writer, level, 0, function);
    take_tuple(writer, level, arguments);
    take_dict(writer, level, words);
}

/* ---- operator ---- */

/* Parts of "a.b", a str each. */
static bool add_parts(struct value_writer *writer, psc_addr parts)
{
    psc_addr items;
    psc_addr part;
    size_t count;
    if (py_has_flags(writer->python, parts, PY_FLAG_STR)) {
        value_add_name(writer, parts);
        return true;
    }
    if (py_read_tuple(writer->python, parts, &count, &items) != PSC_OK || count > PART_LIMIT)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (target_read_u64(writer->python->target, items + 8 * i, &part) != PSC_OK)
            return false;
        text_add_string(writer->text, i ? "." : "");
        value_add_name(writer, part);
    }
    return true;
}

/* Modules/_operator.c, attrgetter_repr(). */
static void add_attrgetter(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr names;
    psc_addr items;
    psc_addr item;
    size_t count;
    if (!read_member(writer, object, PY_ATTRGETTER_NAMES, &names) ||
        py_read_tuple(writer->python, names, &count, &items) != PSC_OK || count > PART_LIMIT) {
        add_bare(writer, type, object);
        return;
    }
    py_type_add_name(type, writer->text);
    for (size_t i = 0; i < count; i++) {
        text_add_string(writer->text, i ? ", '" : "('");
        if (target_read_u64(writer->python->target, items + 8 * i, &item) != PSC_OK ||
            !add_parts(writer, item))
            text_add_char(writer->text, '?');
        text_add_char(writer->text, '\'');
    }
    text_add_char(writer->text, ')');
}

/* itemgetter_repr() there: one item, or a tuple of them. */
static void open_itemgetter(struct value_writer *writer, const struct py_type *type,
                            psc_addr object)
{
    psc_addr item;
    uint64_t count;
    if (!read_member(writer, object, PY_ITEMGETTER_ITEM, &item) ||
        !read_member(writer, object, PY_ITEMGETTER_COUNT, &count)) {
        add_bare(writer, type, object);
        return;
    }
    py_type_add_name(type, writer->text);
    struct value_level *level = value_push(writer, object, "(", ")");
    if (level && count == 1)
        value_take(writer, level, 0, item);
    else if (level)
        take_tuple(writer, level, item);
}

/* methodcaller_repr() there. */
static void open_methodcaller(struct value_writer *writer, const struct py_type *type,
                              psc_addr object)
{
    psc_addr name;
    psc_addr arguments;
    psc_addr words;
    psc_addr first;
    psc_addr items;
    size_t count;
    if (!read_member(writer, object, PY_METHODCALLER_NAME, &name) ||
        !read_member(writer, object, PY_METHODCALLER_ARGS, &arguments) ||
        !read_member(writer, object, PY_METHODCALLER_WORDS, &words)) {
        add_bare(writer, type, object);
        return;
    }
    py_type_add_name(type, writer->text);
    struct value_level *level = value_push(writer, object, "(", ")");
    if (!level)
        return;
    level->has_keys = true;
    level->attributes = true;
    // The whole call's arguments are kept by some versions, where the name is the first.
    if (py_read_tuple(writer->python, arguments, &count, &items) != PSC_OK || !count ||
        target_read_u64(writer->python->target, items, &first) != PSC_OK || first != name)
        value_take(writer, level, 0, name);
    take_tuple(writer, level, arguments);
    take_dict(writer, level, words);
}

void value_open_operator(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    const char *name = py_type_short_name(type);
    if (writer->python->layout.rules->reprs < PY_REPRS_3)
        add_bare(writer, type, object);
    else if (!strcmp(name, "itemgetter"))
        open_itemgetter(writer, type, object);
    else if (!strcmp(name, "attrgetter"))
        add_attrgetter(writer, type, object);
    else
        open_methodcaller(writer, type, object);
}

/* ---- itertools ---- */

/* Modules/itertoolsmodule.c, count_repr(): objects when it is at the largest C number. */
void value_open_count(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    psc_addr number;
    psc_addr step;
    uint64_t at;
    uint64_t size;
    if (!read_member(writer, object, PY_COUNT_NUMBER, &at) ||
        !read_member(writer, object, PY_COUNT_OBJECT, &number) ||
        !read_member(writer, object, PY_COUNT_STEP, &step)) {
        add_bare(writer, type, object);
        return;
    }
    text_add_string(writer->text, py_type_short_name(type));
    if (at != INT64_MAX) {
        text_printf(writer->text, "(%" PRId64 ")", (int64_t)at);
        return;
    }
    struct value_level *level = value_push(writer, object, "(", ")");
    if (!level)
        return;
    value_take(writer, level, 0, number);
    if (py_read_int(writer->python, step, &size) != PSC_OK || size != 1)
        value_take(writer, level, 0, step);
}

/* repeat_repr() there. */
void value_open_repeat(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    char close[32] = ")";
    psc_addr item;
    uint64_t count;
    if (!read_member(writer, object, PY_REPEAT_ITEM, &item) ||
        !read_member(writer, object, PY_REPEAT_COUNT, &count)) {
        add_bare(writer, type, object);
        return;
    }
    if ((int64_t)count >= 0)
        snprintf(close, sizeof(close), ", %" PRIu64 ")", count);
    text_add_string(writer->text, py_type_short_name(type));
    struct value_level *level = value_push(writer, object, "(", close);
    if (level)
        value_take(writer, level, 0, item);
}

/* ---- types.SimpleNamespace ---- */

static bool is_before(struct python *python, psc_addr left, psc_addr right)
{
    const char *first = "";
    const char *second = "";
    return py_read_string(python, left, NAME_LIMIT, &first) == PSC_OK &&
           py_read_string(python, right, NAME_LIMIT, &second) == PSC_OK &&
           strcmp(first, second) < 0;
}

/* Up to 3.8 by name: of those that are shown, so that with more of them it would be others. */
static void sort_names(struct python *python, struct value_level *level)
{
    for (size_t i = 1; i < level->count; i++)
        for (size_t k = i; k && is_before(python, level->keys[k], level->keys[k - 1]); k--) {
            psc_addr key = level->keys[k];
            psc_addr value = level->values[k];
            level->keys[k] = level->keys[k - 1];
            level->values[k] = level->values[k - 1];
            level->keys[k - 1] = key;
            level->values[k - 1] = value;
        }
}

/* Objects/namespaceobject.c, namespace_repr(). */
void value_open_namespace(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    text_add_string(writer->text, type->exact ? "namespace" : py_type_short_name(type));
    struct value_level *level = value_push(writer, object, "(", ")");
    if (!level)
        return;
    level->has_keys = true;
    level->attributes = true;
    value_take_attributes(writer, level, type, object);
    if (writer->python->layout.rules->reprs < PY_REPRS_NAMESPACES && !level->more)
        sort_names(writer->python, level);
}
