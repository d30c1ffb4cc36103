/**
 * @file
 * Room `heap`: all objects of a CPython process, the memory that they and others occupy, and what
 * refers to what: from memory alone, without symbols, the collector's lists, or a call in the
 * process.
 *
 * What is found is plain data, sorted by address. Where the blocks of memory are is proved by the
 * allocators' own bookkeeping (blocks/), which of them is an object by its type (objects/), what it
 * refers to by the layout of its type, and else by the words in it (references/). The version's
 * facts come from python.h; every walk is bounded and iterative, and a damaged place costs itself
 * alone, and is noted.
 */
#ifndef PSC_HEAP_H
#define PSC_HEAP_H

#include "python.h"

/** In place of an index: there is none. */
#define HEAP_NONE UINT32_MAX
/** Blocks, objects and references that are taken; more are left out, with a warning. */
#define HEAP_BLOCK_LIMIT     1073741824u
#define HEAP_OBJECT_LIMIT    536870912u
#define HEAP_REFERENCE_LIMIT (UINT32_C(0xfffffff0))
#define HEAP_TYPE_LIMIT      4194304u
#define HEAP_DAMAGE_LIMIT    10000u /**< Noted; the rest is counted. */
/** How often a word of memory is looked at as a reference, on the average: most have one owner. */
#define HEAP_LOOK_LIMIT 4u

/** Whose bookkeeping a block is in. */
enum heap_layer {
    HEAP_PYMALLOC, /**< CPython's own, for up to 512 bytes (Objects/obmalloc.c). */
    HEAP_GLIBC,    /**< A chunk of an arena of malloc() (glibc, malloc/malloc.c). */
    HEAP_MAPPED    /**< A chunk of malloc() with a mapping of its own. */
};

enum heap_use {
    HEAP_UNOWNED, /**< In use, by nobody that is known: C libraries, the interpreter. */
    HEAP_OBJECT,
    HEAP_BUFFER, /**< What an object keeps outside of itself: keys of a dict, items of a list. */
    HEAP_DEAD    /**< A dead object that the interpreter keeps to be used again. */
};

/** Memory that an allocator gave away. What is free is no block. */
struct heap_block {
    psc_addr address;
    uint32_t units; /**< 16 bytes each, with what the allocator itself needs; at most 64 GiB. */
    uint32_t owner; /**< Index of the object that it is, or that keeps it; HEAP_NONE. */
};

enum {
    HEAP_FLAG_GC = 1,       /**< Of a type with a collector's head. */
    HEAP_FLAG_TRACKED = 2,  /**< It is in one of the collector's lists. */
    HEAP_FLAG_IMMORTAL = 4, /**< Its count of references means nothing (3.12+). */
    HEAP_FLAG_STATIC = 8,   /**< In a module's data, not in a block. */
    /** A str that is interned, and not for good: two of the references of the table of those do not
     * count, so that two more than refcount may be found. */
    HEAP_FLAG_INTERNED = 32,
    HEAP_FLAG_EXACT = 16 /**< Its references are known by layout, not by what its words lead to. */
};

struct heap_object {
    psc_addr address;
    uint32_t owned_units; /**< See heap_owned_bytes(). */
    uint32_t block;       /**< HEAP_NONE: static. */
    uint32_t refcount;    /**< UINT32_MAX: more than that, or immortal. */
    uint32_t type : 24;   /**< Index in types. */
    uint32_t flags : 8;
};
_Static_assert(HEAP_TYPE_LIMIT <= 1 << 24, "types are counted in 24 bits");

struct heap_type {
    psc_addr address;
    const char *name; /**< "module.Class"; "Class" of builtins. */
    uint64_t count;
    uint64_t bytes;    /**< sys.getsizeof() of all of them, as this version has it. */
    uint64_t occupied; /**< Of their own blocks; of static ones what the object itself has. */
    uint64_t owned;    /**< Of the blocks that they keep besides. */
    uint32_t object;   /**< The type itself among the objects, or HEAP_NONE. */
};

