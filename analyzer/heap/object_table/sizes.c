/* How large objects are, and the tables of texts and dicts that this depends on. */
#include "object_table.h"

/* Counts above this are none. */
#define COUNT_MOST (UINT64_C(1) << 40)
/* Include/cpython/unicodeobject.h: the state of a str, from its kind on. */
enum { STATE_KIND = 7, STATE_COMPACT = 8, STATE_ASCII = 16, STATE_INTERNED = 3 };
/* Include/cpython/longintrepr.h: digits of 30 bits in 32; above three bits of flags. */
enum { DIGIT_SIZE = 4, INT_DIGITS = 24, INT_TAG_BITS = 3 };
/* Objects/dict-common.h: PyDictKeyEntry, PyDictUnicodeEntry. */
enum { ENTRY_SIZE = 24, STR_ENTRY_SIZE = 16 };
#define OBJECT_COUNT 16u /* ob_size */

struct heap_str heap_read_str(struct heap *heap, psc_addr object)
{
    uint32_t word = heap_u32(heap, object + heap->layout.str_state);
    uint32_t state = word >> heap->layout.str_kind_shift;
    return (struct heap_str){.length = heap_u64(heap, object + OBJECT_COUNT),
                             .width = state & STATE_KIND,
                             .compact = state & STATE_COMPACT,
                             .ascii = state & STATE_ASCII,
                             .interned = word & STATE_INTERNED};
}

static uint64_t str_bytes(struct heap *heap, psc_addr object, uint64_t basic_size)
{
    struct heap_str str = heap_read_str(heap, object);
    if (str.length > COUNT_MOST)
        return UINT64_MAX;
    // An instance of a derived class keeps its characters elsewhere.
    if (!str.compact)
        return basic_size;
    if (str.ascii)
        return heap->layout.str_ascii_size + str.length + 1;
    return heap->layout.str_compact_size + (str.length + 1) * str.width;
}

/* The number of items that follow the object, from which signs are taken. */
static uint64_t item_count(struct heap *heap, psc_addr object, enum heap_kind kind)
{
    int64_t count = (int64_t)heap_u64(heap, object + OBJECT_COUNT);
    if (kind == HEAP_KIND_INT && heap->layout.int_tag) {
        uint64_t digits = (uint64_t)count >> INT_TAG_BITS;
        return digits ? digits : 1;
    }
    return count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
}

uint64_t heap_needed_bytes(struct heap *heap, psc_addr object, uint32_t type)
{
    const struct heap_type_facts *facts = &heap->facts[type];
    switch (facts->kind) {
    case HEAP_KIND_STR:
        return str_bytes(heap, object, facts->basic_size);
    case HEAP_KIND_DICT:
    case HEAP_KIND_ODICT:
    case HEAP_KIND_LIST:
    case HEAP_KIND_SET:
    case HEAP_KIND_DEQUE:
    case HEAP_KIND_BYTEARRAY:
    case HEAP_KIND_GENERATOR:
    case HEAP_KIND_FRAME:
        return facts->basic_size;
    case HEAP_KIND_INT: {
        uint64_t digits = item_count(heap, object, facts->kind);
        if (digits > COUNT_MOST)
            return UINT64_MAX;
        return facts->own ? INT_DIGITS + DIGIT_SIZE * digits
                          : facts->basic_size + DIGIT_SIZE * digits;
    }
    case HEAP_KIND_TYPE:
        if (facts->item_size &&
            !(heap_u64(heap, object + heap->layout.type_flags) & PYTHON_TYPE_HEAP))
            return heap->layout.type_size;
        break;
    case HEAP_KIND_OTHER:
    case HEAP_KIND_TUPLE:
    case HEAP_KIND_BYTES:
    case HEAP_KIND_WEAKREF:
    case HEAP_KIND_CODE:
    case HEAP_KIND_ARRAY:
    case HEAP_KIND_NDARRAY:
    case HEAP_KIND_FUNCTION:
    case HEAP_KIND_MEMORYVIEW:
    case HEAP_KIND_MODULE:
        break;
    }
    if (!facts->item_size)
        return facts->basic_size;
    uint64_t count = item_count(heap, object, facts->kind);
    if (count > COUNT_MOST)
        return facts->kind == HEAP_KIND_OTHER ? facts->basic_size : UINT64_MAX;
    return facts->basic_size + count * facts->item_size;
}

bool heap_read_keys(struct heap *heap, psc_addr keys, struct heap_keys *ret)
{
    const struct python_heap_layout *layout = &heap->layout;
    uint64_t size;
    uint64_t indices;
    if (keys & 7 || !heap_at(heap, keys, layout->keys_indices + UINT64_C(8)))
        return false;
    ret->references = heap_u64(heap, keys);
    ret->count = heap_u64(heap, keys + layout->keys_entries);
    ret->entry_size = ENTRY_SIZE;
    if (layout->keys_have_kind) {
        uint8_t log_size = heap_u8(heap, keys + layout->keys_size);
        uint8_t log_bytes = heap_u8(heap, keys + layout->keys_index_bytes);
        if (log_size > 40 || log_bytes > 44)
            return false;
        size = UINT64_C(1) << log_size;
        indices = UINT64_C(1) << log_bytes;
        if (heap_u8(heap, keys + layout->keys_kind))
            ret->entry_size = STR_ENTRY_SIZE;
    } else {
        size = heap_u64(heap, keys + layout->keys_size);
        if (size > COUNT_MOST)
            return false;
        indices = size <= 0xff         ? size
                  : size <= 0xffff     ? 2 * size
                  : size <= UINT32_MAX ? 4 * size
                                       : 8 * size;
    }
    ret->usable = (size << 1) / 3; /* USABLE_FRACTION() */
    if (ret->count > ret->usable)
        return false;
    ret->entries = keys + layout->keys_indices + indices;
    ret->bytes = layout->keys_indices + indices + ret->usable * ret->entry_size;
    return true;
}

psc_addr heap_cached_keys(struct heap *heap, uint32_t type)
{
    if (!(heap->facts[type].flags & PYTHON_TYPE_HEAP))
        return 0;
    return heap_u64(heap, heap->types[type].address + heap->layout.heap_name + 24);
}
