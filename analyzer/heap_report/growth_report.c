/* What has grown, as text and JSON. */
#include "growth.h"
#include "heap_report_private.h"

#include <string.h>

#define ROWS_SHOWN 20u

static void add_difference(struct text *text, int64_t bytes)
{
    text_add_char(text, bytes < 0 ? '-' : '+');
    heap_add_bytes(text, bytes < 0 ? (uint64_t)-bytes : (uint64_t)bytes);
}

static void put_padded(struct text *out, const struct text *cell, size_t width)
{
    const size_t size = cell->size;
    if (size < width)
        text_printf(out, "%*s", (int)(width - size), "");
    text_add_string(out, cell->data ? cell->data : "");
}

static bool has_grown(const struct type_growth *type)
{
    return type->objects || type->bytes || type->owned;
}

static void put_type(struct text *out, const struct type_growth *type)
{
    struct text cell = {0};
    text_printf(out, "%+12lld ", (long long)type->objects);
    add_difference(&cell, type->bytes);
    put_padded(out, &cell, 12);
    text_clear(&cell);
    text_add_char(out, ' ');
    add_difference(&cell, type->occupied + type->owned);
    put_padded(out, &cell, 12);
    text_clear(&cell);
    text_add_char(out, ' ');
    add_difference(&cell, (int64_t)type->retained);
    put_padded(out, &cell, 13);
    text_add_string(out, "  ");
    text_add_escaped(out, type->name);
    text_add_char(out, '\n');
    text_deinit(&cell);
}

/* What is no node, by a name. */
static const char *name_of_none(uint32_t node)
{
    switch (node) {
    case GROWTH_BY_CODE:
        return "code in C, from where no object is known";
    case GROWTH_BY_SEVERAL:
        return "several that have nothing in common";
    case GROWTH_GARBAGE:
        return "nobody: cycles that were not collected yet";
    default:
        return NULL;
    }
}

static enum psc_status add_holder_line(struct heap_page *page, uint32_t node, struct text *text)
{
    const char *name = name_of_none(node);
    if (!name)
        return held_way_add_line(page, node, text);
    text_add_string(text, name);
    return PSC_OK;
}

static enum psc_status put_holder(struct heap_page *page, const struct holder_growth *holder)
{
    const struct heap *heap = page->view->heap;
    struct text *out = page->out;
    struct text cell = {0};
    text_printf(out, "%+12lld ", (long long)holder->objects);
    add_difference(&cell, (int64_t)holder->bytes);
    put_padded(out, &cell, 12);
    text_deinit(&cell);
    text_add_string(out, "  ");
    enum psc_status status = add_holder_line(page, holder->node, out);
    if (holder->node < heap->object_count) {
        text_add_string(out, " (");
        text_add_escaped(out, heap->types[heap->objects[holder->node].type].name);
        text_printf(out, " at 0x%llx)", (unsigned long long)heap->objects[holder->node].address);
    }
    if (holder->type != HEAP_NONE) {
        text_printf(out, ": %+lld ", (long long)holder->direct);
        text_add_escaped(out, heap->types[holder->type].name);
    }
    text_add_char(out, '\n');
    return status;
}

static enum psc_status put_all(struct heap_page *page, const struct growth *growth)
{
    const size_t limit = page->options->limit ? page->options->limit : ROWS_SHOWN;
    struct text *out = page->out;
    enum psc_status status = PSC_OK;
    size_t shown = 0;
    text_printf(out, "%llu objects are new, %llu were there before\n",
                (unsigned long long)growth->new_objects, (unsigned long long)growth->same_objects);
    text_add_string(out, "\n     objects        bytes   with owned  new retained  type\n");
    for (size_t i = 0; i < growth->type_count && shown < limit; i++)
        if (has_grown(&growth->types[i])) {
            put_type(out, &growth->types[i]);
            shown++;
        }
    if (!shown)
        text_add_string(out, "  nothing has grown\n");
    if (!growth->related) {
        text_add_string(out,
                        "\nThe two are not of one process: what holds the growth is not told.\n");
        return PSC_OK;
    }
    text_add_string(out, "\n     objects        bytes  held by\n");
    for (size_t i = 0; status == PSC_OK && i < growth->holder_count && i < limit; i++)
        status = put_holder(page, &growth->holders[i]);
    return status;
}

