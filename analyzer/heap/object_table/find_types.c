/*
 * All types: each has `type`, or a class derived from it, in the place of its own type, and the
 * members that a type must have.
 */
#include "object_table.h"

#include <stdlib.h>

/* Rounds in search of types whose class was found in the round before. */
#define ROUND_LIMIT 6u
#define BASE_LIMIT  256u
#define BASIC_MOST  (UINT64_C(1) << 20)
#define ITEM_MOST   (UINT64_C(1) << 16)
#define NAME_MOST   512u

/* A mark for each low part of the addresses that are looked for. */
#define MARK_COUNT 65536u

struct type_index {
    uint64_t address;
    uint32_t index;
};

struct type_search {
    struct heap *heap;
    struct hash_table metatypes; /* Of struct type_index; those of this round have index 1. */
    uint8_t *marks;
    psc_addr swept;
    bool failed;
};

static uint32_t mark_of(psc_addr address)
{
    return (uint32_t)(address >> 4) & (MARK_COUNT - 1);
}

uint32_t heap_find_type(struct heap *heap, psc_addr address)
{
    const struct type_index *found = hash_table_find(&heap->type_indices, address);
    return found ? found->index : HEAP_NONE;
}

uint32_t heap_type_of(struct heap *heap, psc_addr object)
{
    const uint8_t *bytes = heap_at(heap, object, 16);
    psc_addr type = bytes ? load_u64(bytes + 8) : 0;
    return type && !(type & 7) && heap->type_marks[mark_of(type)] ? heap_find_type(heap, type)
                                                                  : HEAP_NONE;
}

static uint32_t head_of(const struct python_heap_layout *layout, uint64_t flags)
{
    uint32_t head = flags & PYTHON_TYPE_GC ? layout->head_size : 0;
    switch (layout->heads) {
    case PYTHON_HEADS_GC:
        break;
    case PYTHON_HEADS_DICT:
        head += flags & PYTHON_TYPE_MANAGED_DICT ? 16 : 0;
        break;
    case PYTHON_HEADS_MANAGED:
        head += flags & (PYTHON_TYPE_MANAGED_DICT | PYTHON_TYPE_MANAGED_WEAKREF) ? 16 : 0;
        break;
    }
    return head;
}

/* A name of C: printable, and not empty. */
static const char *read_c_name(struct heap *heap, psc_addr address)
{
    char name[NAME_MOST];
    if (!address || target_read_string(heap->target, address, name, sizeof(name)) != PSC_OK ||
        !name[0])
        return NULL;
    for (const char *at = name; *at; at++)
        if ((unsigned char)*at < ' ')
            return NULL;
    return arena_strdup(heap->arena, name);
}

/* The layout of a type that may be one; false: it is none. */
static bool read_facts(struct heap *heap, psc_addr type, struct heap_type_facts *ret)
{
    const struct python_heap_layout *layout = &heap->layout;
    const uint8_t *bytes = heap_at(heap, type, layout->type_size);
    if (!bytes)
        return false;
    *ret =
        (struct heap_type_facts){.basic_size = load_u64(bytes + layout->type_basicsize),
                                 .item_size = load_u64(bytes + layout->type_itemsize),
                                 .flags = load_u64(bytes + layout->type_flags),
                                 .weaklist = load_u64(bytes + layout->type_weaklist),
                                 .dict_offset = (int64_t)load_u64(bytes + layout->type_dictoffset)};
    psc_addr base = load_u64(bytes + layout->type_base);
    if (ret->basic_size < 16 || ret->basic_size > BASIC_MOST || ret->item_size > ITEM_MOST ||
        (base && (base & 7 || !heap_at(heap, base, layout->type_size))))
        return false;
    if (ret->weaklist > BASIC_MOST)
        ret->weaklist = 0;
    // Static types that nobody made ready, as one of functools up to 3.8, have a tp_dealloc. They
    // are in no block; memory behind a module's data may be an arena's.
    const struct heap_range *range = heap_range_at(heap, type);
    if (!(ret->flags & PYTHON_TYPE_READY) &&
        (!range->module || !load_u64(bytes + layout->type_deallocate) ||
         heap_find_block_around(heap, type) != HEAP_NONE))
        return false;
    ret->head = head_of(layout, ret->flags);
    return true;
}

static void add_type(struct type_search *search, psc_addr address)
{
    struct heap *heap = search->heap;
    struct heap_type_facts facts;
    if (address & 7 || heap_find_type(heap, address) != HEAP_NONE ||
        heap->type_count >= HEAP_TYPE_LIMIT || !read_facts(heap, address, &facts))
        return;
    const char *name = read_c_name(heap, heap_u64(heap, address + heap->layout.type_name));
    if (!name)
        return;
    struct type_index *index = array_reserve(&heap->types, &heap->type_capacity,
                                             heap->type_count + 1, sizeof(*heap->types)) &&
                                       array_reserve(&heap->facts, &heap->facts_capacity,
                                                     heap->type_count + 1, sizeof(*heap->facts))
                                   ? hash_table_add(&heap->type_indices, address)
                                   : NULL;
    if (!index) {
        search->failed = true;
        return;
    }
    index->index = heap->type_count;
    heap->types[heap->type_count] =
        (struct heap_type){.address = address, .name = name, .object = HEAP_NONE};
    heap->facts[heap->type_count++] = facts;
}

