#include "verify.h"

#include <stdlib.h>
#include <string.h>

const char *finding_kind_name(enum finding_kind kind)
{
    switch (kind) {
    case FINDING_REFCOUNT:
        return "refcount-too-low";
    case FINDING_DANGLING:
        return "dangling";
    case FINDING_OVERWRITTEN:
        return "overwritten";
    case FINDING_COLLECTOR:
        return "collector-list";
    case FINDING_FREE_BLOCK:
        return "free-block";
    case FINDING_CHUNK:
        break;
    }
    return "chunk";
}

void verify_deinit(struct findings *findings)
{
    free(findings->items);
    *findings = (struct findings){0};
}

struct verification {
    struct heap *heap;
    struct findings *findings;
    struct hash_table places; /* Of what is damaged: the numbers of their findings. */
    uint32_t text_type;       /* That of str. */
    bool failed;
};

struct place {
    uint64_t address; /* The key. */
    size_t index;
};

/* ---- what is around ---- */

static void take_around(struct heap *heap, struct finding *finding)
{
    // A bit before it, where the block before ends; what cannot be read is cut off.
    const psc_addr wanted[] = {finding->address - 32, finding->address};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(wanted) && !finding->around_size; i++)
        for (size_t size = FINDING_AROUND; size >= 16 && !finding->around_size; size /= 2) {
            const uint8_t *bytes = heap_bytes(heap, wanted[i] & ~(psc_addr)7, size);
            if (!bytes)
                continue;
            memcpy(finding->around, bytes, size);
            finding->around_start = wanted[i] & ~(psc_addr)7;
            finding->around_size = size;
        }
}

/* The object, or the owner, of the block that ends where this one begins. */
static uint32_t find_before(struct heap *heap, psc_addr address)
{
    const uint32_t count = heap->block_count;
    uint32_t at = (uint32_t)SORTED_BELOW(heap->blocks, address, count, address);
    uint32_t around = heap_find_block_around(heap, address);
    if (around != HEAP_NONE)
        at = around;
    if (!at || !count)
        return HEAP_NONE;
    const struct heap_block *before = &heap->blocks[at - 1];
    const psc_addr end = before->address + heap_block_bytes(before);
    const psc_addr start = around != HEAP_NONE ? heap->blocks[around].address : address;
    return end <= start && start - end <= 16 ? before->owner : HEAP_NONE;
}

static void add_object(struct heap *heap, uint32_t object, struct text *text)
{
    if (object == HEAP_NONE)
        text_add_string(text, "memory of no object");
    else
        text_printf(text, "%s at 0x%llx", heap->types[heap->objects[object].type].name,
                    (unsigned long long)heap->objects[object].address);
}

/* ---- findings ---- */

/* The finding of that place; a new one without a message when there was none. */
static struct finding *add_finding(struct verification *all, enum finding_kind kind,
                                   psc_addr address)
{
    struct findings *findings = all->findings;
    struct place *place = hash_table_find(&all->places, address);
    if (place)
        return &findings->items[place->index];
    if (findings->count >= FINDING_LIMIT) {
        findings->left_out++;
        return NULL;
    }
    place = hash_table_add(&all->places, address);
    if (!place || !array_reserve(&findings->items, &findings->capacity, findings->count + 1,
                                 sizeof(*findings->items))) {
        all->failed = true;
        return NULL;
    }
    place->index = findings->count;
    struct finding *finding = &findings->items[findings->count++];
    *finding = (struct finding){.kind = kind, .address = address, .object = HEAP_NONE};
    finding->before = find_before(all->heap, address);
    take_around(all->heap, finding);
    return finding;
}

static void add_holder(struct finding *finding, uint32_t object)
{
    if (!finding || object == HEAP_NONE)
        return;
    for (size_t i = 0; i < finding->holder_count && i < FINDING_HOLDERS; i++)
        if (finding->holders[i] == object)
            return;
    if (finding->holder_count < FINDING_HOLDERS)
        finding->holders[finding->holder_count] = object;
    finding->holder_count++;
}

static void set_message(struct verification *all, struct finding *finding, struct text *text)
{
    finding->message = text->failed || !text->data
                           ? NULL
                           : arena_strndup(all->heap->arena, text->data, text->size);
    if (!finding->message)
        all->failed = true;
    text_deinit(text);
}

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

/* Static types refer to each other without counting (CPython, Objects/typeobject.c). */
static bool is_static_type(const struct verification *all, const struct heap_object *object)
{
    return (object->flags & HEAP_FLAG_STATIC) &&
           heap_find_type(all->heap, object->address) != HEAP_NONE;
}

static bool is_too_low(const struct verification *all, const struct heap_object *object)
{
    return object->refcount != UINT32_MAX && !(object->flags & HEAP_FLAG_IMMORTAL) &&
           object->found > object->refcount &&
           object->found - object->refcount > uncounted(all, object) &&
           !is_static_type(all, object);
}

