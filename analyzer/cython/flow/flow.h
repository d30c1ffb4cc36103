/**
 * @file
 * Room `flow`: a module's machine code, and what it does on each path from one instruction to
 * another. Explored by explore.h; what is known on one path is in path_state.h.
 *
 * Addresses are the file's own (unrelocated). All bytes are foreign: they may be any.
 * Knows nothing of lines. A question costs a bounded number of steps; what is not known by then is
 * NULL, 0 or false.
 */
#ifndef PSC_FLOW_H
#define PSC_FLOW_H

#include "explore.h"

/**
 * A module's copy of the function that reports an error, __Pyx_AddTraceback() or
 * CPy_AddTraceback(): it calls PyTraceBack_Here().
 */
struct traceback_helper {
    uint64_t start; /**< Of the function. */
    /** Where the helper takes each from: ABSTRACT_ARGUMENT or ABSTRACT_CONSTANT. */
    struct abstract_value name;
    struct abstract_value line;
    struct abstract_value file;
};

struct known_traits {
    uint64_t start;
    uint8_t traits; /**< enum trait of traits.c; 0: it may fail. */
    bool open;      /**< Not judged yet, or only with the calls that were followed from another. */
};

/** What a function of the module returns when it has failed; see reports/. */
struct known_failure {
    uint64_t start;
    struct abstract_value result;
    bool raises;
};

struct known_import {
    uint64_t name; /**< Where it stands. */
    uint8_t traits;
};

/** The machine code of a file. Zero-initialise; flow_init(), flow_deinit(). */
struct flow {
    struct code_image image;
    struct flow_decoder *decoder;
    struct traceback_helper *helpers;
    size_t helper_count;
    size_t helper_capacity;
    struct hash_table traits;   /**< Of functions that were judged: struct known_traits. */
    struct hash_table imports;  /**< Of imports: struct known_import. */
    struct hash_table failures; /**< Of functions that were asked for: struct known_failure. */
    uint64_t steps;             /**< Spent so far, for all questions. */
    bool traits_cut;            /**< While one is judged: it calls deeper than is followed. */
    bool has_parallel;          /**< It imports what begins a parallel block; set by reports/. */
};

/**
 * False when it is not a shared object of a machine that is known, has no search table of
 * .eh_frame, or no memory. Deinit in any case.
 */
bool flow_init(struct flow *flow, const uint8_t *bytes, size_t size);
void flow_deinit(struct flow *flow);

/** The instruction at an address; INSTRUCTION_BAD outside of functions. Valid until the next call.
 */
const struct instruction *flow_decode(struct flow *flow, uint64_t address);

struct flow_decoder *flow_decoder_create(uint16_t elf_machine);
void flow_decoder_destroy(struct flow_decoder *decoder);

/** Counts instructions that are followed; false when a module's share of them is used up. */
bool flow_spend_steps(struct flow *flow, size_t count);

/** False: out of memory. */
bool flow_add_traceback_helper(struct flow *flow, struct traceback_helper helper);
/** The helper that begins at an address; NULL: none does, as at that of an import. */
const struct traceback_helper *flow_find_traceback_helper(const struct flow *flow, uint64_t start);

/* ---- what calls do ---- */

/** Where a call or jump leads, as far as the instruction tells. */
struct code_target flow_operand_target(const struct flow *flow, const struct operand *operand);

/**
 * Whether what is called is tp_dealloc of an object's type, Py_DECREF() before CPython 3.9: it is
 * no call of what may fail.
 */
bool flow_is_deallocation(const struct operand *operand);

/**
 * True for imports and small functions that cannot fail on an error path: they release, count,
 * lock or ask.
 */
bool flow_is_cleanup(struct flow *flow, struct code_target target);
/** True for those of them that tell whether an exception is of a type. */
bool flow_matches_exception(struct flow *flow, struct code_target target);
/** True for those that tell whether there is an exception. */
bool flow_asks_for_error(struct flow *flow, struct code_target target);
/** True for those of them that take the exception that is set. */
bool flow_takes_exception(struct flow *flow, struct code_target target);
/** Whether an exception is taken and not set behind a call, given what was before it. */
bool flow_leaves_exception_taken(struct flow *flow, struct code_target target, bool taken);
/** True for those that return the interpreter's state of the thread. */
bool flow_returns_thread_state(struct code_target target);
/** True for those that do not return. */
bool flow_never_returns(struct flow *flow, struct code_target target);
/** True for calls that begin a parallel block: gcc's libgomp, the runtime of LLVM and Intel. */
bool flow_begins_parallel(struct code_target target);

/** Judges all anew: for when a traceback helper was added. */
void flow_forget_traits(struct flow *flow);

enum flow_call_kind {
    FLOW_CALL_NONE,
    FLOW_CALL_MAY_FAIL,
    FLOW_CALL_NEVER_RETURNS, /**< What follows it is not its path. */
    FLOW_CALL_CLEANUP,       /**< Of a function that only releases or computes. */
    FLOW_CALL_NO_ERROR       /**< What it returns is no sign of a Python error. */
};

/** What kind of call ends at `pc`, and of what; its `address` is 0 when that is not known. */
enum flow_call_kind flow_find_call(struct flow *flow, uint64_t pc, struct code_target *ret_target);

/**
 * Whether the function at an address calls itself, directly or through another one, as far as calls
 * tell that name what they call. True also when that is not known.
 */
bool flow_calls_itself(struct flow *flow, uint64_t address);

/** False: no more. `state` is that at the call. */
typedef bool flow_call_visit(void *context, struct flow *flow, const struct flow_state *state,
                             const struct instruction *call);
/** The calls in the first `limit` bytes of a function, as it stands, not as it runs. */
void flow_sweep(struct flow *flow, const struct code_function *function, uint64_t limit,
                flow_call_visit *visit, void *context);

/**
 * The last bytes of the calls that are on every path from the entry of its function to an address,
 * the last one first. @return how many, at most `limit`.
 */
size_t flow_find_calls_before(struct flow *flow, uint64_t address, uint64_t *ret, size_t limit);

/**
 * The last bytes of the calls that may fail from which a path leads to an address of their function
 * without another one. @return how many; 0 when they are more than `limit`.
 */
size_t flow_find_calls_leading(struct flow *flow, uint64_t address, uint64_t *ret, size_t limit);

/**
 * Sets those registers of a new state that calls preserve, and those places on the stack, that hold
 * the same constant whichever path led to an instruction; false when there is none.
 */
bool flow_find_preserved(struct flow *flow, uint64_t pc, struct flow_state *state);

#endif
