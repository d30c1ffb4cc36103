/**
 * @file
 * Room `trace`: the finished product, plain data about every thread.
 *
 * capture/ fills it with symbolize/, variables/, merge/ and diagnose/; print/ and api/ only read
 * it. No other room is needed to understand it. All strings are UTF-8 and terminated. Everything
 * lives in one arena but for the arrays that are marked as malloc'd; trace_destroy() frees it all.
 * Unknown is NULL or 0 as each field says, never a guess. Only memory can run out.
 */
#ifndef PSC_TRACE_H
#define PSC_TRACE_H

#include "base.h"
#include "trace_running.h"
#include "trace_waits.h"

enum trace_kind { TRACE_PYTHON, TRACE_CYTHON, TRACE_NATIVE, TRACE_GAP };

/** Where a line number comes from. */
enum trace_line_source {
    TRACE_LINE_NONE,
    TRACE_LINE_CODE, /**< The code object's line table. */
    TRACE_LINE_DWARF,
    TRACE_LINE_C_FILE, /**< The comment blocks of the generated C. */
    TRACE_LINE_XML,
    TRACE_LINE_MACHINE_CODE,
    TRACE_LINE_ESTIMATE
};

/** How a native frame was found, best first. */
enum trace_trust {
    TRACE_TRUST_CONTEXT,
    TRACE_TRUST_CFI,
    TRACE_TRUST_FRAME_POINTER,
    TRACE_TRUST_SCAN,
    TRACE_TRUST_ANCHOR
};

/** What a frame is to the interpreter. */
enum trace_role {
    TRACE_ROLE_VISIBLE,   /**< What a person wrote, or a library they called. */
    TRACE_ROLE_EVALUATOR, /**< Runs Python frames, which stand in its place. */
    TRACE_ROLE_PLUMBING,  /**< Interpreter or Cython machinery between calls. */
    TRACE_ROLE_TAKE_GIL,  /**< Plumbing that waits for the GIL. */
    TRACE_ROLE_COLLECT,   /**< The garbage collector. */
    TRACE_ROLE_HANDLER,   /**< Of a signal handler that passed on a fault of what it interrupted. */
    TRACE_ROLE_FOLDED     /**< A Cython wrapper of the frame next to it. */
};

enum trace_file_state { TRACE_FILE_FOUND, TRACE_FILE_MISSING, TRACE_FILE_MISMATCH };

enum trace_file_kind {
    TRACE_FILE_EXECUTABLE,
    TRACE_FILE_LIBRARY,
    TRACE_FILE_DEBUG,
    TRACE_FILE_CYTHON,
    TRACE_FILE_SOURCE
};

/** A file that the report needs. */
struct trace_file {
    enum trace_file_kind kind;
    enum trace_file_state state;
    const char *path;     /**< Where the target has it, or would. */
    const char *build_id; /**< Lower-case hexadecimal, or NULL. */
    const char *here;     /**< Where it was found on this machine, or NULL. */
};

struct trace_module {
    const char *path;
    const char *name;     /**< Last component of path. */
    const char *build_id; /**< Lower-case hexadecimal, or NULL. */
    psc_addr base;        /**< Load bias: an address minus base is what addr2line takes. */
    psc_addr start;
    psc_addr end;
    enum trace_file_state file;
    bool debug_info;
};

/** What is known of an address, or of an instruction of a code object; shared by all its frames. */
struct trace_location {
    enum trace_kind kind;
    const char *language; /**< "Python", "Cython", "mypyc", "C", "C++", "Rust"; NULL for a gap. */
    const char *function; /**< What a person reads; NULL: unknown. Of a gap: its reason. */
    const char *name;     /**< Bare code name (co_name), or NULL. */
    const char *symbol;   /**< The linker's name, or NULL. */
    const char *file;     /**< Or NULL. */
    uint32_t line;        /**< From 1; 0: none. */
    uint32_t end_line;    /**< 0: none. */
    uint32_t column;      /**< In characters from 1; 0: none. */
    uint32_t end_column;  /**< One past the last character, from 1; 0: none. */
    enum trace_line_source line_source;
    const struct trace_module *module; /**< NULL: Python frames, code outside all modules. */
    uint64_t offset;                   /**< The address minus the module's base; with has_offset. */
    bool has_offset;
    bool inlined;       /**< Inlined into the frame that follows outward. */
    const char *source; /**< The text of the line, without indentation; or NULL. */
};

