/**
 * @file
 * Room `python`: runtime -> interpreters -> threads -> frames -> code, line, names.
 *
 * Facts about interpreters are data (layout/); what a self-describing
 * interpreter (3.13+) says of itself is checked once and then overrides them. Everything
 * read is foreign: bounded, checked for cycles, a fault never stops a report.
 *
 * To add a version, in layout/: a column of slots in layout.def, a row in rules.c, the sizes in
 * debug_offsets.c; names of new functions in interpreter_functions.c. Then tests/ compares every
 * cell with DWARF.
 */
#ifndef PSC_PYTHON_H
#define PSC_PYTHON_H

#include "c_api.h"
#include "cython_types.h"
#include "modules.h"
#include "python_waits.h"

struct python;

struct python_info {
    const char *implementation; /**< "CPython" */
    const char *version;        /**< "3.11.2", "3.13.0rc1"; as sys.version has it. */
    uint32_t hex;               /**< PY_VERSION_HEX; micro and below may be 0 when unknown. */
    bool debug;                 /**< A Py_DEBUG build, when known. */
    bool free_threaded;
    psc_addr runtime;        /**< &_PyRuntime */
    struct module *module;   /**< Which holds the runtime: libpython or the executable. */
    const char *found_by;    /**< "symbol _PyRuntime in ...", for --explain. */
    const char *layout_from; /**< "table 3.11", "_Py_DebugOffsets 3.13": for --explain. */
};

/**
 * Finds the interpreter.
 * @return PSC_ERR_NOT_FOUND: no Python here. PSC_ERR_UNSUPPORTED: a Python that is not
 *         known; the sentence names it. Strings are from the arena, which python keeps.
 */
PSC_MUST_CHECK enum psc_status python_open(struct target *target, struct modules *modules,
                                           struct arena *arena, struct python **ret,
                                           struct psc_error *err);
/** Forgets what was read of frames, code and types: the process has gone on since. */
void python_forget(struct python *python);
/**
 * From now on what is known of code stays when the memory that it was read from is forgotten: for
 * who looks at the same process again and again, see python_take_sample().
 */
void python_keep_code(struct python *python);
/**
 * Another moment: frames are others. Code that was met in the last one is looked at, whether it
 * is still what it was; other code when it is met again.
 */
void python_begin_moment(struct python *python);
/** Before each walk of that moment. */
void python_take_sample(struct python *python);
/** Whether some code was found to be another than before, since this was called last. */
bool python_code_changed(struct python *python);
void python_close(struct python *python);
const struct python_info *python_get_info(const struct python *python);

/** What a native function is to the interpreter. */
enum python_function {
    PYTHON_FUNCTION_OTHER,
    PYTHON_FUNCTION_EVALUATOR,
    PYTHON_FUNCTION_CALL,           /**< Connects calls: always plumbing. */
    PYTHON_FUNCTION_DISPATCH,       /**< Abstract-object machinery: between Python frames. */
    PYTHON_FUNCTION_ATTRIBUTE,      /**< The same; looks an attribute up as every object does. */
    PYTHON_FUNCTION_EVALUATOR_STEP, /**< One instruction of an evaluator made of tail calls. */
    PYTHON_FUNCTION_TAKE_GIL,
    PYTHON_FUNCTION_COLLECT,
    PYTHON_FUNCTION_MAIN /**< The interpreter's own main(). */
};

/** By its symbol; only for functions inside the interpreter's own modules. */
enum python_function python_classify_function(const struct python *python, const char *symbol);
/**
 * Whether a function of the interpreter waits for the GIL. A stripped one does not name take_gil(),
 * but the GIL is the only thing for which CPython waits on a condition with a time limit: its locks
 * are semaphores (Python/ceval_gil.h, Python/thread_pthread.h with USE_SEMAPHORES, as on every
 * Linux).
 * @param called  symbol of the function that it called; NULL: not known.
 * @param takes   it is one of PYTHON_FUNCTION_TAKE_GIL, or runs Python frames.
 */
bool python_waits_for_gil(const char *called, bool takes);
/** Whether a symbol is of a function that takes the one lock for all imports. */
bool python_takes_import_lock(const char *symbol);

/** Tri-state facts: what cannot be read is not "no". */
enum python_truth { PYTHON_UNKNOWN, PYTHON_NO, PYTHON_YES };

