/** @file What places.c, place_names.c, place_lines.c and place_python.c share. */
#ifndef PSC_PLACES_PRIVATE_H
#define PSC_PLACES_PRIVATE_H

#include "trace_private.h"

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

struct python_place {
    psc_addr code;
    int32_t lasti;
    uint8_t kind;
    const struct trace_location *location;
};

/** Reasons of gaps that are compared with others; most threads that have one have the same. */
#define PLACES_GAPS 32

struct places {
    struct psc_trace *trace;
    struct capture_sources sources;
    bool keep_source;
    bool all_inlined; /**< Inlined calls whatever they cost. */
    bool all_modules; /**< The trace lists modules that no frame is in, too. */
    struct sources *text;
    struct cython_cache *cython;
    struct module_record *records; /**< Sorted by start, as modules are. */
    size_t record_count;
    struct place **all; /**< In the order they were met. */
    size_t count;
    size_t capacity;
    struct place **table; /**< By pc; open addressing. */
    size_t mask;
    struct python_place *python_table; /**< By (code, lasti); open addressing. */
    size_t python_count;
    size_t python_mask;
    const struct trace_location *gaps[PLACES_GAPS];
    size_t gap_count;
};

struct module_record *places_record(struct places *places, const struct module *module);

/** Fills names, language and class of a level from the linker's symbol. */
void places_name_level(struct places *places, const struct place *place, struct place_level *level,
                       const char *symbol);

/* ---- place_code.c ---- */

/** Functions and lines of a place in a stripped Cython module; false when it is in none. */
bool places_name_by_code(struct places *places, struct place *place);
/** The source text of what places_name_by_code() found. */
void places_add_code_source(struct places *places, struct place *place);
/** Gives Cython levels that have no .pyx line theirs, and adds those that were inlined. */
void places_add_code_lines(struct places *places, struct place *place);
/**
 * Notes where gcc split a function and put the parts together again: it then stands in itself, as
 * one that calls itself may.
 */
void places_note_splits(struct places *places, struct place *place);
/** "axpy[double]" for a level of a fused function's specialisation, when debug information tells.
 */
void places_add_fused_types(struct places *places, const struct place *place, size_t i);

#endif
