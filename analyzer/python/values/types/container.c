#include "types.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SET_LIMIT         (UINT64_C(1) << 24)
#define SCAN_LIMIT        4096u /* Free entries that are passed by. */
#define COUNT_LIMIT       (UINT64_C(1) << 40)
#define MEMBER_NAME_LIMIT 64u

static bool read_size(struct value_writer *writer, psc_addr object, enum py_field field,
                      uint64_t *ret)
{
    return py_read_u64(writer->python, object, field, ret) == PSC_OK && *ret <= COUNT_LIMIT;
}

static void add_broken(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    text_printf(writer->text, "<%s at 0x%" PRIx64 ": not readable>", type->name, object);
}

/* Names of a named tuple beside its items. */
static void take_fields(struct value_writer *writer, struct value_level *level, psc_addr names)
{
    struct python *python = writer->python;
    psc_addr items;
    size_t count;
    if (py_read_tuple(python, names, &count, &items) != PSC_OK || count < level->count)
        return;
    for (size_t i = 0; i < level->count; i++)
        if (target_read_u64(python->target, items + 8 * i, &level->keys[i]) != PSC_OK)
            return;
    level->has_keys = true;
    level->attributes = true;
}

/* The same of time.struct_time and the like, from the C struct of each member. */
static void take_members(struct value_writer *writer, struct value_level *level, psc_addr members)
{
    struct python *python = writer->python;
    char name[MEMBER_NAME_LIMIT];
    psc_addr at;
    for (size_t i = 0; i < level->count; i++) {
        if (target_read_u64(python->target, members + PY_MEMBERDEF_SIZE * i, &at) != PSC_OK ||
            !at || target_read_string(python->target, at, name, sizeof(name)) != PSC_OK)
            return;
        const char *kept = arena_strdup(python->arena, name);
        if (!kept)
            return;
        level->keys[i] = (psc_addr)(uintptr_t)kept;
    }
    level->has_keys = true;
    level->words = true;
}

void value_open_tuple(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint64_t count;
    if (!read_size(writer, object, PY_VAR_SIZE, &count)) {
        add_broken(writer, type, object);
        return;
    }
    bool named = type->structure || (type->fields && !type->own_repr);
    if (type->structure)
        text_add_string(writer->text, type->c_name);
    else if (named)
        text_add_string(writer->text, py_type_short_name(type));
    struct value_level *level = value_push(writer, object, "(", count == 1 && !named ? ",)" : ")");
    if (!level)
        return;
    value_take_array(writer, level, py_field_address(writer->python, object, PY_TUPLE_ITEMS),
                     count);
    if (type->structure)
        take_members(writer, level, type->structure);
    else if (named)
        take_fields(writer, level, type->fields);
}

/* list.sort() takes the items away while it sorts, and sets `allocated` to -1 (CPython,
   Objects/listobject.c); what was freed has none either. */
static bool add_list_without_items(struct value_writer *writer, psc_addr object, uint64_t count)
{
    uint64_t allocated;
    if (py_read_u64(writer->python, object, PY_LIST_ALLOCATED, &allocated) == PSC_OK &&
        allocated == UINT64_MAX)
        text_printf(writer->text, "<list at 0x%" PRIx64 ": its items are being sorted>", object);
    else if (count)
        text_printf(writer->text, "<list at 0x%" PRIx64 ": has no items, of %" PRIu64 ">", object,
                    count);
    else
        return false;
    return true;
}

void value_open_list(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint64_t count;
    psc_addr items = 0;
    if (!read_size(writer, object, PY_VAR_SIZE, &count) ||
        py_read_u64(writer->python, object, PY_LIST_ITEMS, &items) != PSC_OK) {
        add_broken(writer, type, object);
        return;
    }
    if (!items && add_list_without_items(writer, object, count))
        return;
    struct value_level *level = value_push(writer, object, "[", "]");
    if (level)
        value_take_array(writer, level, items, count);
}

/* 3.15's frozendict is laid out as a dict, but has not its flag. */
static enum psc_status open_dict(struct python *python, const struct py_type *type, psc_addr object,
                                 struct py_items *ret)
{
    return type->flags & PY_FLAG_DICT ? py_dict_open(python, object, ret)
                                      : py_dict_open_unchecked(python, object, ret);
}