struct python_thread {
    psc_addr tstate;
    psc_addr interpreter;
    size_t interpreter_index; /**< In python_thread_list.interpreters. */
    int64_t interpreter_id;
    uint64_t thread_id; /**< pthread_self; the join with target_thread.thread_pointer. */
    uint64_t native_id; /**< gettid as the process saw it; 0 before 3.11. */
    const char *name;   /**< threading.Thread.name, or NULL. */
    bool main;          /**< The main thread of its interpreter. */
    bool without_gil;   /**< Its interpreter is free-threaded and runs without its GIL. */
    enum python_truth holds_gil;
    enum python_truth collecting; /**< Its interpreter is collecting and it holds the GIL. */
    bool finalizing;
};

struct python_interpreter {
    psc_addr address;
    int64_t id;   /**< 0: the main one; -1: not known. */
    psc_addr gil; /**< The same for those that share one; 0: not known. */
    /** Where in memory the threads sleep that wait for it: a futex within is the GIL's. */
    psc_addr gil_waits_start;
    psc_addr gil_waits_end;
    bool without_gil; /**< It is free-threaded and runs without its GIL. */
    bool gil_known;   /**< Whether somebody holds its GIL could be read. */
    psc_addr holder;  /**< The thread state that holds it, which may be another's; 0: none. */
    enum python_truth collecting; /**< A thread of its own is collecting garbage. */
};

struct python_thread_list {
    struct python_interpreter *interpreters; /**< The main one first. */
    size_t interpreter_count;
    struct python_thread *items; /**< In the order of their interpreters. */
    size_t count;
    size_t interpreter_room; /**< There is memory for so many. */
    size_t room;
};

/** Reads anew who holds the GIL and who collects, of what python_list_threads() gave. */
void python_read_gil(struct python *python, struct python_thread_list *list);
/**
 * Of those that are kept: whether the code objects at these addresses are still what was read
 * there. False for one that is not known.
 */
bool python_are_codes_known(struct python *python, const psc_addr *codes, size_t count);
/**
 * All interpreters and all their thread states; bounded; owned by the arena.
 * @param ret  zeroed, or what an earlier call gave: its memory is used again, and the names of
 *             threads that are in it are not read again.
 */
PSC_MUST_CHECK enum psc_status
python_list_threads(struct python *python, struct python_thread_list *ret, struct psc_error *err);

/**
 * Whether a list of objects begins at this place of a C stack, as the collector's do while it is at
 * work (CPython, Modules/gcmodule.c and Python/gc.c: the heads are local variables).
 * @param next  the word there.
 */
bool python_is_collector_list(struct python *python, psc_addr head, psc_addr next);

enum python_frame_kind {
    PYTHON_FRAME_CODE,       /**< Runs a code object that a person wrote. */
    PYTHON_FRAME_SHIM,       /**< Marks the entry of an evaluator on the C stack (3.12+). */
    PYTHON_FRAME_TRAMPOLINE, /**< Interpreter-made: the __init__ cleanup frame of 3.13+. */
    PYTHON_FRAME_UNREADABLE  /**< In the chain, but its code object cannot be read. */
};

struct python_frame {
    psc_addr address;
    psc_addr code;          /**< 0 for shims. */
    int64_t interpreter_id; /**< -1: not known. */
    int32_t lasti;          /**< Byte offset of the current instruction; -1 before the first. */
    int32_t line;           /**< Of a compiled one: its line; 0: not known. */
    uint8_t kind;           /**< enum python_frame_kind */
    bool generator;         /**< Runs a generator, coroutine or async generator. */
    /** Of a function that Nuitka has compiled: no evaluator runs it, and it has no instructions. */
    bool compiled;
};

/**
 * An object that an evaluator call leaves on the C stack: the CFrame (3.10-3.12) or
 * the entry shim (3.12+). Its address lies in exactly one native frame, and that
 * frame runs frames [first, first + count) of the stack, newest first.
 */
struct python_anchor {
    psc_addr address;
    size_t first;
    size_t count;
};

