/**
 * @file
 * Room `holders`: who holds what in a heap. Beside its objects there are nodes for what holds them
 * from outside: threads, frames, C stacks, data of native modules, memory of C. What the references
 * between objects leave of a count of references are those from outside: that is what their words
 * are looked for by, and an object of which some stay unexplained is a root without a name.
 */
#ifndef PSC_HOLDERS_H
#define PSC_HOLDERS_H

#include "dominators.h"
#include "heap.h"

enum holder_kind {
    HOLDER_THREAD, /**< Leads to its frames. */
    HOLDER_FRAME,  /**< Of Python, on a thread's stack. */
    HOLDER_STACK,  /**< A thread's stack of C. */
    HOLDER_DATA,   /**< Of a native module: static variables. */
    HOLDER_MEMORY  /**< Blocks that no object owns. */
};

/** A node that is no object. Strings are the arena's of the heap, or of its target. */
struct holder {
    enum holder_kind kind;
    int32_t tid;               /**< Of a thread, frame or stack; 0: not known. */
    const char *function;      /**< Of a frame, or NULL. */
    const char *file;          /**< Of a frame's code, or of a module; or NULL. */
    uint32_t line;             /**< Of a frame; 0: not known. */
    struct python_frame frame; /**< Of a frame; else zeroed. */
    uint32_t
        object; /**< Up to 3.10: the frame's own object, which holds in its place; HEAP_NONE. */
    uint32_t thread; /**< Of a frame: the node of its thread. */
};

/** Nodes below heap->object_count are objects, those from there on holders. */
struct holders {
    struct heap *heap;
    struct holder *items;
    uint32_t count;
    size_t capacity;
    uint32_t node_count;
    struct holder_rows forward;
    struct holder_rows held_by; /**< Who holds each node. */
    uint8_t *flags;             /**< DOMINATOR_* of each node. */
    uint32_t *missing;          /**< Of each object: references of its count that no node has. */
    struct dominators tree;
    uint64_t *type_retained; /**< Of each type, see dominators_sum_groups(). */
    uint64_t total;          /**< Bytes of all objects with what they own. */
    uint64_t garbage;        /**< Objects that no root leads to: cycles nobody has collected. */
    uint64_t garbage_bytes;
    uint32_t *toward; /**< Of each node the next one on the way to its root; see held_way.c. */
    uint8_t *ranks;   /**< enum holder_rank of that root. */
    struct hash_table modules; /**< The namespaces of Python's modules. */
    uint32_t module_type;      /**< HEAP_NONE: there is none. */
    uint32_t dict_type;
    uint32_t frame_type;
};

/**
 * Finds all roots and what each node retains.
 * @return PSC_ERR_MEMORY. What is not readable holds nothing.
 */
PSC_MUST_CHECK enum psc_status holders_create(struct heap *heap, struct holders **ret);
void holders_destroy(struct holders *holders);

static inline bool holders_is_object(const struct holders *holders, uint32_t node)
{
    return node < holders->heap->object_count;
}

/** NULL for an object. */
static inline const struct holder *holders_get(const struct holders *holders, uint32_t node)
{
    return node < holders->heap->object_count ? NULL
                                              : &holders->items[node - holders->heap->object_count];
}

/** The frame that a node is: a holder, or (up to 3.10) its object; NULL for all else. */
const struct holder *holders_find_frame(const struct holders *holders, uint32_t node);
/** Its type's name, or that of the kind of holder. */
const char *holders_type_name(const struct holders *holders, uint32_t node);
bool holders_is_module(const struct holders *holders, uint32_t node);
bool holders_is_class(const struct holders *holders, uint32_t node);
/**
 * Adds what a root is called: "module app", "class app.C", "frame f (app.py:12) in thread 77",
 * "C code of _ssl.so"; nothing for other objects.
 */
void holders_add_name(struct holders *holders, uint32_t node, struct text *text);

/* ---- ways ---- */

/** How well a root is named; less is better. */
enum holder_rank {
    HOLDER_RANK_NAMED,   /**< A module of Python or a frame. */
    HOLDER_RANK_CLASS,   /**< A class that no module leads to. */
    HOLDER_RANK_NATIVE,  /**< A word was found that leads there. */
    HOLDER_RANK_UNKNOWN, /**< Something holds it, as its count says. */
    HOLDER_RANK_STATIC,  /**< It is a part of the program. */
    HOLDER_RANK_GARBAGE  /**< Nobody holds it but what it leads to. */
};

/** A way from a root to a node, both included. */
struct held_way {
    uint32_t *nodes; /**< malloc'd; the outermost first. */
    size_t count;
    enum holder_rank rank;
};

#define HELD_WAY_LIMIT 100000u /**< Steps. */

/** The shortest way from the best root. */
PSC_MUST_CHECK enum psc_status holders_find_way(struct holders *holders, uint32_t node,
                                                struct held_way *ret);
void held_way_deinit(struct held_way *way);
/** The node before it on that way; HOLDERS_NO_NODE: it is a root itself. */
PSC_MUST_CHECK enum psc_status holders_find_next(struct holders *holders, uint32_t node,
                                                 uint32_t *ret);
/** Adds how a node leads to the next: ".name", "['key']", "[3]", ".__dict__"; maybe nothing. */
void holders_add_step(struct holders *holders, uint32_t from, uint32_t to, struct text *text);
/**
 * Adds a way as a person would type it: "module app: app.cache['live'][3].name"; each step that
 * has no such form stands as "-> TYPE at 0x...".
 */
void held_way_add_text(struct holders *holders, const struct held_way *way, struct text *text);

/* ---- suspects ---- */

/** A node that retains more than a tenth, and none below it does. */
struct suspect {
    uint32_t node;
    uint64_t retained;
    uint32_t children;    /**< Nodes right below it. */
    uint32_t child_type;  /**< Of what most of that is held as. */
    uint64_t child_count; /**< So many of these, */
    uint64_t child_bytes; /**< which retain so much. */
};

#define SUSPECT_LIMIT 9u /**< Each has more than a tenth. */

/** Left out are namespaces and lists of modules: that is the program. */
PSC_MUST_CHECK enum psc_status holders_find_suspects(const struct holders *holders,
                                                     struct suspect ret[SUSPECT_LIMIT],
                                                     size_t *ret_count);

#endif
