/* What len() says of objects, and the characters of texts. */
#include "object_table.h"

#define OBJECT_COUNT 16u
#define COUNT_MOST   (UINT64_C(1) << 40)

static bool is_container(enum heap_kind kind)
{
    switch (kind) {
    case HEAP_KIND_DICT:
    case HEAP_KIND_ODICT:
    case HEAP_KIND_LIST:
    case HEAP_KIND_TUPLE:
    case HEAP_KIND_SET:
    case HEAP_KIND_DEQUE:
        return true;
    case HEAP_KIND_OTHER:
    case HEAP_KIND_STR:
    case HEAP_KIND_BYTES:
    case HEAP_KIND_INT:
    case HEAP_KIND_TYPE:
    case HEAP_KIND_BYTEARRAY:
    case HEAP_KIND_WEAKREF:
    case HEAP_KIND_CODE:
    case HEAP_KIND_GENERATOR:
    case HEAP_KIND_FRAME:
    case HEAP_KIND_ARRAY:
    case HEAP_KIND_NDARRAY:
    case HEAP_KIND_FUNCTION:
    case HEAP_KIND_MEMORYVIEW:
    case HEAP_KIND_MODULE:
        return false;
    }
    return false;
}

bool heap_object_is_container(const struct heap *heap, uint32_t object)
{
    return is_container(heap->facts[heap->objects[object].type].kind);
}

bool heap_object_length(struct heap *heap, uint32_t object, uint64_t *ret)
{
    const struct python_heap_layout *layout = &heap->layout;
    psc_addr address = heap->objects[object].address;
    enum heap_kind kind = heap->facts[heap->objects[object].type].kind;
    uint64_t offset = OBJECT_COUNT;
    if (kind == HEAP_KIND_DICT || kind == HEAP_KIND_ODICT)
        offset = layout->dict_used;
    else if (kind == HEAP_KIND_SET)
        offset = layout->set_mask - UINT64_C(8); /* `used` stands before the mask. */
    else if (kind == HEAP_KIND_NDARRAY) {
        if (!heap_u32(heap, address + layout->ndarray_dimension_count))
            return false;
        address = heap_u64(heap, address + layout->ndarray_dimensions);
        offset = 0;
    } else if (!is_container(kind) && kind != HEAP_KIND_STR && kind != HEAP_KIND_BYTES &&
               kind != HEAP_KIND_BYTEARRAY && kind != HEAP_KIND_ARRAY) {
        return false;
    }
    *ret = heap_u64(heap, address + offset);
    return *ret <= COUNT_MOST;
}

const uint8_t *heap_object_text(struct heap *heap, uint32_t object, uint64_t *ret_size)
{
    const struct python_heap_layout *layout = &heap->layout;
    psc_addr address = heap->objects[object].address;
    if (heap->facts[heap->objects[object].type].kind != HEAP_KIND_STR)
        return NULL;
    struct heap_str str = heap_read_str(heap, address);
    if (!str.compact || str.length > COUNT_MOST)
        return NULL;
    *ret_size = str.length * str.width;
    return heap_at(heap, address + (str.ascii ? layout->str_ascii_size : layout->str_compact_size),
                   *ret_size);
}
