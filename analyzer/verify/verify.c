/* What is damaged, by the objects and by what was seen while they were found. */
#include "verify_private.h"

#include <stdlib.h>
#include <string.h>

#define OBJECT_COUNT 16u /* ob_size */

/* ---- counts ---- */

/* PyUnicode_InternInPlace() takes the two references of its dict off the count of a mortal string
 * (CPython, Objects/unicodeobject.c; SSTATE_INTERNED_MORTAL of Include/cpython/unicodeobject.h). */
static uint32_t uncounted(const struct verification *all, const struct heap_object *object)
{
    const uint64_t state = object->type == all->text_type
                               ? heap_word(all->heap, object->address + all->heap->layout.str_state)
                               : 0;
    return (state & 3) == 1 ? 2 : 0;
}

/* Types that are not made by class statements refer to each other without counting (CPython,
 * Objects/typeobject.c), also where an extension keeps them in memory of malloc(), as numpy does
 * (numpy/_core/src/multiarray/dtypemeta.c, dtypemeta_wrap_legacy_descriptor()). */
static bool is_static_type(const struct verification *all, const struct heap_object *object)
{
    return heap_find_type(all->heap, object->address) != HEAP_NONE &&
           !(heap_word(all->heap, object->address + all->heap->layout.type_flags) &
             PYTHON_TYPE_HEAP);
}

static bool is_too_low(const struct verification *all, uint32_t index)
{
    const struct heap_object *object = &all->heap->objects[index];
    const uint32_t found = all->found[index];
    return object->refcount != UINT32_MAX && !(object->flags & HEAP_FLAG_IMMORTAL) &&
           found > object->refcount && found - object->refcount > uncounted(all, object) &&
           !is_static_type(all, object);
}

static void judge_count(struct verification *all, uint32_t index)
{
    struct heap *heap = all->heap;
    const struct heap_object *object = &heap->objects[index];
    struct text text = {0};
    struct finding *finding = verify_add(all, FINDING_REFCOUNT, object->address);
    if (!finding || finding->message)
        return;
    finding->object = index;
    verify_add_object(heap, index, &text);
    text_printf(&text,
                " counts %u reference%s, but %u lead to it: it will be freed while it is in use",
                object->refcount, object->refcount == 1 ? "" : "s", all->found[index]);
    verify_set_message(all, finding, &text);
}

/* Who refers to the objects whose counts are too low: in one pass over all references. */
static void find_count_holders(struct verification *all)
{
    struct heap *heap = all->heap;
    for (uint32_t i = 0; i < heap->object_count; i++)
        for (uint32_t edge = heap->first_edges[i]; edge < heap->first_edges[i + 1]; edge++) {
            const uint32_t to = heap->edges[edge];
            if (!is_too_low(all, to))
                continue;
            const struct finding_place *place =
                hash_table_find(&all->places, heap->objects[to].address);
            if (place)
                verify_add_holder(&all->findings->items[place->index], i);
        }
}

static void judge_counts(struct verification *all)
{
    const struct heap *heap = all->heap;
    bool found = false;
    for (uint32_t i = 0; i < heap->object_count; i++)
        if (is_too_low(all, i)) {
            judge_count(all, i);
            found = true;
        }
    if (found)
        find_count_holders(all);
}

/* ---- what was seen while walking ---- */

/* What lay there before it was freed: the first word is the allocator's now, the type is not. */
static const char *old_type(struct heap *heap, psc_addr address)
{
    const uint32_t type = heap_find_type(heap, heap_word(heap, address + 8));
    return type == HEAP_NONE ? NULL : heap->types[type].name;
}

/* Whether its place in the collector's list is broken: who follows it does not lead back. */
static bool has_broken_link(struct heap *heap, psc_addr object)
{
    const psc_addr head = object - heap->layout.head_size;
    const psc_addr next = heap_word(heap, head) & ~heap->layout.head_flags;
    return heap->layout.head_size && next &&
           (heap_word(heap, next + 8) & ~heap->layout.head_flags) != head;
}

static void take_dangling(struct verification *all, const struct heap_damage *damage)
{
    struct heap *heap = all->heap;
    const psc_addr to = damage->value;
    const uint32_t block = heap_find_block_around(heap, to);
    const bool is_free = block == HEAP_NONE || heap_block_use(heap, block) == HEAP_DEAD;
    const char *type = old_type(heap, to);
    const bool readable = heap_bytes(heap, to, 16) != NULL;
    const bool is_link = !is_free && type && has_broken_link(heap, to);
    struct text text = {0};
    if (is_link) {
        verify_note_link(all, verify_find_broken_link(heap, to), damage->object);
        return;
    }
    struct finding *finding = verify_add(all, is_free ? FINDING_DANGLING : FINDING_OVERWRITTEN, to);
    if (!finding)
        return;
    verify_add_holder(finding, damage->object);
    if (finding->message)
        return;
    verify_add_object(heap, damage->object, &text);
    text_printf(&text, " refers to 0x%llx, ", (unsigned long long)to);
    if (!readable)
        text_add_string(&text, "where no memory is");
    else if (is_free && type)
        text_printf(&text, "which is freed: %s was there", type);
    else if (is_free)
        text_add_string(&text, "which is free memory");
    else if (type)
        text_printf(&text, "where the header of %s is damaged", type);
    else
        text_printf(&text,
                    "where no object is: its header was overwritten (its type would be 0x%llx)",
                    (unsigned long long)heap_word(heap, to + 8));
    verify_set_message(all, finding, &text);
}

