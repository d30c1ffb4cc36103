/*
 * Which blocks are objects. Where in its block an object begins is a function of its type; what
 * begins there must have that type, fit, be alive, and be linked by the collector as it says.
 */
#include "object_table.h"

#include <stdlib.h>

/* A count of references above this is none (3.8 to 3.11, where it is a whole word). */
#define REFCOUNT_MOST (UINT64_C(1) << 40)
/* What may stand before an object: nothing, a head, a head and two words. */
#define HEAD_STEP 16u
#define HEAD_MOST 32u

struct static_index {
    uint64_t address;
    uint32_t index;
};

/* Blocks that tell how many objects there are in the others. */
#define EXPECTED_BY 0x20000u

enum refcount_state { REFCOUNT_ALIVE, REFCOUNT_DEAD, REFCOUNT_IMMORTAL };

static enum refcount_state read_refcount(const struct python_heap_layout *layout, uint64_t word,
                                         uint32_t *ret)
{
    uint32_t low = (uint32_t)word;
    uint32_t high = (uint32_t)(word >> 32);
    *ret = low;
    switch (layout->refcounts) {
    case PYTHON_REFCOUNTS_WORD:
        *ret = word < UINT32_MAX ? low : UINT32_MAX;
        return word && word <= REFCOUNT_MOST ? REFCOUNT_ALIVE : REFCOUNT_DEAD;
    case PYTHON_REFCOUNTS_HALF:
        if (!low || high)
            return REFCOUNT_DEAD;
        break;
    case PYTHON_REFCOUNTS_FLAGS:
        if (!low || (high & 0xffff) || high >> 16 > 0xff)
            return REFCOUNT_DEAD;
        break;
    }
    if (!(low >> 31))
        return REFCOUNT_ALIVE;
    *ret = UINT32_MAX;
    return REFCOUNT_IMMORTAL;
}

/* Whether the collector's head is that of an object: unlinked, or what follows links back. */
static bool has_good_head(struct heap *heap, psc_addr object, bool *ret_tracked)
{
    psc_addr head = object - heap->layout.head_size;
    psc_addr next = heap_u64(heap, head) & ~heap->layout.head_flags;
    *ret_tracked = next != 0;
    return !next || (!(next & 7) && (heap_u64(heap, next + 8) & ~heap->layout.head_flags) == head);
}

static bool add_object(struct heap *heap, const struct heap_object *object)
{
    if (heap->object_count >= HEAP_OBJECT_LIMIT)
        return true;
    if (!array_reserve(&heap->objects, &heap->object_capacity, (size_t)heap->object_count + 1,
                       sizeof(*heap->objects)))
        return false;
    heap->objects[heap->object_count++] = *object;
    return true;
}

static uint32_t flags_of(const struct heap *heap, uint32_t type, enum refcount_state state)
{
    const struct heap_type_facts *facts = &heap->facts[type];
    return (facts->flags & PYTHON_TYPE_GC ? HEAP_FLAG_GC : 0u) |
           (facts->exact ? HEAP_FLAG_EXACT : 0u) |
           (state == REFCOUNT_IMMORTAL ? HEAP_FLAG_IMMORTAL : 0u);
}

/* A type that an extension keeps in memory of its own, as numpy's, is static all the same: it has
 * no head. */
static uint32_t head_before(struct heap *heap, psc_addr object, uint32_t type)
{
    bool is_static = heap->facts[type].kind == HEAP_KIND_TYPE &&
                     !(heap_u64(heap, object + heap->layout.type_flags) & PYTHON_TYPE_HEAP);
    return is_static ? 0 : heap->facts[type].head;
}

