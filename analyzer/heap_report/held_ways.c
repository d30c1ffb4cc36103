/* Who holds an object, or the objects of a type. */
#include "heap_report_private.h"
#include "holders.h"

#include <stdlib.h>
#include <string.h>

#define WAYS_SHOWN  10u
#define STEPS_SHOWN 40u /* Of a long way those at both ends. */
#define VALUE_SIZE  200u

/* Ways that are alike: one of them, and how many objects have such. */
struct way_group {
    uint64_t key;
    uint64_t objects;
    uint32_t node; /* One that is held so. */
};

struct way_list {
    struct hash_table groups; /* struct way_group */
    uint64_t objects;
};

/* ---- what is asked for ---- */

static bool is_address(const char *text, psc_addr *ret)
{
    char *end = NULL;
    if (strncmp(text, "0x", 2) != 0 && strncmp(text, "0X", 2) != 0)
        return false;
    *ret = strtoull(text, &end, 16);
    return end && !*end && end > text + 2;
}

/* "app.Session" by all of it, or by its last part. */
static bool is_type_named(const char *name, const char *wanted)
{
    const size_t size = strlen(name), wanted_size = strlen(wanted);
    if (size < wanted_size || strcmp(name + size - wanted_size, wanted) != 0)
        return false;
    return size == wanted_size || name[size - wanted_size - 1] == '.';
}

static enum psc_status add_to_group(struct way_list *list, uint64_t key, uint32_t node)
{
    struct way_group *group = hash_table_find(&list->groups, key);
    if (!group && (group = hash_table_add(&list->groups, key)))
        group->node = node;
    if (!group)
        return PSC_ERR_MEMORY;
    group->objects++;
    list->objects++;
    return PSC_OK;
}

/* By the object that holds them; those that are held one by one, by its type. */
static enum psc_status group_again(struct holders *holders, struct way_list *list)
{
    struct way_list by_type = {.groups = HASH_TABLE_OF(struct way_group)};
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < list->groups.count; i++) {
        const struct way_group *group = hash_table_at(&list->groups, i);
        uint32_t next;
        uint64_t key = group->key;
        status = holders_find_next(holders, group->node, &next);
        if (status == PSC_OK && group->objects == 1 && next != HOLDERS_NO_NODE &&
            holders_is_object(holders, next))
            key = UINT64_C(1) << 32 | holders->heap->objects[next].type;
        const uint64_t before = by_type.objects;
        if (status == PSC_OK)
            status = add_to_group(&by_type, key, group->node);
        struct way_group *made = hash_table_find(&by_type.groups, key);
        if (made)
            made->objects += group->objects - 1;
        by_type.objects = before + group->objects;
    }
    hash_table_deinit(&list->groups);
    *list = by_type;
    return status;
}

static int compare_groups(const void *left, const void *right)
{
    const struct way_group *one = left, *other = right;
    return COMPARE(other->objects, one->objects);
}

static enum psc_status list_type(struct holders *holders, const char *name, struct way_list *list)
{
    const struct heap *heap = holders->heap;
    enum psc_status status = PSC_OK;
    PSC_CLEANUP(cleanup_free) uint8_t *wanted = calloc((size_t)heap->type_count + 1, 1);
    if (!wanted)
        return PSC_ERR_MEMORY;
    for (uint32_t i = 0; i < heap->type_count; i++)
        wanted[i] = is_type_named(heap->types[i].name, name);
    for (uint32_t i = 0; status == PSC_OK && i < heap->object_count; i++) {
        uint32_t next;
        if (!wanted[heap->objects[i].type])
            continue;
        status = holders_find_next(holders, i, &next);
        if (status == PSC_OK)
            status =
                add_to_group(list, next == HOLDERS_NO_NODE ? (UINT64_C(2) << 32 | i) : next, i);
    }
    return status == PSC_OK ? group_again(holders, list) : status;
}

/* An address within an object, or within what it owns, is its. */
static uint32_t find_at(struct heap *heap, psc_addr address)
{
    const uint32_t object = heap_find_object(heap, address);
    if (object != HEAP_NONE)
        return object;
    const uint32_t block = heap_find_block_around(heap, address);
    return block == HEAP_NONE ? HEAP_NONE : heap->blocks[block].owner;
}