static void take_pool(struct verification *all, const struct heap_damage *damage)
{
    struct text text = {0};
    const psc_addr pool = damage->address - damage->address % all->heap->layout.pool_size;
    struct finding *finding = verify_add(all, FINDING_FREE_BLOCK, damage->address);
    if (!finding || finding->message)
        return;
    text_printf(&text,
                "the free list of the pool at 0x%llx is broken: a free block was written to, or "
                "the pool's header",
                (unsigned long long)pool);
    if (damage->value)
        text_printf(&text, " (0x%llx stands there)", (unsigned long long)damage->value);
    verify_set_message(all, finding, &text);
}

static void take_chunk(struct verification *all, const struct heap_damage *damage)
{
    struct text text = {0};
    struct finding *finding = verify_add(all, FINDING_CHUNK, damage->address);
    verify_add_holder(finding, damage->object);
    if (!finding || finding->message)
        return;
    if (damage->kind == HEAP_DAMAGE_TCACHE)
        text_printf(&text, "the list of free chunks at 0x%llx leads to 0x%llx, where none is",
                    (unsigned long long)damage->address, (unsigned long long)damage->value);
    else
        text_printf(&text,
                    "the header of the chunk at 0x%llx is damaged: 0x%llx stands as its size",
                    (unsigned long long)damage->address, (unsigned long long)damage->value);
    if (damage->resumed)
        text_printf(&text, "; what lies up to 0x%llx is not read",
                    (unsigned long long)damage->resumed);
    verify_set_message(all, finding, &text);
}

/* A word of an object that leads to its table: items of a list, keys of a dict. */
static void take_table(struct verification *all, const struct heap_damage *damage)
{
    struct heap *heap = all->heap;
    struct text text = {0};
    struct finding *finding = verify_add(all, FINDING_TABLE, damage->address);
    if (!finding)
        return;
    verify_add_holder(finding, damage->object);
    if (finding->message)
        return;
    finding->object = damage->object;
    verify_add_object(heap, damage->object, &text);
    const uint64_t offset = damage->address - heap->objects[damage->object].address;
    if (offset == OBJECT_COUNT)
        text_printf(&text, " counts %llu items, for which its table has no room",
                    (unsigned long long)damage->value);
    else
        text_printf(&text, " has lost its table: 0x%llx stands at +0x%llx, where none is",
                    (unsigned long long)damage->value, (unsigned long long)offset);
    verify_set_message(all, finding, &text);
}

static void take_damage(struct verification *all, const struct heap_damage *damage)
{
    switch (damage->kind) {
    case HEAP_DAMAGE_DANGLING:
        take_dangling(all, damage);
        return;
    case HEAP_DAMAGE_POOL:
        take_pool(all, damage);
        return;
    case HEAP_DAMAGE_CHUNK:
    case HEAP_DAMAGE_TCACHE:
        take_chunk(all, damage);
        return;
    case HEAP_DAMAGE_TABLE:
        take_table(all, damage);
        return;
    }
}

static int compare_findings(const void *left, const void *right)
{
    const struct finding *one = left, *other = right;
    const int order = COMPARE(one->kind, other->kind);
    return order ? order : COMPARE(one->address, other->address);
}

enum psc_status verify_heap(struct heap *heap, struct findings *ret)
{
    PSC_CLEANUP(cleanup_free)
    uint32_t *found = malloc(((size_t)heap->object_count + 1) * sizeof(*found));
    struct verification all = {.heap = heap,
                               .findings = ret,
                               .places = HASH_TABLE_OF(struct finding_place),
                               .text_type = HEAP_NONE,
                               .found = found};
    *ret = (struct findings){.left_out = heap->damage_left_out};
    if (!found)
        return PSC_ERR_MEMORY;
    heap_count_found(heap, found);
    for (uint32_t i = 0; i < heap->type_count; i++)
        if (!strcmp(heap->types[i].name, "str"))
            all.text_type = i;
    for (size_t i = 0; i < heap->damage_count; i++)
        take_damage(&all, &heap->damage[i]);
    judge_counts(&all);
    verify_links(&all);
    verify_guards(&all);
    hash_table_deinit(&all.places);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare_findings);
    if (!all.failed)
        return PSC_OK;
    verify_deinit(ret);
    return PSC_ERR_MEMORY;
}