static void judge_count(struct verification *all, uint32_t index)
{
    struct heap *heap = all->heap;
    const struct heap_object *object = &heap->objects[index];
    struct text text = {0};
    struct finding *finding = add_finding(all, FINDING_REFCOUNT, object->address);
    if (!finding || finding->message)
        return;
    finding->object = index;
    add_object(heap, index, &text);
    text_printf(&text,
                " counts %u reference%s, but %u lead to it: it will be freed while it is in use",
                object->refcount, object->refcount == 1 ? "" : "s", object->found);
    set_message(all, finding, &text);
}

/* Who refers to the objects whose counts are too low: in one pass over all references. */
static void find_count_holders(struct verification *all)
{
    struct heap *heap = all->heap;
    for (uint32_t i = 0; i < heap->object_count; i++)
        for (uint32_t edge = heap->objects[i].first_edge; edge < heap->objects[i + 1].first_edge;
             edge++) {
            const struct heap_object *to = &heap->objects[heap->edges[edge]];
            if (!is_too_low(all, to))
                continue;
            const struct place *place = hash_table_find(&all->places, to->address);
            if (place)
                add_holder(&all->findings->items[place->index], i);
        }
}

static void judge_counts(struct verification *all)
{
    const struct heap *heap = all->heap;
    bool found = false;
    for (uint32_t i = 0; i < heap->object_count; i++)
        if (is_too_low(all, &heap->objects[i])) {
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
    struct finding *finding = add_finding(all,
                                          is_free   ? FINDING_DANGLING
                                          : is_link ? FINDING_COLLECTOR
                                                    : FINDING_OVERWRITTEN,
                                          to);
    if (!finding)
        return;
    add_holder(finding, damage->object);
    if (finding->message)
        return;
    add_object(heap, damage->object, &text);
    text_printf(&text, " refers to 0x%llx, ", (unsigned long long)to);
    if (!readable)
        text_add_string(&text, "where no memory is");
    else if (is_free && type)
        text_printf(&text, "which is freed: %s was there", type);
    else if (is_free)
        text_add_string(&text, "which is free memory");
    else if (is_link)
        text_printf(&text,
                    "%s, whose place in the collector's list is broken: it links to 0x%llx, which "
                    "does not lead back",
                    type, (unsigned long long)heap_word(heap, to - heap->layout.head_size));
    else if (type)
        text_printf(&text, "where the header of %s is damaged", type);
    else
        text_printf(&text,
                    "where no object is: its header was overwritten (its type would be 0x%llx)",
                    (unsigned long long)heap_word(heap, to + 8));
    set_message(all, finding, &text);
}

static void take_pool(struct verification *all, const struct heap_damage *damage)
{
    struct text text = {0};
    const psc_addr pool = damage->address - damage->address % all->heap->layout.pool_size;
    struct finding *finding = add_finding(all, FINDING_FREE_BLOCK, damage->address);
    if (!finding || finding->message)
        return;
    text_printf(&text,
                "the free list of the pool at 0x%llx is broken: a free block was written to, or "
                "the pool's header",
                (unsigned long long)pool);
    if (damage->value)
        text_printf(&text, " (0x%llx stands there)", (unsigned long long)damage->value);
    set_message(all, finding, &text);
}

static void take_chunk(struct verification *all, const struct heap_damage *damage)
{
    struct text text = {0};
    struct finding *finding = add_finding(all, FINDING_CHUNK, damage->address);
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
    set_message(all, finding, &text);
}

static void take_link(struct verification *all, const struct heap_damage *damage)
{
    struct heap *heap = all->heap;
    struct text text = {0};
    struct finding *finding = add_finding(all, FINDING_COLLECTOR, damage->address);
    if (!finding || finding->message)
        return;
    finding->object = damage->object;
    text_add_string(&text, "the collector's list is broken at ");
    if (damage->object != HEAP_NONE)
        add_object(heap, damage->object, &text);
    else
        text_printf(&text, "0x%llx", (unsigned long long)damage->address);
    text_printf(&text, ": its link leads to 0x%llx, which does not lead back",
                (unsigned long long)damage->value);
    set_message(all, finding, &text);
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
    case HEAP_DAMAGE_GC_LINK:
        take_link(all, damage);
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
    struct verification all = {.heap = heap,
                               .findings = ret,
                               .places = HASH_TABLE_OF(struct place),
                               .text_type = HEAP_NONE};
    *ret = (struct findings){.left_out = heap->damage_left_out};
    for (uint32_t i = 0; i < heap->type_count; i++)
        if (!strcmp(heap->types[i].name, "str"))
            all.text_type = i;
    for (size_t i = 0; i < heap->damage_count; i++)
        take_damage(&all, &heap->damage[i]);
    judge_counts(&all);
    hash_table_deinit(&all.places);
    if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), compare_findings);
    if (!all.failed)
        return PSC_OK;
    verify_deinit(ret);
    return PSC_ERR_MEMORY;
}
