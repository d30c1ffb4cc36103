/* What containers refer to, and the attributes of instances. */
#include "references.h"

/* Include/internal/pycore_dict.h, struct _dictvalues: bytes before the values. */
enum { VALUES_CAPACITY = 0, VALUES_EMBEDDED = 2, VALUES_VALID = 3 };
/* Up to 3.12 values have a prefix, which depends on how many there are. */
#define PREFIX_MOST       256u
#define DEQUE_BLOCK_LIMIT (1u << 26)
#define NODE_LIMIT        (1u << 28)
enum { NODE_NEXT = 16, NODE_SIZE = 32 }; /* Objects/odictobject.c: key, hash, next, previous */
enum { SET_ENTRY = 16 };
#define OBJECT_COUNT 16u
/* A list that is being sorted says that -1 are allocated (Objects/listobject.c). */
#define LIST_MOST (UINT64_MAX >> 1)

static uint64_t word_of(struct heap_walk *walk, uint64_t offset)
{
    return heap_u64(walk->heap, walk->address + offset);
}

/* Items one after the other, as far as they can be read. */
static void walk_items(struct heap_walk *walk, psc_addr items, uint64_t count)
{
    const uint8_t *bytes = count ? heap_items_at(walk->heap, items, count, 8) : NULL;
    for (uint64_t i = 0; bytes && i < count && !walk->stopped; i++) {
        psc_addr word = load_u64(bytes + 8 * i);
        if (word)
            heap_refer(walk, word, &(struct heap_reference){.kind = HEAP_EDGE_ITEM, .number = i});
    }
}

static uint64_t weaklist_of(const struct heap_walk *walk)
{
    return walk->facts->weaklist;
}

/* ---- dicts ---- */

static void walk_entries(struct heap_walk *walk, const struct heap_keys *keys)
{
    const uint8_t *bytes =
        keys->count ? heap_items_at(walk->heap, keys->entries, keys->count, keys->entry_size)
                    : NULL;
    for (uint64_t i = 0; bytes && i < keys->count && !walk->stopped; i++) {
        const uint8_t *entry = bytes + i * keys->entry_size + (keys->entry_size - 16);
        psc_addr key = load_u64(entry);
        psc_addr value = load_u64(entry + 8);
        if (!value)
            continue;
        heap_refer(walk, key, &(struct heap_reference){.kind = HEAP_EDGE_KEY, .key = key});
        heap_refer(walk, value, &(struct heap_reference){.kind = HEAP_EDGE_VALUE, .key = key});
    }
}

static psc_addr key_at(struct heap *heap, const struct heap_keys *keys, uint64_t index)
{
    return heap_u64(heap, keys->entries + index * keys->entry_size + (keys->entry_size - 16));
}

/* Values beside the keys that they belong to. */
static void walk_values(struct heap_walk *walk, psc_addr values, psc_addr keys_address,
                        uint64_t most, enum heap_edge_kind kind)
{
    struct heap_keys keys;
    if (!heap_read_keys(walk->heap, keys_address, &keys))
        return;
    uint64_t count = keys.count < most ? keys.count : most;
    if (!heap_items_at(walk->heap, values + walk->heap->layout.values_items, count, 8))
        return;
    for (uint64_t i = 0; i < count && !walk->stopped; i++) {
        psc_addr value = heap_u64(walk->heap, values + walk->heap->layout.values_items + 8 * i);
        if (value)
            heap_refer(walk, value,
                       &(struct heap_reference){.kind = kind, .key = key_at(walk->heap, &keys, i)});
    }
}

/* The block that holds values behind a prefix. */
static void own_values(struct heap_walk *walk, psc_addr values)
{
    for (uint64_t before = 0; walk->owns && before <= PREFIX_MOST; before += 8) {
        uint32_t block = heap_block_at(walk->heap, values - before);
        if (block == HEAP_NONE)
            continue;
        if (values - before + heap_block_bytes(&walk->heap->blocks[block]) > values)
            heap_own(walk, values - before);
        return;
    }
}

