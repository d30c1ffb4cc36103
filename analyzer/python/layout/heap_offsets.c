/* What walks over all objects need to know of a version. */
#include "layout.h"

/* Objects/obmalloc.c, POOL_BITS: 4 KiB up to 3.9, 16 KiB with the radix tree of 3.10 and later. */
#define POOL_SMALL 4096u
#define POOL_LARGE 16384u
/* sizeof(PyTypeObject) of 3.9 to 3.11. */
#define TYPE_SIZE 408u

/* Behind a version's first release these have not changed in 3.8 to 3.15. */
enum {
    /* Include/cpython/object.h, struct _typeobject */
    TYPE_DEALLOCATE = 48,
    TYPE_DOC = 176,
    TYPE_WEAKLIST = 208,
    TYPE_BASES = 336,
    TYPE_CACHE = 352,
    TYPE_SUBCLASSES = 360,
    /* Include/setobject.h, PySetObject: eight entries in the object, the list of weak references.
     */
    SET_SMALL = 64,
    SET_SIZE = 200,
    /* Modules/_collectionsmodule.c, dequeobject: rightblock, and up to the weak references. */
    DEQUE_RIGHT = 32,
    DEQUE_SIZE = 72,
    /* Include/cpython/bytearrayobject.h, Modules/arraymodule.c */
    BYTEARRAY_ALLOCATED = 24,
    BYTEARRAY_BYTES = 32,
    BYTEARRAY_OBJECT = 56, /* 3.15 */
    BYTES_SIZE = 33,
    ARRAY_ALLOCATED = 32,
    /* Include/cpython/weakrefobject.h: wr_callback; up to the vectorcall of 3.11. */
    WEAKREF_CALLBACK = 24,
    WEAKREF_SIZE = 56,
    /* Include/cpython/memoryobject.h: mbuf */
    MEMORYVIEW_BUFFER = 24,
    /* Objects/odictobject.c, struct _odictobject: od_first, od_last, od_fast_nodes, their number.
     */
    ODICT_FIRST = 48,
    ODICT_NODES = 64,
    DICT_SIZE = 48,
    /* Include/internal/pycore_dict.h: dk_usable lies before dk_nentries. */
    KEYS_USABLE_BEFORE = 8,
    /* Include/cpython/object.h, struct _heaptypeobject: ht_name, ht_slots, ht_qualname, the keys.
     */
    NAME_BEFORE_QUALNAME = 16,
    /* Include/internal/pycore_frame.h, struct _frame: f_back, f_frame, f_trace, ... */
    FRAME_OBJECT_SIZE = 56,
    UNICODE_UTF8 = 8
};

static void set_attributes(const struct py_layout *layout, struct python_heap_layout *ret)
{
    ret->managed_dict = (uint32_t)-layout->managed_dict;
    ret->managed_values = PYTHON_HEAP_NONE;
    ret->pool_size = POOL_LARGE;
    switch (layout->rules->attributes) {
    case PY_ATTRIBUTES_DICT:
        ret->attributes = PYTHON_ATTRIBUTES_DICT;
        ret->heads = PYTHON_HEADS_GC;
        break;
    case PY_ATTRIBUTES_VALUES_POINTER:
        ret->attributes = PYTHON_ATTRIBUTES_VALUES;
        ret->heads = PYTHON_HEADS_DICT;
        ret->managed_values = ret->managed_dict + PY_VALUES_BEFORE_DICT;
        break;
    case PY_ATTRIBUTES_TAGGED_POINTER:
        ret->attributes = PYTHON_ATTRIBUTES_TAGGED;
        ret->heads = PYTHON_HEADS_MANAGED;
        break;
    case PY_ATTRIBUTES_INLINE:
        ret->attributes = PYTHON_ATTRIBUTES_INLINE;
        ret->heads = PYTHON_HEADS_MANAGED;
        break;
    }
}

