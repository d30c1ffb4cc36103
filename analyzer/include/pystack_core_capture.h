/** @file pystack-core: capturing a trace, at once or in two steps. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_CAPTURE_H
#define PYSTACK_CORE_CAPTURE_H

#include "pystack_core_base.h"
#include "pystack_core_values.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which of the two stacks to take. */
enum psc_mode {
    PSC_MODE_MERGED = 0,
    PSC_MODE_PYTHON = 1, /**< Python frames only; no unwinding. */
    PSC_MODE_NATIVE = 2  /**< Native frames only; nothing hidden. */
};

/** Which engine makes the unwind rows; both must give the same stacks. */
enum psc_unwinder { PSC_UNWINDER_LIBUNWIND = 0, PSC_UNWINDER_LIBDW = 1 };

/** Which threads to take. */
enum psc_threads {
    PSC_THREADS_ALL = 0,
    PSC_THREADS_CRASHED = 1, /**< The one that took the signal; the first when none did. */
    PSC_THREADS_LISTED = 2   /**< Those in psc_capture_options.thread_ids. */
};

/** Of which frames values are taken; anything else is PSC_LOCALS_ALL. */
enum psc_locals {
    PSC_LOCALS_NONE = 0,
    PSC_LOCALS_ALL = 1,   /**< Python's; those of Cython and C that have debug information. */
    PSC_LOCALS_PYTHON = 2 /**< Python's and Cython's. */
};

/** What to capture; begin with PSC_CAPTURE_OPTIONS_INIT. NULL means all defaults. */
struct psc_capture_options {
    uint32_t size; /**< sizeof(struct psc_capture_options) */
    enum psc_mode mode;
    enum psc_unwinder unwinder;
    /** Non-zero: lines and inlined calls also for the frames that merging hides. */
    uint32_t detail_hidden;
    /**
     * Non-zero: inlined calls also where more than 512 KB of compressed debug information must be
     * decompressed for them.
     */
    uint32_t all_inlined;
    /** Non-zero: leave source text out. */
    uint32_t no_source;
    /** Non-zero: list all mapped modules; else those that some frame is in. */
    uint32_t all_modules;
    enum psc_threads threads;
    /** With PSC_THREADS_LISTED: their ids. */
    const int32_t *thread_ids;
    uint32_t thread_id_count;
    /**
     * Non-zero: a living process is not stopped. Python frames only (mode is PSC_MODE_PYTHON, and
     * threads has to be PSC_THREADS_ALL); what changed while it was read may be a mixture, and is
     * warned of.
     */
    uint32_t no_pause;
    /** enum psc_locals: arguments and local names, with their values as text. */
    uint32_t locals;
    /**
     * A living process that is stopped: where to write a core file of this very moment, see
     * psc_trace_core(); NULL for none. It holds registers, stacks and all memory that the report
     * needs, and only its owner may read it. Nothing is there before it is whole.
     */
    const char *core_path;
    /**
     * Non-zero: with all memory that the kernel would dump (core(5), /proc/PID/coredump_filter).
     * The process stands still until that is copied, which takes about a second a gigabyte.
     */
    uint32_t core_full;
    /** Non-zero: tasks of asyncio, trio and curio that are not done, suspended greenlets. */
    uint32_t tasks;
    /** How much of a value is shown, as in struct psc_value_limits; 0: as much as by default. */
    uint32_t value_length;
    uint32_t value_items;
    uint32_t value_depth;
    /** Non-zero: all files that the report needs are listed, see psc_trace_get_file(). */
    uint32_t list_files;
    uint32_t evaluation_count;
    /** See psc_trace_get_evaluation(); each has the size that the header knows. */
    const struct psc_evaluation *evaluations;
    uint32_t evaluation_size; /**< sizeof(struct psc_evaluation) */
    /** Non-zero: nothing is missing where a process has no Python, as one among others. */
    uint32_t python_optional;
    /**
     * Non-zero: which locks of multiprocessing a living process has is read, for
     * psc_find_deadlocks() of it and others.
     */
    uint32_t process_locks;
    uint32_t reserved;
};
#define PSC_CAPTURE_OPTIONS_INIT                                                                 \
    {                                                                                            \
        sizeof(struct psc_capture_options), PSC_MODE_MERGED, PSC_UNWINDER_LIBUNWIND, 0, 0, 0, 0, \
            PSC_THREADS_ALL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0          \
    }

/**
 * Takes the stacks of all threads. Parts that cannot be read are gaps and
 * warnings in the trace, not errors.
 * @param ret  set on success; owned by the caller, see psc_trace_destroy().
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_capture(struct psc_target *target,
                                                   const struct psc_capture_options *options,
                                                   struct psc_trace **ret, struct psc_error *err);

/** What psc_take_snapshot() has copied. */
struct psc_snapshot;

/**
 * psc_capture() in two steps, for a host that gives up rights in between, or forks: all that needs
 * rights over a living process is done here, and a core file that is wanted is opened. The process
 * runs on when this returns.
 * Nothing else is done with the target until the snapshot has been read or destroyed.
 * @param options  what they point to stays in use as long.
 * @param ret      set on success; owned by the caller, see psc_snapshot_destroy().
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_take_snapshot(struct psc_target *target,
                                                         const struct psc_capture_options *options,
                                                         struct psc_snapshot **ret,
                                                         struct psc_error *err);

/**
 * The other step, once for each snapshot: works on what was copied, on what is open, and on files
 * that are opened by their names.
 * @param ret  set on success; owned by the caller, see psc_trace_destroy().
 */
PSC_MUST_CHECK PSC_API enum psc_status
psc_read_snapshot(struct psc_snapshot *snapshot, struct psc_trace **ret, struct psc_error *err);

/**
 * Puts the core file that psc_read_snapshot() has written in its place, and gives it its name: in
 * the process that took the snapshot, when psc_trace_core() is PSC_OK in the one that read it.
 * PSC_OK also where no core file was asked for.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_snapshot_keep_core(struct psc_snapshot *snapshot,
                                                              struct psc_error *err);

/**
 * Frees a snapshot, also one that was not read; NULL is allowed. Before psc_close(). Leaves nothing
 * of a core file that was not kept.
 */
PSC_API void psc_snapshot_destroy(struct psc_snapshot *snapshot);

/** Frees a trace and every string that came from it; NULL is allowed. */
PSC_API void psc_trace_destroy(struct psc_trace *trace);

/** 1 when everything was readable, 0 when parts are missing (each has a warning or a gap). */
PSC_API int psc_trace_is_complete(const struct psc_trace *trace);

/** 1 when it is of a core file that was written of a process which went on, as gcore does, else 0.
 */
PSC_API int psc_trace_is_snapshot(const struct psc_trace *trace);

/** The id of the process; 0 when it is not known. */
PSC_API int32_t psc_trace_pid(const struct psc_trace *trace);

/**
 * What became of psc_capture_options.core_path: PSC_OK when the file is there, PSC_ERR_NOT_FOUND
 * when none was asked for, else why it is not there.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_core(const struct psc_trace *trace,
                                                      struct psc_error *err);

#ifdef __cplusplus
}
#endif
#endif
