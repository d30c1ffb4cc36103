/** @file What the files of room `capture` share. */
#ifndef PSC_CAPTURE_PRIVATE_H
#define PSC_CAPTURE_PRIVATE_H

#include "capture.h"
#include "diagnose.h"
#include "merge.h"
#include "native.h"
#include "python.h"
#include "symbolize.h"
#include "variables.h"

/** One thread on its way into the trace: native, Python, or both. */
struct captured_thread {
    const struct target_thread *native;
    size_t native_index;
    bool is_main; /**< The first one; its id need not be the smallest, ids are reused. */
    /** States that no thread has which is wanted: one of those may run them all the same. */
    bool is_candidate;
    struct native_walked *walked; /**< Of the last walk of the same thread; or NULL. */
    struct merged_stack merged;
};

/** The exceptions of a thread state. */
struct thread_exceptions {
    struct python_exception *items;
    size_t count;
};

/** The values in a Python frame, in a hash table by the frame's address. */
struct frame_locals {
    psc_addr frame;
    struct python_local *items;
    size_t count;
};

/**
 * A capture on its way. Of a living process there is a second one, the visitor, that reads the
 * same before and in the stop, and is thrown away: the pages that it read stay.
 */
struct capture {
    struct target *target;
    struct modules **modules;
    struct psc_capture_options options;
    struct psc_trace *trace;
    struct python *python; /**< NULL: none. */
    struct native *native; /**< NULL: native stacks are not walked. */
    struct symbolizer *symbolizer;
    struct variables *variables; /**< NULL: those of native frames are not asked for. */
    bool visits;                 /**< It is the visitor, which runs in a thread of its own. */
    bool unpaused;               /**< The process is not stopped: the target has no threads. */
    bool samples;                /**< It is one of a session: frames and states alone are wanted. */
    bool reads_python;
    size_t locals_limit;    /**< Frames of a thread whose values are read, from the innermost. */
    size_t variables_limit; /**< The same of native frames. */
    bool trace_taken;       /**< It is finished: what was written stays until it is placed. */
    double since;           /**< When the stage began that --explain tells the time of, in ms. */

    /* chosen_threads.c */
    struct python_interpreter *interpreters;
    size_t interpreter_count;
    struct python_thread *python_threads;
    size_t python_thread_count;
    struct captured_thread *threads; /**< In the order of the trace. */
    size_t thread_count;
    size_t unwanted_threads;
    struct first_fault first; /**< What the thread took that crashed, if a handler ran then. */

    /* read_python.c */
    struct thread_exceptions *exceptions; /**< Parallel to python_threads. */
    struct hash_table locals;             /**< struct frame_locals */
    struct waits *waits; /**< What threads wait for; NULL: not asked for, or not known. */
    struct python_task *tasks;
    size_t task_count;
    struct python_greenlet *greenlets;
    size_t greenlet_count;
    struct python_thread_work *works; /**< Of threads that have to do with futures. */
    size_t work_count;
    bool has_moment;
    double moment; /**< CLOCK_MONOTONIC when a living process went on, in seconds. */
};

/** What is there when the caller wants no more is thrown away; the visitor does not ask him. */
static inline bool capture_goes_on(const struct capture *capture, enum psc_status status)
{
    return status == PSC_OK && (capture->visits || !target_interrupted(capture->target));
}

/* ---- find_python.c ---- */

/**
 * Opens Python in every mode, so that the report can name it, and describes it in the trace.
 * capture->python is NULL when there is none; a warning says so.
 */
PSC_MUST_CHECK enum psc_status find_python(struct capture *capture, struct psc_error *err);

/* ---- living.c ---- */

/**
 * Takes what is needed of a living process, and its core file if one is asked for. Where it may
 * not be stopped, capture->options.mode becomes what can be shown nevertheless, and a warning says
 * why.
 * @param read  what the visitor does.
 */
PSC_MUST_CHECK enum psc_status snapshot_process(struct capture *capture,
                                                void (*read)(struct capture *visitor),
                                                struct psc_error *err);
/** Writes the core file, if any. The report is worth having without: see trace->core_error. */
void save_core_of_process(struct capture *capture);

/* ---- chosen_threads.c ---- */

/** Lists the threads of the target and of Python, joins them, and takes those that are wanted. */
PSC_MUST_CHECK enum psc_status choose_threads(struct capture *capture, struct psc_error *err);
/**
 * The join of native and Python threads: pthread_self() is the thread pointer (glibc, musl). Of a
 * thread that was not stopped the id may have to do, which 3.11 and later keep.
 */
bool is_thread_of_state(const struct target_thread *native, const struct python_thread *python);
/** Frees what was chosen, and what was read of it. */
void capture_forget_threads(struct capture *capture);

/* ---- read_python.c ---- */

/**
 * Reads all that is taken from the interpreter's memory: frames, exceptions, values, tasks.
 * Nothing else reads it for the trace but the merge, which follows what the stacks point to.
 */
