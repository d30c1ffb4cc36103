/* What retains more than a tenth, and the largest of what stands right below the roots. */
#include "heap_report_private.h"
#include "holders.h"

#define SHARE_DIGITS 100.0

static double percent(const struct holders *holders, uint64_t bytes)
{
    return holders->total ? SHARE_DIGITS * (double)bytes / (double)holders->total : 0;
}

static enum psc_status put_suspect(struct heap_page *page, struct holders *holders,
                                   const struct suspect *suspect)
{
    struct text *out = page->out;
    text_add_string(out, "  ");
    heap_add_bytes(out, suspect->retained);
    text_printf(out, " (%.0f %%) go with ", percent(holders, suspect->retained));
    enum psc_status status = held_way_add_line(page, suspect->node, out);
    if (holders_is_object(holders, suspect->node)) {
        text_add_string(out, ", ");
        text_add_escaped(out, holders_type_name(holders, suspect->node));
        text_printf(out, " at 0x%llx",
                    (unsigned long long)holders->heap->objects[suspect->node].address);
    }
    if (suspect->child_type != HEAP_NONE) {
        text_printf(out, ": %llu ", (unsigned long long)suspect->child_count);
        text_add_escaped(out, holders->heap->types[suspect->child_type].name);
        text_add_string(out, " with ");
        heap_add_bytes(out, suspect->child_bytes);
    }
    text_add_char(out, '\n');
    return status;
}

enum psc_status suspects_put_text(struct heap_page *page, struct psc_error *err)
{
    struct holders *holders;
    struct suspect suspects[SUSPECT_LIMIT];
    size_t count = 0;
    enum psc_status status = heap_page_holders(page, &holders);
    if (status == PSC_OK)
        status = holders_find_suspects(holders, suspects, &count);
    if (status == PSC_OK && count)
        text_add_string(page->out, "\nOne holder of more than a tenth:\n");
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        status = put_suspect(page, holders, &suspects[i]);
    if (status == PSC_OK && holders->garbage) {
        text_printf(page->out, "\n%llu objects (", (unsigned long long)holders->garbage);
        heap_add_bytes(page->out, holders->garbage_bytes);
        text_add_string(page->out, ") are held by nobody: cycles that were not collected yet\n");
    }
    return psc_fail_status(err, status);
}

static enum psc_status put_suspect_json(struct heap_page *page, struct holders *holders,
                                        const struct suspect *suspect)
{
    struct json_writer *json = page->json;
    struct text line = {0};
    const bool is_object = holders_is_object(holders, suspect->node);
    enum psc_status status = held_way_add_line(page, suspect->node, &line);
    json_open_object(json, NULL);
    json_put_address(json, "address", is_object,
                     is_object ? holders->heap->objects[suspect->node].address : 0);
    json_put_string(json, "type", holders_type_name(holders, suspect->node));
    json_put_string(json, "way", line.data);
    json_put_unsigned(json, "retained_bytes", true, suspect->retained);
    json_put_string(
        json, "of_type",
        suspect->child_type == HEAP_NONE ? NULL : holders->heap->types[suspect->child_type].name);
    json_put_unsigned(json, "of_type_objects", true, suspect->child_count);
    json_put_unsigned(json, "of_type_bytes", true, suspect->child_bytes);
    json_close_object(json);
    json->failed |= line.failed;
    text_deinit(&line);
    return status;
}

enum psc_status suspects_put_json(struct heap_page *page, struct psc_error *err)
{
    struct holders *holders;
    struct suspect suspects[SUSPECT_LIMIT];
    size_t count = 0;
    enum psc_status status = heap_page_holders(page, &holders);
    if (status == PSC_OK)
        status = holders_find_suspects(holders, suspects, &count);
    if (status != PSC_OK)
        return psc_fail_status(err, status);
    json_open_array(page->json, "suspects");
    for (size_t i = 0; status == PSC_OK && i < count; i++)
        status = put_suspect_json(page, holders, &suspects[i]);
    json_close_array(page->json);
    json_open_object(page->json, "garbage");
    json_put_unsigned(page->json, "objects", true, holders->garbage);
    json_put_unsigned(page->json, "bytes", true, holders->garbage_bytes);
    json_close_object(page->json);
    return psc_fail_status(err, status);
}
