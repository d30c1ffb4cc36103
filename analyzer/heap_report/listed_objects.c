/* Objects one by one: the largest, those of a type, those for which an expression holds. */
#include "heap_report_private.h"
#include "where.h"

#include <stdlib.h>
#include <string.h>

#define ROWS_SHOWN 20u
#define VALUE_SIZE 100u
/* Distinct texts that are told apart in search of the most common ones; longer ones are not. */
#define TEXT_LIMIT    (UINT32_C(1) << 22)
#define TEXT_SIZE_MAX 4096u

/* A row of a list, and what the list is sorted by. */
struct listed_row {
    uint64_t rank;
    uint32_t object;
    uint64_t count; /* Of a text: objects that are alike. */
};

/* The best so many rows. */
struct listed_rows {
    struct listed_row *items; /* malloc'd, sorted once it is done */
    size_t count;
    size_t most;
    uint64_t all;
};

static void rows_deinit(struct listed_rows *rows)
{
    free(rows->items);
}

static bool rows_init(struct listed_rows *rows, const struct heap_page *page)
{
    *rows = (struct listed_rows){.most = page->options->limit ? page->options->limit : ROWS_SHOWN};
    rows->items = calloc(rows->most + 1, sizeof(*rows->items));
    return rows->items != NULL;
}

static bool is_before(const struct listed_row *left, const struct listed_row *right)
{
    return left->rank != right->rank ? left->rank > right->rank : left->object < right->object;
}

/* A heap of rows, the worst first: a better one takes its place. */
static void sift_down(struct listed_rows *rows)
{
    for (size_t at = 0;;) {
        size_t child = 2 * at + 1;
        if (child >= rows->count)
            return;
        if (child + 1 < rows->count && is_before(&rows->items[child], &rows->items[child + 1]))
            child++;
        if (!is_before(&rows->items[at], &rows->items[child]))
            return;
        struct listed_row row = rows->items[at];
        rows->items[at] = rows->items[child];
        rows->items[child] = row;
        at = child;
    }
}

static void rows_offer(struct listed_rows *rows, const struct listed_row *row)
{
    rows->all++;
    if (rows->count == rows->most) {
        if (is_before(row, &rows->items[0])) {
            rows->items[0] = *row;
            sift_down(rows);
        }
        return;
    }
    size_t at = rows->count++;
    for (; at && is_before(&rows->items[(at - 1) / 2], row); at = (at - 1) / 2)
        rows->items[at] = rows->items[(at - 1) / 2];
    rows->items[at] = *row;
}

static int compare_rows(const void *left, const void *right)
{
    return is_before(left, right) ? -1 : is_before(right, left);
}

static void rows_sort(struct listed_rows *rows)
{
    qsort(rows->items, rows->count, sizeof(*rows->items), compare_rows);
}

static uint64_t all_bytes(struct heap *heap, uint32_t object)
{
    return heap_object_bytes(heap, object) + heap_owned_bytes(&heap->objects[object]);
}

/* ---- one row ---- */

static void put_row_text(struct heap_page *page, const struct listed_row *row)
{
    struct heap *heap = page->view->heap;
    struct text *out = page->out;
    const struct heap_object *object = &heap->objects[row->object];
    struct text size PSC_CLEANUP(text_deinit) = {0};
    struct text length_text PSC_CLEANUP(text_deinit) = {0};
    uint64_t length;
    heap_add_bytes(&size, all_bytes(heap, row->object));
    if (row->count)
        text_printf(&length_text, "%llu x", (unsigned long long)row->count);
    else if (heap_object_length(heap, row->object, &length))
        text_printf(&length_text, "%llu", (unsigned long long)length);
    text_printf(out, "  0x%012llx %10s %10s  ", (unsigned long long)object->address,
                size.data ? size.data : "", length_text.data ? length_text.data : "");
    text_add_escaped(out, heap->types[object->type].name);
    text_add_string(out, "  ");
    heap_add_value(heap, row->object, VALUE_SIZE, out);
    text_add_char(out, '\n');
}

static void put_row_json(struct heap_page *page, const struct listed_row *row)
{
    struct heap *heap = page->view->heap;
    struct json_writer *json = page->json;
    const struct heap_object *object = &heap->objects[row->object];
    struct text value PSC_CLEANUP(text_deinit) = {0};
    uint64_t length = 0;
    bool has_length = heap_object_length(heap, row->object, &length);
    heap_add_value(heap, row->object, 4 * (size_t)VALUE_SIZE, &value);
    json_break_line(json);
    json_open_object(json, NULL);
    json_put_address(json, "address", true, object->address);
    json_put_string(json, "type", heap->types[object->type].name);
    json_put_unsigned(json, "size", true, heap_object_size(heap, row->object));
    json_put_unsigned(json, "bytes", true, heap_object_bytes(heap, row->object));
    json_put_unsigned(json, "owned_bytes", true, heap_owned_bytes(object));
    json_put_unsigned(json, "length", has_length, length);
    if (row->count)
        json_put_unsigned(json, "count", true, row->count);
    json_put_string(json, "value", value.data ? value.data : "");
    json_close_object(json);
}