/** What was seen to be wrong while walking. */
enum heap_damage_kind {
    HEAP_DAMAGE_POOL,     /**< The free list of a pool is broken, or its count wrong. */
    HEAP_DAMAGE_CHUNK,    /**< A chunk's header; `value` is the size that stands there. */
    HEAP_DAMAGE_TCACHE,   /**< A list of free chunks leads elsewhere. */
    HEAP_DAMAGE_DANGLING, /**< `object` refers to `value`, where no object is. */
    HEAP_DAMAGE_TABLE     /**< The word of `object` at `address`, which leads to its table. */
};

struct heap_damage {
    enum heap_damage_kind kind;
    uint32_t object;  /**< Whose; HEAP_NONE. */
    psc_addr address; /**< Of the pool, chunk, word or object that is wrong. */
    uint64_t value;   /**< What stands there. */
    uint64_t resumed; /**< Where the walk went on; 0. */
};

/** Memory that may be written, where the target has bytes of it. */
struct heap_range {
    psc_addr start;
    psc_addr end;
    const uint8_t *bytes;
    psc_addr readable; /**< How far bytes follow, in the next ranges too: a type may lie in both. */
    const struct target_file *file; /**< Mapped there; NULL. */
    /** Data of a module: of its file, or the memory without a file right behind it. */
    bool module;
    bool arena;      /**< An arena or the main heap of malloc() lies there. */
    uint64_t *bits;  /**< For 16 bytes each, whether a block begins there; NULL. */
    uint32_t *ranks; /**< For each word of bits: the blocks before it. */
};

/** Memory that an allocator has from the kernel: an arena, a chunk with a mapping of its own. */
struct heap_extent {
    psc_addr start;
    psc_addr end;
};

#define HEAP_SIZE_CLASSES 32u

/** As sys._debugmallocstats() counts. */
struct heap_pymalloc {
    uint64_t pools;
    uint64_t pool_size;
    uint64_t used;      /**< Bytes in blocks in use. */
    uint64_t available; /**< In free blocks of pools in use. */
    uint64_t headers;   /**< Lost to pool headers. */
    uint64_t quantization;
    uint64_t damaged;   /**< Pools whose bookkeeping is wrong: their blocks are taken as in use. */
    uint64_t arenas;    /**< 0: their table was not found, and the next two are not known. */
    uint64_t unused;    /**< Bytes of arenas that are no pool now. */
    uint64_t alignment; /**< Bytes of arenas that can be none. */
    struct {
        uint64_t pools;
        uint64_t used; /**< Blocks. */
        uint64_t available;
    } classes[HEAP_SIZE_CLASSES]; /**< Of 16, 32, ... bytes. */
};

/** As mallinfo2() counts. */
struct heap_glibc {
    uint64_t arenas;
    uint64_t arena_bytes; /**< arena */
    uint64_t used;        /**< uordblks, without what lies in a tcache or fastbin */
    uint64_t chunks;      /**< In use. */
    uint64_t kept;        /**< Of tcache and fastbins. */
    uint64_t kept_fast;   /**< Of these, of fastbins, which mallinfo2() counts as free. */
    uint64_t free;        /**< fordblks, without those, with the top */
    uint64_t mapped;      /**< hblks */
    uint64_t mapped_bytes;
    uint64_t damaged; /**< Headers. */
};

/** A part of the memory that the process has mapped; all parts sum to that. */
struct heap_part {
    const char *name; /**< "pymalloc, used": static. */
    uint64_t bytes;
    bool in_other; /**< Contained in the part before that is not; not to be summed. */
};

#define HEAP_PART_LIMIT 32u