/* Up to 3.9 pools are small; what else came with 3.9 is the module of a class (bpo-38787). */
static void set_version(const struct py_rules *rules, struct python_heap_layout *ret)
{
    if (rules->minor < 10)
        ret->pool_size = POOL_SMALL;
    ret->heap_module = rules->minor >= 9;
    /* 3.8 still has tp_print, 3.12 has tp_watched and tp_versions_used. */
    ret->type_size = rules->minor == 8 || rules->minor >= 12 ? TYPE_SIZE + 8 : TYPE_SIZE;
    if (rules->minor >= 15)
        ret->type_size = TYPE_SIZE + 16;
    /* 3.15: the memory of a bytearray is a bytes object (Objects/bytearrayobject.c). */
    ret->bytearray_head = rules->minor >= 15 ? BYTES_SIZE : 0;
    /* Python/sysmodule.c, _PySys_GetSizeOf(); Objects/longobject.c, int___sizeof___impl(). */
    ret->size_has_static_head = rules->minor == 11 || rules->minor == 12;
    ret->int_has_digit = rules->minor >= 11;
    ret->refcounts = PYTHON_REFCOUNTS_WORD;
    if (rules->minor >= 12)
        ret->refcounts = rules->minor < 14 ? PYTHON_REFCOUNTS_HALF : PYTHON_REFCOUNTS_FLAGS;
    ret->slot_tags = rules->minor >= 14 ? 3 : 0;
}

static void set_texts_and_dicts(const struct py_layout *layout, struct python_heap_layout *ret)
{
    const uint32_t *offset = layout->offset;
    ret->str_state = offset[PY_STR_STATE];
    ret->str_kind_shift = layout->string_kind_shift;
    ret->str_ascii_size = offset[PY_STR_ASCII_SIZE];
    ret->str_compact_size = offset[PY_STR_COMPACT_SIZE];
    ret->str_data = offset[PY_STR_DATA];
    ret->str_utf8 = offset[PY_STR_ASCII_SIZE] + UNICODE_UTF8;
    ret->str_wide = offset[PY_STR_WSTR];
    ret->str_wide_length = offset[PY_STR_WSTR_LENGTH];
    ret->int_tag = layout->rules->ints == PY_INTS_TAG;
    ret->dict_keys = offset[PY_DICT_KEYS];
    ret->dict_values = offset[PY_DICT_VALUES];
    ret->dict_size = DICT_SIZE;
    ret->keys_have_kind = layout->rules->dicts == PY_DICTS_KINDS;
    /* dk_log2_size is the first of the bytes of which dk_log2_index_bytes is the second. */
    ret->keys_size =
        ret->keys_have_kind ? offset[PY_KEYS_LOG2_INDEX_BYTES] - 1 : offset[PY_KEYS_SIZE];
    ret->keys_index_bytes = offset[PY_KEYS_LOG2_INDEX_BYTES];
    ret->keys_kind = offset[PY_KEYS_KIND];
    ret->keys_entries = offset[PY_KEYS_ENTRIES];
    ret->keys_usable = offset[PY_KEYS_ENTRIES] - KEYS_USABLE_BEFORE;
    ret->keys_indices = offset[PY_KEYS_INDICES];
    ret->values_items = offset[PY_VALUES_ITEMS];
}

static void set_types(const uint32_t *offset, struct python_heap_layout *ret)
{
    ret->type_name = offset[PY_TYPE_NAME];
    ret->type_basicsize = offset[PY_TYPE_BASICSIZE];
    ret->type_itemsize = offset[PY_TYPE_ITEMSIZE];
    ret->type_deallocate = TYPE_DEALLOCATE;
    ret->type_weaklist = TYPE_WEAKLIST;
    ret->type_flags = offset[PY_TYPE_FLAGS];
    ret->type_base = offset[PY_TYPE_BASE];
    ret->type_dict = offset[PY_TYPE_DICT];
    ret->type_dictoffset = offset[PY_TYPE_DICTOFFSET];
    ret->type_doc = TYPE_DOC;
    ret->type_bases = TYPE_BASES;
    ret->type_mro = offset[PY_TYPE_MRO];
    ret->type_cache = TYPE_CACHE;
    ret->type_subclasses = TYPE_SUBCLASSES;
    ret->heap_name = offset[PY_TYPE_QUALNAME] - NAME_BEFORE_QUALNAME;
}

