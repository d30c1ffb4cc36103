/** @file What the files of room `trace` share: places, the plan of a merge, source text. */
#ifndef PSC_TRACE_PRIVATE_H
#define PSC_TRACE_PRIVATE_H

#include "capture.h"

/* ---- classify.c ---- */

/** What a native function is to the interpreter, by its name. */
enum function_class {
    FUNCTION_OTHER,
    FUNCTION_EVALUATOR,
    FUNCTION_CALL,           /**< Connects calls: always plumbing. */
    FUNCTION_DISPATCH,       /**< Abstract-object machinery: plumbing between Python frames. */
    FUNCTION_EVALUATOR_STEP, /**< One instruction of an evaluator that is made of tail calls. */
    FUNCTION_TAKE_GIL,
    FUNCTION_COLLECT,
    FUNCTION_MAIN /**< The interpreter's own main(). */
};

/** For functions of the interpreter's own modules. */
enum function_class classify_interpreter_function(const char *name, bool python_2);

/* ---- places.c ---- */

/** One level of a place: the physical function, or one inlined into it. */
struct address_level {
    struct trace_location *location;
    struct cython_name cython; /**< kind CYTHON_NONE for others. */
    uint8_t function_class;    /**< enum function_class */
    bool plumbing;             /**< Helper code of the binding generator. */
    bool split;                /**< The level further in is a part of this same function. */
};

/** A program counter that some frame is at, and what is known of it. */
struct address_info {
    psc_addr pc;                 /**< The address that is looked up. */
    struct module *module;       /**< NULL: outside of all. */
    struct module_symbol symbol; /**< name NULL: none. */
    bool interpreter;            /**< In the interpreter's own module. */
    bool extension;              /**< In an extension module: one that exports PyInit_NAME. */
    bool cython_code;            /**< In a Cython module that does not name its function. */
    bool wanted; /**< Some visible frame is here: lines and inlined calls are looked up. */
    struct address_level *levels; /**< Innermost first; the last is the physical function. */
    size_t level_count;
    /** Where a generator's function that begins here stands when left with this number; 0: unknown.
     */
    psc_addr suspended_at;
    uint32_t suspended_label; /**< 0: nobody asked. */
};

struct symbolizer;

PSC_MUST_CHECK enum psc_status symbolizer_create(struct psc_trace *trace,
                                                 const struct capture_sources *sources,
                                                 const struct psc_capture_options *options,
                                                 struct symbolizer **ret);
void symbolizer_destroy(struct symbolizer *symbolizer);
/** The place of an address, symbol looked up; NULL when out of memory. */
struct address_info *symbolizer_get(struct symbolizer *symbolizer, psc_addr pc);
/** By name, in the interpreter's own module. */
bool address_is_evaluator(const struct address_info *info);
/** Looks up lines and inlined calls of all wanted places, module by module. */
PSC_MUST_CHECK enum psc_status symbolizer_resolve(struct symbolizer *symbolizer);
/** The location of a Python frame; one per code object and instruction. */
const struct trace_location *symbolizer_python(struct symbolizer *symbolizer,
                                               const struct python_frame *frame);
const struct trace_location *symbolizer_gap(struct symbolizer *symbolizer, const char *format, ...)
    PSC_PRINTF(2, 3);
/**
 * Fills trace->modules; warns of modules on the stacks whose file is missing,
 * mismatched or unchecked.
 */
PSC_MUST_CHECK enum psc_status symbolizer_list_modules(struct symbolizer *symbolizer);

/* ---- place_delegation.c ---- */

/** What the frame of a helper of Cython's stands for: a generator that delegates. */
struct place_delegation {
    const struct address_info *helper;
    struct address_info *info; /**< Where the generator's function stands, or begins. */
    bool stands;               /**< The former. */
    const char *function;      /**< As the generator is called. */
};

/** Whether an address is in the function that a place of a Cython module is in. */
bool symbolizer_are_one_function(struct symbolizer *symbolizer, const struct address_info *info,
                                 psc_addr address);
PSC_MUST_CHECK enum psc_status symbolizer_get_delegation(struct symbolizer *symbolizer,
                                                         const struct python_delegate *delegate,
                                                         const struct address_info *helper,
                                                         struct place_delegation **ret);
/** Its location, when its place is resolved; NULL when out of memory. */
const struct trace_location *symbolizer_delegation(struct symbolizer *symbolizer,
                                                   const struct place_delegation *delegation);

/* ---- roles.c ---- */

