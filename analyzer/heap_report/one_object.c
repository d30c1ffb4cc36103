/* What is at an address: the object, or the block and whose it is; what it refers to, and who to
 * it. */
#include "heap_report_private.h"

#include <stdlib.h>

#define EDGES_SHOWN 30u
#define VALUE_SIZE  400u
#define OTHER_SIZE  60u
#define SHOWN_BYTES UINT64_C(128)

/* An edge between two objects. */
struct shown_edge {
    uint32_t from;
    uint32_t to;
    uint32_t nth; /* Of those of `from`. */
};

struct shown_edges {
    struct shown_edge *items; /* malloc'd */
    size_t count;
    size_t capacity;
    uint64_t all;
};

static void edges_deinit(struct shown_edges *edges)
{
    free(edges->items);
}

static uint32_t limit_of(const struct heap_page *page)
{
    return page->options->limit ? page->options->limit : EDGES_SHOWN;
}

static bool add_edge(struct heap_page *page, struct shown_edges *edges, struct shown_edge edge)
{
    edges->all++;
    if (edges->count >= limit_of(page))
        return true;
    if (!array_reserve(&edges->items, &edges->capacity, edges->count + 1, sizeof(*edges->items)))
        return false;
    edges->items[edges->count++] = edge;
    return true;
}

static bool find_references(struct heap_page *page, uint32_t object, struct shown_edges *ret)
{
    const struct heap *heap = page->view->heap;
    uint32_t first = heap->first_edges[object];
    for (uint32_t i = first; i < heap->first_edges[object + 1]; i++)
        if (!add_edge(page, ret, (struct shown_edge){object, heap->edges[i], i - first}))
            return false;
    return true;
}

/* The first edge to an object from `i` on, or edge_count; *from grows to the object that has it. */
static uint32_t next_edge(const struct heap *heap, uint32_t object, uint32_t i, uint32_t *from)
{
    while (i < heap->edge_count && heap->edges[i] != object)
        i++;
    while (i < heap->edge_count && heap->first_edges[*from + 1] <= i)
        (*from)++;
    return i;
}

static bool find_referrers(struct heap_page *page, uint32_t object, struct shown_edges *ret)
{
    const struct heap *heap = page->view->heap;
    uint32_t from = 0;
    for (uint32_t i = next_edge(heap, object, 0, &from); i < heap->edge_count;
         i = next_edge(heap, object, i + 1, &from)) {
        if (!add_edge(page, ret, (struct shown_edge){from, object, i - heap->first_edges[from]}))
            return false;
    }
    return true;
}

/* As heap_count_found() of one. */
static uint32_t count_found(const struct heap *heap, uint32_t object)
{
    uint32_t found = 0;
    uint32_t from = 0;
    for (uint32_t i = next_edge(heap, object, 0, &from); i < heap->edge_count;
         i = next_edge(heap, object, i + 1, &from)) {
        found += heap->objects[from].flags & HEAP_FLAG_EXACT ? 1 : 0;
    }
    return found;
}

/* ---- what is there ---- */

/* Of an address the object there, or that the block around it belongs to. */
struct place {
    uint32_t object; /* At the address itself; HEAP_NONE. */
    uint32_t block;  /* Around it; HEAP_NONE. */
    uint32_t owner;  /* Of that block; HEAP_NONE. */
};

static enum psc_status find_place(struct heap_page *page, struct place *ret, struct psc_error *err)
{
    struct heap *heap = page->view->heap;
    psc_addr address = page->options->object;
    ret->object = heap_find_object(heap, address);
    ret->block = ret->object == HEAP_NONE ? heap_find_block_around(heap, address)
                                          : heap->objects[ret->object].block;
    ret->owner = ret->block == HEAP_NONE ? HEAP_NONE : heap->blocks[ret->block].owner;
    if (ret->object == HEAP_NONE && ret->block == HEAP_NONE &&
        !heap_bytes(heap, address & ~UINT64_C(7), 8))
        return psc_fail(err, PSC_ERR_NOT_FOUND,
                        "there is no object at 0x%llx, nor memory that may be written",
                        (unsigned long long)address);
    return PSC_OK;
}

static const char *use_name(const struct heap *heap, uint32_t block)
{
    switch (heap_block_use(heap, block)) {
    case HEAP_OBJECT:
        return "an object";
    case HEAP_BUFFER:
        return "what an object keeps";
    case HEAP_DEAD:
        return "a dead object that the interpreter keeps";
    case HEAP_UNOWNED:
        break;
    }
    return "in use, by nobody that is known";
}

