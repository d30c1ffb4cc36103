/* What the parts of a report share. */
#include "heap_report_private.h"
#include "holders.h"

enum psc_status heap_page_holders(struct heap_page *page, struct holders **ret)
{
    struct heap_view *view = page->view;
    if (!view->holders && view->heap->progress)
        view->heap->progress(view->heap->progress_context, "holders");
    enum psc_status status = view->holders ? PSC_OK : holders_create(view->heap, &view->holders);
    *ret = view->holders;
    return status;
}

const uint64_t *heap_page_type_retained(struct heap_page *page)
{
    struct holders *holders;
    return heap_page_holders(page, &holders) == PSC_OK ? holders->type_retained : NULL;
}

void heap_add_bytes(struct text *text, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    double value = (double)bytes / 1000;
    size_t unit = 0;
    if (bytes < 1000) {
        text_printf(text, "%llu B", (unsigned long long)bytes);
        return;
    }
    for (; value >= 999.95 && unit + 1 < PSC_ARRAY_SIZE(units); unit++)
        value /= 1000;
    text_printf(text, "%.1f %s", value, units[unit]);
}

void heap_add_value(struct heap *heap, uint32_t object, size_t limit, struct text *text)
{
    struct text value = {0};
    struct text whole = {0};
    python_add_value(heap->python, heap->objects[object].address, &value);
    text_add_escaped(&whole, value.data ? value.data : "");
    size_t size = whole.size < limit ? whole.size : limit;
    while (size && size < whole.size && utf8_continues(whole.data[size]))
        size--;
    text_add(text, whole.data ? whole.data : "", size);
    if (size < whole.size)
        text_add_string(text, "...");
    text->failed |= value.failed || whole.failed;
    text_deinit(&value);
    text_deinit(&whole);
}