/* Looks for an object so many bytes into a block. False: go on with another place. */
static bool try_place(struct heap *heap, uint32_t block, uint32_t before, uint32_t hooks,
                      bool *ret_failed)
{
    const struct heap_block *found = &heap->blocks[block];
    uint64_t bytes = heap_block_bytes(found);
    psc_addr object = found->address + before;
    uint32_t type = before + 16u <= bytes ? heap_type_of(heap, object) : HEAP_NONE;
    if (type == HEAP_NONE || head_before(heap, object, type) + hooks != before)
        return false;
    uint64_t needed = heap_needed_bytes(heap, object, type);
    uint64_t room = bytes - before + (heap_block_layer(heap, block) == HEAP_PYMALLOC ? 0 : 8);
    if (needed > room + heap->facts[type].cut)
        return false;
    // An array of types in the state of a module.
    uint64_t word = heap_u64(heap, object);
    if (word > UINT32_MAX && heap_find_type(heap, word) != HEAP_NONE)
        return true;
    struct heap_object added = {.address = object, .type = type & 0xffffffu, .block = block};
    enum refcount_state state = read_refcount(&heap->layout, word, &added.refcount);
    if (state == REFCOUNT_DEAD) {
        heap_block_set_use(heap, block, HEAP_DEAD, HEAP_NONE);
        return true;
    }
    bool tracked = false;
    if (before != hooks && heap->facts[type].flags & PYTHON_TYPE_GC &&
        !has_good_head(heap, object, &tracked))
        return true;
    added.flags = (flags_of(heap, type, state) | (tracked ? HEAP_FLAG_TRACKED : 0u)) & 0xffu;
    heap_block_set_use(heap, block, HEAP_OBJECT, heap->object_count);
    *ret_failed = !add_object(heap, &added);
    return true;
}

static bool look_into_block(struct heap *heap, uint32_t block)
{
    bool failed = false;
    // Above 512 bytes a block passes through the hooks of two allocators.
    for (uint32_t hooks = heap->hook_size; hooks <= 2 * heap->hook_size; hooks += HEAD_STEP) {
        for (uint32_t head = 0; head <= HEAD_MOST; head += HEAD_STEP)
            if (try_place(heap, block, hooks + head, hooks, &failed))
                return !failed;
        if (!heap->hook_size || heap_block_layer(heap, block) == HEAP_PYMALLOC)
            break;
    }
    return true;
}

/* What a dict or a list names as its table is a buffer, even if it looks like an object; so far as
 * the table that they tell of fits there. */
static void demote(struct heap *heap, psc_addr table, uint64_t bytes, uint8_t *demoted)
{
    for (uint32_t hooks = 0; hooks <= 2 * heap->hook_size; hooks += HEAD_STEP) {
        uint32_t block = heap_block_at(heap, table - hooks);
        if (block == HEAP_NONE)
            continue;
        if (heap_block_use(heap, block) == HEAP_OBJECT && bytes &&
            bytes + hooks <= heap_block_bytes(&heap->blocks[block])) {
            demoted[heap->blocks[block].owner] = 1;
            heap_block_set_use(heap, block, HEAP_UNOWNED, HEAP_NONE);
        }
        return;
    }
}

static void demote_table_of(struct heap *heap, const struct heap_object *object, uint8_t *demoted)
{
    const struct python_heap_layout *layout = &heap->layout;
    enum heap_kind kind = heap->facts[object->type].kind;
    struct heap_keys keys;
    if (kind == HEAP_KIND_DICT || kind == HEAP_KIND_ODICT) {
        psc_addr table = heap_u64(heap, object->address + layout->dict_keys);
        if (heap_read_keys(heap, table, &keys))
            demote(heap, table, keys.bytes, demoted);
    } else if (kind == HEAP_KIND_LIST) {
        uint64_t allocated = heap_u64(heap, object->address + layout->list_allocated);
        if (allocated < UINT32_MAX)
            demote(heap, heap_u64(heap, object->address + layout->list_items), 8 * allocated,
                   demoted);
    }
}

static bool demote_buffers(struct heap *heap)
{
    uint8_t *demoted = calloc((size_t)heap->object_count + 1, 1);
    uint32_t left = 0;
    psc_addr swept = 0;
    if (!demoted)
        return false;
    for (uint32_t i = 0; i < heap->object_count; i++) {
        heap_sweep(heap, &swept, heap->objects[i].address);
        if (!demoted[i])
            demote_table_of(heap, &heap->objects[i], demoted);
    }
    for (uint32_t i = 0; i < heap->object_count; i++) {
        if (demoted[i])
            continue;
        heap->objects[left] = heap->objects[i];
        heap->blocks[heap->objects[left].block].owner = left;
        left++;
    }
    heap->object_count = left;
    free(demoted);
    return true;
}

/* Room for as many as the blocks so far let expect, at once: to grow by halves copies them, which
 * with some allocators is to write all of their pages anew. */