struct heap {
    struct target *target;
    struct modules *modules;
    struct python *python;
    struct arena *arena;
    struct python_heap_layout layout;
    struct arena *copies;      /**< Memory of a target that has none in place. */
    struct heap_range *ranges; /**< Sorted. */
    size_t range_count;
    size_t shared_count;       /**< Pieces of memory left out: their bytes are those of others. */
    size_t recent;             /**< The range that was asked for last. */
    struct heap_extent *taken; /**< In order once all blocks are found; none overlaps another. */
    size_t taken_count;
    struct heap_block *blocks; /**< Sorted. */
    uint8_t *block_kinds;      /**< See heap_block_use(), heap_block_layer(). */
    uint32_t block_count;
    struct heap_object *objects;
    uint32_t object_count; /**< Those in blocks come first, sorted by address. */
    uint32_t in_blocks;    /**< How many these are. */
    uint32_t *edges;       /**< Indices of objects. */
    uint32_t edge_count;
    /** Of each object where its references begin among the edges; one more ends those of the last.
     */
    uint32_t *first_edges;
    struct heap_type *types;
    uint32_t type_count;
    struct heap_damage *damage;
    size_t damage_count;
    uint64_t damage_left_out;
    uint32_t hook_size;    /**< Of what the hooks for debugging put before a block; 0: none. */
    const char *allocator; /**< What stands in for glibc's malloc(), and is not read; or NULL. */
    struct heap_pymalloc pymalloc;
    struct heap_glibc glibc;
    struct heap_part parts[HEAP_PART_LIMIT];
    size_t part_count;
    struct hash_table statics;      /**< Address to index of the objects without a block. */
    struct hash_table type_indices; /**< Address of a type to its index. */
    struct heap_type_facts *facts;  /**< For each type; of the rooms inside. */
    uint8_t *type_marks;
    uint64_t tuple_items; /**< From a tuple to its first item. */
    uint64_t words_left;  /**< That walks may look at; see HEAP_LOOK_LIMIT. */
    bool cut;             /**< They came to its end. */
    size_t range_capacity;
    size_t taken_capacity;
    size_t block_capacity;
    size_t object_capacity;
    size_t edge_capacity;
    size_t first_edge_capacity;
    size_t type_capacity;
    size_t facts_capacity;
    size_t damage_capacity;
    void (*progress)(void *context, const char *stage);
    void *progress_context;
};

struct heap_options {
    /** Told when a stage begins; may be NULL. */
    void (*progress)(void *context, const char *stage);
    void *progress_context;
};

/**
 * Reads all of it. Warnings of what is missing go to the target's.
 * @param arena  keeps names; lives longer than the heap.
 * @return PSC_ERR_UNSUPPORTED: a version, build or allocator that is not read; the sentence names
 *         it. PSC_ERR_NOT_FOUND: no memory of the heap is there, as in a core without it.
 */
PSC_MUST_CHECK enum psc_status heap_open(struct target *target, struct modules *modules,
                                         struct python *python, struct arena *arena,
                                         const struct heap_options *options, struct heap **ret,
                                         struct psc_error *err);
void heap_close(struct heap *heap);

static inline enum heap_use heap_block_use(const struct heap *heap, uint32_t block)
{
    return (enum heap_use)(heap->block_kinds[block] & 15);
}

static inline enum heap_layer heap_block_layer(const struct heap *heap, uint32_t block)
{
    return (enum heap_layer)(heap->block_kinds[block] >> 4);
}

static inline uint64_t heap_block_bytes(const struct heap_block *block)
{
    return (uint64_t)block->units * 16;
}

/** Bytes of the blocks that an object keeps beside its own; at most 64 GiB. */
static inline uint64_t heap_owned_bytes(const struct heap_object *object)
{
    return (uint64_t)object->owned_units * 16;
}

/**
 * References to each object from those whose layout is known: never more than it counts, else
 * something is damaged.
 * @param ret  object_count numbers.
 */
void heap_count_found(const struct heap *heap, uint32_t *ret);

/** A pool of CPython's allocator of small blocks, looked at alone. */
struct heap_pool_look {
    psc_addr pool;
    psc_addr broken_at; /**< The block whose link to the next free one is wrong; 0: none is. */
    uint64_t link;      /**< What stands there. */
    psc_addr block;     /**< That holds the address; 0: its header does. */
    bool is_free;       /**< The block is on the list of free ones. */
};

