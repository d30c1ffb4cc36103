/**
 * @file
 * Shared by the files of room `cython`: slices, the bare C name of a symbol,
 * the path inside it, and the list of a module's names.
 */
#ifndef PSC_CYTHON_PRIVATE_H
#define PSC_CYTHON_PRIVATE_H

#include "cython.h"

#include <string.h>

/** Bytes of someone else's string. */
struct slice {
    const char *data;
    size_t size;
};

static inline struct slice slice_of(const char *string)
{
    return (struct slice){string, strlen(string)};
}

static inline struct slice slice_from(struct slice slice, size_t offset)
{
    return (struct slice){slice.data + offset, slice.size - offset};
}

static inline bool slice_equals(struct slice slice, const char *string)
{
    return slice.size == strlen(string) && memcmp(slice.data, string, slice.size) == 0;
}

static inline bool slice_is(struct slice left, struct slice right)
{
    return left.size == right.size && memcmp(left.data, right.data, left.size) == 0;
}

static inline bool slice_starts(struct slice slice, const char *prefix)
{
    size_t size = strlen(prefix);
    return slice.size >= size && memcmp(slice.data, prefix, size) == 0;
}

/** Drops a prefix; false, and nothing done, when it is not there. */
static inline bool slice_skip(struct slice *slice, const char *prefix)
{
    if (!slice_starts(*slice, prefix))
        return false;
    *slice = slice_from(*slice, strlen(prefix));
    return true;
}

/** How many decimal digits a slice begins with. */
static inline size_t slice_digits(struct slice slice)
{
    size_t count = 0;
    while (count < slice.size && slice.data[count] >= '0' && slice.data[count] <= '9')
        count++;
    return count;
}

/** True for `word` followed by nothing but digits: "lambda", "genexpr1". */
static inline bool slice_is_counted(struct slice slice, const char *word)
{
    return slice_skip(&slice, word) && slice_digits(slice) == slice.size;
}

/** True for "__x__". */
static inline bool slice_is_dunder(struct slice slice)
{
    return slice.size > 4 && memcmp(slice.data, "__", 2) == 0 &&
           memcmp(slice.data + slice.size - 2, "__", 2) == 0;
}

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

/** "_1_0" or "0" in front of `__pyx_` or a name; drops it from `text`. */
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

/** Adds a component with its dots. */
void cython_component_add(struct text *text, const struct cython_component *component);

/** Asks the context for a symbol; false when it can not be asked. */
bool cython_context_has(const struct cython_context *context, const char *format, ...)
    PSC_PRINTF(2, 3);
/** The index-th symbol that begins with `prefix`; NULL after the last or when unknown. */
const char *cython_context_find(const struct cython_context *context, const char *prefix,
                                size_t index);

/* ---- slots and utility types ---- */

/**
 * Drops a slot's prefix ("__pyx_tp_new_") from `name`.
 * @return the Python methods behind the slot, or NULL when it is no slot. For property
 * accessors it is "", since the property's name follows.
 */
const char *cython_slot_skip(struct slice *name);

/** The same of a slot by its bare name ("tp_new"); NULL when it is none. */
const char *cython_slot_methods(const char *slot);

/** False for what the garbage collector calls: nobody writes that. */
bool cython_slot_is_method(const char *methods);
/** Whether a slot with these methods is, or goes on to, a method. */
bool cython_slot_reaches(const char *methods, const char *method);

/** True for the C name of a slot as it stands in the C file, in punycode too. */
bool cython_is_slot(struct slice name);

/** "__pyx_memoryview_" and its like: drops it and gives the class; NULL when it is none. */
const char *cython_view_class_skip(struct slice *name);
/** The Python name of a function of View.MemoryView, from what follows its class's prefix. */
const char *cython_view_function(const char *class_name, struct slice rest, struct arena *arena);
/** The Python name of one whose C name has no class's prefix; NULL when it is none. */
const char *cython_view_free_function(struct slice name);
/** True for the name of a View.MemoryView type, as slots write it. */
bool cython_is_view_type(struct slice name);

/* ---- the names of a module ---- */

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

/* ---- modules ---- */

struct machine;

/** What is known of one module, each part made when it is first asked for. */
struct cython_module {
    struct module *module;
    struct cython_names names;
    bool names_read;
    const char *module_name;
    bool module_name_known;
    struct machine *machine; /**< NULL: not made by Cython. */
    bool machine_tried;
};

void cython_module_deinit(struct cython_module *known);
bool cython_module_name_of(struct cython_module *known, const char *symbol, struct arena *arena,
                           struct arena *keep, struct cython_name *ret);
/** cython_module_name(), with the names at hand. */
const char *cython_module_find_name(struct cython_module *known, struct arena *arena);

/** cython_cache_find_code() in a file's own addresses. */
size_t cython_machine_find(struct machine *machine, const char *module_name, uint64_t pc,
                           struct arena *arena, struct cython_code *ret, size_t limit);
/**
 * A line near `pc`: that of the last call that `function` has made for certain when it comes to
 * `pc`, and whose failure it reports. In the body of a parallel block, where one without such
 * counts from the last before the block, half way from there to the next.
 * @param behind  the next line that may be reported; 0: not known.
 * @return 0 when there is none. An estimate at best.
 */
uint32_t cython_machine_near_line(struct machine *machine, const char *module, const char *function,
                                  uint64_t pc, uint32_t behind, struct arena *arena,
                                  const char **ret_file);
/** Whether mypyc made the file. */
bool cython_machine_is_mypyc(const struct machine *machine);
/** cython_cache_is_helper() in a file's own addresses. */
bool cython_machine_is_helper(struct machine *machine, uint64_t pc);
/** The __qualname__ of a traceback's "pkg.mod.Cls.method"; `module` and its `file` may be NULL. */
const char *cython_traceback_function(const char *name, const char *module, const char *file,
                                      struct arena *arena);
const char *cython_module_get_name(struct cython_module *known, struct arena *keep);

/** Says that a C line is of a .pyx line; C lines must come in ascending order. */
bool cython_lines_add(struct cython_lines *lines, struct slice file, uint32_t c_line,
                      uint32_t line);
/** Says that nothing told the files of the lines. */
void cython_lines_limit(struct cython_lines *lines, struct slice module_name);
bool cython_lines_has_files(const struct cython_lines *lines);
/** An empty map; NULL when out of memory. */
struct cython_lines *cython_lines_create(void);
/** True when no block was found: not generated by Cython. */
bool cython_lines_is_empty(const struct cython_lines *lines);

/**
 * Whether C lines of a map are those that the module was compiled from: functions begin where the
 * debug information says, and errors report the lines that stand there.
 * @param machine  may be NULL.
 * @param text     the C file; empty for debug XML, of which only the map is compared.
 */
bool cython_lines_fit(struct module *module, struct machine *machine, const char *c_file,
                      struct slice text, const struct cython_lines *map);

/* ---- paths ---- */

/** Takes a file that may be the wanted one; true ends the search. */
typedef bool (*cython_file_visitor)(void *context, const char *path);

/** Where the C file that DWARF names may be on this machine, the likeliest first. */
void cython_each_c_file(const struct module *module, const char *c_file, struct arena *arena,
                        cython_file_visitor visit, void *context);
/** The same for the module's debug XML, seen from the module and the C file. */
void cython_each_xml(const struct module *module, const char *module_name, const char *c_file,
                     struct arena *arena, cython_file_visitor visit, void *context);

/** The directory part of a path, without its last slash; "" for a bare name, "/" for the root. */
struct slice path_directory(const char *path);
/** What follows the last slash. */
const char *path_base(const char *path);

#endif
