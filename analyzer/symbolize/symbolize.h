/**
 * @file
 * Room `symbolize`: each distinct address once: function, language, line, inlined calls, source
 * text.
 *
 * An address is looked up by its symbol when it is first met; lines and inlined calls, which cost
 * more, come later and only where `wanted` says so. All that is found lives in the trace's arena.
 * Knows nothing of stacks; what nothing tells is NULL or 0, never an error.
 */
#ifndef PSC_SYMBOLIZE_H
#define PSC_SYMBOLIZE_H

#include "cython.h"
#include "modules.h"
#include "python.h"
#include "trace.h"

/* ---- native addresses ---- */

/** One function at an address: the physical one, or one inlined into it. */
struct address_level {
    struct trace_location *location;
    struct cython_name cython; /**< kind CYTHON_NONE for others. */
    uint8_t python_function;   /**< enum python_function */
    bool plumbing;             /**< Cython's or mypyc's helper code, not what somebody wrote. */
    bool split;                /**< The level further in is a part of this same function. */
};

/** A program counter that some frame is at, and what is known of it. */
struct address_info {
    psc_addr pc;                  /**< The address that is looked up. */
    struct module *module;        /**< NULL: outside of all. */
    struct module_symbol symbol;  /**< name NULL: none. */
    bool interpreter;             /**< In the interpreter's own module. */
    bool extension;               /**< In an extension module: one that exports PyInit_NAME. */
    bool cython_code;             /**< In a Cython module, where no symbol names the function. */
    bool wanted;                  /**< Set by the caller: lines and inlined calls are looked up. */
    bool resolved;                /**< They were. */
    struct address_level *levels; /**< Innermost first; the last is the physical function. */
    size_t level_count;           /**< At least 1. */
    /** Where the generator's function that begins here is suspended at this label; 0: unknown. */
    psc_addr suspended_at;
    uint32_t suspended_label; /**< 0: not looked for yet. */
};

/** What addresses are looked up in, and how much of it. */
struct symbolizer_input {
    struct target *target;
    struct modules *modules;
    struct python *python; /**< NULL: none. */
    bool no_source;        /**< No text of lines. */
    bool no_columns;       /**< Nor columns, which take the text of the line to count. */
    bool no_addresses;     /**< Reasons of gaps say none: samples are counted by their stacks. */
    bool all_inlined; /**< Inlined calls also where debug information is large and compressed. */
    bool all_modules; /**< The trace lists modules that no frame is in, too. */
};

struct symbolizer;

PSC_MUST_CHECK enum psc_status symbolizer_create(struct psc_trace *trace,
                                                 const struct symbolizer_input *input,
                                                 struct symbolizer **ret);
void symbolizer_destroy(struct symbolizer *symbolizer);
/**
 * To be called after modules_take_new(): addresses that were in no module are looked up anew. On
 * error nothing has changed.
 */
PSC_MUST_CHECK enum psc_status symbolizer_take_modules(struct symbolizer *symbolizer);
/** What is known of an address, symbol looked up; NULL when out of memory. */
struct address_info *symbolizer_get(struct symbolizer *symbolizer, psc_addr pc);
/** Whether the physical function is the evaluator, by its name in the interpreter's module. */
bool address_is_evaluator(const struct address_info *info);
/** Looks up lines and inlined calls of all wanted addresses, module by module. */
PSC_MUST_CHECK enum psc_status symbolizer_resolve(struct symbolizer *symbolizer);
/** Whether an address is in the same function of a Cython module as `info`. */
bool symbolizer_are_one_function(struct symbolizer *symbolizer, const struct address_info *info,
                                 psc_addr address);

/* ---- Python frames and gaps ---- */

/** The location of a Python frame, one per code object and instruction; NULL: out of memory. */
const struct trace_location *symbolizer_python(struct symbolizer *symbolizer,
                                               const struct python_frame *frame);
/** The process has gone on: its code objects may be others, and Python's handle is this one. */
void symbolizer_forget_python(struct symbolizer *symbolizer, struct python *python);
/** A gap whose reason is the text; NULL when out of memory. */
const struct trace_location *symbolizer_gap(struct symbolizer *symbolizer, const char *format, ...)
    PSC_PRINTF(2, 3);

/* ---- Cython's generators that await ---- */

/** A generator of Cython's that awaits another, in whose place a helper's frame stands. */
struct awaiting_generator {
    const struct address_info *helper;
    struct address_info *info; /**< Where the generator's function stands, or begins. */
    bool stands;               /**< It stands there; else it begins there. */
    const char *function;      /**< The generator's name. */
};

/** Looks up where the generator stands, and makes its address a wanted one. */
PSC_MUST_CHECK enum psc_status symbolizer_get_awaiting(struct symbolizer *symbolizer,
                                                       const struct python_awaiting *generator,
                                                       const struct address_info *helper,
                                                       struct awaiting_generator **ret);
/** Its location, when its address is resolved; NULL when out of memory. */
const struct trace_location *symbolizer_awaiting(struct symbolizer *symbolizer,
                                                 const struct awaiting_generator *awaiting);

/* ---- modules ---- */

/**
 * Fills trace->modules; warns of modules on the stacks whose file is missing,
 * mismatched or unchecked.
 */
PSC_MUST_CHECK enum psc_status symbolizer_list_modules(struct symbolizer *symbolizer);

#endif