/** Looks at the pool around an address, without a heap. False: no pool is there. */
bool heap_look_at_pool(struct target *target, uint64_t pool_size, psc_addr address,
                       struct heap_pool_look *ret);

/** The block that begins there, or HEAP_NONE. */
uint32_t heap_find_block(struct heap *heap, psc_addr address);
/** The block that holds the address, or HEAP_NONE: free, no heap, or an allocator's own. */
uint32_t heap_find_block_around(struct heap *heap, psc_addr address);
/** The object at an address, or HEAP_NONE. */
uint32_t heap_find_object(struct heap *heap, psc_addr address);
/** The type at an address, or HEAP_NONE. */
uint32_t heap_find_type(struct heap *heap, psc_addr address);
/** Bytes of memory that may be written where they lie, all of them or NULL. */
const uint8_t *heap_bytes(struct heap *heap, psc_addr address, uint64_t size);
/** A word there; 0 where none can be read. */
uint64_t heap_word(struct heap *heap, psc_addr address);

/** Its own block's bytes; of a static one its size. */
uint64_t heap_object_bytes(struct heap *heap, uint32_t object);

/** Pages of that memory do not stay in this process's memory; see heap_sweep(). */
void heap_release(struct heap *heap, psc_addr start, psc_addr end);
/** All of them. */
static inline void heap_release_all(struct heap *heap)
{
    heap_release(heap, 0, UINT64_MAX);
}

/** Bytes between two steps of a sweep. */
#define HEAP_SWEEP_SIZE (UINT64_C(8) << 20)

/**
 * For walks that read the memory of a large heap in the order of its addresses: of what lies before
 * `address` no pages stay in this process's memory; they come back where they are read again.
 * @param swept  how far that was done; 0 at first.
 */
static inline void heap_sweep(struct heap *heap, psc_addr *swept, psc_addr address)
{
    if (address < *swept || address - *swept >= HEAP_SWEEP_SIZE) {
        heap_release(heap, *swept, address);
        *swept = address;
    }
}

/** The same by an object that is looked at next; static ones lie anywhere. */
static inline void heap_sweep_to(struct heap *heap, psc_addr *swept, uint32_t object)
{
    if (object < heap->in_blocks)
        heap_sweep(heap, swept, heap->objects[object].address);
}

/** What sys.getsizeof() says of it in this version. */
uint64_t heap_object_size(struct heap *heap, uint32_t object);

/**
 * How many items or characters it has, as len() says of it; false: it is of no type of which that
 * is known.
 */
bool heap_object_length(struct heap *heap, uint32_t object, uint64_t *ret);
/** Whether it has items: a list, a dict and so on, or what is derived from one. */
bool heap_object_is_container(const struct heap *heap, uint32_t object);
/** Where the characters of a compact str are, as they are in memory; NULL: it is none. */
const uint8_t *heap_object_text(struct heap *heap, uint32_t object, uint64_t *ret_size);
/** What leads from an object to another. */
enum heap_edge_kind {
    HEAP_EDGE_TYPE,      /**< Its class. */
    HEAP_EDGE_KEY,       /**< A key of a dict, an item of a set. */
    HEAP_EDGE_VALUE,     /**< The value of a key: "['name']", "[3]". */
    HEAP_EDGE_ITEM,      /**< "[3]" */
    HEAP_EDGE_ATTRIBUTE, /**< ".name" */
    HEAP_EDGE_MEMBER,    /**< Of a type made in C, by name: "__closure__". */
    HEAP_EDGE_WORD,      /**< A word in it leads there: "+0x18". */
    HEAP_EDGE_KEPT       /**< A word of memory that it keeps beside its own: "->[3]". */
};

/**
 * What the n-th reference of an object is, read anew from it.
 * @param text  its label is added: "['key']", ".attribute", "[3]".
 */
enum heap_edge_kind heap_edge_label(struct heap *heap, uint32_t object, uint32_t nth,
                                    struct text *text);

#endif
