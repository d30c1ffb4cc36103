/**
 * @file
 * Room `diagnose`: what killed the process, in words, and what threads wait for. Fills
 * trace->crash, whose strings are in the trace's arena, from what memory proves. Errors are
 * PSC_ERR_MEMORY only.
 *
 * To add a diagnosis: see docs/contributing.md.
 */
#ifndef PSC_DIAGNOSE_H
#define PSC_DIAGNOSE_H

#include "modules.h"
#include "trace.h"

struct native_stack;
struct python;

/** What a thread took first, where a handler of that signal has run on its stack. */
struct first_fault {
    bool found;
    const struct target_thread *thread;
    size_t handler_frames; /**< Of the native stack, up to the signal frame; 0: none is there. */
    struct target_registers registers;
    struct target_signal signal;
    bool has_error; /**< It is a fault, of this error code; else the thread sent the signal. */
    uint64_t error;
    bool unknown_sender; /**< It is no fault of the thread's, and who sent it is not known. */
};

/**
 * The first fault below the signal handlers on a thread's stack: of the outermost signal frame
 * whose instruction must have faulted as the frame says, or that interrupted the sending of the
 * very signal which the process died of. *ret is zeroed where there is none.
 */
PSC_MUST_CHECK enum psc_status diagnose_find_first(struct target *target,
                                                   const struct target_thread *thread,
                                                   const struct native_stack *stack,
                                                   struct first_fault *ret);

/**
 * A fault that comes again and again because its handler goes back to the instruction, or whose
 * handler runs: of a thread that the process has not died of. *ret is NULL where there is none.
 */
PSC_MUST_CHECK enum psc_status diagnose_thread_fault(struct target *target,
                                                     const struct target_thread *thread,
                                                     const struct native_stack *stack,
                                                     struct arena *arena,
                                                     const struct trace_crash **ret);

/** Frames of a stack, from the innermost, whose registers say something of a death. */
#define DIAGNOSE_DEPTH ((size_t)128)

/** What a death is explained from; all of it is walked and merged. */
struct diagnose_input {
    struct target *target;
    struct modules *modules;          /**< NULL: not known. */
    struct python *python;            /**< NULL: none. */
    const struct native_stack *stack; /**< Of the thread that took the signal, walked with
                                         kept_frames; NULL: it was not walked. */
    const struct first_fault *first;  /**< What a signal handler has passed on, if any. */
    struct psc_trace *trace;          /**< Whose threads are complete. */
};

/** Fills trace->crash. */
PSC_MUST_CHECK enum psc_status diagnose_crash(const struct diagnose_input *input);

/**
 * Warns of a core without stacks, with the remedy, and of one that is of PyInstaller's bootloader.
 * To be called after diagnose_crash().
 */
void diagnose_emptiness(struct target *target, struct psc_trace *trace);

/* ---- what threads wait for ---- */

struct python;
struct python_interpreter;
struct python_thread;
struct python_frame;

/** Whose threads they are. */
struct diagnose_wait_input {
    struct target *target;
    struct python *python; /**< NULL: none. */
    const struct python_interpreter *interpreters;
    size_t interpreter_count;
    bool wants_process_locks; /**< The locks of multiprocessing that it has are to be told, too. */
};

struct diagnose_wait_thread {
    const struct target_thread *native;
    bool has_python;
    const struct python_frame *frames; /**< Its Python frames, the innermost first. */
    size_t frame_count;
    const struct python_thread *python; /**< Whose frames they are; NULL: none. */
};

struct waits;

/** NULL: out of memory. */
struct waits *diagnose_waits_create(const struct diagnose_wait_input *input);
void diagnose_waits_destroy(struct waits *waits);
/** Reads what may change when a living process goes on. */
PSC_MUST_CHECK enum psc_status diagnose_waits_read(struct waits *waits,
                                                   const struct diagnose_wait_thread *thread);
/**
 * Whether a thread of which that was read sleeps in a lock that does not say who has it: then it
 * has to be known of all threads in which locks they stand.
 */
bool diagnose_waits_want_held(const struct waits *waits);
/** Reads in which locks a thread stands, of which diagnose_waits_read() was called. */
PSC_MUST_CHECK enum psc_status diagnose_waits_read_held(struct waits *waits,
                                                        const struct diagnose_wait_thread *thread);
/** Whether a thread of which that was read sleeps until it gets the GIL. */
bool diagnose_waits_for_gil(const struct waits *waits, int32_t tid);
/** Fills trace_thread.waits_for of all threads, whose frames and states are there. */
PSC_MUST_CHECK enum psc_status diagnose_waits(struct waits *waits, struct psc_trace *trace);

/**
 * The visitor, while a living process stands still: reads the memory that diagnose_what_runs() is
 * going to read.
 */
void diagnose_read_ahead(struct modules *modules);
/** Fills trace->running when the threads are there; opens files of this machine. */
PSC_MUST_CHECK enum psc_status diagnose_what_runs(struct modules *modules, struct psc_trace *trace);
/** Where the variable `environ` of the C library is; false: not known. */
bool diagnose_find_environment(struct modules *modules, psc_addr *ret);
/** Splits the value of PYTEST_CURRENT_TEST into test and phase, in the arena. */
void diagnose_name_test(struct arena *arena, const char *text, struct trace_running *ret);

/**
 * Fills the deadlocks of a trace, or those among the processes of several, when what their threads
 * and tasks wait for is known.
 */
PSC_MUST_CHECK enum psc_status diagnose_deadlocks(struct psc_trace *const *traces, size_t count);

/** "SIGSEGV" for 11; NULL for numbers without a name. Static. */
const char *diagnose_signal_name(int number);
/** "SEGV_MAPERR"; NULL when the pair has no name. Static. From the kernel's siginfo.h. */
const char *diagnose_signal_code(int number, int code);

#endif
