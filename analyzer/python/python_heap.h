/** @file What lies where in objects and in the allocator of small ones: a part of python.h, which
 * includes it last. Plain numbers, for walks over all objects; filled by python/layout/. */
#ifndef PSC_PYTHON_HEAP_H
#define PSC_PYTHON_HEAP_H

/** How an object's first word counts references (Include/object.h, refcount.h). */
enum python_refcounts {
    PYTHON_REFCOUNTS_WORD, /**< All of it. */
    PYTHON_REFCOUNTS_HALF, /**< 3.12: 32 bits, negative: immortal; the rest is 0. */
    PYTHON_REFCOUNTS_FLAGS /**< 3.14: the same, then 16 bits for an overflow, and 16 of flags. */
};

/** What stands before an object (Include/internal/pycore_object.h, _PyType_PreHeaderSize()). */
enum python_heads {
    PYTHON_HEADS_GC,      /**< The collector's head alone. */
    PYTHON_HEADS_DICT,    /**< 3.11: before it two words where its dict is managed. */
    PYTHON_HEADS_MANAGED, /**< 3.12: or its list of weak references. */
};

/** Where an instance's attributes are, see enum py_attributes of python/layout. */
enum python_attributes {
    PYTHON_ATTRIBUTES_DICT,
    PYTHON_ATTRIBUTES_VALUES,
    PYTHON_ATTRIBUTES_TAGGED,
    PYTHON_ATTRIBUTES_INLINE
};

/** Where a member is that this version does not have. */
#define PYTHON_HEAP_NONE UINT32_MAX

/** Bits of tp_flags (Include/object.h). */
enum {
    PYTHON_TYPE_INLINE_VALUES = 1 << 2,
    PYTHON_TYPE_MANAGED_WEAKREF = 1 << 3,
    PYTHON_TYPE_MANAGED_DICT = 1 << 4,
    PYTHON_TYPE_HEAP = 1 << 9,
    PYTHON_TYPE_READY = 1 << 12,
    PYTHON_TYPE_GC = 1 << 14
};
#define PYTHON_TYPE_OF_INT   (UINT64_C(1) << 24)
#define PYTHON_TYPE_OF_LIST  (UINT64_C(1) << 25)
#define PYTHON_TYPE_OF_TUPLE (UINT64_C(1) << 26)
#define PYTHON_TYPE_OF_BYTES (UINT64_C(1) << 27)
#define PYTHON_TYPE_OF_STR   (UINT64_C(1) << 28)
#define PYTHON_TYPE_OF_DICT  (UINT64_C(1) << 29)
#define PYTHON_TYPE_OF_TYPE  (UINT64_C(1) << 31)

/** The allocator's header of a pool (Objects/obmalloc.c, struct pool_header); the same everywhere.
 */
enum {
    PYTHON_POOL_COUNT = 0,
    PYTHON_POOL_FREE = 8,
    PYTHON_POOL_NEXT = 16,
    PYTHON_POOL_CLASS = 36,
    PYTHON_POOL_NEXT_OFFSET = 40,
    PYTHON_POOL_LAST_OFFSET = 44,
    PYTHON_POOL_HEADER = 48,
    PYTHON_POOL_UNIT = 16,
    PYTHON_POOL_CLASSES = 32
};
/** Its hooks for debugging (Objects/obmalloc.c, _PyMem_DebugRawAlloc()): before a block the size,
 * big-endian, which allocator it is of, and seven bytes of 0xfd. */
enum { PYTHON_HOOK_SIZE = 16, PYTHON_HOOK_LETTER = 8, PYTHON_HOOK_FILL = 0xfd };

/** numpy/ndarraytypes.h: NPY_ARRAY_OWNDATA, NPY_OBJECTLTR. */
enum { PYTHON_NDARRAY_OWNS = 4, PYTHON_DTYPE_OBJECTS = 'O', PYTHON_NDARRAY_DIMENSIONS = 64 };

