/**
 * @file
 * Room `cython`: name, .pyx file and line of an address in a module that Cython or mypyc made.
 *
 * The name comes from the C symbol; the line from that of the generated C, by the comments in it or
 * by the debug XML, both of which are looked for on this machine; of a stripped module all three
 * come from its machine code alone. Naming rules: Cython/Compiler/Naming.py and Symtab.py (mangling
 * is prefix + length-prefixed scopes + number + name), Cython 0.29 to 3.3.
 *
 * Errors: what cannot be told is NULL, 0 or false; only parse_...() give a status. Lines count from
 * 1. Addresses are the process's.
 */
#ifndef PSC_CYTHON_H
#define PSC_CYTHON_H

#include "modules.h"

enum cython_kind {
    CYTHON_NONE,       /**< Not a Cython symbol. */
    CYTHON_WRAPPER,    /**< __pyx_pw_: parses arguments, calls the body. */
    CYTHON_BODY,       /**< __pyx_pf_, lambda bodies. */
    CYTHON_C_FUNCTION, /**< __pyx_f_: cdef, cpdef. */
    CYTHON_GENERATOR,  /**< __pyx_gb_: body of a generator or coroutine. */
    CYTHON_MODULE,     /**< Module initialisation: the module's own code. */
    CYTHON_SLOT,       /**< Type slot or property accessor that calls, or is, a method. */
    CYTHON_PLUMBING,   /**< __Pyx_*, utility code, dispatchers: nothing a user wrote. */
};

struct cython_name {
    enum cython_kind kind;
    const char *module;         /**< "pkg.sub._kern"; NULL when not known. */
    const char *function;       /**< "CCls.method", "outer.inner", "<module>": as __qualname__. */
    const char *specialization; /**< Of a fused function: "0", "1_0"; NULL. */
    int32_t number;             /**< The entry number of W, I, G; -1 without. */
    bool parallel;              /**< The outlined body of a prange or parallel block. */
    bool boilerplate;           /**< __reduce_cython__, scope structs, View.MemoryView internals. */
};

/**
 * What the demangler may ask about the file that the symbol is from. Names are asked for and
 * given as Cython made them: no C++ mangling, no `.constprop.0`, no `__pyx_fuse_N` prefix,
 * punycode decoded.
 */
struct cython_context {
    /** True when the file defines this symbol; may be NULL. */
    bool (*has_symbol)(void *context, const char *name);
    /** The index-th name, in some fixed order, that begins with prefix; NULL after the last. */
    const char *(*find_symbol)(void *context, const char *prefix, size_t index);
    void *context;
    /** All symbols of the file are at hand, not only some that somebody saw. */
    bool complete;
    /** Dotted module name when known from elsewhere ("implicit.cpu._als"), or NULL. */
    const char *module_name;
    /** Questions that may still be asked, counted down; a symbol that needs more has no name. NULL:
     * as many as one symbol may ask. */
    uint64_t *questions_left;
};

/**
 * @param symbol   as the linker has it (may be C++-mangled, may have .constprop.0 ...).
 * @param context  may be NULL. Without it the split into module and class, and that of `4free_x`
 *                 (entry 4 or class `free`), follow the usual spelling: classes are capitalised.
 * Strings of `ret` are from `arena`. @return false when not a Cython symbol. `PyInit_x` is one
 * only when the context tells that x is a Cython module.
 */
bool cython_parse_symbol(const char *symbol, const struct cython_context *context,
                         struct arena *arena, struct cython_name *ret);

/**
 * Symbols that were seen together, maybe of several modules: what one leaves open, another may
 * tell.
 */
struct cython_symbol_set;
struct cython_symbol_set *cython_symbol_set_create(void); /**< NULL: out of memory. */
void cython_symbol_set_destroy(struct cython_symbol_set *symbols);
/** Takes a linker's symbol; others than Cython's are passed over. False: out of memory. */
bool cython_symbol_set_add(struct cython_symbol_set *symbols, const char *symbol);
/** cython_parse_symbol() with what the others tell; `symbols` may be NULL. */
bool cython_symbol_set_parse(struct cython_symbol_set *symbols, const char *symbol,
                             struct arena *arena, struct cython_name *ret);