static void put_rows_text(struct heap_page *page, const struct listed_rows *rows, const char *title,
                          const char *third)
{
    struct text *out = page->out;
    text_printf(out, "%s\n  %-14s %10s %10s  type and value\n", title, "address", "bytes", third);
    for (size_t i = 0; i < rows->count; i++)
        put_row_text(page, &rows->items[i]);
    if (rows->all > rows->count)
        text_printf(out, "  and %llu more\n", (unsigned long long)(rows->all - rows->count));
    text_add_char(out, '\n');
}

static void put_rows_json(struct heap_page *page, const struct listed_rows *rows, const char *key)
{
    json_open_array(page->json, key);
    for (size_t i = 0; i < rows->count; i++)
        put_row_json(page, &rows->items[i]);
    json_close_array(page->json);
}

/* ---- the largest ---- */

struct largest {
    struct listed_rows objects;
    struct listed_rows containers;
    struct listed_rows texts;
};

static void largest_deinit(struct largest *largest)
{
    rows_deinit(&largest->objects);
    rows_deinit(&largest->containers);
    rows_deinit(&largest->texts);
}

/* A text that occurs once or more. */
struct common_text {
    uint64_t hash; /* Of its characters and their width: 64 bits are taken for the text. */
    uint64_t count;
    uint64_t bytes;
    uint32_t object;
};

/* Which hashes were met, and which more than once: most texts there are once, and need no more. */
struct met_hashes {
    uint64_t *once;
    uint64_t *again;
    uint64_t mask; /* Of the number of bits, a power of two. */
};

static void met_deinit(struct met_hashes *met)
{
    free(met->once);
    free(met->again);
}

static bool met_init(struct met_hashes *met, uint32_t objects)
{
    uint64_t bits = 64;
    while (bits < UINT64_C(8) * objects)
        bits *= 2;
    met->mask = bits - 1;
    met->once = calloc(bits / 64, sizeof(*met->once));
    met->again = calloc(bits / 64, sizeof(*met->again));
    return met->once && met->again;
}

static void meet(struct met_hashes *met, uint64_t hash)
{
    const uint64_t bit = hash & met->mask;
    uint64_t *const once = &met->once[bit / 64];
    met->again[bit / 64] |= *once & UINT64_C(1) << bit % 64;
    *once |= UINT64_C(1) << bit % 64;
}

static bool was_met_again(const struct met_hashes *met, uint64_t hash)
{
    const uint64_t bit = hash & met->mask;
    return met->again[bit / 64] >> bit % 64 & 1;
}

/* False: it is no text that is compared. */
static bool hash_object_text(struct heap *heap, uint32_t object, uint64_t *ret)
{
    uint64_t size;
    const uint8_t *bytes = heap_object_text(heap, object, &size);
    if (!bytes || !size || size > TEXT_SIZE_MAX)
        return false;
    *ret = hash_text(bytes, (size_t)size);
    return true;
}

static bool count_common_texts(struct heap *heap, const struct met_hashes *met,
                               struct hash_table *texts)
{
    psc_addr swept = 0;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        uint64_t hash;
        heap_sweep_to(heap, &swept, i);
        if (texts->count >= TEXT_LIMIT)
            return true;
        if (!hash_object_text(heap, i, &hash) || !was_met_again(met, hash))
            continue;
        struct common_text *text = hash_table_find(texts, hash);
        if (!text && (text = hash_table_add(texts, hash)))
            text->object = i;
        if (!text)
            return false;
        text->count++;
        text->bytes += all_bytes(heap, i);
    }
    return true;
}

/* Texts that several objects have, by the bytes of all but one of them. */
static bool find_common_texts(struct heap *heap, struct listed_rows *ret)
{
    struct hash_table texts PSC_CLEANUP(hash_table_deinit) = HASH_TABLE_OF(struct common_text);
    struct met_hashes met PSC_CLEANUP(met_deinit) = {0};
    psc_addr swept = 0;
    if (!met_init(&met, heap->object_count))
        return false;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        uint64_t hash;
        heap_sweep_to(heap, &swept, i);
        if (hash_object_text(heap, i, &hash))
            meet(&met, hash);
    }
    if (!count_common_texts(heap, &met, &texts))
        return false;
    for (size_t i = 0; i < texts.count; i++) {
        const struct common_text *text = hash_table_at(&texts, i);
        if (text->count > 1)
            rows_offer(ret, &(struct listed_row){text->bytes - text->bytes / text->count,
                                                 text->object, text->count});
    }
    return true;
}