/** All offsets are from the start of the struct. */
struct python_heap_layout {
    psc_addr type_type; /**< &PyType_Type */
    enum python_refcounts refcounts;
    enum python_heads heads;
    enum python_attributes attributes;
    uint64_t pool_size;
    uint64_t slot_tags; /**< Low bits of a word in a frame's slots that are no part of a pointer. */
    bool size_has_static_head; /**< sys.getsizeof() counts what no static type has before it. */
    bool int_has_digit;        /**< A zero has a digit, too. */
    bool int_tag;              /**< The number of digits is above three bits of flags. */
    uint32_t head_size;        /**< Of the collector's head: next and previous. */
    uint64_t head_flags;       /**< Low bits of its links. */
    /* From the object back. */
    uint32_t managed_dict;
    uint32_t managed_values; /**< NONE: the same word, or behind the object. */
    /* Types. */
    uint32_t type_name;
    uint32_t type_basicsize;
    uint32_t type_itemsize;
    uint32_t type_deallocate;
    uint32_t type_weaklist;
    uint32_t type_flags;
    uint32_t type_base;
    uint32_t type_dict;
    uint32_t type_dictoffset;
    uint32_t type_doc;
    uint32_t type_bases;
    uint32_t type_mro;
    uint32_t type_cache;
    uint32_t type_subclasses;
    uint32_t type_size; /**< Of a static one. */
    uint32_t heap_name; /**< Of a class: then its slots, its qualified name, its cached keys, its
                             module (3.9), a word each. */
    bool heap_module;
    /* Texts. */
    uint32_t str_state;
    uint32_t str_kind_shift;
    uint32_t str_ascii_size;
    uint32_t str_compact_size;
    uint32_t str_data;
    uint32_t str_utf8;        /**< Of one that is not ASCII: behind its length. */
    uint32_t str_wide;        /**< wstr; NONE. */
    uint32_t str_wide_length; /**< Of one that is not ASCII. */
    /* Dicts. */
    uint32_t dict_keys;
    uint32_t dict_values;
    uint32_t dict_size;
    bool keys_have_kind;       /**< 3.11: sizes as logarithms; entries of two words for str keys. */
    uint32_t keys_size;        /**< dk_size, or its logarithm. */
    uint32_t keys_index_bytes; /**< The logarithm of the bytes of the indices. */
    uint32_t keys_kind;
    uint32_t keys_usable;
    uint32_t keys_entries;
    uint32_t keys_indices;
    uint32_t values_items; /**< From values to the first. */
    /* Others. */
    uint32_t list_items;
    uint32_t list_allocated;
    uint32_t set_mask;
    uint32_t set_table;
    uint32_t set_small;
    uint32_t set_size;
    uint32_t deque_left;
    uint32_t deque_right;
    uint32_t deque_index;
    uint32_t deque_block; /**< Items of a block. */
    uint32_t deque_size;  /**< Up to what is the same in all versions. */
    uint32_t block_items;
    uint32_t block_right;
    uint32_t bytearray_allocated;
    uint32_t bytearray_bytes; /**< What holds the bytes: memory, or from 3.15 on an object. */
    uint32_t bytearray_head;  /**< Of what holds these, which counts, too. */
    uint32_t array_items;
    uint32_t array_allocated;
    uint32_t array_description; /**< Of which the item's size is behind array_item_size. */
    uint32_t array_item_size;
    uint32_t weakref_callback;
    uint32_t weakref_size;
    uint32_t memoryview_buffer;
    uint32_t odict_nodes; /**< Then how many; a word. */
    uint32_t odict_first; /**< Of the list of nodes: key, hash, next, previous. */
    uint32_t dict_used;
    uint32_t code_slot_count; /**< 3.11+: names of a function; NONE. */
    uint32_t code_stack_size;
    /* numpy's arrays. */
    uint32_t ndarray_data;
    uint32_t ndarray_dimension_count;
    uint32_t ndarray_dimensions; /**< A block of its own, with the strides. */
    uint32_t ndarray_base;
    uint32_t ndarray_dtype;
    uint32_t ndarray_flags; /**< An int, in which NDARRAY_OWNS says that data is its own. */
    uint32_t ndarray_end;   /**< Behind the list of weak references. */
    uint32_t dtype_kind;
    /* Frames and generators. */
    uint32_t frame_skip;      /**< Up to 3.10: f_gen, which is borrowed. */
    uint32_t frame_stack_end; /**< Up to 3.9: a pointer behind the last value. */
    uint32_t frame_values;    /**< Up to 3.10: a pointer to the values behind the variables; */
    uint32_t frame_depth;     /**< 3.10: how many they are, negative while it runs; NONE. */
    uint32_t frame_blocks;    /**< Up to 3.10: from here on are no references up to */
    uint32_t frame_slots;     /**< the variables. */
    uint32_t frame_inner;     /**< From 3.11 on: to the frame, which may lie in the object; */
    uint32_t frame_size;      /**< Of a frame object without it. */
    uint32_t generator_frame; /**< a generator has one at its end. */
    uint32_t inner_owned[4];  /**< What such a frame refers to and counts. */
    uint32_t inner_code;
    uint32_t inner_slots;
    uint32_t inner_slot_count; /**< How many of them are in use; NONE: */
    uint32_t inner_stack_end;  /**< a pointer behind the last. */
};

/**
 * What lies where in this interpreter.
 * @return PSC_ERR_UNSUPPORTED: objects of this version or build are not read as a whole; the
 *         sentence says why.
 */
PSC_MUST_CHECK enum psc_status python_get_heap_layout(struct python *python,
                                                      struct python_heap_layout *ret,
                                                      struct psc_error *err);

/**
 * The object that an expression on another leads to: a name is an attribute of that, "self" the
 * object itself; it may go on ("rows[-1]['name']"). Nothing in the target is called: what only its
 * code can give is PSC_ERR_UNSUPPORTED; PSC_ERR_ARGUMENT: that is no such expression.
 */
PSC_MUST_CHECK enum psc_status python_find_part(struct python *python, psc_addr object,
                                                const char *typed, psc_addr *ret,
                                                struct psc_error *err);

/** What the last python_find_part(), and the texts of values since then, cost: entries of dicts
 * that were compared, and the like. */
uint64_t python_count_steps(const struct python *python);

/** The name of what an object of a type has so far from its start, by __slots__ or the members that
 * code in C described (PyMemberDef); or false. */
bool python_add_slot_name(struct python *python, psc_addr type, uint64_t offset, struct text *text);
/** An object that a name of a frame has, or the cell of it. */
struct python_frame_object {
    const char *name; /**< As python_location's. */
    psc_addr object;
};

struct python_frame_objects {
    struct python_frame_object *items; /**< malloc'd, see python_frame_objects_deinit(). */
    size_t count;
    psc_addr end; /**< Behind the last word that the frame may use; 0: not known. */
};

/** Of a frame that stands on some stack. */
PSC_MUST_CHECK enum psc_status python_list_frame_objects(struct python *python,
                                                         const struct python_frame *frame,
                                                         struct python_frame_objects *ret);
void python_frame_objects_deinit(struct python_frame_objects *objects);

/** Adds "module.Class", or "Class" of builtins; false, and nothing added, where it is not known. */
bool python_add_type_name(struct python *python, psc_addr type, struct text *text);

#endif
