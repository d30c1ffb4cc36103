/**
 * @file
 * Room `merge`: native and Python frames in one order, joined by address; and which of them are
 * machinery.
 *
 * Of each thread: walk both kinds of stacks into a struct merged_stack and look its native frames
 * up (native_info), then in this order merge_choose_partial_cframes(), merge_learn_evaluator();
 * of all threads merge_find_owning_threads(); then again of each merge_continue_unwinding(),
 * merge_stacks() and merge_find_await_chains().
 *
 * Knows nothing of C variables and of printing. Stacks are the caller's, see merged_stack_deinit().
 */
#ifndef PSC_MERGE_H
#define PSC_MERGE_H

#include "native.h"
#include "symbolize.h"

enum merged_kind { MERGED_NATIVE, MERGED_PYTHON, MERGED_GAP };

/** One step of a merged stack, innermost first. */
struct merged_item {
    enum merged_kind kind;
    bool evaluator; /**< Native: Python frames that it runs follow. */
    union {
        size_t native; /**< Index into the native stack. */
        struct python_frame python;
        const struct trace_location *gap;
    } is;
};

/** The Python frames of one thread state. */
struct interpreter_stack {
    const struct python_thread *thread;
    struct python_stack stack;
    /** Where the newest CFrame is not filled in: from the next one on that leads to the root. */
    struct python_stack further;
};

/** The stacks of one thread, and the order of their frames. */
struct merged_stack {
    struct native_stack native;
    struct address_info **native_info; /**< Parallel to native.frames; malloc'd. */
    /** The same; NULL: no frame stands for such. See merge_find_await_chains(). */
    struct awaiting_generator **awaiting;
    struct interpreter_stack *interpreters; /**< Several where sub-interpreters run on it. */
    size_t interpreter_count;
    psc_addr sp;        /**< The thread's stack pointer; 0: not known. */
    psc_addr stack_end; /**< With it: see target_find_stack_end(). */
    psc_addr inside;    /**< Without it: an address in the mapping of its stack; 0: not known. */
    struct merged_item *items;
    size_t count;
    size_t capacity;
};

/** Adds an interpreter's stack, and takes over what it holds. */
PSC_MUST_CHECK enum psc_status merged_stack_add(struct merged_stack *merged,
                                                const struct interpreter_stack *interpreter);
void merged_stack_deinit(struct merged_stack *merged);
/** Words of a stack that are read at a time: 4 KB. */
#define STACK_PIECE_WORDS ((size_t)512)
/**
 * Reads the next words of a thread's stack, from its stack pointer on when *at is 0, to its end.
 * @param at  where the last ones began; moved on.
 * @return how many: fewer than STACK_PIECE_WORDS where the stack, or what can be read of it, ends.
 */
size_t merged_stack_read_words(const struct merged_stack *merged, struct target *target,
                               psc_addr *at, uint64_t words[STACK_PIECE_WORDS]);

/** What the evaluator of any thread tells of all: to go on where unwinding broke. */
struct evaluator_facts {
    bool known;
    psc_addr pc; /**< Of an evaluator frame that was unwound well. */
    uint64_t cfa_minus_anchor;
    uint64_t cfa_minus_sp;
};

/** Walks interpreter->further, if interpreter->stack calls for it. */
PSC_MUST_CHECK enum psc_status merge_walk_further(struct interpreter_stack *interpreter,
                                                  struct python *python);
/**
 * Gives those interpreters whose newest CFrame is not filled in yet the right stack: the evaluator
 * that stands further out tells where the list goes on.
 */
PSC_MUST_CHECK enum psc_status merge_choose_partial_cframes(struct merged_stack *merged,
                                                            struct python *python,
                                                            struct target *target);
/** Learns from a well-unwound evaluator frame where its anchor lies. */
void merge_learn_evaluator(struct evaluator_facts *facts, const struct merged_stack *merged);
/**
 * Gives the stacks of other interpreters to the thread that runs them. Where all its own were given
 * away, a thread is left without any.
 */
PSC_MUST_CHECK enum psc_status merge_find_owning_threads(struct merged_stack *const *stacks,
                                                         size_t count, struct target *target);
/**
 * Where unwinding broke, or had to guess, below an anchor that the facts explain, walks on from
 * there: merged->native gets other frames from there on, native_info is not touched.
 */
PSC_MUST_CHECK enum psc_status merge_continue_unwinding(struct merged_stack *merged,
                                                        struct native *native,
                                                        struct target *target,
                                                        const struct evaluator_facts *facts);
/** Puts merged->native and merged->interpreters into one order, by address: merged->items. */
PSC_MUST_CHECK enum psc_status merge_stacks(struct merged_stack *merged, struct python *python,
                                            struct target *target, struct symbolizer *symbolizer);

/** What await chains are looked for in. */
struct await_chain_input {
    struct target *target;
    struct modules *modules;
    struct python *python;
    struct symbolizer *symbolizer;
};

/**
 * Finds the frames of Cython's helpers that stand for generators which await others, by the
 * objects on the stack; fills merged->awaiting. The stack is merged.
 */
PSC_MUST_CHECK enum psc_status merge_find_await_chains(struct merged_stack *merged,
                                                       const struct await_chain_input *input);

/* ---- which frames are machinery ---- */

/** What the frames further in tell about the next one outward. Zero-initialise per thread. */
struct roles {
    bool user_inside;      /**< Code that the interpreter runs for somebody is further in. */
    bool behind_evaluator; /**< The last frame runs Python frames, or connects to one that does. */
    const struct cython_name *inner; /**< The last Cython frame, while only plumbing followed. */
    const struct module *inner_module;
    bool inner_apart;       /**< Plumbing stands between it and the next frame outward. */
    bool generic_attribute; /**< The last frame is a PYTHON_FUNCTION_ATTRIBUTE. */
    /** The body of a parallel block, while only the threads' runtime followed. */
    const struct address_level *parallel;
    const struct module *parallel_module;
    size_t parallel_distance; /**< How many levels further in it is. */
    /** The last level is the function around that block; the levels in between connect the two. */
    bool closes_parallel;
};

/** The role of the next level of a native frame outward. */
enum trace_role roles_take(struct roles *roles, const struct address_info *info,
                           const struct address_level *level, bool evaluator);
void roles_pass_python(struct roles *roles);
void roles_pass_gap(struct roles *roles);
bool role_is_hidden(enum trace_role role);

#endif
