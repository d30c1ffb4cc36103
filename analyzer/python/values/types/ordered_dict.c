/* collections.OrderedDict: its order is that of a list of its own, not that of the dict beneath. */
#include "types.h"

#define SCAN_LIMIT (1u << 20) /* Entries of the dict that are passed by. */

static size_t find_key(const struct value_level *level, psc_addr key)
{
    size_t at = 0;
    while (at < level->count && level->keys[at] != key)
        at++;
    return at;
}

static void take_keys(struct value_writer *writer, struct value_level *level, psc_addr dict,
                      uint64_t used)
{
    struct python *python = writer->python;
    psc_addr node;
    psc_addr key;
    enum psc_status status = py_read_u64(python, dict, PY_ORDERED_FIRST, &node);
    while (status == PSC_OK && node && !value_is_full(writer, level) && level->count < used) {
        if (py_read_u64(python, node, PY_ORDEREDNODE_KEY, &key) != PSC_OK || !key ||
            find_key(level, key) < level->count)
            return;
        value_take(writer, level, key, 0);
        status = py_read_u64(python, node, PY_ORDEREDNODE_NEXT, &node);
    }
}

/* CPython, Objects/odictobject.c, _odict_add_new_node(): a node has the very object that was made
   the key of the dict. What is shown ends before the first key that the dict does not have. */
void value_take_ordered(struct value_writer *writer, struct value_level *level, psc_addr dict,
                        uint64_t used)
{
    struct python *python = writer->python;
    struct py_items items;
    psc_addr key;
    psc_addr value;
    size_t found = 0;
    size_t whole = 0;
    take_keys(writer, level, dict, used);
    if (py_dict_open(python, dict, &items) != PSC_OK)
        items.count = 0;
    if (items.count > SCAN_LIMIT)
        items.count = SCAN_LIMIT;
    while (found < level->count && budget_spend(python, 1) &&
           py_items_next(python, &items, &key, &value) == PSC_OK) {
        size_t at = find_key(level, key);
        if (at == level->count || level->values[at])
            continue;
        level->values[at] = value;
        found++;
    }
    while (whole < level->count && level->values[whole])
        whole++;
    level->count = whole;
    level->more = used > whole ? used - whole : 0;
}