static bool expect_objects(struct heap *heap, uint32_t seen)
{
    uint64_t expected = (uint64_t)heap->object_count * heap->block_count / seen;
    return expected <= heap->object_capacity || expected > HEAP_OBJECT_LIMIT ||
           array_reserve(&heap->objects, &heap->object_capacity, (size_t)expected,
                         sizeof(*heap->objects));
}

enum psc_status heap_objects_find(struct heap *heap)
{
    psc_addr swept = 0;
    for (uint32_t block = 0; block < heap->block_count; block++) {
        heap_sweep(heap, &swept, heap->blocks[block].address);
        if (!look_into_block(heap, block))
            return PSC_ERR_MEMORY;
        if (!(block & 0xffff) && target_interrupted(heap->target))
            return PSC_ERR_INTERRUPTED;
        if (block == EXPECTED_BY && !expect_objects(heap, block))
            return PSC_ERR_MEMORY;
    }
    if (!demote_buffers(heap))
        return PSC_ERR_MEMORY;
    heap->in_blocks = heap->object_count;
    heap->statics = HASH_TABLE_OF(struct static_index);
    return PSC_OK;
}

uint32_t heap_find_object(struct heap *heap, psc_addr address)
{
    const struct heap_range *range = address & 7 ? NULL : heap_range_at(heap, address);
    if (!range)
        return HEAP_NONE;
    if (range->bits && !(address & 15)) {
        for (uint32_t before = 0; before <= HEAD_MOST + 2 * heap->hook_size; before += HEAD_STEP) {
            if (address - range->start < before)
                break;
            uint32_t block = heap_block_in(range, address - before);
            if (block == HEAP_NONE)
                continue;
            if (heap_block_use(heap, block) == HEAP_OBJECT &&
                heap->objects[heap->blocks[block].owner].address == address)
                return heap->blocks[block].owner;
            if (!heap->hook_size)
                break;
        }
    }
    const struct static_index *found = hash_table_find(&heap->statics, address);
    return found ? found->index : HEAP_NONE;
}

static uint32_t add_static(struct heap *heap, psc_addr address, uint32_t type, bool *ret_failed)
{
    struct heap_object object = {.address = address, .type = type & 0xffffffu, .block = HEAP_NONE};
    enum refcount_state state =
        read_refcount(&heap->layout, heap_u64(heap, address), &object.refcount);
    if (state == REFCOUNT_DEAD && heap->facts[type].kind != HEAP_KIND_TYPE)
        return HEAP_NONE;
    uint32_t index = heap->object_count;
    object.flags = (flags_of(heap, type, state) | HEAP_FLAG_STATIC) & 0xffu;
    // Static code of 3.11 has references that were never counted.
    if (heap->facts[type].kind != HEAP_KIND_TYPE)
        object.flags &= 0xffu & ~(unsigned)HEAP_FLAG_EXACT;
    struct static_index *added = hash_table_add(&heap->statics, address);
    if (!added || !add_object(heap, &object)) {
        *ret_failed = true;
        return HEAP_NONE;
    }
    added->index = index;
    return heap->object_count > index ? index : HEAP_NONE;
}

uint32_t heap_object_reached(struct heap *heap, psc_addr address)
{
    uint32_t found = heap_find_object(heap, address);
    if (found != HEAP_NONE || address & 7)
        return found;
    const struct heap_range *range = heap_range_at(heap, address);
    if (!range || !range->module)
        return HEAP_NONE;
    uint32_t block = range->bits ? heap_find_block_around(heap, address) : HEAP_NONE;
    uint32_t type = block == HEAP_NONE ? heap_type_of(heap, address) : HEAP_NONE;
    bool failed = false;
    return type == HEAP_NONE ? HEAP_NONE : add_static(heap, address, type, &failed);
}

bool heap_objects_add_types(struct heap *heap)
{
    bool failed = false;
    for (uint32_t i = 0; i < heap->type_count && !failed; i++) {
        psc_addr address = heap->types[i].address;
        uint32_t object = heap_find_object(heap, address);
        const struct heap_range *range = heap_range_at(heap, address);
        uint32_t type = heap_type_of(heap, address);
        if (object == HEAP_NONE && range && range->module && type != HEAP_NONE &&
            heap_find_block_around(heap, address) == HEAP_NONE)
            object = add_static(heap, address, type, &failed);
        heap->types[i].object = object;
    }
    return !failed;
}
