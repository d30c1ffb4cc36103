/* The parts of a report in their order. */
#include "heap_report_private.h"
#include "holders.h"

#include <string.h>

#define FLUSH_SIZE ((size_t)64 * 1024)

void heap_view_deinit(struct heap_view *view)
{
    holders_destroy(view->holders);
    heap_close(view->heap);
    *view = (struct heap_view){0};
}

/* ---- parts ---- */

typedef enum psc_status put_fn(struct heap_page *page, struct psc_error *err);

static const struct part {
    uint32_t content;
    put_fn *text;
    put_fn *json;
} parts[] = {
    {PSC_HEAP_LARGEST, largest_put_text, largest_put_json},
    {PSC_HEAP_LISTED, listed_put_text, listed_put_json},
    {PSC_HEAP_OBJECT, object_put_text, object_put_json},
    {PSC_HEAP_HOLDERS, held_ways_put_text, held_ways_put_json},
};

static enum psc_status put_text(struct heap_page *page, struct heap_view *older,
                                size_t *ret_findings, struct psc_error *err)
{
    const uint32_t contents = page->options->contents;
    enum psc_status status = PSC_OK;
    if (!contents) {
        status = overview_put_text(page, err);
        return status == PSC_OK ? suspects_put_text(page, err) : status;
    }
    for (size_t i = 0; status == PSC_OK && i < PSC_ARRAY_SIZE(parts); i++)
        if (contents & parts[i].content)
            status = parts[i].text(page, err);
    if (status == PSC_OK && (contents & PSC_HEAP_FINDINGS))
        status = heap_findings_put_text(page, ret_findings, err);
    if (status == PSC_OK && (contents & PSC_HEAP_GROWTH))
        status = growth_put_text(page, older, err);
    return status;
}

static void put_warnings(struct heap_page *page)
{
    const struct warnings *warnings = &page->view->heap->target->warnings;
    struct json_writer *json = page->json;
    json_open_array(json, "warnings");
    for (size_t i = 0; i < warnings->count; i++) {
        json_open_object(json, NULL);
        json_put_string(json, "code", warnings->items[i].code);
        json_put_string(json, "message", warnings->items[i].message);
        json_close_object(json);
    }
    json_close_array(json);
}

static enum psc_status put_json(struct heap_page *page, struct heap_view *older,
                                size_t *ret_findings, struct psc_error *err)
{
    struct json_writer *json = page->json;
    const uint32_t contents = page->options->contents;
    json_open_object(json, NULL);
    json_put_string(json, "schema", "pystack-core-heap/1");
    enum psc_status status = overview_put_json(page, err);
    if (status == PSC_OK)
        status = suspects_put_json(page, err);
    for (size_t i = 0; status == PSC_OK && i < PSC_ARRAY_SIZE(parts); i++)
        if (contents & parts[i].content)
            status = parts[i].json(page, err);
    if (status == PSC_OK && (contents & PSC_HEAP_FINDINGS))
        status = heap_findings_put_json(page, ret_findings, err);
    if (status == PSC_OK && (contents & PSC_HEAP_GROWTH))
        status = growth_put_json(page, older, err);
    put_warnings(page);
    json_close_object(json);
    text_add_char(page->out, '\n');
    return status;
}

static enum psc_status check_options(const struct psc_heap_print_options *options,
                                     const struct heap_view *older, struct psc_error *err)
{
    const struct {
        uint32_t content;
        bool is_given;
        const char *what;
    } needs[] = {{PSC_HEAP_LISTED, options->type || options->where, "type or where"},
                 {PSC_HEAP_HOLDERS, options->held != NULL, "held"},
                 {PSC_HEAP_GROWTH, older != NULL, "older"}};
    if (options->contents >= 2 * PSC_HEAP_GROWTH || (size_t)options->format > PSC_HEAP_HTML)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_heap_print: no such content or format");
    for (size_t i = 0; i < PSC_ARRAY_SIZE(needs); i++)
        if ((options->contents & needs[i].content) && !needs[i].is_given)
            return psc_fail(err, PSC_ERR_ARGUMENT, "psc_heap_print: %s is not given",
                            needs[i].what);
    return PSC_OK;
}

static enum psc_status write_out(const struct text *text, const struct heap_output *output,
                                 struct psc_error *err)
{
    for (size_t at = 0; at < text->size; at += FLUSH_SIZE) {
        const size_t left = text->size - at;
        if (output->write(output->context, text->data + at, left < FLUSH_SIZE ? left : FLUSH_SIZE))
            return psc_fail(err, PSC_ERR_IO, "the output could not be written");
    }
    return PSC_OK;
}

enum psc_status heap_report_print(struct heap_view *view,
                                  const struct psc_heap_print_options *options,
                                  struct heap_view *older, const struct heap_output *output,
                                  size_t *ret_findings, struct psc_error *err)
{
    struct text text = {0};
    struct json_writer json = {.out = &text, .one_line = options->one_line != 0};
    struct heap_page page = {.view = view, .options = options, .out = &text, .json = &json};
    size_t findings = 0;
    enum psc_status status = check_options(options, older, err);
    if (status == PSC_OK)
        status = options->format == PSC_HEAP_HTML   ? retained_page_put(&page, err)
                 : options->format == PSC_HEAP_JSON ? put_json(&page, older, &findings, err)
                                                    : put_text(&page, older, &findings, err);
    if (status == PSC_OK && (text.failed || json.failed))
        status = psc_fail_memory(err);
    if (status == PSC_OK)
        status = write_out(&text, output, err);
    if (ret_findings)
        *ret_findings = findings;
    text_deinit(&text);
    return status;
}