struct trace_frame {
    const struct trace_location *location;
    psc_addr pc;   /**< What a debugger shows; 0 for Python frames and gaps. */
    psc_addr sp;   /**< Of native frames; inlined ones share it with their physical frame. */
    psc_addr id;   /**< Python: the address of the frame object; native: the CFA (0 unknown). */
    uint8_t trust; /**< enum trace_trust */
    uint8_t role;  /**< enum trace_role */
    bool hidden;   /**< Not shown unless all is asked for. */
    bool has_pc;
    int64_t interpreter_id; /**< Of a Python frame: which interpreter runs it; else -1. */
    const char *self_class; /**< Of `self` or `cls`, where the function names another; or NULL. */
};

/** An argument or a variable of a frame, and its value as text. */
struct trace_local {
    const char *name;
    const char *value;
    bool argument;
};

struct trace_locals {
    const struct trace_local *items; /**< Arguments first. */
    size_t count;
};

/** Whose name it is. */
enum trace_scope {
    TRACE_SCOPE_LOCAL,
    TRACE_SCOPE_CLOSURE,
    TRACE_SCOPE_GLOBAL,
    TRACE_SCOPE_BUILTIN
};

/** A single value that was asked for. */
struct trace_value {
    int32_t tid;          /**< 0: there is no such thread. */
    size_t frame;         /**< Its number in the text report. */
    const char *function; /**< Of the frame, or NULL. */
    const char *expression;
    enum trace_scope scope;
    const char *text;    /**< NULL: there is none. */
    const char *problem; /**< Why; or NULL. */
};

/** How an exception came to the one that it is listed behind. */
enum trace_link {
    TRACE_LINK_NONE,
    TRACE_LINK_CAUSE,  /**< raise ... from it */
    TRACE_LINK_CONTEXT /**< While it was handled, the one before it was raised. */
};

struct trace_exception {
    const char *type;    /**< With its module; never NULL. */
    const char *message; /**< Or NULL. */
    bool raised;         /**< Not caught yet; else it is being handled. */
    enum trace_link link;
    /** Where it passed; the place where it was raised is the last. */
    const struct trace_location **traceback;
    size_t traceback_count;
    bool traceback_cut; /**< The outer part is left out. */
};

/**
 * Shown frames that stand there again and again, in the same order, at the same lines: `times`
 * whole cycles of `frames` each, hidden ones not counted.
 */
struct trace_recursion {
    size_t first; /**< Index of the innermost frame of all cycles. */
    size_t last;  /**< Of the outermost one. */
    size_t frames;
    size_t times;
};

/** Bits of trace_thread.state. */
enum trace_state {
    TRACE_STATE_CRASHED = 1u << 0,
    TRACE_STATE_HOLDS_GIL = 1u << 1,
    TRACE_STATE_WITHOUT_GIL = 1u << 16, /**< Its free-threaded interpreter does not use the GIL. */
    TRACE_STATE_WAITS_FOR_GIL = 1u << 2,
    TRACE_STATE_COLLECTING = 1u << 3,
    TRACE_STATE_MAIN = 1u << 4,
    TRACE_STATE_NO_PYTHON = 1u << 5, /**< The process has Python, this thread does not. */
    TRACE_STATE_FINALIZING = 1u << 6,
    TRACE_STATE_IDLE = 1u << 7,      /**< Waits in the kernel, without the GIL. */
    TRACE_STATE_TERMINATED = 1u << 8 /**< A Python thread state whose thread is not there. */
};

struct trace_crash;