static void set_containers(const struct py_layout *layout, struct python_heap_layout *ret)
{
    const uint32_t *offset = layout->offset;
    ret->list_items = offset[PY_LIST_ITEMS];
    ret->list_allocated = offset[PY_LIST_ALLOCATED];
    ret->set_mask = offset[PY_SET_MASK];
    ret->set_table = offset[PY_SET_TABLE];
    ret->set_small = SET_SMALL;
    ret->set_size = SET_SIZE;
    ret->deque_left = offset[PY_DEQUE_BLOCK];
    ret->deque_right = DEQUE_RIGHT;
    ret->deque_index = offset[PY_DEQUE_INDEX];
    ret->deque_block = layout->rules->deque_block;
    ret->deque_size = DEQUE_SIZE;
    ret->block_items = offset[PY_BLOCK_DATA];
    ret->block_right = offset[PY_BLOCK_RIGHT];
    ret->bytearray_allocated = BYTEARRAY_ALLOCATED;
    ret->bytearray_bytes = ret->bytearray_head ? BYTEARRAY_OBJECT : BYTEARRAY_BYTES;
    ret->array_items = offset[PY_ARRAY_ITEMS];
    ret->array_allocated = ARRAY_ALLOCATED;
    ret->array_description = offset[PY_ARRAY_DESCR];
    ret->array_item_size = offset[PY_ARRAYDESCR_SIZE];
    ret->weakref_callback = WEAKREF_CALLBACK;
    ret->weakref_size = WEAKREF_SIZE;
    ret->memoryview_buffer = MEMORYVIEW_BUFFER;
    ret->dict_used = offset[PY_DICT_USED];
    ret->code_slot_count = offset[PY_CODE_SLOT_COUNT];
    ret->code_stack_size = offset[PY_CODE_STACKSIZE];
    ret->odict_nodes = ODICT_NODES;
    ret->odict_first = ODICT_FIRST;
}

static void set_arrays_of_numpy(struct python_heap_layout *ret)
{
    const uint32_t header = PY_HEADER_PLAIN;
    ret->ndarray_data = header + NUMPY_ARRAY_DATA;
    ret->ndarray_dimension_count = header + NUMPY_ARRAY_DIMENSION_COUNT;
    ret->ndarray_dimensions = header + NUMPY_ARRAY_DIMENSIONS;
    ret->ndarray_base = header + NUMPY_ARRAY_DTYPE - 8;
    ret->ndarray_dtype = header + NUMPY_ARRAY_DTYPE;
    ret->ndarray_flags = header + NUMPY_ARRAY_DTYPE + 8;
    ret->ndarray_end = header + NUMPY_ARRAY_DTYPE + 24;
    ret->dtype_kind = header + NUMPY_DTYPE_KIND;
}

static void set_frames(const uint32_t *offset, struct python_heap_layout *ret)
{
    ret->frame_skip = offset[PY_FRAMEOBJ_GEN];
    ret->frame_stack_end = offset[PY_FRAMEOBJ_STACKTOP];
    ret->frame_values = offset[PY_FRAMEOBJ_VALUES];
    ret->frame_depth = offset[PY_FRAMEOBJ_STACKDEPTH];
    ret->frame_blocks = offset[PY_FRAMEOBJ_BLOCKS];
    ret->frame_slots = offset[PY_FRAMEOBJ_LOCALSPLUS];
    ret->frame_inner = offset[PY_FRAMEOBJ_FRAME];
    ret->frame_size = FRAME_OBJECT_SIZE;
    ret->generator_frame = offset[PY_GEN_IFRAME];
    /* The function lies first in 3.11, behind the code and the previous frame later. */
    ret->inner_owned[0] = offset[PY_FRAME_CODE];
    ret->inner_owned[1] = offset[PY_FRAME_CODE] ? 0 : 16;
    ret->inner_owned[2] = offset[PY_FRAME_LOCALS];
    ret->inner_owned[3] = offset[PY_FRAME_OBJECT];
    ret->inner_code = offset[PY_FRAME_CODE];
    ret->inner_slots = offset[PY_FRAME_LOCALSPLUS];
    ret->inner_slot_count = offset[PY_FRAME_STACKTOP];
    ret->inner_stack_end = offset[PY_FRAME_STACKPOINTER];
}

bool layout_of_heap(const struct py_layout *layout, struct python_heap_layout *ret)
{
    const uint32_t *offset = layout->offset;
    const struct py_rules *rules = layout->rules;
    if (rules->major != 3 || rules->minor < 8 || offset[PY_OBJECT_SIZE] != PY_HEADER_PLAIN)
        return false;
    *ret = (struct python_heap_layout){
        .head_size = offset[PY_GC_HEAD_SIZE],
        .head_flags = PY_GC_LINK_FLAGS,
    };
    set_attributes(layout, ret);
    set_version(rules, ret);
    set_types(offset, ret);
    set_texts_and_dicts(layout, ret);
    set_containers(layout, ret);
    set_arrays_of_numpy(ret);
    set_frames(offset, ret);
    return true;
}