PSC_MUST_CHECK enum psc_status read_python(struct capture *capture);
/** The values in a frame, by what was read; *ret_count 0: none, or not asked for. */
PSC_MUST_CHECK enum psc_status read_frame_locals(struct capture *capture,
                                                 const struct python_frame *frame,
                                                 struct python_local **ret, size_t *ret_count);

/* ---- merge_threads.c ---- */

/**
 * Walks the native stacks, and puts the frames of each thread into one order; fills capture->first.
 */
PSC_MUST_CHECK enum psc_status merge_threads(struct capture *capture);
/** Walks a thread's native stack, if that is wanted. */
PSC_MUST_CHECK enum psc_status walk_native(struct capture *capture, struct captured_thread *thread);
/**
 * Walks it unless that was done, and looks its addresses up; the facts are of all threads.
 */
PSC_MUST_CHECK enum psc_status walk_thread(struct capture *capture, struct captured_thread *thread,
                                           struct evaluator_facts *facts);
/** Then puts its frames into one order. */
PSC_MUST_CHECK enum psc_status merge_thread(struct capture *capture, struct captured_thread *thread,
                                            const struct evaluator_facts *facts);
/** Marks the addresses whose lines are shown. */
void mark_wanted(const struct capture *capture, const struct captured_thread *thread);
/** How many native frames of a thread, from the innermost, are of a handler that ran for its
 * crash. */
size_t handler_frames_of(const struct capture *capture, const struct captured_thread *thread);

/* ---- interpreters.c ---- */

/** Fills the interpreters of trace->python, and what it says of the GIL; the threads are merged. */
PSC_MUST_CHECK enum psc_status fill_interpreters(struct capture *capture);

/* ---- assemble.c ---- */

/** Fills trace->threads from what was merged and looked up. */
PSC_MUST_CHECK enum psc_status assemble_threads(struct capture *capture);

/** Fills one thread, from what was merged and looked up of it. */
PSC_MUST_CHECK enum psc_status assemble_thread(struct capture *capture,
                                               const struct captured_thread *from,
                                               struct trace_thread *thread);

/* ---- values.c ---- */

/** Fills thread->exceptions from its thread states. */
PSC_MUST_CHECK enum psc_status values_add_exceptions(struct capture *capture,
                                                     const struct merged_stack *merged,
                                                     struct trace_thread *thread);
/** What the options say of how much of a value is shown. */
struct python_value_limits value_limits_of(const struct psc_capture_options *options);
/** Fills thread->locals for the frames that are shown, which stand in the merged stack's order. */
PSC_MUST_CHECK enum psc_status values_add_locals(struct capture *capture,
                                                 const struct merged_stack *merged,
                                                 struct trace_thread *thread);

/* ---- tasks.c ---- */

/** Fills trace->tasks and trace->greenlets, if they were read; the threads are there. */
PSC_MUST_CHECK enum psc_status fill_tasks(struct capture *capture);

/* ---- task_leaves.c ---- */

/** The tid of a Python thread by its number; 0: not known. */
int32_t find_tid_of_python(const struct psc_trace *trace, uint64_t thread_id);
/** What a task waits for, as the trace has it; NULL for NULL, and without memory. */
const struct trace_leaf *copy_leaf(struct capture *capture, const struct python_leaf *leaf);
/** Fills trace_thread.result and trace->workers; the threads are there. */
PSC_MUST_CHECK enum psc_status fill_futures(struct capture *capture);

/* ---- evaluations.c ---- */

/** The visitor: reads what psc_capture_options.evaluations will ask of a thread. */
void read_evaluations(struct capture *capture, const struct captured_thread *thread);
/** Fills trace->values; the threads are there. */
PSC_MUST_CHECK enum psc_status fill_evaluations(struct capture *capture);

/* ---- summary.c ---- */

/** What is known of the process beside its threads. */
void describe_process(struct psc_trace *trace, struct target *target);
/** Fills trace->files, if they were asked for, when all else has been looked up. */
PSC_MUST_CHECK enum psc_status list_needed_files(struct capture *capture);
/** What is known when all threads are there: the GIL's holder, warnings, how it was unwound. */
void summarize(struct capture *capture);

/* ---- states.c ---- */

/**
 * Further enum trace_state bits, when the others are known: a thread that waits in the kernel
 * and has nothing to do with the GIL is idle; a thread state without a thread (NULL) has ended.
 */
uint32_t states_of_registers(const struct target_machine *machine,
                             const struct target_thread *native, uint32_t known);

/**
 * Whether a frame of the interpreter waits for the GIL, see python_waits_for_gil().
 * @param inner      symbol of the native frame that it called; NULL: not known.
 * @param evaluator  it is an evaluator.
 */
bool states_waits_for_gil(const char *inner, const struct address_info *info, bool evaluator);

#endif