struct trace_thread {
    int32_t tid;     /**< 0: a thread state for which no native thread is known. */
    int32_t process; /**< Its pid where threads of several processes stand together, else 0. */
    bool has_python;
    uint64_t python_thread_id;
    /** Of its innermost Python frame, or of its only thread state; -1: not known. */
    int64_t interpreter_id;
    int64_t gil_interpreter_id; /**< Whose GIL it holds, with TRACE_STATE_HOLDS_GIL. */
    const char *name;           /**< Python's name if there is one, else the native one; or NULL. */
    const char *native_name;    /**< Or NULL. */
    uint32_t state;             /**< enum trace_state bits. */
    struct trace_frame *frames; /**< Innermost first; malloc'd. */
    size_t frame_count;
    size_t native_count; /**< Physical native frames that were walked: for the invariant. */
    size_t python_count; /**< Python frames that were walked, shims not counted. */
    /**
     * The one that is raised, then those being handled, the newest first. Each of link NONE is
     * followed by its causes and contexts.
     */
    const struct trace_exception *exceptions;
    size_t exception_count;
    /** NULL unless asked for; else one for each frame, NULL for frames without; malloc'd. */
    const struct trace_locals **locals;
    const struct trace_recursion *recursions; /**< The innermost first; none overlap. */
    size_t recursion_count;
    const struct trace_wait *waits_for; /**< NULL: nothing that is known. */
    /**
     * A fault that it has not died of: its handler runs (raised_again), or the thread stands at an
     * instruction that cannot but fault; NULL: none.
     */
    const struct trace_crash *fault;
    const struct trace_wait *result; /**< The future whose result its Python frames wait for. */
    bool has_rank; /**< It stands in the place of `process`, which has it alone. */
    uint64_t rank;
};

/** What a task is doing. */
enum trace_work {
    TRACE_WORK_UNKNOWN,
    TRACE_WORK_CREATED, /**< Has not begun. */
    TRACE_WORK_READY,   /**< Nothing is in its way: its event loop will go on with it. */
    TRACE_WORK_WAITING,
    TRACE_WORK_RUNNING,
    TRACE_WORK_SUSPENDED /**< A greenlet that another one was switched to from. */
};

/** Whose task it is. */
enum trace_task_library { TRACE_TASK_ASYNCIO, TRACE_TASK_TRIO, TRACE_TASK_CURIO };
#define TRACE_TASK_LIBRARIES 3u

/** A task that is not done; or a greenlet, which waits for nobody in particular. */
struct trace_task {
    psc_addr id; /**< Its address. */
    int64_t interpreter_id;
    int32_t tid;      /**< Of the thread that runs its event loop; 0: not known. */
    const char *name; /**< Or NULL. */
    enum trace_work work;
    /** Where it stands, the innermost first; one that runs stands on the stack of its thread. */
    const struct trace_location **frames;
    size_t frame_count;
    bool frames_cut; /**< Further frames could not be read. */
    const char
        *awaits;     /**< Type of the future, or of the foreign thing, that it awaits; or NULL. */
    psc_addr future; /**< The future; 0: none. */
    const size_t *waits_for; /**< Indices of the tasks that it waits for, rising. */
    size_t waits_for_count;
    enum trace_task_library library;
    const size_t *children; /**< Indices of the tasks in its nurseries (trio), or that it spawned
                                 (curio), rising. */
    size_t children_count;
    const struct trace_leaf *leaf; /**< Of one that waits; NULL: not known. */
};

/** Tasks of which each waits for the next, and the last for the first. */
struct trace_cycle {
    const size_t *tasks;
    size_t count;
};

struct trace_tasks {
    const struct trace_task *items;
    size_t count;
    const struct trace_cycle *cycles;
    size_t cycle_count;
};