static void walk_split(struct heap_walk *walk, psc_addr keys, psc_addr values)
{
    switch (walk->heap->layout.attributes) {
    case PYTHON_ATTRIBUTES_DICT:
        heap_own(walk, values);
        break;
    case PYTHON_ATTRIBUTES_VALUES:
    case PYTHON_ATTRIBUTES_TAGGED:
        own_values(walk, values);
        break;
    case PYTHON_ATTRIBUTES_INLINE:
        // They lie in the instance that this is the dict of, and are counted there.
        if (heap_u8(walk->heap, values + VALUES_EMBEDDED))
            return;
        own_values(walk, values);
        break;
    }
    walk_values(walk, values, keys, UINT64_MAX, HEAP_EDGE_VALUE);
}

static void walk_nodes(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    heap_own(walk, word_of(walk, layout->odict_nodes));
    psc_addr node = word_of(walk, layout->odict_first);
    for (uint32_t i = 0; node && i < NODE_LIMIT && !walk->stopped; i++) {
        const uint8_t *bytes = heap_at(walk->heap, node, NODE_SIZE);
        if (!bytes || heap_block_at(walk->heap, node - walk->heap->hook_size) == HEAP_NONE)
            return;
        heap_own(walk, node);
        psc_addr key = load_u64(bytes);
        heap_may_refer(walk, key, &(struct heap_reference){.kind = HEAP_EDGE_KEY, .key = key});
        psc_addr next = load_u64(bytes + NODE_NEXT);
        // A node that was met has its owner already: only a damaged list comes back to its first.
        if (next == word_of(walk, layout->odict_first))
            return;
        node = next;
    }
}

void heap_walk_dict(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    psc_addr keys = word_of(walk, layout->dict_keys);
    psc_addr values = word_of(walk, layout->dict_values);
    struct heap_keys read;
    if (values) {
        walk_split(walk, keys, values);
    } else if (heap_read_keys(walk->heap, keys, &read)) {
        heap_own_table(walk, layout->dict_keys);
        walk_entries(walk, &read);
    } else if (walk->owns && walk->lost) {
        walk->lost(walk, layout->dict_keys, keys);
    }
    if (walk->facts->kind == HEAP_KIND_ODICT)
        walk_nodes(walk);
    heap_scan(walk, layout->dict_size, walk->facts->basic_size, weaklist_of(walk));
}

void heap_walk_cached_keys(struct heap_walk *walk, psc_addr keys)
{
    struct heap_keys read;
    if (!keys || !heap_read_keys(walk->heap, keys, &read))
        return;
    heap_own(walk, keys);
    for (uint64_t i = 0; i < read.count && !walk->stopped; i++) {
        psc_addr key = key_at(walk->heap, &read, i);
        if (key)
            heap_refer(walk, key, &(struct heap_reference){.kind = HEAP_EDGE_KEY, .key = key});
    }
}

/* ---- sequences and sets ---- */

void heap_walk_list(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    psc_addr items = word_of(walk, layout->list_items);
    uint64_t count = word_of(walk, OBJECT_COUNT);
    heap_own_table(walk, layout->list_items);
    if (count <= word_of(walk, layout->list_allocated))
        walk_items(walk, items, count);
    else if (walk->owns && walk->lost && word_of(walk, layout->list_allocated) <= LIST_MOST)
        walk->lost(walk, OBJECT_COUNT, count);
    heap_scan(walk, layout->list_allocated + UINT64_C(8), walk->facts->basic_size,
              weaklist_of(walk));
}

/* Where the dict of an instance of a class derived from one of variable size is. */
static void walk_dict_behind(struct heap_walk *walk)
{
    int64_t offset = walk->facts->dict_offset;
    if (!offset || walk->facts->flags & PYTHON_TYPE_MANAGED_DICT)
        return;
    uint64_t at = (uint64_t)offset;
    if (offset < 0) {
        uint64_t needed =
            heap_needed_bytes(walk->heap, walk->address, walk->heap->objects[walk->object].type);
        if (needed == UINT64_MAX)
            return;
        at = ((needed + 7) & ~UINT64_C(7)) - (uint64_t)-offset;
    }
    heap_may_refer(walk, word_of(walk, at),
                   &(struct heap_reference){.kind = HEAP_EDGE_MEMBER, .name = "__dict__"});
}

void heap_walk_tuple(struct heap_walk *walk)
{
    walk_items(walk, walk->address + walk->heap->tuple_items, word_of(walk, OBJECT_COUNT));
}