/**
 * Whether a frame of `slot`, directly outside one of `inner` in the same module, is only the
 * way there: a CYTHON_SLOT whose method `inner` is (or another slot of that method).
 */
bool cython_slot_calls(const struct cython_name *slot, const struct cython_name *inner);
/**
 * Whether a slot that is known by one method, which was inlined into it, also goes on to another
 * of its class: `__lt__` and `__eq__`.
 */
bool cython_slot_shares(const struct cython_name *slot, const struct cython_name *inner);

/**
 * cython_parse_symbol() with the module's own symbols as context; answers are kept per module by
 * the caller. Reads the module's symbol table when the symbol is ambiguous: for many symbols, use
 * cython_cache_name_of().
 */
bool cython_name_of(struct module *module, const char *symbol, struct arena *arena,
                    struct cython_name *ret);

/** True for the symbols of modules that mypyc made: CPyDef_, CPyPy_, and its runtime library. */
bool mypyc_is_symbol(const char *symbol);
/** The same for one of these; asks the module for the symbols of scopes. */
bool mypyc_name_of(struct module *module, const char *symbol, struct arena *arena,
                   struct cython_name *ret);

/**
 * The name that a variable, argument or attribute of the generated C has in the .pyx ("__pyx_v_x":
 * "x"), in the arena; NULL for what Cython made for itself.
 */
const char *cython_variable_name(const char *c_name, struct arena *arena);
/** That of an enum's value: the end of the given text, which is all of it when it is not Cython's.
 */
const char *cython_enumerator_name(const char *c_name);

/* ---- generated C line -> .pyx line ---- */

struct cython_lines;

struct cython_line {
    const char *file; /**< As the comment names it; owned by the map. */
    uint32_t line;
    /** NULL; else nothing tells the file, and it is this module's only in functions of it. */
    const char *only_of;
};

/** Reads the comment blocks of a generated C file (bytes; nothing is kept of them). */
PSC_MUST_CHECK enum psc_status parse_cython_lines(const char *text, size_t size,
                                                  struct cython_lines **ret);
/**
 * Reads what `cython --gdb` wrote beside the C (Cython/Debugger/DebugWriter.py); bytes, nothing is
 * kept of them. Of Cython 0.29, which does not tell the file, all lines count as of the module's.
 */
PSC_MUST_CHECK enum psc_status parse_cython_xml(const char *text, size_t size,
                                                struct cython_lines **ret);
void cython_lines_destroy(struct cython_lines *lines);
/** False for utility code, lines before the first block, and unknown lines. */
bool cython_lines_get(const struct cython_lines *lines, uint32_t c_line, struct cython_line *ret);

/**
 * The map for the C file that DWARF names. That is looked for where DWARF says, beside the module,
 * and below the source directories; then the debug XML there.
 * NULL (without a warning) when there is none. Kept in `cache`; see cython_cache_create().
 */
struct cython_cache;
struct cython_cache *cython_cache_create(void);
void cython_cache_destroy(struct cython_cache *cache);
const struct cython_lines *cython_lines_find(struct cython_cache *cache, struct module *module,
                                             const char *c_file, bool *ret_xml);
/** cython_name_of(), with the names of each module read once and kept. */
bool cython_cache_name_of(struct cython_cache *cache, struct module *module, const char *symbol,
                          struct arena *arena, struct cython_name *ret);

/* ---- machine code -> .pyx line ---- */

