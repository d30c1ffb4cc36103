/* What is in a heap: totals, what the memory is used for, the types. */
#include "heap_report_private.h"
#include "purposes.h"

#include <stdlib.h>

#define TYPES_SHOWN 25u

struct type_order {
    const struct heap_type *type;
    uint32_t index;
};

static uint64_t all_bytes(const struct heap_type *type)
{
    return type->occupied + type->owned;
}

static int compare_types(const void *left, const void *right)
{
    const struct type_order *a = left;
    const struct type_order *b = right;
    int by_bytes = COMPARE(all_bytes(b->type), all_bytes(a->type));
    return by_bytes ? by_bytes : COMPARE(a->index, b->index);
}

/* Types that have objects, the largest first: malloc'd; NULL when out of memory. */
static struct type_order *order_types(const struct heap *heap, uint32_t *ret_count)
{
    struct type_order *order = calloc((size_t)heap->type_count + 1, sizeof(*order));
    *ret_count = 0;
    for (uint32_t i = 0; order && i < heap->type_count; i++)
        if (heap->types[i].count)
            order[(*ret_count)++] = (struct type_order){.type = &heap->types[i], .index = i};
    if (order)
        qsort(order, *ret_count, sizeof(*order), compare_types);
    return order;
}

/* Of all objects, with what they keep. */
static uint64_t sum_bytes(const struct heap *heap)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < heap->type_count && bytes < INT64_MAX; i++)
        bytes += all_bytes(&heap->types[i]);
    return bytes < INT64_MAX ? bytes : INT64_MAX;
}

static uint64_t sum_parts(const struct heap *heap)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < heap->part_count; i++)
        bytes += heap->parts[i].in_other ? 0 : heap->parts[i].bytes;
    return bytes;
}

/* ---- text ---- */

static void put_size(struct text *out, uint64_t bytes, int width)
{
    struct text size PSC_CLEANUP(text_deinit) = {0};
    heap_add_bytes(&size, bytes);
    text_printf(out, "%*s", width, size.data ? size.data : "");
}

static void put_totals(struct heap_page *page)
{
    const struct heap *heap = page->view->heap;
    struct text *out = page->out;
    text_printf(out, "%u objects of %u types, ", heap->object_count, heap->type_count);
    heap_add_bytes(out, sum_bytes(heap));
    text_add_string(out, " with what they keep; ");
    heap_add_bytes(out, sum_parts(heap));
    text_add_string(out, " of memory are mapped\n\n");
}

static void put_layers(struct heap_page *page)
{
    const struct heap *heap = page->view->heap;
    struct text *out = page->out;
    uint64_t all = sum_parts(heap);
    text_add_string(out, "Memory, by what it is used for\n");
    for (size_t i = 0; i < heap->part_count; i++) {
        const struct heap_part *part = &heap->parts[i];
        if (!part->bytes)
            continue;
        put_size(out, part->bytes, 12);
        text_printf(out, "  %5.1f %%  %s\n", all ? 100.0 * (double)part->bytes / (double)all : 0.0,
                    part->name);
    }
    text_add_char(out, '\n');
}

static void put_classes(struct heap_page *page)
{
    const struct heap_pymalloc *pools = &page->view->heap->pymalloc;
    struct text *out = page->out;
    if (!pools->pools) {
        text_add_string(out, "CPython's own allocator has no pools, as with PYTHONMALLOC=malloc: "
                             "all objects lie in malloc()'s memory\n\n");
        return;
    }
    text_printf(
        out,
        "Pools of small blocks: %llu of %llu bytes\n        size     pools      used      free\n",
        (unsigned long long)pools->pools, (unsigned long long)pools->pool_size);
    for (size_t i = 0; i < HEAP_SIZE_CLASSES; i++)
        if (pools->classes[i].pools)
            text_printf(out, "%12zu%10llu%10llu%10llu\n", 16 * (i + 1),
                        (unsigned long long)pools->classes[i].pools,
                        (unsigned long long)pools->classes[i].used,
                        (unsigned long long)pools->classes[i].available);
    text_add_char(out, '\n');
}