static enum psc_status find_largest(struct heap_page *page, struct largest *ret,
                                    struct psc_error *err)
{
    struct heap *heap = page->view->heap;
    if (!rows_init(&ret->objects, page) || !rows_init(&ret->containers, page) ||
        !rows_init(&ret->texts, page))
        return psc_fail_memory(err);
    psc_addr swept = 0;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        uint64_t length;
        heap_sweep_to(heap, &swept, i);
        rows_offer(&ret->objects, &(struct listed_row){all_bytes(heap, i), i, 0});
        if (heap_object_is_container(heap, i) && heap_object_length(heap, i, &length))
            rows_offer(&ret->containers, &(struct listed_row){length, i, 0});
    }
    if (!find_common_texts(heap, &ret->texts))
        return psc_fail_memory(err);
    rows_sort(&ret->objects);
    rows_sort(&ret->containers);
    rows_sort(&ret->texts);
    return PSC_OK;
}

enum psc_status largest_put_text(struct heap_page *page, struct psc_error *err)
{
    struct largest largest PSC_CLEANUP(largest_deinit) = {0};
    enum psc_status status = find_largest(page, &largest, err);
    if (status != PSC_OK)
        return status;
    put_rows_text(page, &largest.objects, "Largest objects, with what they keep", "length");
    put_rows_text(page, &largest.containers, "Containers with the most items", "items");
    put_rows_text(page, &largest.texts, "Texts that many objects have, by the bytes of all but one",
                  "objects");
    return PSC_OK;
}

enum psc_status largest_put_json(struct heap_page *page, struct psc_error *err)
{
    struct largest largest PSC_CLEANUP(largest_deinit) = {0};
    enum psc_status status = find_largest(page, &largest, err);
    if (status != PSC_OK)
        return status;
    put_rows_json(page, &largest.objects, "largest");
    put_rows_json(page, &largest.containers, "largest_containers");
    put_rows_json(page, &largest.texts, "common_strings");
    return PSC_OK;
}

/* ---- those of a type, or for which an expression holds ---- */

/* "app.Session" by all of it, or by its last part. */
static bool is_named(const char *name, const char *wanted)
{
    size_t size = strlen(name);
    size_t wanted_size = strlen(wanted);
    if (size < wanted_size || strcmp(name + size - wanted_size, wanted) != 0)
        return false;
    return size == wanted_size || name[size - wanted_size - 1] == '.';
}

/* For each type whether it is one that was asked for: malloc'd. */
static bool *choose_types(const struct heap *heap, const char *wanted, bool *ret_any)
{
    bool *chosen = calloc((size_t)heap->type_count + 1, sizeof(*chosen));
    *ret_any = false;
    for (uint32_t i = 0; chosen && i < heap->type_count; i++) {
        chosen[i] = !wanted || is_named(heap->types[i].name, wanted);
        *ret_any = *ret_any || (chosen[i] && heap->types[i].count);
    }
    return chosen;
}

static enum psc_status find_listed(struct heap_page *page, struct listed_rows *ret,
                                   struct psc_error *err)
{
    struct heap *heap = page->view->heap;
    const struct psc_heap_print_options *options = page->options;
    struct where where = {0};
    bool any;
    bool *chosen PSC_CLEANUP(cleanup_free) = choose_types(heap, options->type, &any);
    if (!chosen || !rows_init(ret, page))
        return psc_fail_memory(err);
    if (!any)
        return psc_fail(err, PSC_ERR_NOT_FOUND, "no object is of a type '%s'",
                        options->type ? options->type : "");
    if (options->where) {
        enum psc_status status = parse_where(options->where, &where, err);
        if (status != PSC_OK)
            return status;
    }
    psc_addr swept = 0;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        heap_sweep_to(heap, &swept, i);
        if (where.steps > WHERE_STEP_LIMIT) {
            target_warn(heap->target, "heap-where",
                        "the expression was asked of the first %u of %u objects: to read what it "
                        "names takes too long",
                        i, heap->object_count);
            break;
        }
        if (!chosen[heap->objects[i].type] || (options->where && !where_holds(heap, i, &where)))
            continue;
        rows_offer(ret, &(struct listed_row){all_bytes(heap, i), i, 0});
        if (target_interrupted(heap->target))
            return PSC_ERR_INTERRUPTED;
    }
    rows_sort(ret);
    return PSC_OK;
}

enum psc_status listed_put_text(struct heap_page *page, struct psc_error *err)
{
    struct listed_rows rows PSC_CLEANUP(rows_deinit) = {0};
    struct text title PSC_CLEANUP(text_deinit) = {0};
    enum psc_status status = find_listed(page, &rows, err);
    if (status != PSC_OK)
        return status;
    text_printf(&title, "%llu objects%s%s%s%s", (unsigned long long)rows.all,
                page->options->type ? " of " : "", page->options->type ? page->options->type : "",
                page->options->where ? " for which " : "",
                page->options->where ? page->options->where : "");
    put_rows_text(page, &rows, title.data ? title.data : "", "length");
    return PSC_OK;
}

enum psc_status listed_put_json(struct heap_page *page, struct psc_error *err)
{
    struct listed_rows rows PSC_CLEANUP(rows_deinit) = {0};
    enum psc_status status = find_listed(page, &rows, err);
    if (status != PSC_OK)
        return status;
    json_put_unsigned(page->json, "listed_count", true, rows.all);
    put_rows_json(page, &rows, "listed");
    return PSC_OK;
}
