/*
 * What sys.getsizeof() says of an object: the __sizeof__() of its type, which counts as much of
 * what it keeps elsewhere as that type's author chose, and what stands before it.
 */
#include "object_table.h"

#define OBJECT_COUNT 16u
enum { SET_ENTRY = 16, ODICT_NODE = 32, INT_DIGITS = 24 };
/* Bytes that no object has: what says so is damaged. A million of them can be summed up. */
#define SIZE_LIMIT (UINT64_C(1) << 42)

static uint64_t word_of(struct heap *heap, psc_addr object, uint64_t offset)
{
    return heap_u64(heap, object + offset);
}

/* Objects/dictobject.c, _PyDict_SizeOf() */
static uint64_t dict_size(struct heap *heap, psc_addr dict, const struct heap_type_facts *facts)
{
    const struct python_heap_layout *layout = &heap->layout;
    psc_addr address = word_of(heap, dict, layout->dict_keys);
    psc_addr values = word_of(heap, dict, layout->dict_values);
    uint64_t size = facts->basic_size;
    struct heap_keys keys;
    if (!heap_read_keys(heap, address, &keys))
        return size;
    // Also those that lie in the instance (3.13+), of which its own size does not tell.
    if (values)
        size +=
            8 * (layout->keys_have_kind ? keys.count + heap_u64(heap, address + layout->keys_usable)
                                        : keys.usable);
    return size + (keys.references == 1 ? keys.bytes : 0);
}

/* Objects/odictobject.c, odict_sizeof() */
static uint64_t odict_size(struct heap *heap, psc_addr dict, const struct heap_type_facts *facts)
{
    const struct python_heap_layout *layout = &heap->layout;
    uint64_t size = dict_size(heap, dict, facts);
    size += 8 * word_of(heap, dict, layout->odict_nodes + UINT64_C(8));
    return size + ODICT_NODE * word_of(heap, dict, layout->dict_used);
}

/* Objects/unicodeobject.c, unicode_sizeof_impl() */
static uint64_t str_size(struct heap *heap, psc_addr object)
{
    const struct python_heap_layout *layout = &heap->layout;
    struct heap_str str = heap_read_str(heap, object);
    bool plain = str.compact && str.ascii;
    psc_addr data = object + layout->str_compact_size;
    uint64_t size;
    if (plain) {
        size = layout->str_ascii_size + str.length + 1;
        data = object + layout->str_ascii_size;
    } else if (str.compact) {
        size = layout->str_compact_size + (str.length + 1) * str.width;
    } else {
        data = word_of(heap, object, layout->str_data);
        size = layout->str_data + UINT64_C(8) + (data ? (str.length + 1) * str.width : 0);
    }
    psc_addr utf8 = plain ? 0 : word_of(heap, object, layout->str_utf8);
    if (utf8 && utf8 != data)
        size += word_of(heap, object, layout->str_utf8 - UINT64_C(8)) + 1;
    psc_addr wide =
        layout->str_wide != PYTHON_HEAP_NONE ? word_of(heap, object, layout->str_wide) : 0;
    if (wide && wide != data)
        size += 4 * ((plain ? str.length : word_of(heap, object, layout->str_wide_length)) + 1);
    return size;
}

/* Objects/typeobject.c, type___sizeof___impl() */
static uint64_t type_size(struct heap *heap, psc_addr type)
{
    const struct python_heap_layout *layout = &heap->layout;
    struct heap_keys keys;
    if (!(word_of(heap, type, layout->type_flags) & PYTHON_TYPE_HEAP))
        return layout->type_size;
    psc_addr cached = word_of(heap, type, layout->heap_name + UINT64_C(24));
    return heap->facts[0].basic_size +
           (cached && heap_read_keys(heap, cached, &keys) ? keys.bytes : 0);
}

/* Modules/_collectionsmodule.c, deque___sizeof___impl() */
static uint64_t deque_size(struct heap *heap, psc_addr deque, const struct heap_type_facts *facts)
{
    const struct python_heap_layout *layout = &heap->layout;
    uint64_t used = word_of(heap, deque, layout->deque_index) + word_of(heap, deque, OBJECT_COUNT);
    uint64_t blocks = (used + layout->deque_block - 1) / layout->deque_block;
    return facts->basic_size + blocks * (layout->block_right + UINT64_C(8));
}

/* Objects/genobject.c, gen_sizeof(), Objects/frameobject.c, frame_sizeof(), of 3.11 and later. */
static uint64_t frame_size(struct heap *heap, psc_addr object, const struct heap_type_facts *facts)
{
    const struct python_heap_layout *layout = &heap->layout;
    if (layout->inner_slots == PYTHON_HEAP_NONE)
        return facts->basic_size + facts->item_size * word_of(heap, object, OBJECT_COUNT);
    psc_addr frame = facts->kind == HEAP_KIND_GENERATOR
                         ? object + facts->basic_size - layout->inner_slots
                         : word_of(heap, object, layout->frame_inner);
    psc_addr code = word_of(heap, frame, layout->inner_code) & ~layout->slot_tags;
    if (!heap_at(heap, code, layout->code_slot_count + UINT64_C(4)))
        return facts->basic_size;
    return facts->basic_size + 8 * (heap_u32(heap, code + layout->code_slot_count) +
                                    (uint64_t)heap_u32(heap, code + layout->code_stack_size));
}