static enum psc_status put_types(struct heap_page *page, struct psc_error *err)
{
    const struct heap *heap = page->view->heap;
    struct text *out = page->out;
    uint32_t count;
    struct type_order *order PSC_CLEANUP(cleanup_free) = order_types(heap, &count);
    const uint64_t *retained = order ? heap_page_type_retained(page) : NULL;
    uint64_t all = sum_bytes(heap);
    uint32_t shown = page->options->limit ? page->options->limit : TYPES_SHOWN;
    if (!order)
        return psc_fail_memory(err);
    text_printf(out,
                "Types, by the bytes of their objects and of what these keep\n"
                "     objects       bytes    they keep   of all%s  type\n",
                retained ? "    they retain" : "");
    for (uint32_t i = 0; i < count && i < shown; i++) {
        const struct heap_type *type = order[i].type;
        text_printf(out, "%12llu", (unsigned long long)type->count);
        put_size(out, type->occupied, 12);
        put_size(out, type->owned, 13);
        text_printf(out, "  %5.1f %%", all ? 100.0 * (double)all_bytes(type) / (double)all : 0.0);
        if (retained)
            put_size(out, retained[order[i].index], 15);
        text_add_string(out, "  ");
        text_add_escaped(out, type->name);
        text_add_char(out, '\n');
    }
    if (count > shown)
        text_printf(out, "   and %u types more\n", count - shown);
    text_add_char(out, '\n');
    return PSC_OK;
}

static enum psc_status put_purposes(struct heap_page *page, struct psc_error *err)
{
    struct heap_purpose_sum sums[HEAP_PURPOSES];
    if (!heap_sum_purposes(page->view->heap, sums))
        return psc_fail_memory(err);
    text_add_string(page->out, "Objects, by what they are for, with what they keep\n");
    for (size_t i = 0; i < HEAP_PURPOSES; i++) {
        text_printf(page->out, "%12llu objects", (unsigned long long)sums[i].objects);
        put_size(page->out, sums[i].bytes, 12);
        text_printf(page->out, "  %s\n", heap_purpose_name((enum heap_purpose)i));
    }
    text_add_char(page->out, '\n');
    return PSC_OK;
}

enum psc_status overview_put_text(struct heap_page *page, struct psc_error *err)
{
    put_totals(page);
    enum psc_status purposes = put_purposes(page, err);
    if (purposes != PSC_OK)
        return purposes;
    enum psc_status status = put_types(page, err);
    if (status == PSC_OK) {
        put_layers(page);
        put_classes(page);
    }
    return status;
}

/* ---- JSON ---- */

static void put_layers_json(struct heap_page *page)
{
    const struct heap *heap = page->view->heap;
    struct json_writer *json = page->json;
    json_open_array(json, "layers");
    for (size_t i = 0; i < heap->part_count; i++) {
        json_open_object(json, NULL);
        json_put_string(json, "name", heap->parts[i].name);
        json_put_unsigned(json, "bytes", true, heap->parts[i].bytes);
        json_close_object(json);
    }
    json_close_array(json);
}

