/** @file What the files of room `symbolize` share. */
#ifndef PSC_SYMBOLIZER_PRIVATE_H
#define PSC_SYMBOLIZER_PRIVATE_H

#include "source_files.h"
#include "symbolize.h"

#include <string.h>

/** The last part of a function's dotted name. */
static inline const char *last_part_of(const char *function)
{
    const char *dot = strrchr(function, '.');
    return dot ? dot + 1 : function;
}

struct module_record {
    struct module *module;
    struct trace_module *trace;
    bool used;            /**< Some frame is in it. */
    bool extension;       /**< It exports PyInit_NAME; known once used. */
    bool inlines_skipped; /**< Inlined calls would have cost too much. */
};

/** An address that was looked up. */
struct known_address {
    psc_addr pc;
    struct address_info *info;
};

/** An instruction of a code object. */
struct known_instruction {
    psc_addr code;
    uint64_t lasti;
    const struct trace_location *location;
};

/** Gaps that are shared by their reason. */
#define GAP_LIMIT 32

struct symbolizer {
    struct psc_trace *trace;
    struct symbolizer_input input;
    const struct module *interpreter; /**< Of input.python: by it addresses were looked up. */
    struct sources *text;
    struct cython_cache *cython;
    struct module_record *records; /**< Sorted by start, as modules are. */
    size_t record_count;
    struct hash_table addresses;    /**< struct known_address */
    struct hash_table instructions; /**< struct known_instruction */
    const struct trace_location *gaps[GAP_LIMIT];
    size_t gap_count;
    size_t name_bytes;  /**< Of symbols and functions. */
    uint64_t name_time; /**< As demangle_symbol() counts it. */
};

/** The record of a module; NULL: it has none. */
struct module_record *symbolizer_record(struct symbolizer *symbolizer, const struct module *module);

/* ---- native_names.c ---- */

/** Fills names, language and class of a level from the linker's symbol. */
void symbolizer_name_level(struct symbolizer *symbolizer, const struct address_info *info,
                           struct address_level *level, const char *found);

/* ---- stripped_cython.c ---- */

/** Functions and lines of an address in a stripped Cython module; false when it is in none. */
bool symbolizer_name_by_code(struct symbolizer *symbolizer, struct address_info *info);
/** The source text of what symbolizer_name_by_code() found. */
void symbolizer_add_code_source(struct symbolizer *symbolizer, struct address_info *info);
/** Gives Cython levels that have no .pyx line theirs, and adds those that were inlined. */
void symbolizer_add_code_lines(struct symbolizer *symbolizer, struct address_info *info);
/**
 * Notes levels that are parts of one function: gcc splits a function, and inlines one part into the
 * other. The function then seems to have called itself.
 */
void symbolizer_note_splits(struct symbolizer *symbolizer, struct address_info *info);
/* ---- fused_types.c ---- */

/** Adds a fused function's types to the name of a level, "axpy[double]", if they are known. */
void symbolizer_add_fused_types(struct symbolizer *symbolizer, const struct address_info *info,
                                size_t i);

#endif