/** What the frames further in tell about the next one outward. Zero-initialise per thread. */
struct roles {
    bool user_inside;      /**< Code that the interpreter runs for somebody is further in. */
    bool behind_evaluator; /**< The last frame runs Python frames, or connects to one that does. */
    const struct cython_name *inner; /**< The last Cython frame, while only plumbing followed. */
    const struct module *inner_module;
    bool inner_apart;       /**< Some did. */
    bool generic_attribute; /**< It is the interpreter's own way to find an attribute. */
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

/* ---- source_text.c ---- */

enum source_encoding {
    SOURCE_UTF8,
    SOURCE_UTF8_MARKED, /**< Behind a byte order mark. */
    SOURCE_CONVERTED,   /**< `ret` is the text in UTF-8, malloc'd. */
    SOURCE_UNKNOWN      /**< It says that it is something that is not known here. */
};

/** What a source file says of its encoding, as PEP 263 has it. */
enum source_encoding source_decode(const char *text, size_t size, char **ret, size_t *ret_size);
/** Bytes of the first line with its end: "\n", "\r\n" or "\r". */
size_t source_line_length(const char *text, size_t size);

/* ---- source.c ---- */

struct sources;

struct sources *sources_create(struct target *target, struct arena *arena);
void sources_destroy(struct sources *sources);
/**
 * Line `line` (from 1) of a source file as the target names it; not terminated,
 * valid until sources_destroy(). NULL when the file or the line is not there.
 */
const char *sources_find_line(struct sources *sources, const char *path, uint32_t line,
                              size_t *ret_size);
/** The line without its indentation and end, bounded, copied to the arena; NULL if none. */
const char *sources_copy_line(struct sources *sources, const char *path, uint32_t line);

/* ---- merge.c ---- */

enum plan_kind { PLAN_NATIVE, PLAN_PYTHON, PLAN_GAP };

/** One step of a merged stack, innermost first. */
struct plan_item {
    enum plan_kind kind;
    bool evaluator; /**< Native: Python frames that it runs follow. */
    union {
        size_t native; /**< Index into the native stack. */
        struct python_frame python;
        const struct trace_location *gap;
    } is;
};

/** The Python side of one thread state. */
struct python_side {
    const struct python_thread *thread;
    struct python_stack stack;
};

struct plan {
    struct native_stack native;
    struct address_info **native_info;     /**< Parallel to native.frames; malloc'd. */
    struct place_delegation **delegations; /**< The same; NULL: none is. See delegations_find(). */
    struct python_side *sides;             /**< Several for sub-interpreters on one thread. */
    size_t side_count;
    psc_addr sp; /**< The thread's stack pointer; 0: not known. */
    struct plan_item *items;
    size_t count;
    size_t capacity;
};

void plan_deinit(struct plan *plan);
/** The next evaluator by name from a native frame on; SIZE_MAX: none. */
size_t plan_next_evaluator(const struct plan *plan, size_t from);

/** What merging learns of the evaluator, from any thread, to go on behind broken unwinding. */
struct evaluator_facts {
    bool known;
    psc_addr pc; /**< Of an evaluator frame that was unwound well. */
    uint64_t cfa_minus_anchor;
    uint64_t cfa_minus_sp;
};

/** Puts plan->native and plan->sides into one order, by address. */
PSC_MUST_CHECK enum psc_status merge_stacks(struct plan *plan, struct python *python,
                                            struct target *target, struct symbolizer *symbolizer);

/* ---- merge_slots.c ---- */

/** Which native frame runs which frame object, for joins by slot. */
struct slot_assignment {
    size_t native;
    size_t chain_index; /**< In the thread's chain. */
};

/**
 * Finds the frames of all evaluators, innermost first. Where CPython cut the chain (3.9 and early
 * 3.10, while an exception is thrown into a generator) side->stack is continued.
 */

PSC_MUST_CHECK enum psc_status merge_find_slots(const struct plan *plan, struct python_side *side,
                                                struct python *python, struct target *target,
                                                struct slot_assignment **ret, size_t *ret_count);

/* ---- entering.c ---- */

/**
 * Walks the chains of those sides again whose newest CFrame is not filled in yet: the evaluator
 * that stands further out tells where the list goes on.
 */
PSC_MUST_CHECK enum psc_status entering_walk_again(struct plan *plan, struct python *python,
                                                   struct target *target);

/* ---- merge_sides.c ---- */

/**
 * For joins by slot: makes one chain of those of several interpreters, the inner one first.
 * @param ret_ordered  false: nothing tells which of them is the inner one.
 */
PSC_MUST_CHECK enum psc_status merge_join_sides(struct plan *plan, struct target *target,
                                                bool *ret_ordered);

/** True when the native frame is an evaluator and holds this address. */
bool merge_points_to(const struct plan *plan, size_t native, struct target *target,
                     psc_addr address);

/* ---- merge_homes.c ---- */

/** Gives sides of other interpreters to the thread on whose stack they run. */
PSC_MUST_CHECK enum psc_status merge_find_homes(struct plan *const *plans, size_t count,
                                                struct target *target);

/* ---- resume.c ---- */

/** Learns from a well-unwound evaluator frame of the plan where its anchor lies. */
void resume_learn(struct evaluator_facts *facts, const struct plan *plan);
/**
 * When unwinding broke below an anchor that the facts explain, walks on from
 * there and appends to plan->native.
 */
PSC_MUST_CHECK enum psc_status resume_native(struct plan *plan, struct native *native,
                                             struct target *target,
                                             const struct evaluator_facts *facts);

/* ---- delegations.c ---- */

/**
 * Finds the frames of Cython's helpers that stand for generators which delegate, by the objects
 * on the stack; fills plan->delegations. The plan is merged.
 */
PSC_MUST_CHECK enum psc_status delegations_find(struct plan *plan,
                                                const struct capture_sources *sources,
                                                struct symbolizer *symbolizer);

/* ---- values.c ---- */

/** Fills thread->exceptions from its thread states. */
PSC_MUST_CHECK enum psc_status values_add_exceptions(struct psc_trace *trace, struct python *python,
                                                     struct symbolizer *symbolizer,
                                                     const struct plan *plan,
                                                     struct trace_thread *thread);
/**
 * Fills thread->locals for the frames that are shown, which stand in the plan's order.
 * @param bytes  text that variables of native frames may still have; what was used is taken off.
 */
PSC_MUST_CHECK enum psc_status values_add_locals(struct psc_trace *trace,
                                                 const struct capture_sources *sources,
                                                 const struct plan *plan,
                                                 struct trace_thread *thread, size_t *bytes);

/* ---- tasks.c ---- */

/** Fills trace->tasks; the threads are there. */
PSC_MUST_CHECK enum psc_status tasks_fill(struct psc_trace *trace, struct python *python,
                                          struct symbolizer *symbolizer,
                                          const struct python_thread *threads, size_t thread_count);

/** Fills trace->greenlets. */
PSC_MUST_CHECK enum psc_status greenlets_fill(struct psc_trace *trace, struct python *python,
                                              const struct target *target,
                                              struct symbolizer *symbolizer,
                                              const struct python_thread *threads,
                                              size_t thread_count);

/* ---- task_cycles.c ---- */

/** One cycle of each group of tasks that wait for each other; in the arena. */
PSC_MUST_CHECK enum psc_status task_cycles_find(struct arena *arena, struct trace_tasks *tasks);

/* ---- native_values.c ---- */

/** Text that the variables of all native frames together may have. */
#define C_VALUES_BYTES_LIMIT ((size_t)64 << 20)

struct c_values;

/**
 * What is needed to read variables of native frames of one stack; NULL when out of memory.
 * @param bytes  as above; kept.
 */
struct c_values *c_values_create(struct psc_trace *trace, const struct capture_sources *sources,
                                 const struct plan *plan, size_t *bytes);
void c_values_destroy(struct c_values *values);
/** Reads what c_values_read() will read of a frame, whatever its levels. False: out of memory. */
bool c_values_rehearse(struct c_values *values, size_t native);
/**
 * Arguments and variables of a level of a native frame, by debug information; in *ret, which
 * stays as it is when there are none. `level` counts from the innermost.
 */
PSC_MUST_CHECK enum psc_status c_values_read(struct c_values *values, size_t native, size_t level,
                                             const struct trace_locals **ret);

/* ---- states.c ---- */

/**
 * Further enum trace_state bits, when the others are known: a thread that waits in the kernel
 * and has nothing to do with the GIL is idle; a thread state without a thread (NULL) has ended.
 */
uint32_t states_of_registers(const struct target_thread *native, uint32_t known);

/**
 * Whether a frame of the interpreter waits for the GIL. A stripped one does not name take_gil(),
 * but the GIL is the only thing for which CPython waits on a condition with a time limit: its locks
 * are semaphores (Python/ceval_gil.h, Python/thread_pthread.h with USE_SEMAPHORES, as on every
 * Linux).
 * @param inner      symbol of the native frame that it called; NULL: not known.
 * @param evaluator  it is an evaluator.
 */
bool states_waits_for_gil(const char *inner, const struct address_info *info, bool evaluator);

/* ---- extents.c ---- */

/** The native frames' extents [sp, cfa), ready for look-up by address. */
struct extents {
    const struct native_stack *stack;
    size_t *order; /**< Frame indices by rising sp; NULL when the stack rises by itself. */
};

PSC_MUST_CHECK bool extents_init(struct extents *extents, const struct native_stack *stack);
void extents_deinit(struct extents *extents);
/** The frame whose [sp, cfa) holds the address; SIZE_MAX when none does. */
size_t extents_find(const struct extents *extents, psc_addr address);
/** The frame with the lowest sp above the address; the frame count when none is. */
size_t extents_next(const struct extents *extents, psc_addr address);

#endif