static enum psc_status list_held(struct heap_page *page, struct holders *holders,
                                 struct way_list *list, struct psc_error *err)
{
    const char *what = page->options->held;
    psc_addr address;
    enum psc_status status;
    *list = (struct way_list){.groups = HASH_TABLE_OF(struct way_group)};
    if (is_address(what, &address)) {
        const uint32_t object = find_at(holders->heap, address);
        if (object == HEAP_NONE)
            return psc_fail(err, PSC_ERR_NOT_FOUND, "%s: there is no object", what);
        status = add_to_group(list, object, object);
    } else {
        status = list_type(holders, what, list);
        if (status == PSC_OK && !list->objects)
            return psc_fail(err, PSC_ERR_NOT_FOUND, "%s: there is no object of such a type", what);
    }
    if (status == PSC_OK && list->groups.count)
        qsort(list->groups.items, list->groups.count, sizeof(struct way_group), compare_groups);
    return psc_fail_status(err, status);
}

/* ---- words ---- */

static unsigned count_edges(const struct holders *holders, uint32_t from, uint32_t to)
{
    const struct holder_rows *rows = &holders->forward;
    unsigned count = 0;
    for (uint32_t i = rows->first[from]; i < rows->first[from + 1]; i++)
        count += rows->nodes[i] == to;
    return count;
}

static void add_root_name(struct holders *holders, const struct held_way *way, struct text *text)
{
    const uint32_t root = way->nodes[0];
    const size_t before = text->size;
    if (way->rank != HOLDER_RANK_UNKNOWN && way->rank != HOLDER_RANK_GARBAGE)
        holders_add_name(holders, root, text);
    if (way->rank == HOLDER_RANK_NATIVE && way->count > 1) {
        const unsigned count = count_edges(holders, root, way->nodes[1]);
        text_printf(text, " (%u reference%s)", count, count == 1 ? "" : "s");
    }
    if (text->size > before)
        return;
    if (way->rank == HOLDER_RANK_GARBAGE)
        text_add_string(text, "garbage: a cycle that was not collected yet");
    else if (way->rank == HOLDER_RANK_STATIC)
        text_add_string(text, "static object");
    else if (holders->missing[root])
        text_printf(text, "C code (%u reference%s from where no object is known)",
                    holders->missing[root], holders->missing[root] == 1 ? "" : "s");
    else
        text_add_string(text, "C code (an immortal object)");
}

static void add_step(struct holders *holders, const struct held_way *way, size_t index,
                     struct text *text)
{
    if (index)
        holders_add_step(holders, way->nodes[index - 1], way->nodes[index], text);
    else
        add_root_name(holders, way, text);
}

enum psc_status held_way_add_line(struct heap_page *page, uint32_t node, struct text *text)
{
    struct holders *holders;
    PSC_CLEANUP(held_way_deinit) struct held_way way = {0};
    enum psc_status status = heap_page_holders(page, &holders);
    if (status == PSC_OK)
        status = holders_find_way(holders, node, &way);
    if (status != PSC_OK)
        return status;
    struct text line = {0};
    if (way.rank > HOLDER_RANK_NATIVE) {
        add_root_name(holders, &way, &line);
        text_add_string(&line, ": ");
    }
    held_way_add_text(holders, &way, &line);
    text_add_escaped(text, line.data ? line.data : "");
    text->failed |= line.failed;
    text_deinit(&line);
    return PSC_OK;
}

/* ---- text ---- */

static void put_step(struct heap_page *page, struct holders *holders, const struct held_way *way,
                     size_t index)
{
    struct text *out = page->out;
    const uint32_t node = way->nodes[index];
    struct text via = {0};
    add_step(holders, way, index, &via);
    text_add_string(out, "    ");
    const size_t before = out->size;
    text_add_escaped(out, via.data ? via.data : "");
    out->failed |= via.failed;
    text_deinit(&via);
    if (out->size - before < 32)
        text_printf(out, "%*s", (int)(32 - (out->size - before)), "");
    if (holders_is_object(holders, node)) {
        text_add_string(out, "  ");
        text_add_escaped(out, holders_type_name(holders, node));
        text_printf(out, " at 0x%llx, retains ",
                    (unsigned long long)holders->heap->objects[node].address);
        heap_add_bytes(out, holders->tree.retained[node]);
    } else if (holders->tree.retained[node]) {
        text_add_string(out, "  retains ");
        heap_add_bytes(out, holders->tree.retained[node]);
    }
    while (out->size && out->data[out->size - 1] == ' ')
        out->data[--out->size] = '\0';
    text_add_char(out, '\n');
}

static enum psc_status put_way(struct heap_page *page, struct holders *holders, uint32_t node)
{
    PSC_CLEANUP(held_way_deinit) struct held_way way = {0};
    enum psc_status status = holders_find_way(holders, node, &way);
    if (status != PSC_OK)
        return status;
    for (size_t i = 0; i < way.count; i++) {
        if (way.count > STEPS_SHOWN && i == STEPS_SHOWN / 2) {
            text_printf(page->out, "    ... %zu steps\n", way.count - STEPS_SHOWN);
            i = way.count - STEPS_SHOWN / 2;
        }
        put_step(page, holders, &way, i);
    }
    return PSC_OK;
}