/* Where a word is one of the metatypes that this round looks for, a type may begin before it. */
static void scan_range(struct type_search *search, const struct heap_range *range)
{
    const uint8_t *bytes = range->bytes;
    uint64_t size = range->end - range->start;
    heap_sweep(search->heap, &search->swept, range->start);
    for (uint64_t at = 8; at + 8 <= size && !search->failed; at += 8) {
        if (!(at % HEAP_SWEEP_SIZE))
            heap_sweep(search->heap, &search->swept, range->start + at);
        psc_addr word = load_u64(bytes + at);
        if (!search->marks[mark_of(word)])
            continue;
        const struct type_index *found = hash_table_find(&search->metatypes, word);
        if (found && found->index)
            add_type(search, range->start + at - 8);
    }
}

/* Whether a type is derived from `type`. */
static bool is_metatype(struct heap *heap, uint32_t index)
{
    psc_addr at = heap->types[index].address;
    if (!(heap->facts[index].flags & PYTHON_TYPE_OF_TYPE))
        return false;
    for (unsigned depth = 0; at && depth < BASE_LIMIT; depth++) {
        if (at == heap->layout.type_type)
            return true;
        at = heap_u64(heap, at + heap->layout.type_base);
    }
    return false;
}

/* Metatypes that were not looked for yet: whether there are any. */
static bool take_metatypes(struct type_search *search, uint32_t from)
{
    struct heap *heap = search->heap;
    bool found = false;
    for (size_t i = 0; i < search->metatypes.count; i++)
        ((struct type_index *)hash_table_at(&search->metatypes, i))->index = 0;
    memset(search->marks, 0, MARK_COUNT);
    for (uint32_t i = from; i < heap->type_count; i++) {
        psc_addr address = heap->types[i].address;
        if (!is_metatype(heap, i) || hash_table_find(&search->metatypes, address))
            continue;
        struct type_index *added = hash_table_add(&search->metatypes, address);
        search->failed = search->failed || !added;
        if (!added)
            return false;
        added->index = 1;
        search->marks[mark_of(address)] = 1;
        found = true;
    }
    return found;
}

static void search_deinit(struct type_search *search)
{
    hash_table_deinit(&search->metatypes);
    free(search->marks);
}

/* What has a base, or a class, that is no type is none. */
static bool drop_false_types(struct type_search *search)
{
    struct heap *heap = search->heap;
    uint32_t left = 0;
    for (uint32_t i = 0; i < heap->type_count; i++) {
        psc_addr address = heap->types[i].address;
        psc_addr base = heap_u64(heap, address + heap->layout.type_base);
        if ((base && heap_find_type(heap, base) == HEAP_NONE) ||
            !hash_table_find(&search->metatypes, heap_u64(heap, address + 8)))
            continue;
        heap->types[left] = heap->types[i];
        heap->facts[left++] = heap->facts[i];
    }
    bool dropped = left != heap->type_count;
    heap->type_count = left;
    hash_table_clear(&heap->type_indices);
    memset(heap->type_marks, 0, MARK_COUNT);
    for (uint32_t i = 0; i < left; i++) {
        struct type_index *index = hash_table_add(&heap->type_indices, heap->types[i].address);
        search->failed = search->failed || !index;
        if (!index)
            return false;
        index->index = i;
        heap->type_marks[mark_of(heap->types[i].address)] = 1;
    }
    return dropped;
}

enum psc_status heap_types_find(struct heap *heap)
{
    struct type_search search PSC_CLEANUP(search_deinit) = {.heap = heap,
                                                            .metatypes =
                                                                HASH_TABLE_OF(struct type_index),
                                                            .marks = calloc(MARK_COUNT, 1)};
    heap->type_indices = HASH_TABLE_OF(struct type_index);
    heap->type_marks = calloc(MARK_COUNT, 1);
    if (!search.marks || !heap->type_marks)
        return PSC_ERR_MEMORY;
    add_type(&search, heap->layout.type_type);
    if (!heap->type_count)
        return search.failed ? PSC_ERR_MEMORY : PSC_ERR_NOT_FOUND;
    uint32_t from = 0;
    for (unsigned round = 0; round < ROUND_LIMIT && take_metatypes(&search, from); round++) {
        from = heap->type_count;
        for (size_t i = 0; i < heap->range_count; i++) {
            scan_range(&search, &heap->ranges[i]);
            if (target_interrupted(heap->target))
                return PSC_ERR_INTERRUPTED;
        }
    }
    for (unsigned round = 0; round < ROUND_LIMIT && drop_false_types(&search); round++)
        ;
    for (uint32_t i = 0; i < heap->type_count; i++)
        heap->facts[i].base =
            heap_find_type(heap, heap_u64(heap, heap->types[i].address + heap->layout.type_base));
    return search.failed ? PSC_ERR_MEMORY : PSC_OK;
}

enum psc_status heap_types_name(struct heap *heap)
{
    struct text text PSC_CLEANUP(text_deinit) = {0};
    for (uint32_t i = 0; i < heap->type_count; i++) {
        text_clear(&text);
        if (!heap->types[i].count ||
            !python_add_type_name(heap->python, heap->types[i].address, &text) || !text.data)
            continue;
        const char *name = arena_strdup(heap->arena, text.data);
        if (!name || text.failed)
            return PSC_ERR_MEMORY;
        heap->types[i].name = name;
    }
    return PSC_OK;
}

void heap_types_destroy(struct heap *heap)
{
    free(heap->types);
    free(heap->facts);
    free(heap->type_marks);
    hash_table_deinit(&heap->type_indices);
}