/** How native frames and Python frames of this version are joined. */
enum python_join {
    PYTHON_JOIN_SLOT, /**< Up to 3.9: the evaluator holds its PyFrameObject in a stack slot. */
    PYTHON_JOIN_CFRAME_SLOT, /**< 3.10: a CFrame per evaluator; slots tell which frame. */
    PYTHON_JOIN_CFRAME,      /**< 3.11: CFrames partition the chain. */
    PYTHON_JOIN_SHIM         /**< 3.12+: entry shims partition the chain. */
};

enum python_join python_get_join(const struct python *python);

/** Why a walk along the chain ended. */
enum python_end {
    PYTHON_END_COMPLETE,
    PYTHON_END_UNREADABLE, /**< The frame at end_address cannot be read. */
    PYTHON_END_CYCLE,      /**< end_address was met before. */
    PYTHON_END_LIMIT
};

/** Words of a C stack that a seam keeps. */
#define PYTHON_SEAM_WORDS 64u

/** Where the C stack of a greenlet begins, on that of the one that it was started from. */
struct python_seam {
    size_t first;     /**< Of the frames of the outer one. */
    psc_addr address; /**< From here on is what the outer one has there now. */
    /** What the outer one had in the words below, the highest last; the inner one uses them. */
    psc_addr below; /**< How far down the stack of the outer one went; 0: not so far. */
    uint64_t words[PYTHON_SEAM_WORDS];
    size_t word_count;
};

/** Frames of one stack that are walked. */
#define PSC_PYTHON_FRAME_LIMIT 4000000u
/** Of all stacks; the first one may have more, and each has PSC_PYTHON_FRAME_LEAST. */
#define PSC_PYTHON_FRAME_TOTAL 1000000u
#define PSC_PYTHON_FRAME_LEAST 16u

struct python_stack {
    int64_t interpreter_id;      /**< Of the frames that are walked; set before. */
    struct python_frame *frames; /**< Newest first; malloc'd, see python_stack_deinit(). */
    size_t count;
    size_t capacity;
    struct python_anchor *anchors; /**< Newest first; empty for PYTHON_JOIN_SLOT. */
    size_t anchor_count;
    size_t anchor_capacity;
    enum python_end end;
    psc_addr end_address;
    /** The thread's newest CFrame, when it is not filled in, or was of an earlier call; else 0. */
    psc_addr partial_cframe;
    /** Where the list of CFrames ended without its root; 0 when it is whole. */
    psc_addr cframe_list_end;
    struct python_seam *seams; /**< The innermost first; see python_add_greenlets(). */
    size_t seam_count;
    size_t seam_capacity;
};

/** Walks the frames of a thread state into a zeroed `ret`. Faults end the walk, see `end`. */
PSC_MUST_CHECK enum psc_status
python_walk(struct python *python, const struct python_thread *thread, struct python_stack *ret);
void python_stack_deinit(struct python_stack *stack);

/**
 * Where a greenlet runs: adds the frames of those whose C stacks lie further out on that of the
 * thread, as it was started from one of them, and that one from another.
 * @param sp   the thread's stack pointer.
 * @param ret  what python_walk() gave.
 */
PSC_MUST_CHECK enum psc_status python_add_greenlets(struct python *python,
                                                    const struct python_thread *thread, psc_addr sp,
                                                    struct python_stack *ret);

/**
 * For threads whose newest evaluator is being entered: CPython 3.11 and 3.12 publish its CFrame
 * before they fill it in, so that for some instructions the list of CFrames leads elsewhere. Walks
 * from the first CFrame within [low, high) of the C stack that leads to the root.
 * @return PSC_ERR_NOT_FOUND when there is none.
 */
PSC_MUST_CHECK enum psc_status python_walk_between(struct python *python,
                                                   const struct python_thread *thread, psc_addr low,
                                                   psc_addr high, struct python_stack *ret);

/** For the slot joins (<= 3.10): true when a PyFrameObject that is being run is at the address. */
bool python_is_frame_object(struct python *python, psc_addr address);
/**
 * For the slot joins: walks from a PyFrameObject, which no thread's chain need reach.
 * @param ret  zeroed but for its interpreter_id.
 */
PSC_MUST_CHECK enum psc_status python_walk_from(struct python *python, psc_addr frame,
                                                struct python_stack *ret);

/** How much of a value is shown; 0: as much as by default. */
struct python_value_limits {
    uint32_t length; /**< Characters of a text. */
    uint32_t items;  /**< Of one container. */
    uint32_t depth;  /**< Containers in containers. */
};

