/**
 * @file
 * Room `names`: what a C symbol, a name in a traceback or a slot of a type says of a function's
 * name, in modules of Cython and of mypyc. What others ask of it is in cython.h; this is what the
 * rooms of cython/ ask besides.
 *
 * The symbols of a file come through struct cython_context or struct cython_names; those of mypyc
 * are asked of the module.
 */
#ifndef PSC_NAMES_H
#define PSC_NAMES_H

#include "cython.h"
#include "slice.h"

/* ---- the symbols of a module ---- */

/** The bare `__pyx_` names of a file, sorted. Zero-initialise; deinit. */
struct cython_names {
    struct arena *arena;
    const char **items;
    size_t count;
    size_t capacity;
    bool complete; /**< One of them begins a module: they are a file's. */
};

/** Takes a linker's symbol; others than `__pyx_` are passed over. False: out of memory. */
bool cython_names_add(struct cython_names *names, const char *symbol);
void cython_names_sort(struct cython_names *names);
void cython_names_deinit(struct cython_names *names);
/** Fills the callbacks and context->context. */
void cython_names_bind(struct cython_names *names, struct cython_context *ret);
/**
 * The dotted name of the module, by the path in the first wrapper that has the module's last name
 * in it; NULL when there is none.
 */
const char *cython_names_find_module(struct cython_names *names, struct slice last,
                                     struct arena *arena);

/* ---- slots ---- */

/** The Python methods behind a slot by its bare name ("tp_new"); NULL when it is none. */
const char *cython_slot_methods(const char *slot);
/** False for what the garbage collector calls: nobody writes that. */
bool cython_slot_is_method(const char *methods);
/** Whether a slot with these methods is, or goes on to, a method. */
bool cython_slot_reaches(const char *methods, const char *method);
/** True for the C name of a slot as it stands in the C file, in punycode too. */
bool cython_is_slot(struct slice name);

/* ---- names in a module's data ---- */

/** The last part of a dotted name. */
static inline __attribute__((__nonnull__, __returns_nonnull__)) const char *
cython_last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/** The name of a fused function without its `__pyx_fuse_0_1`; else the same. */
const char *cython_unfused_name(const char *name);
/** The __qualname__ of a traceback's "pkg.mod.Cls.method"; `module` and its `file` may be NULL. */
const char *cython_traceback_function(const char *name, const char *module, const char *file,
                                      struct arena *arena);

#endif
