/**
 * @file
 * Private to cython/: function, .pyx file and line of an address from machine code alone.
 *
 * Every Cython function reports an error to Python by a call of its own copy of
 * __Pyx_AddTraceback(function, c_line, line, file), whose arguments are constants. That helper
 * calls PyTraceBack_Here(), an import that no strip takes away. So: the functions that call
 * PyTraceBack_Here are the anchors; where each gets its name, line and file from is found by
 * following its arguments to PyCode_NewEmpty(file, function, line); and from the return address
 * of an interrupted call one follows the way that an error takes to the next anchor.
 *
 * Addresses are the file's own (unrelocated). All bytes are foreign: they may be any.
 */
#ifndef PSC_MACHINE_H
#define PSC_MACHINE_H

#include "code_state.h"

/* ---- machine_report.c, machine_convention.c, machine_call.c, machine_failure.c ---- */

/** Where an anchor gets something from. */
struct machine_anchor {
    uint64_t start; /**< Of the function. */
    struct value name;
    struct value line;
    struct value file;
};

struct machine {
    struct machine_image image;
    struct machine_decoder *decoder;
    struct machine_anchor *anchors;
    size_t anchor_count;
    size_t anchor_capacity;
    struct clean_function *clean; /**< Functions that were looked at, sorted by start. */
    size_t clean_count;
    size_t clean_capacity;
    bool mypyc;                    /**< Not Cython made it. */
    uint64_t steps;                /**< Spent so far, for all questions. */
    struct machine_entry *entries; /**< Sorted by function. */
    size_t entry_count;
    size_t entry_capacity;
    bool entries_read;
    bool referrers_read;
    struct known_identity *identities; /**< Of functions that were asked for, in no order. */
    size_t identity_count;
    size_t identity_capacity;
    struct machine_block *blocks; /**< Functions that were asked for, in no order. */
    size_t block_count;
    size_t block_capacity;
};

/** A call of an anchor. */
struct machine_report {
    const char *name; /**< "pkg.mod.Class.method"; NULL: not known. In the image. */
    const char *file; /**< Or NULL. */
    uint32_t line;    /**< 0: not known. */
    bool direct;      /**< It belongs to the call that the search began at. */
    bool outermost;   /**< Behind it the function is left: it was not inlined. */
    bool kept;        /**< A parallel block keeps it, and does not tell the name. */
};

#define MACHINE_CHAIN_LIMIT 16

/**
 * The reports that an error makes on its way out of the function, the innermost (inlined) one
 * first.
 * @param address  of the last byte of the call that is under way; else of an instruction.
 */
size_t machine_find_reports(struct machine *machine, uint64_t address, struct machine_report *ret,
                            size_t limit);

enum machine_call_kind {
    MACHINE_CALL_NONE,
    MACHINE_CALL_MAY_FAIL,
    MACHINE_CALL_ENDS,       /**< Of what does not return: what follows it is not its way. */
    MACHINE_CALL_HARMLESS,   /**< Of a function that only lets go of things or computes. */
    MACHINE_CALL_CANNOT_FAIL /**< What it returns is no sign of a Python error. */
};

/** What kind of call ends at `pc`, and of what; its `address` is 0 when that is not known. */
enum machine_call_kind machine_find_call(struct machine *machine, uint64_t pc,
                                         struct machine_target *ret_target);

/**
 * Whether the function at an address calls itself, directly or through another one, as far as calls
 * tell that name what they call. True also when that is not known.
 */
bool machine_calls_itself(struct machine *machine, uint64_t address);

/** False: no more. `state` is that at the call. */
typedef bool machine_call_visit(void *context, struct machine *machine,
                                const struct machine_state *state, const struct instruction *call);
/** The calls in the first `limit` bytes of a function, as it stands, not as it runs. */
void machine_sweep(struct machine *machine, const struct machine_function *function, uint64_t limit,
                   machine_call_visit *visit, void *context);

/** Whether it is PyErr_WriteUnraisable(), or a function that calls it: __Pyx_WriteUnraisable(). */
bool machine_gives_up_error(struct machine *machine, struct machine_target target);
/** What a call of this returns after it has failed: a VALUE_ERROR. */
struct value machine_find_failure(struct machine *machine, struct machine_target target);

/** Where function `start` takes name, line and file from; false when it makes no code object. */
bool machine_find_convention(struct machine *machine, uint64_t start, struct machine_anchor *ret);
/** The anchor that begins at an address; NULL: none does, as at that of an import. */
const struct machine_anchor *machine_find_anchor(const struct machine *machine, uint64_t start);
/** A register's value, when that is where something comes from; else `from` itself. */
struct value machine_resolve(const struct machine_state *state, struct value from);
/** Name, line and file that a call of an anchor is given. */
void machine_read_report(const struct machine *machine, const struct machine_anchor *anchor,
                         const struct machine_state *state, struct machine_report *ret);

/* ---- machine_preserved.c ---- */

/**
 * Sets those registers of a new state that calls preserve, and those places on the stack, that hold
 * the same constant whichever way the function came to an instruction; false when there is none.
 */
bool machine_find_preserved(struct machine *machine, uint64_t pc, struct machine_state *state);
/* ---- machine_parallel.c ---- */

/** A variable that the body of a parallel block leaves to who began it. */
struct machine_shared {
    bool known;
    struct value base; /**< VALUE_ARGUMENT or VALUE_STACK, at the body's entry; */
    uint64_t offset;   /**< what it points to, plus this. */
};

/** A parallel block: its body is a function of its own, which the OpenMP runtime calls. */
struct machine_block {
    const struct machine_function *body;
    const struct machine_function *parent; /**< NULL: no body of a parallel block. */
    uint64_t call;                         /**< In the parent, its last byte. */
    struct machine_shared line;            /**< That the parent reports. */
    struct machine_shared file;
};

