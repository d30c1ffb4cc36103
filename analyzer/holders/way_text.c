/* Ways as people type them. */
#include "holders.h"

#include <stdlib.h>
#include <string.h>

/* The name that has the object in a frame. */
static void add_frame_step(struct holders *holders, const struct holder *frame, uint32_t to,
                           struct text *text)
{
    struct heap *heap = holders->heap;
    PSC_CLEANUP(python_frame_objects_deinit) struct python_frame_objects objects = {0};
    if (!holders_is_object(holders, to) ||
        python_list_frame_objects(heap->python, &frame->frame, &objects) != PSC_OK)
        return;
    for (size_t i = 0; i < objects.count; i++)
        if (objects.items[i].object == heap->objects[to].address) {
            text_printf(text, ".%s", objects.items[i].name);
            return;
        }
}

void holders_add_step(struct holders *holders, uint32_t from, uint32_t to, struct text *text)
{
    struct heap *heap = holders->heap;
    const struct holder *frame = holders_find_frame(holders, from);
    const size_t before = text->size;
    if (frame)
        add_frame_step(holders, frame, to, text);
    if (text->size > before || !holders_is_object(holders, from))
        return;
    // A word says less than a label: the best of several references.
    struct text best = {0};
    const uint32_t first = heap->first_edges[from];
    for (uint32_t edge = first; edge < heap->first_edges[from + 1]; edge++) {
        if (heap->edges[edge] != to)
            continue;
        text_clear(&best);
        const enum heap_edge_kind kind = heap_edge_label(heap, from, edge - first, &best);
        if (kind != HEAP_EDGE_WORD && kind != HEAP_EDGE_KEY)
            break;
    }
    if (hash_table_find(&holders->modules, to) && holders_is_module(holders, from))
        text_add_string(text, ".__dict__");
    else if (best.size)
        text_add(text, best.data, best.size);
    text->failed |= best.failed;
    text_deinit(&best);
}

/* The key of "['name']" where it is an identifier; else 0. */
static size_t identifier_size(const char *label)
{
    if (strncmp(label, "['", 2) != 0)
        return 0;
    const char *name = label + 2;
    const size_t size =
        strspn(name, "abcdefghijklmnopqrstuvwxyz_ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
    return size && (*name < '0' || *name > '9') && !strcmp(name + size, "']") ? size : 0;
}

static void add_label(struct text *text, size_t start, const char *label, bool in_namespace)
{
    const size_t size = in_namespace ? identifier_size(label) : 0;
    const char *name = size ? label + 2 : label;
    if (!size && in_namespace)
        text_add_string(text, ".__dict__");
    if (size || *label == '.') {
        // Of a module or frame the first name stands alone.
        if (text->size > start)
            text_add_char(text, '.');
        text_add(text, size ? name : name + 1, size ? size : strlen(name + 1));
    } else {
        text_add_string(text, label);
    }
}

void held_way_add_text(struct holders *holders, const struct held_way *way, struct text *text)
{
    struct text label = {0};
    if (!way->count)
        return;
    const size_t before = text->size;
    holders_add_name(holders, way->nodes[0], text);
    if (text->size == before)
        text_printf(text, "%s at 0x%llx", holders_type_name(holders, way->nodes[0]),
                    (unsigned long long)holders->heap->objects[way->nodes[0]].address);
    if (way->count > 1)
        text_add_string(text, ": ");
    const size_t start = text->size;
    bool in_namespace = false;
    for (size_t i = 1; i < way->count; i++) {
        const uint32_t to = way->nodes[i];
        text_clear(&label);
        holders_add_step(holders, way->nodes[i - 1], to, &label);
        const char *step = label.size ? label.data : "";
        if (!in_namespace && !strcmp(step, ".__dict__") && i + 1 < way->count) {
            in_namespace = true;
            continue;
        }
        if (*step == '.' || *step == '[')
            add_label(text, start, step, in_namespace);
        else if (holders_is_object(holders, to))
            text_printf(text, "%s-> %s at 0x%llx", text->size > start ? " " : "",
                        holders_type_name(holders, to),
                        (unsigned long long)holders->heap->objects[to].address);
        in_namespace = false;
    }
    text->failed |= label.failed;
    text_deinit(&label);
}