static enum psc_status find(struct heap_page *page, struct heap_view *older, struct growth *ret)
{
    struct holders *holders;
    enum psc_status status = heap_page_holders(page, &holders);
    return status == PSC_OK ? growth_find(older->heap, holders, ret) : status;
}

enum psc_status growth_put_text(struct heap_page *page, struct heap_view *older,
                                struct psc_error *err)
{
    PSC_CLEANUP(growth_deinit) struct growth growth = {0};
    enum psc_status status = find(page, older, &growth);
    if (status == PSC_OK)
        status = put_all(page, &growth);
    return psc_fail_status(err, status);
}

static void put_signed(struct json_writer *json, const char *key, int64_t value)
{
    json_put_integer(json, key, true, value);
}

static void put_types_json(struct heap_page *page, const struct growth *growth)
{
    struct json_writer *json = page->json;
    json_open_array(json, "types");
    for (size_t i = 0; i < growth->type_count; i++) {
        const struct type_growth *type = &growth->types[i];
        if (!has_grown(type))
            continue;
        json_break_line(json);
        json_open_object(json, NULL);
        json_put_string(json, "type", type->name);
        put_signed(json, "objects", type->objects);
        put_signed(json, "bytes", type->bytes);
        put_signed(json, "owned_bytes", type->owned);
        json_put_unsigned(json, "new_retained_bytes", growth->related, type->retained);
        json_close_object(json);
    }
    json_close_array(json);
}

static enum psc_status put_holder_json(struct heap_page *page, const struct holder_growth *holder)
{
    const struct heap *heap = page->view->heap;
    struct json_writer *json = page->json;
    struct text line = {0};
    const bool is_object = holder->node < heap->object_count;
    const struct heap_object *object = is_object ? &heap->objects[holder->node] : NULL;
    enum psc_status status = add_holder_line(page, holder->node, &line);
    json_break_line(json);
    json_open_object(json, NULL);
    json_put_address(json, "address", is_object, object ? object->address : 0);
    json_put_string(json, "type", object ? heap->types[object->type].name : NULL);
    json_put_string(json, "way", line.data);
    json_put_unsigned(json, "objects", true, holder->objects);
    json_put_unsigned(json, "bytes", true, holder->bytes);
    json_put_string(json, "of_type",
                    holder->type == HEAP_NONE ? NULL : heap->types[holder->type].name);
    json_put_unsigned(json, "of_type_objects", true, holder->direct);
    json_close_object(json);
    json->failed |= line.failed;
    text_deinit(&line);
    return status;
}

enum psc_status growth_put_json(struct heap_page *page, struct heap_view *older,
                                struct psc_error *err)
{
    PSC_CLEANUP(growth_deinit) struct growth growth = {0};
    struct json_writer *json = page->json;
    const size_t limit = page->options->limit ? page->options->limit : 10 * ROWS_SHOWN;
    enum psc_status status = find(page, older, &growth);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    json_open_object(json, "growth");
    json_put_boolean(json, "same_process", growth.related);
    json_put_unsigned(json, "new_objects", true, growth.new_objects);
    json_put_unsigned(json, "same_objects", true, growth.same_objects);
    put_types_json(page, &growth);
    json_open_array(json, "holders");
    for (size_t i = 0; status == PSC_OK && i < growth.holder_count && i < limit; i++)
        status = put_holder_json(page, &growth.holders[i]);
    json_close_array(json);
    json_close_object(json);
    return psc_fail_status(err, status);
}