/* numpy, array_sizeof(): its own data, and its dimensions and strides. */
static uint64_t ndarray_size(struct heap *heap, psc_addr array, const struct heap_type_facts *facts)
{
    const struct python_heap_layout *layout = &heap->layout;
    uint32_t count = heap_u32(heap, array + layout->ndarray_dimension_count);
    psc_addr dimensions = word_of(heap, array, layout->ndarray_dimensions);
    uint64_t data = 0;
    if (count > PYTHON_NDARRAY_DIMENSIONS)
        return facts->basic_size;
    // An array that owns its data has all of it in one piece: its largest step tells how much.
    for (uint32_t i = 0; i < count; i++) {
        uint64_t all = heap_u64(heap, dimensions + 8 * (psc_addr)i) *
                       heap_u64(heap, dimensions + 8 * ((psc_addr)count + i));
        data = all > data && all < UINT64_C(1) << 60 ? all : data;
    }
    bool owns = heap_u32(heap, array + layout->ndarray_flags) & PYTHON_NDARRAY_OWNS;
    return facts->basic_size + 16 * (uint64_t)count + (owns ? data : 0);
}

/* Modules/arraymodule.c, array_array___sizeof___impl(); what describes items is constant. */
static uint64_t array_bytes(struct heap *heap, psc_addr array)
{
    const struct python_heap_layout *layout = &heap->layout;
    uint32_t item = 0;
    if (target_read_u32(heap->target,
                        word_of(heap, array, layout->array_description) + layout->array_item_size,
                        &item) != PSC_OK)
        return 0;
    return word_of(heap, array, layout->array_allocated) * item;
}

/* Objects/longobject.c, int___sizeof___impl(): what lies before the digits, from 3.12 on of the
 * type. */
static uint64_t int_size(struct heap *heap, const struct heap_object *object)
{
    const struct heap_type_facts *facts = &heap->facts[object->type];
    uint64_t needed = heap_needed_bytes(heap, object->address, object->type);
    if (needed == UINT64_MAX)
        return facts->basic_size;
    if (heap->layout.int_tag)
        return needed;
    uint64_t digits = (needed - (facts->own ? INT_DIGITS : facts->basic_size)) / 4;
    return INT_DIGITS + 4 * (digits || !heap->layout.int_has_digit ? digits : 1);
}

static uint64_t bytearray_size(struct heap *heap, psc_addr bytearray)
{
    uint64_t allocated = word_of(heap, bytearray, heap->layout.bytearray_allocated);
    return allocated ? allocated + heap->layout.bytearray_head : 0;
}

static uint64_t own_size(struct heap *heap, const struct heap_object *object)
{
    const struct python_heap_layout *layout = &heap->layout;
    const struct heap_type_facts *facts = &heap->facts[object->type];
    psc_addr at = object->address;
    switch (facts->kind) {
    case HEAP_KIND_DICT:
        return dict_size(heap, at, facts);
    case HEAP_KIND_ODICT:
        return odict_size(heap, at, facts);
    case HEAP_KIND_LIST:
        return facts->basic_size + 8 * word_of(heap, at, layout->list_allocated);
    case HEAP_KIND_SET:
        return facts->basic_size + (word_of(heap, at, layout->set_table) == at + layout->set_small
                                        ? 0
                                        : SET_ENTRY * (word_of(heap, at, layout->set_mask) + 1));
    case HEAP_KIND_STR:
        return str_size(heap, at);
    case HEAP_KIND_BYTEARRAY:
        return facts->basic_size + bytearray_size(heap, at);
    case HEAP_KIND_TYPE:
        return type_size(heap, at);
    case HEAP_KIND_INT:
        return int_size(heap, object);
    case HEAP_KIND_DEQUE:
        return deque_size(heap, at, facts);
    case HEAP_KIND_GENERATOR:
    case HEAP_KIND_FRAME:
        return frame_size(heap, at, facts);
    case HEAP_KIND_ARRAY:
        return facts->basic_size + array_bytes(heap, at);
    case HEAP_KIND_NDARRAY:
        return ndarray_size(heap, at, facts);
    case HEAP_KIND_CODE:
        return (heap_needed_bytes(heap, at, object->type) + 7) & ~UINT64_C(7);
    case HEAP_KIND_OTHER:
    case HEAP_KIND_TUPLE:
    case HEAP_KIND_BYTES:
    case HEAP_KIND_WEAKREF:
    case HEAP_KIND_FUNCTION:
    case HEAP_KIND_MEMORYVIEW:
    case HEAP_KIND_MODULE:
        break;
    }
    uint64_t needed = heap_needed_bytes(heap, at, object->type);
    return needed == UINT64_MAX ? facts->basic_size : needed;
}

static uint64_t size_or_least(uint64_t size, const struct heap_type_facts *facts)
{
    if (size < SIZE_LIMIT)
        return size;
    return facts->basic_size < SIZE_LIMIT ? facts->basic_size : 0;
}

uint64_t heap_object_size(struct heap *heap, uint32_t index)
{
    const struct heap_object *object = &heap->objects[index];
    const struct heap_type_facts *facts = &heap->facts[object->type];
    uint64_t head = facts->head;
    // The collector tracks no static type (type_is_gc()).
    if (!heap->layout.size_has_static_head && facts->kind == HEAP_KIND_TYPE &&
        !(heap_u64(heap, object->address + heap->layout.type_flags) & PYTHON_TYPE_HEAP))
        head = 0;
    return size_or_least(own_size(heap, object), facts) + head;
}

uint64_t heap_object_bytes(struct heap *heap, uint32_t index)
{
    const struct heap_object *object = &heap->objects[index];
    if (object->block != HEAP_NONE)
        return heap_block_bytes(&heap->blocks[object->block]);
    return size_or_least(heap_needed_bytes(heap, object->address, object->type),
                         &heap->facts[object->type]);
}
