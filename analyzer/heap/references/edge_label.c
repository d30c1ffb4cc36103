/* What a reference is called: read anew from the object, which is rarely asked. */
#include "references.h"

#define LABEL_LENGTH 80u

struct label_search {
    uint32_t left;
    struct heap_reference found;
};

static bool count_down(struct heap_walk *walk, uint32_t target, const struct heap_reference *what)
{
    struct label_search *search = walk->context;
    (void)target;
    if (search->left--)
        return true;
    search->found = *what;
    return false;
}

static void add_value(struct heap *heap, psc_addr object, struct text *text)
{
    struct text value PSC_CLEANUP(text_deinit) = {0};
    python_add_value(heap->python, object, &value);
    if (value.size > LABEL_LENGTH) {
        size_t cut = LABEL_LENGTH;
        while (cut && utf8_continues(value.data[cut]))
            cut--;
        text_add(text, value.data, cut);
        text_add_string(text, "...");
    } else if (value.data) {
        text_add(text, value.data, value.size);
    }
}

/* The characters of a str without its quotes. */
static void add_name(struct heap *heap, psc_addr key, struct text *text)
{
    struct text value PSC_CLEANUP(text_deinit) = {0};
    python_add_value(heap->python, key, &value);
    if (value.size >= 2 && value.data[0] == '\'')
        text_add(text, value.data + 1, value.size - 2);
    else if (value.data)
        text_add(text, value.data, value.size);
}

static void add_word(struct heap *heap, uint32_t object, uint64_t number, struct text *text)
{
    struct text name PSC_CLEANUP(text_deinit) = {0};
    psc_addr type = heap->types[heap->objects[object].type].address;
    if (python_add_slot_name(heap->python, type, number, &name) && name.data)
        text_printf(text, ".%s", name.data);
    else
        text_printf(text, "+0x%llx", (unsigned long long)number);
}

enum heap_edge_kind heap_edge_label(struct heap *heap, uint32_t object, uint32_t nth,
                                    struct text *text)
{
    struct label_search search = {.left = nth, .found = {.kind = HEAP_EDGE_KEPT}};
    struct heap_walk walk = {
        .heap = heap, .visit = count_down, .context = &search, .object = object};
    if (object >= heap->object_count)
        return HEAP_EDGE_WORD;
    const uint32_t edge = heap->first_edges[object] + nth;
    heap_walk_object(&walk);
    const struct heap_reference *found = &search.found;
    switch (found->kind) {
    case HEAP_EDGE_KEY:
        text_add_string(text, " key ");
        add_value(heap, found->key, text);
        break;
    case HEAP_EDGE_VALUE:
        text_add_char(text, '[');
        add_value(heap, found->key, text);
        text_add_char(text, ']');
        break;
    case HEAP_EDGE_ITEM:
        text_printf(text, "[%llu]", (unsigned long long)found->number);
        break;
    case HEAP_EDGE_ATTRIBUTE:
        text_add_char(text, '.');
        add_name(heap, found->key, text);
        break;
    case HEAP_EDGE_TYPE:
    case HEAP_EDGE_MEMBER:
        text_printf(text, "%s%s", found->name[0] == '.' ? "" : ".", found->name);
        break;
    case HEAP_EDGE_WORD:
        add_word(heap, object, found->number, text);
        break;
    case HEAP_EDGE_KEPT:
        if (edge < heap->first_edges[object + 1] &&
            heap_kept_reference_at(heap, object, heap->edges[edge], &search.found.number))
            text_printf(text, "->[%llu]", (unsigned long long)search.found.number);
        break;
    }
    return found->kind;
}