#define PYTHON_VALUE_LENGTH 400u /**< By default. */
#define PYTHON_VALUE_ITEMS  32u
#define PYTHON_VALUE_DEPTH  5u

/** From now on; what is more than PSC_VALUE_LENGTH_MAX and so on is that. */
void python_limit_values(struct python *python, const struct python_value_limits *limits);

/** A name in a frame and its value as text; strings live as python_location's. */
struct python_local {
    const char *name;
    const char *value;
    bool argument;
};

/**
 * The arguments in the order of their declaration, then the other names that have a value;
 * cells are followed. In a module's frame: its data, without dunder names, modules, classes and
 * functions. Bounded; what can not be read is said so in its place, and the limit of text
 * for all frames in a warning. Nothing in the target is called.
 */
PSC_MUST_CHECK enum psc_status python_read_locals(struct python *python,
                                                  const struct python_frame *frame,
                                                  struct python_local **ret, size_t *ret_count);

/** Whose name it is. */
enum python_scope {
    PYTHON_SCOPE_LOCAL,
    PYTHON_SCOPE_CLOSURE, /**< A cell: an outer function's, or one that inner ones share. */
    PYTHON_SCOPE_GLOBAL,
    PYTHON_SCOPE_BUILTIN
};

struct python_value {
    enum python_scope scope;
    const char *text; /**< As python_local.value. */
};

/**
 * The value of a name in a frame, or of what it leads to (value_path.h): locals go before globals,
 * globals before builtins. Nothing in the target is called: what only its code can give is
 * PSC_ERR_UNSUPPORTED.
 * @param frame  python_frame.address; what is no frame is refused.
 */
PSC_MUST_CHECK enum psc_status python_read_value(struct python *python, psc_addr frame,
                                                 const char *typed, struct python_value *ret,
                                                 struct psc_error *err);

struct python_names {
    const char **items; /**< malloc'd; the names live as python_local's. Some may be there twice. */
    size_t count;
};

/**
 * The names that have a value in a frame, locals first; with `typed`, those of the attributes of
 * that value.
 */
PSC_MUST_CHECK enum psc_status python_list_names(struct python *python, psc_addr frame,
                                                 const char *typed, struct python_names *ret,
                                                 struct psc_error *err);

/** The names of a code object's arguments as they were declared, at most `limit`; the arena's. */
size_t python_list_arguments(struct python *python, psc_addr code, const char **ret, size_t limit);

/**
 * Adds the text of an object, as in python_local.value; NULL and what is no object are said so.
 * What it costs is taken from what all values together may.
 */
void python_add_value(struct python *python, psc_addr object, struct text *text);
/**
 * Adds "<module.Name object at 0x...", without the end, for an instance of a class that is not
 * derived from a built-in one; false for all others.
 */
bool python_add_identity(struct python *python, psc_addr object, struct text *text);
/**
 * Whether an object holds the variables of a Cython function's closure, or of a function around it.
 * @param function  its qualified name; NULL: of any.
 * @return 0: it does not; 1: the function's own; 2: of the function around; and so on.
 */
unsigned python_is_closure(struct python *python, psc_addr object, const char *function);
/** A generator or coroutine that Cython made, and that awaits another: a link of an await chain. */
struct python_awaiting {
    psc_addr object;
    psc_addr body;         /**< Its function of machine code. */
    uint32_t label;        /**< The number of the `yield from` or `await` where it stands. */
    uint64_t label_offset; /**< Where in the object that number is. */
    psc_addr awaited;      /**< What is behind the wrappers of what it awaits. */
    const char *function;  /**< Its __qualname__. */
};

/** What an object, or a word that may be the address of one, is of Cython's. */
enum python_running {
    PYTHON_NOT_RUNNING, /**< No generator or coroutine that is on some stack now. */
    PYTHON_RUNNING,     /**< One whose own function runs, as far as it can be read. */
    PYTHON_AWAITING,
};
/** @param ret  is set for PYTHON_AWAITING. */
enum python_running python_read_running(struct python *python, psc_addr object,
                                        struct python_awaiting *ret);
/** The machine code that runs a generator or coroutine of Cython's; 0: it is none that runs. */
psc_addr python_running_body(struct python *python, psc_addr object);
/** The frame of one of Python's; 0: it is none that runs. */
psc_addr python_running_frame(struct python *python, psc_addr object);