static void put_held(struct heap_page *page, struct holders *holders, uint32_t node)
{
    const struct heap_object *object = &holders->heap->objects[node];
    text_add_escaped(page->out, holders_type_name(holders, node));
    text_printf(page->out, " at 0x%llx: ", (unsigned long long)object->address);
    heap_add_value(holders->heap, node, VALUE_SIZE, page->out);
    text_add_string(page->out, "\n  retains ");
    heap_add_bytes(page->out, holders->tree.retained[node]);
    const uint32_t held = holders->held_by.first[node + 1] - holders->held_by.first[node];
    text_printf(page->out, "; %u reference%s found", held, held == 1 ? "" : "s");
    if (holders->missing[node])
        text_printf(page->out, ", %u more from where no object is known", holders->missing[node]);
    text_add_char(page->out, '\n');
}

enum psc_status held_ways_put_text(struct heap_page *page, struct psc_error *err)
{
    struct holders *holders = NULL;
    struct way_list list;
    enum psc_status status = psc_fail_status(err, heap_page_holders(page, &holders));
    if (status != PSC_OK)
        return status;
    const size_t limit = page->options->limit ? page->options->limit : WAYS_SHOWN;
    status = list_held(page, holders, &list, err);
    if (status == PSC_OK && list.objects > 1)
        text_printf(page->out, "%llu objects\n", (unsigned long long)list.objects);
    size_t shown = 0;
    for (; status == PSC_OK && shown < list.groups.count && shown < limit; shown++) {
        const struct way_group *group = hash_table_at(&list.groups, shown);
        if (shown || list.objects > 1)
            text_printf(page->out, "\n%llu of them, one is ", (unsigned long long)group->objects);
        put_held(page, holders, group->node);
        text_add_string(page->out, "  held by ");
        status = held_way_add_line(page, group->node, page->out);
        text_add_char(page->out, '\n');
        if (status == PSC_OK)
            status = psc_fail_status(err, put_way(page, holders, group->node));
    }
    if (status == PSC_OK && shown < list.groups.count)
        text_printf(page->out, "\n%zu more ways\n", list.groups.count - shown);
    hash_table_deinit(&list.groups);
    return status;
}

/* ---- JSON ---- */

enum psc_status held_way_put_json(struct heap_page *page, const char *key, uint32_t node,
                                  uint64_t objects)
{
    struct json_writer *json = page->json;
    struct holders *holders;
    PSC_CLEANUP(held_way_deinit) struct held_way way = {0};
    enum psc_status status = heap_page_holders(page, &holders);
    if (status == PSC_OK)
        status = holders_find_way(holders, node, &way);
    if (status != PSC_OK)
        return status;
    json_open_array(json, key);
    for (size_t i = 0; i < way.count; i++) {
        const uint32_t at = way.nodes[i];
        const struct holder *holder = holders_get(holders, at);
        const psc_addr address =
            holder ? holder->frame.address : holders->heap->objects[at].address;
        struct text via = {0};
        add_step(holders, &way, i, &via);
        json_open_object(json, NULL);
        json_put_address(json, "address", address != 0, address);
        json_put_string(json, "type", address ? holders_type_name(holders, at) : NULL);
        json_put_string(json, "via", via.data ? via.data : "");
        json_put_unsigned(json, "retained_bytes", true, holders->tree.retained[at]);
        if (i + 1 == way.count)
            json_put_unsigned(json, "objects", true, objects);
        json_close_object(json);
        json->failed |= via.failed;
        text_deinit(&via);
    }
    json_close_array(json);
    return PSC_OK;
}

enum psc_status held_ways_put_json(struct heap_page *page, struct psc_error *err)
{
    struct holders *holders = NULL;
    struct way_list list;
    enum psc_status status = psc_fail_status(err, heap_page_holders(page, &holders));
    if (status != PSC_OK)
        return status;
    const size_t limit = page->options->limit ? page->options->limit : WAYS_SHOWN;
    status = list_held(page, holders, &list, err);
    if (status == PSC_OK)
        json_open_array(page->json, "paths");
    for (size_t i = 0; status == PSC_OK && i < list.groups.count && i < limit; i++) {
        const struct way_group *group = hash_table_at(&list.groups, i);
        json_break_line(page->json);
        status = psc_fail_status(err, held_way_put_json(page, NULL, group->node, group->objects));
    }
    if (status == PSC_OK)
        json_close_array(page->json);
    hash_table_deinit(&list.groups);
    return status;
}
