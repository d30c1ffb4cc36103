/*
 * The lists of the collector. An object's head has the next and the previous one; while a
 * collection runs, a count stands in place of the previous one (CPython, Python/gc.c,
 * update_refs()).
 */
#include "verify_private.h"

/* Below this a previous link may be such a count. */
#define COUNT_MOST (UINT64_C(1) << 40)
enum { HEAD_NEXT = 0, HEAD_PREVIOUS = 8 };

static psc_addr link_of(struct heap *heap, psc_addr head, uint32_t which)
{
    return heap_word(heap, head + which) & ~heap->layout.head_flags;
}

/* Whether memory is there, or may be: what a core file does not have is not judged. */
static bool may_be_there(struct heap *heap, psc_addr head)
{
    return heap_bytes(heap, head, 2 * sizeof(uint64_t)) || target_find_mapping(heap->target, head);
}

psc_addr verify_find_broken_link(struct heap *heap, psc_addr object)
{
    const psc_addr head = object - heap->layout.head_size;
    const psc_addr next = link_of(heap, head, HEAD_NEXT);
    const psc_addr back = link_of(heap, next, HEAD_PREVIOUS);
    const uint32_t follower = heap_find_object(heap, next + heap->layout.head_size);
    if (follower == HEAP_NONE || back < COUNT_MOST)
        return object;
    // Another leads to the follower, and it to that one: then this object's own link is wrong.
    return heap_bytes(heap, back, 16) && link_of(heap, back, HEAD_NEXT) == next
               ? object
               : heap->objects[follower].address;
}

static void add_links(struct verification *all, psc_addr object, struct text *text)
{
    struct heap *heap = all->heap;
    const psc_addr head = object - heap->layout.head_size;
    const psc_addr next = link_of(heap, head, HEAD_NEXT);
    const psc_addr previous = link_of(heap, head, HEAD_PREVIOUS);
    const bool next_is_good = next && link_of(heap, next, HEAD_PREVIOUS) == head;
    if (!next)
        text_add_string(text, "it links to nothing, though the next one leads back to it");
    else if (!next_is_good)
        text_printf(text, "it links to 0x%llx, which does not lead back", (unsigned long long)next);
    else
        text_printf(text, "it links back to 0x%llx, which does not lead to it",
                    (unsigned long long)previous);
}

void verify_note_link(struct verification *all, psc_addr object, uint32_t holder)
{
    struct heap *heap = all->heap;
    struct text text = {0};
    struct finding *finding = verify_add(all, FINDING_COLLECTOR, object);
    if (!finding)
        return;
    verify_add_holder(finding, holder);
    if (finding->message)
        return;
    finding->object = heap_find_object(heap, object);
    const uint32_t type = heap_find_type(heap, heap_word(heap, object + 8));
    text_add_string(&text, "the place of ");
    if (type != HEAP_NONE)
        text_add_string(&text, heap->types[type].name);
    else
        text_add_string(&text, "an object");
    text_printf(&text,
                " at 0x%llx in the collector's list is broken: ", (unsigned long long)object);
    add_links(all, object, &text);
    verify_set_message(all, finding, &text);
}

/* What stands before an object of the list: it leads to it, or one of both is broken. */
static void judge_previous(struct verification *all, const struct heap_object *object)
{
    struct heap *heap = all->heap;
    const psc_addr head = object->address - heap->layout.head_size;
    const psc_addr previous = link_of(heap, head, HEAD_PREVIOUS);
    if (previous < COUNT_MOST)
        return;
    if (!heap_bytes(heap, previous, 16)) {
        if (!may_be_there(heap, previous))
            verify_note_link(all, object->address, HEAP_NONE);
        return;
    }
    const psc_addr next = link_of(heap, previous, HEAD_NEXT);
    if (next == head)
        return;
    const psc_addr other = previous + heap->layout.head_size;
    const bool is_object = heap_find_type(heap, heap_word(heap, other + 8)) != HEAP_NONE;
    // That one has a place of its own: then it is this one that leads to the wrong one.
    const bool is_placed = next && link_of(heap, next, HEAD_PREVIOUS) == previous;
    verify_note_link(all, is_object && !is_placed ? other : object->address, HEAP_NONE);
}

void verify_links(struct verification *all)
{
    struct heap *heap = all->heap;
    psc_addr swept = 0;
    for (uint32_t i = 0; heap->layout.head_size && i < heap->object_count; i++) {
        heap_sweep_to(heap, &swept, i);
        if (heap->objects[i].flags & HEAP_FLAG_TRACKED)
            judge_previous(all, &heap->objects[i]);
    }
}
