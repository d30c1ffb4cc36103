/* What an object refers to, by the layout of its type. */
#include "references.h"

#define OBJECT_HEADER 16u

static uint64_t word_of(struct heap_walk *walk, uint64_t offset)
{
    return heap_u64(walk->heap, walk->address + offset);
}

static void refer_by_name(struct heap_walk *walk, uint64_t offset, const char *name)
{
    heap_may_refer(walk, word_of(walk, offset),
                   &(struct heap_reference){.kind = HEAP_EDGE_MEMBER, .name = name});
}

static void walk_str(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    struct heap_str str = heap_read_str(walk->heap, walk->address);
    if (!str.compact) {
        heap_own(walk, word_of(walk, layout->str_data));
        heap_scan(walk, layout->str_data + UINT64_C(8), walk->facts->basic_size,
                  walk->facts->weaklist);
    }
    if (!str.compact || !str.ascii)
        heap_own(walk, word_of(walk, layout->str_utf8));
    if (layout->str_wide != PYTHON_HEAP_NONE)
        heap_own(walk, word_of(walk, layout->str_wide));
}

static void walk_bytearray(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    const uint64_t bytes = layout->bytearray_bytes;
    heap_own_table(walk, bytes);
    // From 3.15 on they lie in an object of bytes, which is a reference
    // (Objects/bytearrayobject.c).
    heap_scan(walk, bytes + (layout->bytearray_head ? 0 : 8), walk->facts->basic_size,
              walk->facts->weaklist);
}

static void walk_type(struct heap_walk *walk)
{
    struct heap *heap = walk->heap;
    const struct python_heap_layout *layout = &heap->layout;
    const struct {
        uint32_t offset;
        const char *name;
    } members[] = {{layout->type_base, "__base__"},   {layout->type_dict, "__dict__"},
                   {layout->type_bases, "__bases__"}, {layout->type_mro, "__mro__"},
                   {layout->type_cache, "tp_cache"},  {layout->type_subclasses, "tp_subclasses"}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(members); i++)
        refer_by_name(walk, members[i].offset, members[i].name);
    if (!(word_of(walk, layout->type_flags) & PYTHON_TYPE_HEAP))
        return;
    refer_by_name(walk, layout->heap_name, "__name__");
    refer_by_name(walk, layout->heap_name + UINT64_C(8), "__slots__");
    refer_by_name(walk, layout->heap_name + UINT64_C(16), "__qualname__");
    heap_walk_cached_keys(walk, word_of(walk, layout->heap_name + UINT64_C(24)));
    if (layout->heap_module)
        refer_by_name(walk, layout->heap_name + UINT64_C(32), "ht_module");
    heap_own(walk, word_of(walk, layout->type_name));
    heap_own(walk, word_of(walk, layout->type_doc));
    heap_scan(walk, heap->facts[0].basic_size, walk->facts->basic_size, walk->facts->weaklist);
}

static void walk_code(struct heap_walk *walk)
{
    heap_scan(walk, OBJECT_HEADER, walk->facts->basic_size, walk->facts->weaklist);
    heap_own_scanned(walk, OBJECT_HEADER, walk->facts->basic_size);
}

static void walk_ndarray(struct heap_walk *walk)
{
    struct heap *heap = walk->heap;
    const struct python_heap_layout *layout = &heap->layout;
    psc_addr data = word_of(walk, layout->ndarray_data);
    psc_addr dimensions = word_of(walk, layout->ndarray_dimensions);
    psc_addr dtype = word_of(walk, layout->ndarray_dtype);
    bool owns = heap_u32(heap, walk->address + layout->ndarray_flags) & PYTHON_NDARRAY_OWNS;
    uint32_t count = heap_u32(heap, walk->address + layout->ndarray_dimension_count);
    uint64_t items = 1;
    heap_own(walk, dimensions);
    refer_by_name(walk, layout->ndarray_base, ".base");
    refer_by_name(walk, layout->ndarray_dtype, ".dtype");
    if (owns)
        heap_own(walk, data);
    heap_scan(walk, layout->ndarray_end, walk->facts->basic_size, walk->facts->weaklist);
    if (!owns || heap_u8(heap, dtype + layout->dtype_kind) != PYTHON_DTYPE_OBJECTS ||
        count > PYTHON_NDARRAY_DIMENSIONS)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(items, heap_u64(heap, dimensions + 8 * (psc_addr)i), &items))
            return;
    const uint8_t *bytes = items <= UINT32_MAX ? heap_at(heap, data, items * 8) : NULL;
    for (uint64_t i = 0; bytes && i < items && !walk->stopped; i++)
        heap_may_refer(walk, load_u64(bytes + 8 * i),
                       &(struct heap_reference){.kind = HEAP_EDGE_ITEM, .number = i});
}

