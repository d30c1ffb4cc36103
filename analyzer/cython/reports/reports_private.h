/**
 * @file
 * Private to reports/: what its files ask of each other.
 */
#ifndef PSC_REPORTS_PRIVATE_H
#define PSC_REPORTS_PRIVATE_H

#include "reports.h"

struct reports {
    struct flow flow;
    bool mypyc; /**< mypyc made the file, not Cython. */
    /* Each is known to the file alone that makes it when it is first asked for. */
    struct method_tables *tables;
    struct parallel_blocks *blocks;
    struct known_identities *identities;
    struct known_chains *chains;
};

/* ---- traceback_helpers.c, helper_arguments.c ---- */

/** Finds the helpers of a file; false when it is not Cython's or mypyc's. */
bool reports_find_traceback_helpers(struct flow *flow, bool *ret_mypyc);
/** Where function `start` takes name, line and file from; false when it makes no code object. */
bool reports_find_helper_arguments(struct flow *flow, uint64_t start, struct traceback_helper *ret);

/* ---- error_reports.c ---- */

void reports_destroy_chains(struct known_chains *chains);

/* ---- failure.c ---- */

/** Whether it is PyErr_WriteUnraisable(), or a function that calls it: __Pyx_WriteUnraisable(). */
bool reports_is_unraisable(struct flow *flow, struct code_target target);
/**
 * What a call of this returns after it has failed: an ABSTRACT_ERROR.
 * @param ret_raises  false where it is a function of another library than Python's, or one of the
 *                    module that calls nothing of Python's: what it returns may be an error
 *                    of its own, of which other code makes an exception.
 */
struct abstract_value reports_find_error_return(struct flow *flow, struct code_target target,
                                                bool *ret_raises);

/* ---- parallel_blocks.c ---- */

/** Tells a state that stands inside of a function about the block, if it is the body of one. */
void reports_enter_block(struct reports *reports, const struct code_function *function,
                         struct flow_state *state);
/** The line that the block has kept; 0: none as yet. */
uint32_t reports_kept_line(const struct flow_state *state);
/** Then also the file; or NULL. */
const char *reports_kept_file(const struct flow *flow, const struct flow_state *state);
void reports_destroy_blocks(struct parallel_blocks *blocks);

/* ---- method_tables.c ---- */

enum table_entry_kind {
    ENTRY_METHOD,
    ENTRY_SLOT,
    ENTRY_GETTER,
    ENTRY_SETTER,
    ENTRY_MODULE, /**< The module's own code. */
    ENTRY_EXPORT  /**< A C function that other modules may call. */
};

/** What tables in data say of a function. */
struct table_entry {
    uint64_t function;
    const char *name; /**< The method's, the property's, or as cython_slot_methods(). */
    const char *type; /**< "pkg.mod.Class"; NULL: of none, or of several. In the image. */
    uint8_t kind;     /**< enum table_entry_kind */
    bool plumbing;    /**< Of Cython's own types. */
};

/** All of them, sorted by function, one each; reads them once. */
size_t reports_entries(struct reports *reports, const struct table_entry **ret);
/** That of the function that begins at an address; or NULL. */
const struct table_entry *reports_find_entry(struct reports *reports, uint64_t function);
void reports_destroy_tables(struct method_tables *tables);

/* ---- exports.c ---- */

/** Each function that the module exports, by the code that does it. */
void reports_each_export(const struct code_image *image, void *context,
                         void (*visit)(void *context, struct table_entry entry));

/* ---- unraisable.c ---- */

/** "pkg.mod.f" of a function whose errors go to sys.unraisablehook; NULL when it is not certain. */
const char *reports_find_unraisable_name(struct flow *flow, const struct code_function *function);

/* ---- function_identity.c ---- */

void reports_destroy_identities(struct known_identities *identities);

#endif
