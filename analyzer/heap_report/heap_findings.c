/* What is damaged, as text and JSON. */
#include "heap_report_private.h"
#include "holders.h"
#include "verify.h"

#include <string.h>

#define LINE_BYTES     ((size_t)32)
#define FINDINGS_SHOWN 100u
#define VALUE_SIZE     200u

/* ---- text ---- */

static uint64_t word_at(const struct finding *finding, size_t at)
{
    uint64_t word = 0;
    memcpy(&word, finding->around + at, sizeof(word));
    return word;
}

static void put_characters(struct text *out, const struct finding *finding, size_t at, size_t size)
{
    text_add_string(out, "  ");
    for (size_t i = at; i < at + size; i++) {
        const uint8_t byte = finding->around[i];
        text_add_char(out, byte >= 0x20 && byte < 0x7f ? (char)byte : '.');
    }
    text_add_char(out, '\n');
}

/* The words at the place; those of the damaged one are marked by where they begin. */
static void put_around(struct text *out, const struct finding *finding)
{
    for (size_t at = 0; at + 8 <= finding->around_size; at += LINE_BYTES) {
        size_t size = 0;
        text_printf(out, "    0x%llx:", (unsigned long long)finding->around_start + at);
        for (; size < LINE_BYTES && at + size + 8 <= finding->around_size; size += 8)
            text_printf(out, " %016llx", (unsigned long long)word_at(finding, at + size));
        put_characters(out, finding, at, size);
    }
}

static enum psc_status put_object(struct heap_page *page, const char *what, uint32_t object)
{
    const struct heap *heap = page->view->heap;
    struct text *out = page->out;
    text_printf(out, "    %s ", what);
    text_add_escaped(out, heap->types[heap->objects[object].type].name);
    text_printf(out, " at 0x%llx", (unsigned long long)heap->objects[object].address);
    const size_t before = out->size;
    text_add_string(out, ", of ");
    const size_t start = out->size;
    enum psc_status status = held_way_add_line(page, object, out);
    if (out->size == start && out->data) {
        out->size = before;
        out->data[before] = '\0';
    }
    text_add_char(out, '\n');
    return status;
}

static enum psc_status put_finding(struct heap_page *page, const struct finding *finding)
{
    struct text *out = page->out;
    enum psc_status status = PSC_OK;
    text_printf(out, "\n%s 0x%llx: ", finding_kind_name(finding->kind),
                (unsigned long long)finding->address);
    text_add_escaped(out, finding->message);
    text_add_char(out, '\n');
    if (finding->kind == FINDING_REFCOUNT && finding->object != HEAP_NONE) {
        text_add_string(out, "    value ");
        heap_add_value(page->view->heap, finding->object, VALUE_SIZE, out);
        text_add_char(out, '\n');
    }
    for (size_t i = 0; status == PSC_OK && i < finding->holder_count && i < FINDING_HOLDERS; i++)
        status = put_object(page, "held by", finding->holders[i]);
    if (finding->holder_count > FINDING_HOLDERS)
        text_printf(out, "    and by %zu more\n", finding->holder_count - FINDING_HOLDERS);
    if (finding->before != HEAP_NONE && finding->kind != FINDING_REFCOUNT && status == PSC_OK)
        status = put_object(page, "the memory before it is of", finding->before);
    put_around(out, finding);
    return status;
}

enum psc_status heap_findings_put_text(struct heap_page *page, size_t *ret_count,
                                       struct psc_error *err)
{
    const struct heap *heap = page->view->heap;
    PSC_CLEANUP(verify_deinit) struct findings findings = {0};
    const size_t limit = page->options->limit ? page->options->limit : FINDINGS_SHOWN;
    enum psc_status status = verify_heap(page->view->heap, &findings);
    *ret_count = findings.count;
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    text_printf(page->out, "%u objects, %u references, %llu pools, %llu chunks of malloc: ",
                heap->object_count, heap->edge_count, (unsigned long long)heap->pymalloc.pools,
                (unsigned long long)heap->glibc.chunks + heap->glibc.mapped);
    if (!findings.count)
        text_add_string(page->out, "nothing is damaged\n");
    else
        text_printf(page->out, "%zu damage%s\n", findings.count, findings.count == 1 ? "" : "s");
    for (size_t i = 0; status == PSC_OK && i < findings.count && i < limit; i++)
        status = put_finding(page, &findings.items[i]);
    if (findings.count > limit)
        text_printf(page->out, "\nand %zu more\n", findings.count - limit);
    if (findings.left_out)
        text_printf(page->out, "\n%llu more were not kept\n",
                    (unsigned long long)findings.left_out);
    return psc_fail_status(err, status);
}

/* ---- JSON ---- */

static void put_object_json(struct heap_page *page, const char *key, uint32_t object)
{
    const struct heap *heap = page->view->heap;
    if (object == HEAP_NONE) {
        json_put_null(page->json, key);
        return;
    }
    json_open_object(page->json, key);
    json_put_address(page->json, "address", true, heap->objects[object].address);
    json_put_string(page->json, "type", heap->types[heap->objects[object].type].name);
    json_close_object(page->json);
}

static enum psc_status put_holder_json(struct heap_page *page, uint32_t object)
{
    const struct heap *heap = page->view->heap;
    struct text line = {0};
    enum psc_status status = held_way_add_line(page, object, &line);
    json_open_object(page->json, NULL);
    json_put_address(page->json, "address", true, heap->objects[object].address);
    json_put_string(page->json, "type", heap->types[heap->objects[object].type].name);
    json_put_string(page->json, "way", line.data);
    json_close_object(page->json);
    page->json->failed |= line.failed;
    text_deinit(&line);
    return status;
}

static enum psc_status put_finding_json(struct heap_page *page, const struct finding *finding)
{
    struct json_writer *json = page->json;
    const struct heap *heap = page->view->heap;
    enum psc_status status = PSC_OK;
    json_open_object(json, NULL);
    json_put_string(json, "kind", finding_kind_name(finding->kind));
    json_put_address(json, "address", true, finding->address);
    json_put_string(json, "type",
                    finding->object == HEAP_NONE
                        ? NULL
                        : heap->types[heap->objects[finding->object].type].name);
    json_put_string(json, "message", finding->message);
    json_open_array(json, "holders");
    for (size_t i = 0; status == PSC_OK && i < finding->holder_count && i < FINDING_HOLDERS; i++)
        status = put_holder_json(page, finding->holders[i]);
    json_close_array(json);
    json_put_unsigned(json, "holder_count", true, finding->holder_count);
    put_object_json(page, "before", finding->before);
    json_open_object(json, "around");
    json_put_address(json, "address", finding->around_size != 0, finding->around_start);
    json_open_array(json, "words");
    for (size_t at = 0; at + 8 <= finding->around_size; at += 8)
        json_put_address(json, NULL, true, word_at(finding, at));
    json_close_array(json);
    json_close_object(json);
    json_close_object(json);
    return status;
}

enum psc_status heap_findings_put_json(struct heap_page *page, size_t *ret_count,
                                       struct psc_error *err)
{
    PSC_CLEANUP(verify_deinit) struct findings findings = {0};
    enum psc_status status = verify_heap(page->view->heap, &findings);
    *ret_count = findings.count;
    if (status == PSC_OK)
        json_open_array(page->json, "findings");
    for (size_t i = 0; status == PSC_OK && i < findings.count; i++) {
        json_break_line(page->json);
        status = put_finding_json(page, &findings.items[i]);
    }
    if (status == PSC_OK)
        json_close_array(page->json);
    return psc_fail_status(err, status);
}