static const char *layer_name(const struct heap *heap, uint32_t block)
{
    switch (heap_block_layer(heap, block)) {
    case HEAP_PYMALLOC:
        return "pymalloc";
    case HEAP_MAPPED:
        return "malloc, with a mapping of its own";
    case HEAP_GLIBC:
        break;
    }
    return "malloc";
}

/* ---- text ---- */

static void put_one_line(struct heap_page *page, uint32_t object)
{
    struct heap *heap = page->view->heap;
    text_printf(page->out, "0x%llx  ", (unsigned long long)heap->objects[object].address);
    text_add_escaped(page->out, heap->types[heap->objects[object].type].name);
    text_add_string(page->out, "  ");
    heap_add_value(heap, object, OTHER_SIZE, page->out);
    text_add_char(page->out, '\n');
}

static void put_edges_text(struct heap_page *page, const struct shown_edges *edges,
                           bool are_referrers)
{
    struct text *out = page->out;
    text_printf(out, "%s: %llu\n", are_referrers ? "Referred to by" : "Refers to",
                (unsigned long long)edges->all);
    for (size_t i = 0; i < edges->count; i++) {
        const struct shown_edge *edge = &edges->items[i];
        struct text label PSC_CLEANUP(text_deinit) = {0};
        heap_edge_label(page->view->heap, edge->from, edge->nth, &label);
        text_add_string(out, "  ");
        text_add_escaped(out, label.data ? label.data : "");
        text_add_string(out, are_referrers ? " of " : " = ");
        put_one_line(page, are_referrers ? edge->from : edge->to);
    }
    if (edges->all > edges->count)
        text_printf(out, "  and %llu more\n", (unsigned long long)(edges->all - edges->count));
}

static void put_words(struct heap_page *page, psc_addr from, uint64_t size)
{
    struct heap *heap = page->view->heap;
    for (uint64_t at = 0; at + 8 <= size && at < SHOWN_BYTES; at += 8) {
        const uint8_t *bytes = heap_bytes(heap, from + at, 8);
        if (!bytes)
            return;
        text_printf(page->out, "  0x%llx  %016llx  ", (unsigned long long)from + at,
                    (unsigned long long)load_u64(bytes));
        for (size_t i = 0; i < 8; i++)
            text_add_char(page->out, bytes[i] >= ' ' && bytes[i] < 0x7f ? (char)bytes[i] : '.');
        text_add_char(page->out, '\n');
    }
}

static void put_block_text(struct heap_page *page, const struct place *place)
{
    struct heap *heap = page->view->heap;
    struct text *out = page->out;
    psc_addr address = page->options->object;
    if (place->block == HEAP_NONE) {
        text_printf(out, "0x%llx is in no block in use\n", (unsigned long long)address);
        put_words(page, address & ~UINT64_C(7), SHOWN_BYTES);
        return;
    }
    const struct heap_block *block = &heap->blocks[place->block];
    text_printf(out, "0x%llx is in a block of %llu bytes at 0x%llx of %s: %s\n",
                (unsigned long long)address, (unsigned long long)heap_block_bytes(block),
                (unsigned long long)block->address, layer_name(heap, place->block),
                use_name(heap, place->block));
    if (place->owner != HEAP_NONE) {
        text_add_string(out, "Its owner: ");
        put_one_line(page, place->owner);
    }
    put_words(page, block->address, heap_block_bytes(block));
}

static void put_object_text(struct heap_page *page, uint32_t index)
{
    struct heap *heap = page->view->heap;
    struct text *out = page->out;
    const struct heap_object *object = &heap->objects[index];
    uint64_t length;
    text_printf(out, "0x%llx  ", (unsigned long long)object->address);
    text_add_escaped(out, heap->types[object->type].name);
    text_add_string(out, "\n  value       ");
    heap_add_value(heap, index, VALUE_SIZE, out);
    text_printf(out, "\n  size        %llu as sys.getsizeof() has it; ",
                (unsigned long long)heap_object_size(heap, index));
    text_printf(out, "%llu of its own, %llu that it keeps\n",
                (unsigned long long)heap_object_bytes(heap, index),
                (unsigned long long)heap_owned_bytes(object));
    if (heap_object_length(heap, index, &length))
        text_printf(out, "  length      %llu\n", (unsigned long long)length);
    if (object->flags & HEAP_FLAG_IMMORTAL)
        text_add_string(out, "  references  immortal\n");
    else
        text_printf(out, "  references  %u counted, %u found that count\n", object->refcount,
                    count_found(heap, index));
    if (object->block != HEAP_NONE)
        text_printf(out, "  memory      %s, block of %llu bytes at 0x%llx%s\n",
                    layer_name(heap, object->block),
                    (unsigned long long)heap_block_bytes(&heap->blocks[object->block]),
                    (unsigned long long)heap->blocks[object->block].address,
                    object->flags & HEAP_FLAG_TRACKED ? "; the collector tracks it" : "");
    else
        text_add_string(out, "  memory      data of a module\n");
}