static void put_pools_json(struct heap_page *page)
{
    const struct heap_pymalloc *pools = &page->view->heap->pymalloc;
    struct json_writer *json = page->json;
    json_open_object(json, "pymalloc");
    json_put_unsigned(json, "pools", true, pools->pools);
    json_put_unsigned(json, "pool_size", true, pools->pool_size);
    json_put_unsigned(json, "used", true, pools->used);
    json_put_unsigned(json, "available", true, pools->available);
    json_put_unsigned(json, "pool_headers", true, pools->headers);
    json_put_unsigned(json, "quantization", true, pools->quantization);
    json_put_unsigned(json, "arenas", pools->arenas, pools->arenas);
    json_put_unsigned(json, "unused_pools", pools->arenas, pools->unused);
    json_put_unsigned(json, "arena_alignment", pools->arenas, pools->alignment);
    json_open_array(json, "classes");
    for (size_t i = 0; i < HEAP_SIZE_CLASSES; i++) {
        if (!pools->classes[i].pools)
            continue;
        json_open_object(json, NULL);
        json_put_unsigned(json, "size", true, 16 * (i + 1));
        json_put_unsigned(json, "pools", true, pools->classes[i].pools);
        json_put_unsigned(json, "used", true, pools->classes[i].used);
        json_put_unsigned(json, "available", true, pools->classes[i].available);
        json_close_object(json);
    }
    json_close_array(json);
    json_close_object(json);
}

static void put_malloc_json(struct heap_page *page)
{
    const struct heap *heap = page->view->heap;
    const struct heap_glibc *glibc = &heap->glibc;
    struct json_writer *json = page->json;
    json_open_object(json, "malloc");
    json_put_string(json, "allocator", heap->allocator ? heap->allocator : "glibc");
    json_put_unsigned(json, "arenas", true, glibc->arenas);
    json_put_unsigned(json, "arena_bytes", true, glibc->arena_bytes);
    json_put_unsigned(json, "used", true, glibc->used);
    json_put_unsigned(json, "chunks", true, glibc->chunks);
    json_put_unsigned(json, "kept", true, glibc->kept);
    json_put_unsigned(json, "free", true, glibc->free);
    json_put_unsigned(json, "mapped_chunks", true, glibc->mapped);
    json_put_unsigned(json, "mapped_bytes", true, glibc->mapped_bytes);
    json_close_object(json);
}

static enum psc_status put_purposes_json(struct heap_page *page, struct psc_error *err)
{
    struct json_writer *json = page->json;
    struct heap_purpose_sum sums[HEAP_PURPOSES];
    if (!heap_sum_purposes(page->view->heap, sums))
        return psc_fail_memory(err);
    json_open_array(json, "purposes");
    for (size_t i = 0; i < HEAP_PURPOSES; i++) {
        json_open_object(json, NULL);
        json_put_string(json, "name", heap_purpose_name((enum heap_purpose)i));
        json_put_unsigned(json, "objects", true, sums[i].objects);
        json_put_unsigned(json, "bytes", true, sums[i].bytes);
        json_close_object(json);
    }
    json_close_array(json);
    return PSC_OK;
}

enum psc_status overview_put_json(struct heap_page *page, struct psc_error *err)
{
    const struct heap *heap = page->view->heap;
    struct json_writer *json = page->json;
    uint32_t count;
    struct type_order *order PSC_CLEANUP(cleanup_free) = order_types(heap, &count);
    const uint64_t *retained = order ? heap_page_type_retained(page) : NULL;
    if (!order)
        return psc_fail_memory(err);
    json_put_unsigned(json, "objects", true, heap->object_count);
    json_put_unsigned(json, "bytes", true, sum_bytes(heap));
    json_put_unsigned(json, "mapped_bytes", true, sum_parts(heap));
    json_open_array(json, "types");
    for (uint32_t i = 0; i < count; i++) {
        const struct heap_type *type = order[i].type;
        json_break_line(json);
        json_open_object(json, NULL);
        json_put_string(json, "type", type->name);
        json_put_address(json, "address", true, type->address);
        json_put_unsigned(json, "objects", true, type->count);
        json_put_unsigned(json, "bytes", true, type->bytes);
        json_put_unsigned(json, "occupied_bytes", true, type->occupied);
        json_put_unsigned(json, "owned_bytes", true, type->owned);
        json_put_unsigned(json, "retained_bytes", retained != NULL,
                          retained ? retained[order[i].index] : 0);
        json_close_object(json);
    }
    json_close_array(json);
    put_layers_json(page);
    put_pools_json(page);
    put_malloc_json(page);
    return put_purposes_json(page, err);
}