/* An object of a type of which nothing is known: its own bytes. */
static void walk_other(struct heap_walk *walk)
{
    const struct heap_object *object = &walk->heap->objects[walk->object];
    uint64_t end = heap_needed_bytes(walk->heap, walk->address, object->type);
    if (object->block != HEAP_NONE) {
        const struct heap_block *block = &walk->heap->blocks[object->block];
        uint64_t room = heap_block_bytes(block) - (walk->address - block->address);
        end = end < room ? end : room;
    } else if (end == UINT64_MAX) {
        end = walk->facts->basic_size;
    }
    heap_scan(walk, OBJECT_HEADER, end, walk->facts->weaklist);
    heap_own_scanned(walk, OBJECT_HEADER, walk->facts->basic_size);
}

static void walk_kind(struct heap_walk *walk)
{
    const struct python_heap_layout *layout = &walk->heap->layout;
    switch (walk->facts->kind) {
    case HEAP_KIND_DICT:
    case HEAP_KIND_ODICT:
        heap_walk_dict(walk);
        break;
    case HEAP_KIND_LIST:
        heap_walk_list(walk);
        break;
    case HEAP_KIND_TUPLE:
        heap_walk_tuple(walk);
        break;
    case HEAP_KIND_SET:
        heap_walk_set(walk);
        break;
    case HEAP_KIND_STR:
        walk_str(walk);
        break;
    case HEAP_KIND_BYTES:
    case HEAP_KIND_INT:
        break;
    case HEAP_KIND_TYPE:
        walk_type(walk);
        break;
    case HEAP_KIND_BYTEARRAY:
        walk_bytearray(walk);
        break;
    case HEAP_KIND_WEAKREF:
        refer_by_name(walk, layout->weakref_callback, "__callback__");
        heap_scan(walk, layout->weakref_size, walk->facts->basic_size, walk->facts->weaklist);
        break;
    case HEAP_KIND_DEQUE:
        heap_walk_deque(walk);
        break;
    case HEAP_KIND_CODE:
        walk_code(walk);
        break;
    case HEAP_KIND_GENERATOR:
        heap_walk_generator(walk);
        break;
    case HEAP_KIND_FRAME:
        heap_walk_frame(walk);
        break;
    case HEAP_KIND_ARRAY:
        heap_own(walk, word_of(walk, layout->array_items));
        heap_scan(walk, layout->array_description + UINT64_C(8), walk->facts->basic_size,
                  walk->facts->weaklist);
        break;
    case HEAP_KIND_NDARRAY:
        walk_ndarray(walk);
        break;
    case HEAP_KIND_MEMORYVIEW:
        refer_by_name(walk, layout->memoryview_buffer, ".obj");
        break;
    case HEAP_KIND_OTHER:
    case HEAP_KIND_FUNCTION:
    case HEAP_KIND_MODULE:
        walk_other(walk);
        break;
    }
}

void heap_walk_object(struct heap_walk *walk)
{
    struct heap *heap = walk->heap;
    const struct heap_object *object = &heap->objects[walk->object];
    walk->address = object->address;
    walk->facts = &heap->facts[object->type];
    walk->stopped = false;
    walk->owned = 0;
    // From 3.8 on an instance counts its class, where that is made at run time (bpo-35810).
    if (walk->facts->flags & PYTHON_TYPE_HEAP)
        heap_refer(walk, heap->types[object->type].address,
                   &(struct heap_reference){.kind = HEAP_EDGE_TYPE, .name = "__class__"});
    walk_kind(walk);
    if (!walk->stopped)
        heap_walk_attributes(walk);
}
