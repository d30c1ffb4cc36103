/**
 * @file
 * Room `heap/object_table`: the types of a process, which blocks are objects of them, and how large
 * these are.
 *
 * To add a type whose layout is known: its kind here, its name in type_kinds.c, its size in
 * sizes.c, its references in heap/references.
 */
#ifndef PSC_OBJECT_TABLE_H
#define PSC_OBJECT_TABLE_H

#include "heap_memory.h"

/** How objects are laid out. */
enum heap_kind {
    HEAP_KIND_OTHER,
    HEAP_KIND_DICT,
    HEAP_KIND_ODICT,
    HEAP_KIND_LIST,
    HEAP_KIND_TUPLE,
    HEAP_KIND_SET,
    HEAP_KIND_STR,
    HEAP_KIND_BYTES,
    HEAP_KIND_INT,
    HEAP_KIND_TYPE,
    HEAP_KIND_BYTEARRAY,
    HEAP_KIND_WEAKREF,
    HEAP_KIND_DEQUE,
    HEAP_KIND_CODE,
    HEAP_KIND_GENERATOR,
    HEAP_KIND_FRAME,
    HEAP_KIND_ARRAY,
    HEAP_KIND_NDARRAY,
    HEAP_KIND_FUNCTION,
    HEAP_KIND_MEMORYVIEW,
    HEAP_KIND_MODULE
};

/** What the rooms inside know of a type. */
struct heap_type_facts {
    uint64_t basic_size;
    uint64_t item_size;
    uint64_t flags;
    uint64_t weaklist;   /**< From the object's start; 0: none, or not there. */
    int64_t dict_offset; /**< 0: none. */
    uint32_t base;       /**< Index; HEAP_NONE. */
    uint32_t cut;        /**< Bytes at the end that an object may be without. */
    uint32_t head;       /**< Bytes before an object. */
    uint32_t leading;    /**< So many words behind its header are references or 0: see exact. */
    uint64_t slots_from; /**< From here on are the values of __slots__; UINT64_MAX: it has none. */
    enum heap_kind kind;
    bool exact; /**< All that its objects refer to is known by layout. */
    bool own;   /**< It is the kind's type itself, not one derived from it. */
};

/** Fills heap->types and facts; PSC_ERR_NOT_FOUND when `type` itself is not one. */
PSC_MUST_CHECK enum psc_status heap_types_find(struct heap *heap);
/** Sets kind and exact of all types, by their names and bases. */
void heap_types_set_kinds(struct heap *heap);
/** Names of the types that have objects. */
PSC_MUST_CHECK enum psc_status heap_types_name(struct heap *heap);
void heap_types_destroy(struct heap *heap);

/** The type of what may be an object, by the word in the place of it; HEAP_NONE. */
uint32_t heap_type_of(struct heap *heap, psc_addr object);

/** Fills heap->objects with those in blocks. */
PSC_MUST_CHECK enum psc_status heap_objects_find(struct heap *heap);
/** The object there, in a block or in a module's data, where it is added; HEAP_NONE. */
uint32_t heap_object_reached(struct heap *heap, psc_addr address);
/** Adds the types that lie in modules' data. False: out of memory. */
PSC_MUST_CHECK bool heap_objects_add_types(struct heap *heap);

/**
 * Bytes of the object itself, from its address on, by its type and its own counts; UINT64_MAX: they
 * cannot be right.
 */
uint64_t heap_needed_bytes(struct heap *heap, psc_addr object, uint32_t type);
/** The layout of a str. */
struct heap_str {
    uint64_t length;
    uint32_t width; /**< 1, 2 or 4; 0 of one that is not ready (up to 3.11). */
    bool compact;
    bool ascii;
    uint32_t interned;
};
struct heap_str heap_read_str(struct heap *heap, psc_addr object);

/** The tables of a dict's keys. */
struct heap_keys {
    psc_addr entries;
    uint64_t count;      /**< Entries in use, with those taken out. */
    uint64_t usable;     /**< Entries that there is room for. */
    uint64_t bytes;      /**< Of the whole. */
    uint32_t entry_size; /**< 24, or 16 where all keys are str. */
    uint64_t references; /**< Its own count of references. */
};
/** False: no keys are there, or they cannot be right. */
bool heap_read_keys(struct heap *heap, psc_addr keys, struct heap_keys *ret);
/** The keys that the instances of a class share; 0. */
psc_addr heap_cached_keys(struct heap *heap, uint32_t type);

#endif
