/**
 * @file
 * Room `symbol`: what stands in a C symbol of Cython's: the bare C name, the path of module,
 * classes and functions in it, and what the file's other symbols tell where that is ambiguous.
 */
#ifndef PSC_SYMBOL_H
#define PSC_SYMBOL_H

#include "cython.h"
#include "slice.h"

/** For "%.*s". */
#define SLICE_ARGS(slice) (int)(slice).size, (slice).data

/**
 * Punycode (RFC 3492) of the form "basic-extended" without a prefix, as UTF-8.
 * False when the text is not valid punycode; what was added to `ret` is then useless.
 */
bool parse_punycode(struct slice basic, struct slice extended, struct text *ret);

/* ---- the C name ---- */

/** The name that Cython gave a function, freed of what compiler and linker added. */
struct cython_symbol {
    struct slice name;           /**< UTF-8; no C++ mangling, no suffix, no fused prefix. */
    struct slice specialization; /**< Of the fused prefix: "1_0"; empty. */
    bool parallel;               /**< Had ._omp_fn or .omp_outlined. */
};

/**
 * @param buffer  holds the decoded name of a punycode symbol; cleared first.
 * False for a symbol that can not be Cython's. The name may still be anything.
 */
bool parse_cython_symbol(const char *symbol, struct text *buffer, struct cython_symbol *ret);

/** "1_0" or "0" in front of `__pyx_` or a name; drops it from `text`. */
bool parse_cython_specialization(struct slice *text, struct slice *ret);

/* ---- the path in it ---- */

#define CYTHON_COMPONENT_LIMIT 32

/** Who decides whether digits are the length of a component or an entry number. */
enum cython_numbering {
    CYTHON_UNNUMBERED,       /**< Always a length: __pyx_f_, slots. */
    CYTHON_NUMBERED_WRAPPER, /**< __pyx_pw_ */
    CYTHON_NUMBERED_BODY,    /**< __pyx_pf_ */
    CYTHON_NUMBERED_GENERATOR,
};

struct cython_component {
    struct slice name;
    bool dotted; /**< "_dot_" in it stands for a dot. */
};

struct cython_path {
    struct cython_component components[CYTHON_COMPONENT_LIMIT];
    size_t count;
    struct slice text; /**< The bytes that spell the components. */
    int32_t number;    /**< 0 when none is written; -1 for CYTHON_UNNUMBERED. */
    struct slice leaf;
};

/** Splits what follows a kind prefix. `context` may be NULL. */
void parse_cython_path(struct slice text, enum cython_numbering numbering,
                       const struct cython_context *context, struct cython_path *ret);

/** True in what Cython compiles into modules of itself: View.MemoryView, vector.to_py, EnumBase. */
bool cython_path_is_utility(const struct cython_path *path);
/** How many leading components are the module; the rest are classes and functions. */
size_t cython_path_module_size(const struct cython_path *path,
                               const struct cython_context *context);

/** Whether another function of the path's scope and name has that number. */
bool cython_path_has_sibling(const struct cython_context *context, const struct cython_path *path,
                             const char *kind, int32_t number);
/** `lambda4` of `__pyx_lambda_funcdef_<path>lambda4`, which wrappers have in them since 3.3. */
struct slice cython_lambda_leaf(const struct cython_context *context, struct slice leaf);
/**
 * What a scope of Cython's own making is called: "<lambda>", "<genexpr>", "" for the one that
 * Cython puts around further generator expressions; NULL for a class or function of the user's.
 */
const char *cython_scope_name(const struct cython_context *context, const struct cython_path *path,
                              size_t i);

/** `<length><name>_`, with something after it. @return the bytes used, or 0. */
size_t cython_take_component(struct slice text, struct cython_component *ret);
/** An entry number, which something that is not a digit must follow; 0 bytes: there is none. */
size_t cython_take_number(struct slice text, int32_t *ret);

/** Whether a name, but for underscores, begins with a capital: as classes do. */
bool cython_is_capitalised(struct slice name);

/** Digits that may be the length of a component or an entry number, and both ways to read on. */
struct cython_ambiguity {
    const struct cython_context *context;
    struct slice path;      /**< What came before the digits. */
    struct slice scope;     /**< Read as length: "4free_" ... */
    struct slice component; /**< ... "free" ... */
    struct slice rest;      /**< ... and what follows then. */
    int32_t number;         /**< Read as number ... */
    struct slice leaf;      /**< ... and the function's name then. */
};
/** Whether they are a length. */
bool cython_is_scope(const struct cython_ambiguity *at, enum cython_numbering numbering);

/** Adds a component with its dots. */
void cython_component_add(struct text *text, const struct cython_component *component);

/** Asks the context for a symbol; false when it can not be asked. */
bool cython_context_has(const struct cython_context *context, const char *format, ...)
    PSC_PRINTF(2, 3);
/** The index-th symbol that begins with `prefix`; NULL after the last or when unknown. */
const char *cython_context_find(const struct cython_context *context, const char *prefix,
                                size_t index);

#endif