/** True for calls that begin a parallel block: gcc's libgomp, the runtime of LLVM and Intel. */
bool machine_begins_parallel(struct machine_target target);
/** Whether the call whose last byte is at an address is such. */
bool machine_is_block_call(struct machine *machine, uint64_t address);
/** The block whose body a function is; NULL when it is none. */
const struct machine_block *machine_find_block(struct machine *machine,
                                               const struct machine_function *function);
/** Tells a state that stands inside of a function about the block, if it is the body of one. */
void machine_enter_block(struct machine *machine, const struct machine_function *function,
                         struct machine_state *state);
/** The line that the block has kept; 0: none as yet. */
uint32_t machine_kept_line(const struct machine_state *state);
/** Then also the file; or NULL. */
const char *machine_kept_file(const struct machine *machine, const struct machine_state *state);

/* ---- machine_before.c ---- */

/**
 * The last bytes of the calls that are on every way from the entry of its function to an address,
 * the last one first. @return how many, at most `limit`.
 */
size_t machine_find_calls_before(struct machine *machine, uint64_t address, uint64_t *ret,
                                 size_t limit);

/**
 * The last bytes of the calls that may fail from which a way leads to an address of their function
 * without another one. @return how many; 0 when they are more than `limit`.
 */
size_t machine_find_calls_leading(struct machine *machine, uint64_t address, uint64_t *ret,
                                  size_t limit);

/* ---- machine_suspension.c ---- */

/**
 * The call in which the function of a generator delegates at the place of a number, its last byte;
 * 0: not found.
 * @param offset  where in the generator the number is kept.
 */
uint64_t machine_find_suspension(struct machine *machine, uint64_t start, uint32_t label,
                                 uint64_t offset);
/** Whether two addresses are in one function, cold parts included. */
bool machine_same_function(struct machine *machine, uint64_t a, uint64_t b);

/* ---- machine_traits.c ---- */

/** True for imports and small functions that a way out may pass: they only let go of things. */
bool machine_is_clean(struct machine *machine, struct machine_target target);
/** True for those of them that tell whether an exception is of a type. */
bool machine_is_match(struct machine *machine, struct machine_target target);
/** True for those that tell whether there is an exception. */
bool machine_is_question(struct machine *machine, struct machine_target target);
/** True for those of them that take the exception that is set. */
bool machine_is_catch(struct machine *machine, struct machine_target target);
/** Whether an exception is taken and not set behind a call, given what was before it. */
bool machine_takes(struct machine *machine, struct machine_target target, bool taken);
/** True for those that return the interpreter's state of the thread. */
bool machine_is_thread(struct machine_target target);
/** True for those that do not return. */
bool machine_is_end(struct machine *machine, struct machine_target target);

/* ---- machine_anchor.c ---- */

/** Reads the file and finds its anchors; NULL when it is not Cython's or mypyc's. */
struct machine *machine_create(const uint8_t *bytes, size_t size);
void machine_destroy(struct machine *machine);

/* ---- machine_tables.c ---- */

enum machine_entry_kind {
    MACHINE_METHOD,
    MACHINE_SLOT,
    MACHINE_GETTER,
    MACHINE_SETTER,
    MACHINE_MODULE, /**< The module's own code. */
    MACHINE_EXPORT  /**< A C function that other modules may call. */
};

/** The name that such have, as Cython reports it, but for the module's behind it. */
#define MACHINE_MODULE_NAME "init "

/** What tables in data say of a function. */
struct machine_entry {
    uint64_t function;
    const char *name; /**< The method's, the property's, or as cython_slot_methods(). */
    const char *type; /**< "pkg.mod.Class"; NULL: of none, or of several. In the image. */
    uint8_t kind;     /**< enum machine_entry_kind */
    bool plumbing;    /**< Of Cython's own types. */
};

/** The last part of a dotted name. */
static inline const char *machine_leaf(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/** The name of a fused function without its `__pyx_fuse_0_1`; else the same. */
const char *machine_plain_name(const char *name);
/* machine_exports.c */
/** Each function that the module exports, by the code that does it. */
void machine_each_export(const struct machine_image *image, void *context,
                         void (*visit)(void *context, struct machine_entry entry));
/** All of them, sorted by function, one each; reads them once. */
size_t machine_entries(struct machine *machine, const struct machine_entry **ret);
/** That of the function that begins at an address; or NULL. */
const struct machine_entry *machine_find_entry(struct machine *machine, uint64_t function);

/* ---- machine_unraisable.c ---- */

/** "pkg.mod.f" of a function whose errors go to sys.unraisablehook; NULL when it is not certain. */
const char *machine_find_unraisable_name(struct machine *machine,
                                         const struct machine_function *function);

/* ---- machine_names.c ---- */

/** What is known of a whole function, without a line. */
struct machine_identity {
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

/** The function that jumps into a fragment; NULL when it is no fragment. */
const struct machine_function *machine_find_jumping(struct machine *machine,
                                                    const struct machine_function *function);
/** Who takes the address of a function that nothing calls, to hand it to somebody; or NULL. */
const struct machine_function *machine_find_addressing(struct machine *machine,
                                                       const struct machine_function *function);
/** The string "pkg.mod.Class.<leaf>", when there is just one such. */
const char *machine_find_whole_name(const struct machine_image *image, const char *leaf);
/**
 * @param address  anywhere in it.
 * @param last     the report of the whole function, which saves the look at all of it; or NULL.
 */
struct machine_identity machine_identify(struct machine *machine, uint64_t address,
                                         const struct machine_report *last);

#endif