/** What it died of, in one word; see trace_cause_name(). */
enum trace_cause {
    TRACE_CAUSE_UNKNOWN,
    TRACE_CAUSE_NULL_POINTER,
    TRACE_CAUSE_WILD_POINTER,
    TRACE_CAUSE_FREED_MEMORY,
    TRACE_CAUSE_STACK_OVERFLOW,
    TRACE_CAUSE_READ_ONLY,
    TRACE_CAUSE_NO_EXECUTE,
    TRACE_CAUSE_FILE_TRUNCATED,
    TRACE_CAUSE_ASSERTION,
    TRACE_CAUSE_HEAP_CORRUPTION,
    TRACE_CAUSE_FATAL_ERROR,
    TRACE_CAUSE_TERMINATE, /**< C++ std::terminate() */
    TRACE_CAUSE_PANIC,     /**< Rust's. */
    TRACE_CAUSE_STACK_SMASHING,
    TRACE_CAUSE_FORTIFY,
    TRACE_CAUSE_DIVISION,
    TRACE_CAUSE_ILLEGAL_INSTRUCTION,
    TRACE_CAUSE_SECCOMP,
    TRACE_CAUSE_SENT,          /**< By somebody else. */
    TRACE_CAUSE_SNAPSHOT,      /**< It did not die. */
    TRACE_CAUSE_OUT_OF_MEMORY, /**< The kernel ended it, for lack of memory. */
    TRACE_CAUSE_OTHER          /**< It is known, and none of these. */
};

/** What was done with memory. */
enum trace_access {
    TRACE_ACCESS_UNKNOWN,
    TRACE_ACCESS_READ,
    TRACE_ACCESS_WRITE,
    TRACE_ACCESS_EXECUTE
};

/** A register that an instruction uses. */
struct trace_operand {
    const char *name; /**< "rbx" */
    uint64_t value;   /**< Before it ran. */
};

struct trace_crash {
    int32_t signal_number; /**< 0: none, of TRACE_CAUSE_SNAPSHOT. */
    const char *signal;    /**< "SIGSEGV"; NULL with number 0. */
    const char *code;      /**< "SEGV_MAPERR", or NULL. */
    bool has_address;
    psc_addr address;
    bool has_sender;
    int32_t sender_pid;
    int32_t tid;         /**< Of the thread that took it. */
    const char *summary; /**< One phrase: "a null pointer, not mapped". */
    const char *message; /**< What the program itself said of it, or NULL. */
    enum trace_cause cause;
    enum trace_access access;
    const char *instruction; /**< The one that it died at, "mov %rax,0x18(%rbx)"; or NULL. */
    const struct trace_operand *operands; /**< The registers in it. */
    size_t operand_count;
    /** A signal handler passed an earlier fault on, which is the one described here. */
    bool raised_again;
    const char *handler_fault; /**< What then happened in the handler: "SIGSEGV: ..."; or NULL. */
    /** What the interpreter was about: "in Thing.__del__, in the garbage collector"; or NULL. */
    const char *during;
    /** The object of Python that was being deallocated or visited by the collector; or NULL. */
    const char *object;
    /** What of the heap is damaged near it, with its address; or NULL. */
    const char *damage;
};

/** How a process ended that left no core. */
struct trace_exit {
    int32_t status;           /**< What it gave to exit(); where there was no signal. */
    const char *known_by;     /**< Or NULL. */
    const char *without_core; /**< Why it left none; or NULL. */
};

/** Equal for deaths of one cause. */
struct trace_signature {
    uint32_t version;         /**< Of the way it is made. */
    const char *hash;         /**< 40 hexadecimal digits. */
    const char *exact;        /**< The same of build-ids and offsets: needs no symbols. */
    const char *title;        /**< One line for people. */
    const char *const *parts; /**< What the hash is of. */
    size_t part_count;
    const char *explanation; /**< What each frame that was looked at is to it, a line each. */
};

/** One of the interpreters of a process. */
struct trace_interpreter {
    int64_t id;             /**< 0: the main one; -1: not known. */
    int64_t gil_id;         /**< The id of the first one with the same GIL; -1: not known. */
    bool gil_known;         /**< Whether the holder could be read. */
    bool without_gil;       /**< Free-threaded, and the GIL is not in use. */
    int32_t gil_holder_tid; /**< 0: nobody (or not known). */
};