void value_open_dict(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    struct py_items items;
    uint64_t used;
    psc_addr key;
    psc_addr value;
    bool frozen = type->exact && !(type->flags & PY_FLAG_DICT);
    if (open_dict(python, type, object, &items) != PSC_OK ||
        py_read_u64(python, object, PY_DICT_USED, &used) != PSC_OK || used > items.count) {
        add_broken(writer, type, object);
        return;
    }
    struct value_level *level =
        value_push(writer, object, frozen ? "frozendict({" : "{", frozen ? "})" : "}");
    if (!level)
        return;
    level->has_keys = true;
    if (type->ordered) {
        value_take_ordered(writer, level, object, used);
        return;
    }
    if (items.count > SCAN_LIMIT)
        items.count = SCAN_LIMIT;
    if (!budget_spend(python, items.count))
        items.count = 0;
    while (!value_is_full(writer, level) && py_items_next(python, &items, &key, &value) == PSC_OK)
        value_take(writer, level, key, value);
    level->more = used > level->count ? used - level->count : 0;
}

static void take_set(struct value_writer *writer, struct value_level *level, psc_addr table,
                     uint64_t slots, uint64_t used)
{
    struct python *python = writer->python;
    const char *freed = python->layout.rules->spelling->set_freed;
    slots = slots < SCAN_LIMIT ? slots : SCAN_LIMIT;
    if (!budget_spend(python, slots))
        slots = 0;
    for (uint64_t i = 0; i < slots && !value_is_full(writer, level) && level->count < used; i++) {
        psc_addr entry = table + PY_SET_ENTRY_SIZE * i;
        psc_addr key;
        uint64_t hash;
        if (py_read_u64(python, entry, PY_SETENTRY_KEY, &key) != PSC_OK ||
            py_read_u64(python, entry, PY_SETENTRY_HASH, &hash) != PSC_OK)
            break;
        if (key && hash != PY_SET_FREED_HASH && !(freed && py_string_equals(python, key, freed)))
            value_take(writer, level, 0, key);
    }
    level->more = used - level->count;
}

void value_open_set(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    struct python *python = writer->python;
    uint64_t used;
    uint64_t mask;
    psc_addr table;
    if (!read_size(writer, object, PY_SET_USED, &used) ||
        !read_size(writer, object, PY_SET_MASK, &mask) || mask >= SET_LIMIT || used > mask + 1 ||
        py_read_u64(python, object, PY_SET_TABLE, &table) != PSC_OK) {
        add_broken(writer, type, object);
        return;
    }
    const struct py_spelling *spelling = python->layout.rules->spelling;
    if (spelling->set_braces && type->exact && type->kind == PY_KIND_SET && used) {
        struct value_level *level = value_push(writer, object, "{", "}");
        if (level)
            take_set(writer, level, table, mask + 1, used);
        return;
    }
    text_add_string(writer->text, py_type_short_name(type));
    if (!used) {
        text_add_string(writer->text, spelling->set_empty);
        return;
    }
    struct value_level *level = value_push(writer, object, spelling->set_open, spelling->set_close);
    if (level)
        take_set(writer, level, table, mask + 1, used);
}

static void take_blocks(struct value_writer *writer, struct value_level *level, psc_addr object,
                        uint64_t count)
{
    struct py_deque_items items;
    psc_addr item;
    level->more = count;
    if (py_deque_open(writer->python, object, &items) != PSC_OK)
        return;
    while (level->more && !value_is_full(writer, level) &&
           py_deque_next(writer->python, &items, &item) == PSC_OK) {
        value_take(writer, level, 0, item);
        level->more--;
    }
}

void value_open_deque(struct value_writer *writer, const struct py_type *type, psc_addr object)
{
    uint64_t count;
    uint64_t most;
    char close[40] = "])";
    if (!read_size(writer, object, PY_DEQUE_COUNT, &count) ||
        py_read_u64(writer->python, object, PY_DEQUE_MAXLEN, &most) != PSC_OK) {
        add_broken(writer, type, object);
        return;
    }
    if ((int64_t)most >= 0)
        snprintf(close, sizeof(close), "], maxlen=%" PRIu64 ")", most);
    text_add_string(writer->text, py_type_short_name(type));
    struct value_level *level = value_push(writer, object, "([", close);
    if (level)
        take_blocks(writer, level, object, count);
}

/* CPython, Modules/_collectionsmodule.c, defdict_repr(): what makes new values, and the dict. */
void value_open_defaultdict(struct value_writer *writer, const struct py_type *type,
                            psc_addr object)
{
    psc_addr factory;
    if (py_read_u64(writer->python, object, PY_DEFAULTDICT_FACTORY, &factory) != PSC_OK) {
        value_open_dict(writer, type, object);
        return;
    }
    text_add_string(writer->text, py_type_short_name(type));
    struct value_level *level = value_push(writer, object, "(", ")");
    if (!level)
        return;
    if (factory)
        value_take(writer, level, 0, factory);
    else
        text_add_string(writer->text, "None, ");
    value_take(writer, level, 0, object);
    level->own = level->count;
    level->own_add = value_open_dict;
}
