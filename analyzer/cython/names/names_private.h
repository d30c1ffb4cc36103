/**
 * @file
 * Private to names/: slots, utility types, and a symbol on its way to a name.
 */
#ifndef PSC_NAMES_PRIVATE_H
#define PSC_NAMES_PRIVATE_H

#include "names.h"
#include "symbol.h"

/* ---- slots and utility types ---- */

/**
 * Drops a slot's prefix ("__pyx_tp_new_") from `name`.
 * @return the Python methods behind the slot, or NULL when it is no slot. For property
 * accessors it is "", since the property's name follows.
 */
const char *cython_slot_skip(struct slice *name);

/** "__pyx_memoryview_" and its like: drops it and gives the class; NULL when it is none. */
const char *cython_view_class_skip(struct slice *name);
/** The Python name of a function of View.MemoryView, from what follows its class's prefix. */
const char *cython_view_function(const char *class_name, struct slice rest, struct arena *arena);
/** The Python name of one whose C name has no class's prefix; NULL when it is none. */
const char *cython_view_free_function(struct slice name);
/** True for the name of a View.MemoryView type, as slots write it. */
bool cython_is_view_type(struct slice name);

/* ---- a name ---- */

/** One symbol on its way to a name. */
struct naming {
    const struct cython_context *context;
    struct arena *arena;
    struct cython_symbol symbol;
    struct cython_name *name;
};

const char *naming_copy(const struct naming *naming, struct slice slice);
/** Fills module and function. `suffix` may be NULL; a number keeps its own leaf out of slots. */
void naming_set_function(struct naming *naming, const struct cython_path *path, const char *suffix);
/** That of a generator's body, which has none of its own. */
void naming_set_generator(struct naming *naming, struct cython_path *path);
void naming_set_lambda(struct naming *naming, struct slice rest);
/* False: it is none of these. */
bool naming_set_view_function(struct naming *naming, struct slice text, enum cython_kind kind);
bool naming_set_slot(struct naming *naming, struct slice text);
bool naming_set_module(struct naming *naming, struct slice text);
bool naming_set_cpp_method(struct naming *naming, const char *symbol);

#endif