struct trace_python {
    const char *implementation;
    const char *version;
    bool debug;
    bool free_threaded;
    /** The main one first. */
    const struct trace_interpreter *interpreters;
    size_t interpreter_count;
    /* Of the main interpreter; where that is free, of the first one whose GIL is held. */
    bool gil_known;         /**< Whether the holder could be read. */
    bool without_gil;       /**< Free-threaded, and the GIL is not in use. */
    int32_t gil_holder_tid; /**< 0: nobody (or not known). */
};

struct psc_trace {
    struct arena *arena;
    const char *kind; /**< "core", "process" or "exit" */
    const char *path; /**< Of the core file, or NULL. */
    bool paused;      /**< A living process was stopped for `pause` milliseconds. */
    double pause;
    bool held;             /**< A debugger has stopped it. */
    bool threads_only;     /**< Nothing of a living process could be read but names and states. */
    const char *core_path; /**< Of a core file that was to be written, or NULL. */
    struct psc_error core_error; /**< Why it was not. */
    int32_t pid;
    const char *executable; /**< Or NULL. */
    const char *const *arguments;
    size_t argument_count;
    const char *architecture;
    const struct trace_python *python; /**< NULL: none found. */
    const char *python_problem;        /**< Why a Python that is there is not read, or NULL. */
    const struct trace_crash *crash;   /**< NULL: no signal. */
    const struct trace_signature *signature; /**< NULL: none was made. */
    struct trace_module **modules;
    size_t module_count;
    const struct trace_value *values; /**< Those that were asked for. */
    size_t value_count;
    const struct trace_file *files; /**< NULL unless asked for. */
    size_t file_count;
    struct trace_thread *threads; /**< The crashed one first; malloc'd. */
    size_t thread_count;
    size_t unwanted_threads;             /**< Others of the target that were not asked for. */
    const struct trace_tasks *tasks;     /**< NULL unless asked for. */
    const struct trace_tasks *greenlets; /**< NULL unless asked for and there are any. */
    bool runs_greenlets; /**< On a thread's C stack are several: some that were not asked for may be
                              suspended. */
    struct warnings warnings;
    bool complete;                      /**< Nothing is missing. */
    const struct trace_worker *workers; /**< The threads of executors. */
    size_t worker_count;
    const struct trace_deadlock *deadlocks; /**< The certain ones first. */
    size_t deadlock_count;
    const struct trace_process_lock *process_locks; /**< Where they were asked for. */
    size_t process_lock_count;
    struct text explain; /**< How things were found, a line each; printed by --explain. */
    const struct trace_running *running; /**< NULL: nothing was asked for it. */
    const struct trace_exit *exit;       /**< Of kind "exit", else NULL. */
};

/** One without threads, complete until something is found to be missing; NULL: out of memory. */
struct psc_trace *trace_create(void);
void trace_destroy(struct psc_trace *trace);
/**
 * Fills thread->recursions, in the arena, once its frames are there: cycles of up to 64 frames
 * that are alike in function, file and line (native ones without a line in their address), three
 * times at least and with ten frames at least that come again. Takes time in proportion to the
 * number of frames.
 */
PSC_MUST_CHECK enum psc_status trace_find_recursions(struct arena *arena,
                                                     struct trace_thread *thread);
/** The word that JSON has for it, as "null-pointer"; NULL: TRACE_CAUSE_UNKNOWN. Static. */
const char *trace_cause_name(enum trace_cause cause);
/** "read", "write", "execute"; NULL: TRACE_ACCESS_UNKNOWN. Static. */
const char *trace_access_name(enum trace_access access);
/** Fills tasks->cycles: of each group of tasks that wait for each other one; in the arena. */
PSC_MUST_CHECK enum psc_status trace_find_task_cycles(struct arena *arena,
                                                      struct trace_tasks *tasks);
/** Frees the threads alone; what they point to stays with the arena. */
void trace_drop_threads(struct psc_trace *trace);

#endif