/** Adds a number as repr() has that of a float. */
void python_add_float(double value, struct text *text);
/** The same for single precision: the shortest text that reads back as the same one. */
void python_add_single(float value, struct text *text);

/** Adds two numbers as repr() has a complex one; `single`: they are of single precision. */
void python_add_complex(double real, double imaginary, bool single, struct text *text);

/** How an exception came to the one before it. */
enum python_link {
    PYTHON_LINK_NONE,
    PYTHON_LINK_CAUSE,  /**< raise ... from it */
    PYTHON_LINK_CONTEXT /**< While it was handled, the one before it was raised. */
};

struct python_exception {
    const char *type;    /**< With its module; never NULL. */
    const char *message; /**< What str() of it would be; NULL: not known. */
    bool raised;         /**< Set and not caught yet; else it is being handled. */
    enum python_link link;
    /** Where it passed, the place where it was raised last; only code and lasti are set. */
    struct python_frame *traceback;
    size_t traceback_count;
    bool traceback_cut; /**< The outer part is left out. */
    psc_addr object;    /**< 0: not made yet, only its type and argument are known. */
};

/**
 * The exceptions that a thread raises or handles: the one raised, then those being handled, the
 * newest first; each (link NONE) is followed by its causes and contexts. Bounded.
 */
PSC_MUST_CHECK enum psc_status python_read_exceptions(struct python *python,
                                                      const struct python_thread *thread,
                                                      struct python_exception **ret,
                                                      size_t *ret_count);

/** Where a frame is; strings live as long as the arena given to python_open(). */
struct python_location {
    const char *name;     /**< co_name */
    const char *function; /**< co_qualname, or Class.name when certain, else co_name. */
    const char *file;     /**< co_filename */
    uint32_t line;        /**< 0: none. */
    /* 3.11+; UTF-8 byte offsets from 0 as the table has them; -1: none. */
    uint32_t end_line;
    int32_t column;
    int32_t end_column;
};

/**
 * The class of `self`, or the one that is `cls`, in the frame of a method, where it is not the
 * class that the location's function names. NULL: it is the same, or not certain. Lives as long as
 * the arena given to python_open(). After python_read_location() of the frame.
 */
const char *python_read_self_class(struct python *python, const struct python_frame *frame);

/** What a death may be about. */
struct python_object_facts {
    psc_addr type;         /**< What stands in the place of its type. */
    const char *type_name; /**< "collections.OrderedDict"; NULL: that is no type. */
    bool has_count;        /**< It has a count of references that can be one. */
    int64_t count;
    psc_addr deallocate; /**< The type's function of that purpose; 0: none. */
    psc_addr traverse;
};

/** False when nothing can be read there. Strings live as long as the arena of python_open(). */
bool python_read_object_facts(struct python *python, psc_addr object,
                              struct python_object_facts *ret);
/** Where types have the function that deallocates their objects; 0: not known. */
uint64_t python_deallocate_offset(struct python *python);
/** Bytes before an object that the collector's lists lead to; 0: not known. */
uint64_t python_collector_head(struct python *python);

/** The module with the machine code of a compiled frame's function; NULL: not known. */
struct module *python_find_compiled_module(struct python *python, const struct python_frame *frame);
/** Whether a linker's name is that of the code that Nuitka made of a function of that name. */
bool python_is_compiled_name(const char *symbol, const char *name);

/** Reads name, file and position; equal (code, lasti) pairs are read once. */
PSC_MUST_CHECK enum psc_status python_read_location(struct python *python,
                                                    const struct python_frame *frame,
                                                    struct python_location *ret);

/** An object of the collector's lists whose place there, or whose type, is overwritten. */
struct python_broken_object {
    psc_addr object;
    const char *type_name; /**< NULL: what stands in the place of its type is none. */
    uint64_t type;         /**< What stands there. */
    uint64_t link;         /**< Where it links to, or 0: its type is what is wrong. */
};

/**
 * Follows the lists of an interpreter's collector from their start to the first such object. Counts
 * that stand in place of the previous link while a collection runs are none.
 */
bool python_find_broken_object(struct python *python, psc_addr interpreter,
                               struct python_broken_object *ret);

#include "python_tasks.h"

#include "python_heap.h"

#endif
