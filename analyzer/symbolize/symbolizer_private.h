/** @file What the files of room `symbolize` share. */
#ifndef PSC_PLACES_PRIVATE_H
#define PSC_PLACES_PRIVATE_H

#include "source_files.h"
#include "symbolize.h"

#include <string.h>

/** The last part of a function's dotted name. */
static inline const char *place_leaf(const char *function)
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

struct python_location_entry {
    psc_addr code;
    int32_t lasti;
    uint8_t kind;
    const struct trace_location *location;
};

/** Reasons of gaps that are compared with others; most threads that have one have the same. */
#define PLACES_GAPS 32

struct symbolizer {
    struct psc_trace *trace;
    struct symbolizer_input input;
    struct sources *text;
    struct cython_cache *cython;
    struct module_record *records; /**< Sorted by start, as modules are. */
    size_t record_count;
    struct address_info **all; /**< In the order they were met. */
    size_t count;
    size_t capacity;
    struct address_info **table; /**< By pc; open addressing. */
    size_t mask;
    struct python_location_entry *python_table; /**< By (code, lasti); open addressing. */
    size_t python_count;
    size_t python_mask;
    const struct trace_location *gaps[PLACES_GAPS];
    size_t gap_count;
};

struct module_record *symbolizer_record(struct symbolizer *symbolizer, const struct module *module);

/** Fills names, language and class of a level from the linker's symbol. */
void symbolizer_name_level(struct symbolizer *symbolizer, const struct address_info *info,
                           struct address_level *level, const char *symbol);

/* ---- stripped_cython.c ---- */

/** Functions and lines of a place in a stripped Cython module; false when it is in none. */
bool symbolizer_name_by_code(struct symbolizer *symbolizer, struct address_info *info);
/** The source text of what places_name_by_code() found. */
void symbolizer_add_code_source(struct symbolizer *symbolizer, struct address_info *info);
/** Gives Cython levels that have no .pyx line theirs, and adds those that were inlined. */
void symbolizer_add_code_lines(struct symbolizer *symbolizer, struct address_info *info);
/**
 * Notes where gcc split a function and put the parts together again: it then stands in itself, as
 * one that calls itself may.
 */
void symbolizer_note_splits(struct symbolizer *symbolizer, struct address_info *info);
/** "axpy[double]" for a level of a fused function's specialisation, when debug information tells.
 */
void symbolizer_add_fused_types(struct symbolizer *symbolizer, const struct address_info *info,
                                size_t i);

#endif
