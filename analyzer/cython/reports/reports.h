/**
 * @file
 * Room `reports`: function, .pyx file and line of an address from machine code alone.
 *
 * Every Cython function reports an error to Python by a call of its own copy of
 * __Pyx_AddTraceback(function, c_line, line, file), whose arguments are constants. That helper
 * calls PyTraceBack_Here(), an import that no strip takes away. So: the functions that call
 * PyTraceBack_Here are the traceback helpers; where each gets its name, line and file from is found
 * by following its arguments to PyCode_NewEmpty(file, function, line); and from the return address
 * of an interrupted call one follows the path that an error takes to the next helper.
 *
 * Addresses are the file's own (unrelocated). All bytes are foreign: they may be any.
 * What is not known is NULL, 0 or false.
 */
#ifndef PSC_REPORTS_H
#define PSC_REPORTS_H

#include "flow.h"

/** What the machine code of one module tells of its functions; each part is read once. */
struct reports;

/** Reads the file and finds its traceback helpers; NULL when it is not Cython's or mypyc's. */
struct reports *reports_create(const uint8_t *bytes, size_t size);
void reports_destroy(struct reports *reports);
struct flow *reports_get_flow(struct reports *reports);
/** Whether mypyc made the file. */
bool reports_is_mypyc(const struct reports *reports);

/* ---- of an address ---- */

/** A call of a traceback helper. */
struct error_report {
    const char *name; /**< "pkg.mod.Class.method"; NULL: not known. In the image. */
    const char *file; /**< Or NULL. */
    uint32_t line;    /**< 0: not known. */
    bool direct;      /**< It reports the failure of the call that the search began at. */
    bool outermost;   /**< The function returns after it: it is not that of an inlined one. */
    bool kept;        /**< A parallel block stores it for its parent, and does not tell the name. */
};

#define REPORTS_CHAIN_LIMIT 16

/**
 * The reports that an error makes on its path out of the function, the innermost (inlined) one
 * first.
 * @param address  of the last byte of the call that is under way; else of an instruction.
 */
size_t reports_find(struct reports *reports, uint64_t address, struct error_report *ret,
                    size_t limit);
/** Name, line and file that a call of a helper is given. */
void reports_read(const struct flow *flow, const struct traceback_helper *helper,
                  const struct flow_state *state, struct error_report *ret);

/**
 * The last byte of the call by which a generator's function hands on to what it awaits, at the
 * `yield from` or `await` that has a number; 0: not found.
 * @param offset  where in the generator the number is kept.
 */
uint64_t reports_find_suspension(struct reports *reports, uint64_t start, uint32_t label,
                                 uint64_t offset);

/* ---- parallel blocks ---- */

/** A parallel block: its body is a function of its own, which the OpenMP runtime calls. */
struct parallel_block {
    const struct code_function *body;
    const struct code_function *parent; /**< NULL: no body of a parallel block. */
    uint64_t call;                      /**< In the parent, its last byte. */
    /** A variable that the body leaves to the parent, which reports it. */
    struct block_variable {
        bool known;
        struct abstract_value
            base;        /**< ABSTRACT_ARGUMENT or ABSTRACT_STACK, at the body's entry; */
        uint64_t offset; /**< what it points to, plus this. */
    } line, file;
};

/** Whether the call whose last byte is at an address begins a parallel block. */
bool reports_is_block_call(struct flow *flow, uint64_t address);
/** The block whose body a function is; NULL when it is none. */
const struct parallel_block *reports_find_block(struct reports *reports,
                                                const struct code_function *function);

/* ---- of a whole function ---- */

/** The name that the module's own code has, as Cython reports it, but for the module's behind it.
 */
#define MODULE_BODY_NAME "init "

/** What is known of a whole function, without a line. */
struct function_identity {
    const char *name; /**< As reports have it, or a method table's bare name; NULL: not known. */
    const char *file; /**< Or NULL. */
    const char *type; /**< The class of a bare name, as tables have it; or NULL. */
    bool bare;        /**< The name is a table's. */
    bool property;    /**< It is that of a property that this gets (or sets). */
    bool setter;
    bool method;   /**< It is in a method table: Python calls it. */
    bool pointed;  /**< It is in the table of a type. */
    bool body;     /**< A function in a method table, of the same name, calls it. */
    bool parallel; /**< It is the body of a parallel block of `name`. */
    bool plumbing; /**< It is a method of Cython's own types; there is no name. */
};

/**
 * @param address  anywhere in it.
 * @param last     a report of the whole function, so that it need not be searched for; or NULL.
 */
struct function_identity reports_identify(struct reports *reports, uint64_t address,
                                          const struct error_report *last);
/** The string "pkg.mod.Class.<leaf>", when there is just one such. */
const char *reports_find_whole_name(const struct code_image *image, const char *leaf);
/** The string that ends in "/leaf.ending", or is that; NULL when there is none. */
const char *reports_find_file(const struct code_image *image, const char *leaf, const char *ending);

#endif