/** One function at an address of machine code. */
struct cython_code {
    const char *function; /**< As __qualname__; NULL: not known. */
    /**
     * CYTHON_WRAPPER for what Python calls, CYTHON_SLOT for what a type's table holds,
     * CYTHON_BODY for what only a wrapper of that name calls, CYTHON_MODULE, CYTHON_PLUMBING for
     * Cython's own code; else CYTHON_C_FUNCTION.
     */
    enum cython_kind kind;
    const char *file; /**< As Cython's tracebacks name it; NULL: not known. */
    uint32_t line;    /**< 0: not known. */
    bool estimate;    /**< The line is of something else that may fail before or behind it. */
    bool parallel;    /**< The outlined body of a prange or parallel block. */
};

/** An address whose functions are asked for. */
struct cython_address {
    struct module *module;
    psc_addr pc; /**< The last byte of the call that is under way; else the instruction's. */
    struct arena *arena; /**< Of the functions' names in the answer. */
};

/** True for a module whose functions report errors as Cython's do. */
bool cython_cache_has_code(struct cython_cache *cache, struct module *module);
/** True for one of these that mypyc made. */
bool cython_cache_is_mypyc(struct cython_cache *cache, struct module *module);
/**
 * The functions at an address of an extension that may be stripped, innermost first: those that
 * the compiler inlined, then the one that is there. From the module's file alone; the work for a
 * module is done once. The files' names are the module's.
 */
size_t cython_cache_find_code(struct cython_cache *cache, const struct cython_address *address,
                              struct cython_code *ret, size_t limit);
/** Functions at one address that are kept for later targets. */
#define CYTHON_CODE_LIMIT 20
/**
 * Follows the machine code of a module without a process, for the targets to come that open it.
 * @param addresses  of the file, 8 bytes each, little-endian: that will be asked for again.
 */
void cython_learn_code(struct module *module, const uint8_t *addresses, size_t count);
/**
 * Looks for the files of the building machine that targets to come will ask for; after
 * cython_learn_code().
 * @param names  as module_lesson.sources has them.
 */
void cython_learn_sources(struct module *module, const char *names, size_t size);

/**
 * Whether the function at an address may call itself without Python's help: one that is inlined
 * into itself, but does not, was split by the compiler and put together again.
 */
bool cython_cache_calls_itself(struct cython_cache *cache, struct module *module, psc_addr pc);

/**
 * The last byte of the call by which a generator's function hands on to what it awaits, at the
 * `yield from` or `await` that has a number; 0: not found.
 * @param body    where the function begins.
 * @param offset  where in the generator's object the number is kept.
 */
psc_addr cython_cache_find_suspension(struct cython_cache *cache, struct module *module,
                                      psc_addr body, uint32_t label, uint64_t offset);
/** Whether two addresses of a Cython module are in one function. */
bool cython_cache_is_same_function(struct cython_cache *cache, struct module *module, psc_addr a,
                                   psc_addr b);

/**
 * Whether the function at an address, for which cython_cache_find_code() has no name, is Cython's
 * own code: it calls Python, but does nothing that a function of somebody's would do besides.
 * Libraries that were linked in do not call Python.
 */
bool cython_cache_is_helper(struct cython_cache *cache, struct module *module, psc_addr pc);

/**
 * The name of a function that is declared `cdef public`, whose symbol is its plain name: only its
 * reports of errors tell that it is Cython's. False for those of linked-in libraries.
 */
bool cython_cache_public_name(struct cython_cache *cache, struct module *module, const char *symbol,
                              struct arena *arena, struct cython_name *ret);

/** A file that a comment block, #line or traceback entry names. */
struct cython_source {
    struct module *module;
    const char *c_file; /**< The generated C; NULL: not known. */
    const char *pyx_file;
};
/**
 * Where the file is, seen from the C file and the module, looked for once: absolute, as the target
 * has it where it is known there, else as it is here; or as named when it cannot be found. From
 * `arena`; NULL: out of memory.
 */
const char *cython_cache_source_path(struct cython_cache *cache, const struct cython_source *source,
                                     struct arena *arena);

#endif