enum psc_status object_put_text(struct heap_page *page, struct psc_error *err)
{
    struct place place;
    struct shown_edges to PSC_CLEANUP(edges_deinit) = {0};
    struct shown_edges from PSC_CLEANUP(edges_deinit) = {0};
    enum psc_status status = find_place(page, &place, err);
    if (status != PSC_OK)
        return status;
    if (place.object == HEAP_NONE) {
        put_block_text(page, &place);
        return PSC_OK;
    }
    if (!find_references(page, place.object, &to) || !find_referrers(page, place.object, &from))
        return psc_fail_memory(err);
    put_object_text(page, place.object);
    put_edges_text(page, &from, true);
    put_edges_text(page, &to, false);
    return PSC_OK;
}

/* ---- JSON ---- */

static void put_edges_json(struct heap_page *page, const char *key, const struct shown_edges *edges,
                           bool are_referrers)
{
    struct heap *heap = page->view->heap;
    struct json_writer *json = page->json;
    json_open_array(json, key);
    for (size_t i = 0; i < edges->count; i++) {
        const struct shown_edge *edge = &edges->items[i];
        uint32_t other = are_referrers ? edge->from : edge->to;
        struct text label PSC_CLEANUP(text_deinit) = {0};
        heap_edge_label(heap, edge->from, edge->nth, &label);
        json_open_object(json, NULL);
        json_put_address(json, "address", true, heap->objects[other].address);
        json_put_string(json, "type", heap->types[heap->objects[other].type].name);
        json_put_string(json, "via", label.data ? label.data : "");
        json_close_object(json);
    }
    json_close_array(json);
}

static void put_object_json(struct heap_page *page, uint32_t index)
{
    struct heap *heap = page->view->heap;
    struct json_writer *json = page->json;
    const struct heap_object *object = &heap->objects[index];
    struct text value PSC_CLEANUP(text_deinit) = {0};
    uint64_t length = 0;
    bool has_length = heap_object_length(heap, index, &length);
    bool is_mortal = !(object->flags & HEAP_FLAG_IMMORTAL);
    heap_add_value(heap, index, VALUE_SIZE, &value);
    json_put_string(json, "type", heap->types[object->type].name);
    json_put_string(json, "value", value.data ? value.data : "");
    json_put_unsigned(json, "size", true, heap_object_size(heap, index));
    json_put_unsigned(json, "bytes", true, heap_object_bytes(heap, index));
    json_put_unsigned(json, "owned_bytes", true, heap_owned_bytes(object));
    json_put_unsigned(json, "length", has_length, length);
    json_put_unsigned(json, "refcount", is_mortal, object->refcount);
    json_put_unsigned(json, "references_found", is_mortal,
                      is_mortal ? count_found(heap, index) : 0);
}

enum psc_status object_put_json(struct heap_page *page, struct psc_error *err)
{
    struct heap *heap = page->view->heap;
    struct json_writer *json = page->json;
    struct place place;
    struct shown_edges to PSC_CLEANUP(edges_deinit) = {0};
    struct shown_edges from PSC_CLEANUP(edges_deinit) = {0};
    enum psc_status status = find_place(page, &place, err);
    if (status != PSC_OK)
        return status;
    if (place.object != HEAP_NONE &&
        (!find_references(page, place.object, &to) || !find_referrers(page, place.object, &from)))
        return psc_fail_memory(err);
    json_open_object(json, "object");
    json_put_address(json, "address", true, page->options->object);
    if (place.object != HEAP_NONE)
        put_object_json(page, place.object);
    if (place.block != HEAP_NONE) {
        const struct heap_block *block = &heap->blocks[place.block];
        json_open_object(json, "block");
        json_put_address(json, "address", true, block->address);
        json_put_unsigned(json, "bytes", true, heap_block_bytes(block));
        json_put_string(json, "layer", layer_name(heap, place.block));
        json_put_string(json, "use", use_name(heap, place.block));
        json_put_address(json, "owner", place.owner != HEAP_NONE,
                         place.owner != HEAP_NONE ? heap->objects[place.owner].address : 0);
        json_close_object(json);
    }
    put_edges_json(page, "referrers", &from, true);
    json_put_unsigned(json, "referrer_count", true, from.all);
    put_edges_json(page, "references", &to, false);
    json_put_unsigned(json, "reference_count", true, to.all);
    json_close_object(json);
    return PSC_OK;
}