void heap_walk_set(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    psc_addr table = word_of(walk, layout->set_table);
    uint64_t mask = word_of(walk, layout->set_mask);
    if (table != walk->address + layout->set_small)
        heap_own_table(walk, layout->set_table);
    const uint8_t *bytes =
        mask <= UINT32_MAX ? heap_at(walk->heap, table, (mask + 1) * SET_ENTRY) : NULL;
    for (uint64_t i = 0; bytes && i <= mask && !walk->stopped; i++) {
        psc_addr key = load_u64(bytes + i * SET_ENTRY);
        // One that was taken out leaves a mark with a hash of -1 (Objects/setobject.c, dummy).
        if (key && load_u64(bytes + i * SET_ENTRY + 8) != UINT64_MAX)
            heap_refer(walk, key, &(struct heap_reference){.kind = HEAP_EDGE_KEY, .key = key});
    }
    heap_scan(walk, layout->set_size, walk->facts->basic_size, weaklist_of(walk));
}

void heap_walk_deque(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    psc_addr block = word_of(walk, layout->deque_left);
    psc_addr last = word_of(walk, layout->deque_right);
    uint64_t index = word_of(walk, layout->deque_index);
    uint64_t left = word_of(walk, OBJECT_COUNT);
    uint64_t number = 0;
    for (uint32_t i = 0; block && i < DEQUE_BLOCK_LIMIT && !walk->stopped; i++) {
        const uint8_t *bytes = heap_at(walk->heap, block, layout->block_right + UINT64_C(8));
        if (!bytes || !heap_spend(walk, 1))
            break;
        heap_own(walk, block);
        for (; index < layout->deque_block && left && !walk->stopped; index++, left--) {
            psc_addr item = load_u64(bytes + layout->block_items + 8 * index);
            if (item)
                heap_refer(walk, item,
                           &(struct heap_reference){.kind = HEAP_EDGE_ITEM, .number = number});
            number++;
        }
        if (block == last || !left)
            break;
        index = 0;
        block = load_u64(bytes + layout->block_right);
    }
    heap_scan(walk, layout->deque_size, walk->facts->basic_size, weaklist_of(walk));
}

/* ---- attributes ---- */

static void refer_to_dict(struct heap_walk *walk, psc_addr dict)
{
    if (dict)
        heap_may_refer(walk, dict,
                       &(struct heap_reference){.kind = HEAP_EDGE_MEMBER, .name = "__dict__"});
}

void heap_walk_attributes(struct heap_walk *walk)
{
    struct heap *heap = walk->heap;
    const struct python_heap_layout *layout = &heap->layout;
    uint32_t type = heap->objects[walk->object].type;
    if (!(walk->facts->flags & PYTHON_TYPE_MANAGED_DICT) ||
        layout->attributes == PYTHON_ATTRIBUTES_DICT) {
        if (walk->facts->kind == HEAP_KIND_INT || walk->facts->kind == HEAP_KIND_BYTES ||
            walk->facts->kind == HEAP_KIND_TUPLE)
            walk_dict_behind(walk);
        return;
    }
    psc_addr word = heap_u64(heap, walk->address - layout->managed_dict);
    psc_addr keys = heap_cached_keys(heap, type);
    switch (layout->attributes) {
    case PYTHON_ATTRIBUTES_DICT:
        break;
    case PYTHON_ATTRIBUTES_VALUES: {
        psc_addr values = heap_u64(heap, walk->address - layout->managed_values);
        refer_to_dict(walk, word);
        if (values) {
            own_values(walk, values);
            walk_values(walk, values, keys, UINT64_MAX, HEAP_EDGE_ATTRIBUTE);
        }
        break;
    }
    case PYTHON_ATTRIBUTES_TAGGED:
        if (word & 1) {
            own_values(walk, word + 1);
            walk_values(walk, word + 1, keys, UINT64_MAX, HEAP_EDGE_ATTRIBUTE);
        } else {
            refer_to_dict(walk, word);
        }
        break;
    case PYTHON_ATTRIBUTES_INLINE: {
        psc_addr values = walk->address + walk->facts->basic_size;
        refer_to_dict(walk, word);
        if (walk->facts->flags & PYTHON_TYPE_INLINE_VALUES && heap_u8(heap, values + VALUES_VALID))
            walk_values(walk, values, keys, heap_u8(heap, values + VALUES_CAPACITY),
                        HEAP_EDGE_ATTRIBUTE);
        break;
    }
    }
}
