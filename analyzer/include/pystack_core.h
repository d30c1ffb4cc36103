/**
 * @file
 * pystack-core: merged native and Python stacks of a dead or a living process.
 *
 * The way through: open a target, capture a trace of it, read or print the trace.
 *
 *     struct psc_error err = {0};
 *     struct psc_target *target = NULL;
 *     struct psc_trace *trace = NULL;
 *     if (psc_open_core("core.1234", NULL, NULL, &target, &err) != PSC_OK ||
 *         psc_capture(target, NULL, &trace, &err) != PSC_OK)
 *         fprintf(stderr, "%s\n", err.message);
 *     for (size_t i = 0; i < psc_trace_thread_count(trace); i++) ... psc_trace_get_thread() ...
 *     psc_trace_destroy(trace);
 *     psc_close(target);
 *
 * docs/examples/print_stacks.c is a whole program.
 *
 * Structs that a caller fills, or has filled, begin with their size, so that a program and a
 * library of different versions understand each other. Each has a macro to begin with, which is the
 * default:
 *
 *     struct psc_capture_options options = PSC_CAPTURE_OPTIONS_INIT;
 *
 * NULL for options, the macro, and zeros behind the size all mean the same (but for the sizes of
 * items in struct psc_debugger, where zeros are version 0.1's). A library that is older
 * than the header refuses a struct in which something is set that it does not know
 * (PSC_ERR_ARGUMENT, and the message says so).
 *
 * Nothing here prints, exits, aborts or keeps global state: different targets may be used from
 * different threads at the same time; one target (and the traces captured from it) belongs to one
 * thread at a time. All strings are UTF-8.
 */
#ifndef PYSTACK_CORE_H
#define PYSTACK_CORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define PSC_API        __attribute__((__visibility__("default")))
#define PSC_MUST_CHECK __attribute__((__warn_unused_result__))
#else
#define PSC_API
#define PSC_MUST_CHECK
#endif

/** The version of this header; psc_version() is that of the library. */
#define PSC_VERSION_MAJOR 0
#define PSC_VERSION_MINOR 1
#define PSC_VERSION_PATCH 0
#define PSC_VERSION       "0.1.0"

/** An address in the target, whatever the word size of either side. */
typedef uint64_t psc_addr;

/** What became of a call. The numbers are part of the ABI. */
enum psc_status {
    PSC_OK = 0,
    PSC_ERR_ARGUMENT = 1,    /**< The caller's arguments make no sense. */
    PSC_ERR_MEMORY = 2,      /**< Out of memory in this process. */
    PSC_ERR_IO = 3,          /**< The operating system refused; the message says what. */
    PSC_ERR_FORMAT = 4,      /**< The bytes are not what they should be. */
    PSC_ERR_UNSUPPORTED = 5, /**< Understood, but not of a kind that is handled. */
    PSC_ERR_NOT_FOUND = 6,   /**< Looked for and not there. */
    PSC_ERR_FAULT = 7,       /**< Target memory that cannot be read. */
    PSC_ERR_LIMIT = 8,       /**< A named bound was reached. */
    PSC_ERR_INTERRUPTED = 9  /**< psc_open_options.interrupted said so. */
};

/** One sentence on what went wrong; filled only when a call fails. */
struct psc_error {
    enum psc_status status;
    char message[500];
};

/** A core file, a living process, or one that a debugger holds. Opaque. */
struct psc_target;

/** The finished product: plain data about every thread. Opaque. */
struct psc_trace;

/** Where the files of the dead machine are now; begin with PSC_OPEN_OPTIONS_INIT. */
struct psc_open_options {
    uint32_t size;                    /**< sizeof(struct psc_open_options) */
    uint32_t library_directory_count; /**< Entries in library_directories. */
    /** Prefix under which the target's absolute paths are looked up first; NULL for none. */
    const char *sysroot;
    /** Directories searched, with all below them, by file name, and by build-id in .build-id/. */
    const char *const *library_directories;
    /** Root of separate debug files; NULL for /usr/lib/debug. */
    const char *debug_directory;
    /** FROM=TO prefix replacements for source files. */
    const char *const *source_maps;
    uint32_t source_map_count;
    uint32_t source_directory_count; /**< Entries in source_directories. */
    /** Directories with the sources of Cython modules (.pyx, generated C), somewhere below them. */
    const char *const *source_directories;
    /**
     * Asked now and then while a call works on the target, in the thread of the caller; anything
     * but 0 ends the call soon, with PSC_ERR_INTERRUPTED, and the target is then good for nothing
     * but psc_close(). May be NULL. Must not call into this library. A living process
     * (psc_open_process()) is never left while it stands still.
     */
    int (*interrupted)(void *context);
    void *interrupt_context;
    /**
     * Asked before the sysroot for each file by its path on the target: the path of a file here
     * that has its bytes, or NULL. That stays good until psc_close(). May be NULL. Must not call
     * into this library; is called from another thread of it at times, never by two at once.
     */
    const char *(*find_file)(void *context, const char *path);
    void *find_file_context;
    /** What messages and reports call the core file, where that is not its path; or NULL. */
    const char *core_name;
    /** A sentence on what is missing of the core file: a warning of each report; or NULL. */
    const char *core_warning;
    /** Non-zero: whose core it is, where the owner of the file is another. */
    uint32_t core_owner_known;
    uint32_t core_user;
    uint32_t core_group;
    /**
     * Non-zero: files are mapped where they lie, for a host whose handler of SIGBUS deals with those
     * that become shorter meanwhile. Else files of up to 512 MB are copied into memory first.
     */
    uint32_t maps_files;
};
#define PSC_OPEN_OPTIONS_INIT                                                                     \
    {                                                                                             \
        sizeof(struct psc_open_options), 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL, 0, 0, 0, 0                                                          \
    }

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

/** The most that may be asked for: foreign memory must stay cheap to look at. */
#define PSC_VALUE_LENGTH_MAX 1048576u
#define PSC_VALUE_ITEMS_MAX  65536u
#define PSC_VALUE_DEPTH_MAX  32u

/**
 * How much of a value is shown; begin with PSC_VALUE_LIMITS_INIT. 0: as much as by default. More
 * than the most is PSC_ERR_ARGUMENT. The whole text of a value grows with the first two; by
 * default it has at most 2000 bytes.
 */
struct psc_value_limits {
    uint32_t size;   /**< sizeof(struct psc_value_limits) */
    uint32_t length; /**< Characters of a text; by default 400, in C and C++ 200. */
    uint32_t items;  /**< Of one container; by default 32, of arrays of numbers in Python 16. */
    uint32_t depth;  /**< Containers in containers; by default 5, in C and C++ 4. */
};
#define PSC_VALUE_LIMITS_INIT                    \
    {                                            \
        sizeof(struct psc_value_limits), 0, 0, 0 \
    }

/** Of which frames values are taken; anything else is PSC_LOCALS_ALL. */
enum psc_locals {
    PSC_LOCALS_NONE = 0,
    PSC_LOCALS_ALL = 1,   /**< Python's; those of Cython and C that have debug information. */
    PSC_LOCALS_PYTHON = 2 /**< Python's and Cython's. */
};

/** The threads that psc_evaluation.thread_id names by no id. */
enum psc_evaluated_thread {
    PSC_EVALUATED_CRASHED = 0, /**< The one that took the signal; the first when none did. */
    PSC_EVALUATED_MAIN = -1
};

/** A value that is wanted: psc_frame_value() for one moment of a living process, too. */
struct psc_evaluation {
    int32_t thread_id; /**< Or an enum psc_evaluated_thread. */
    /**
     * The number that a text report with the same options gives to it; with detail_hidden one that
     * shows all.
     */
    uint32_t frame;
    /** As psc_frame_value() has it; in frames of Cython and C a name that `locals` shows. */
    const char *expression;
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
};
#define PSC_CAPTURE_OPTIONS_INIT                                                                 \
    {                                                                                            \
        sizeof(struct psc_capture_options), PSC_MODE_MERGED, PSC_UNWINDER_LIBUNWIND, 0, 0, 0, 0, \
            PSC_THREADS_ALL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0                \
    }

/** How a trace is shown. */
enum psc_format { PSC_FORMAT_TEXT = 0, PSC_FORMAT_JSON = 1 };

/** What of a trace is shown. */
enum psc_content {
    PSC_CONTENT_REPORT = 0,
    PSC_CONTENT_FILES = 1,  /**< The files that the report needs: psc_capture_options.list_files. */
    PSC_CONTENT_VALUES = 2, /**< What psc_capture_options.evaluations asked for. */
    PSC_CONTENT_SUMMARY = 3 /**< All stacks as one tree with counts. */
};

/** Begin with PSC_PRINT_OPTIONS_INIT; NULL means all defaults. */
struct psc_print_options {
    uint32_t size; /**< sizeof(struct psc_print_options) */
    enum psc_format format;
    /** Show also what merging hides, marked; as text also recursion unfolded, and names whole. */
    uint32_t all;
    uint32_t color;           /**< ANSI colours (text only). */
    uint32_t outermost_first; /**< Order of the frames. */
    uint32_t no_group;        /**< Do not put threads with equal stacks together. */
    uint32_t explain;         /**< How each thing was found, and time spent (text only). */
    uint32_t one_line;        /**< No line break but the last (JSON only). */
    /** The innermost frames of each thread that are shown; 0: all of them (text only). */
    uint32_t max_frames;
    /** All frames of a recursion, not one cycle and how often it comes again (text only). */
    uint32_t no_fold;
    enum psc_content content;
    /** Also uptime, working directory, memory and environment (text only; JSON has them). */
    uint32_t running;
};
#define PSC_PRINT_OPTIONS_INIT                                                     \
    {                                                                              \
        sizeof(struct psc_print_options), PSC_FORMAT_TEXT, 0, 0, 0, 0, 0, 0, 0, 0, \
            PSC_CONTENT_REPORT, 0                                                  \
    }

/** Takes size bytes of output; returns 0, or anything else to stop. */
typedef int (*psc_write_fn)(void *context, const char *bytes, size_t size);

/** Of the library, as "0.1.0"; static. */
PSC_API const char *psc_version(void);

/** "PSC_ERR_FORMAT" and so on; static. NULL: no status of this version. */
PSC_API const char *psc_status_name(enum psc_status status);

/**
 * Opens a core file.
 * @param path        the core file.
 * @param executable  the program it came from, or NULL: the core names it.
 * @param options     may be NULL. Strings are copied.
 * @param ret         set on success; give it to psc_close().
 * @param err         may be NULL.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_open_core(const char *path, const char *executable,
                                                     const struct psc_open_options *options,
                                                     struct psc_target **ret,
                                                     struct psc_error *err);

/**
 * Opens a living process. Each psc_capture() stops it for some milliseconds, takes what it needs
 * and lets it go; work goes on from the copy. Needs the right to trace it, see ptrace(2).
 * Otherwise as psc_open_core().
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_open_process(int32_t pid,
                                                        const struct psc_open_options *options,
                                                        struct psc_target **ret,
                                                        struct psc_error *err);

/** Bits of psc_debugger_mapping.permissions. */
enum psc_debugger_permission {
    PSC_DEBUGGER_READ = 1,
    PSC_DEBUGGER_WRITE = 2,
    PSC_DEBUGGER_EXECUTE = 4,
    PSC_DEBUGGER_PERMISSIONS_KNOWN = 8
};

/** A range of the target's memory, as /proc/PID/maps lists it. */
struct psc_debugger_mapping {
    psc_addr start;
    psc_addr end;
    uint64_t offset;      /**< Of start, into the file. */
    const char *path;     /**< Of the file, as the target names it; NULL or "": anonymous. */
    uint32_t permissions; /**< enum psc_debugger_permission bits. */
    uint32_t reserved;
};

/** A thread that is stopped. */
struct psc_debugger_thread {
    int32_t tid;
    /** Non-zero: took the signal that psc_debugger.signal_number names. */
    uint32_t crashed;
    psc_addr thread_pointer; /**< x86-64: fs_base; 0: not known, looked for in memory. */
    /**
     * The general registers and the program counter, each under the number that DWARF has for it
     * (the machine's psABI). x86-64: rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15 rip.
     */
    const uint64_t *registers;
    uint32_t register_count; /**< x86-64: 17. Another number than the machine has is refused. */
    uint32_t reserved;
    const char *name; /**< The native one, or NULL. */
};

/**
 * A debugger, or whatever else holds a stopped process; begin with PSC_DEBUGGER_INIT. Everything
 * but `context` is copied; the process must stay stopped until psc_close().
 */
struct psc_debugger {
    uint32_t size; /**< sizeof(struct psc_debugger) */
    int32_t pid;   /**< 0: not known. */
    /**
     * Copies memory of the target into buffer and returns how many bytes it copied, from the
     * first one on; fewer than size mean that the next one cannot be read. Called for whole
     * pages and runs of them, each once. May be NULL with memory_path.
     */
    size_t (*read)(void *context, psc_addr address, void *buffer, size_t size);
    void *context;
    /** A file like /proc/PID/mem, read in place of the callback where it can be opened; or NULL. */
    const char *memory_path;
    const char *executable; /**< Path as the target names it, or NULL: found by auxv. */
    const struct psc_debugger_mapping *mappings;
    const struct psc_debugger_thread *threads;
    const void *auxv; /**< As in /proc/PID/auxv, or NULL. */
    uint32_t mapping_count;
    /** sizeof(struct psc_debugger_mapping), from one to the next; 0: as in version 0.1. */
    uint32_t mapping_size;
    uint32_t thread_count;
    uint32_t thread_size;  /**< sizeof(struct psc_debugger_thread), likewise. */
    uint32_t auxv_size;    /**< In bytes. */
    uint32_t machine;      /**< e_machine (elf.h); 0: what the library runs on. */
    int32_t signal_number; /**< That stopped the crashed thread; 0: none. */
    int32_t signal_code;   /**< si_code */
    int32_t signal_sender; /**< si_pid, when signal_code says that a process sent it. */
    uint32_t reserved;
    psc_addr fault_address; /**< si_addr, when signal_code says that the kernel sent it. */
};
#define PSC_DEBUGGER_INIT                                                                        \
    {                                                                                            \
        sizeof(struct psc_debugger), 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0,             \
            sizeof(struct psc_debugger_mapping), 0, sizeof(struct psc_debugger_thread), 0, 0, 0, \
            0, 0, 0, 0                                                                           \
    }

/**
 * Opens a process through a debugger.
 * @param executable  where the program is on this machine, or NULL.
 * Otherwise as psc_open_core().
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_open_debugger(const struct psc_debugger *debugger,
                                                         const char *executable,
                                                         const struct psc_open_options *options,
                                                         struct psc_target **ret,
                                                         struct psc_error *err);

/** Closes a target; NULL is allowed. Traces captured from it stay valid. */
PSC_API void psc_close(struct psc_target *target);

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

/**
 * Whose process it is, or whose file a core is in.
 * @return 1; 0 where that is not known.
 */
PSC_API int psc_target_owner(const struct psc_target *target, uint32_t *ret_user,
                             uint32_t *ret_group);

/** Frees a trace and every string that came from it; NULL is allowed. */
PSC_API void psc_trace_destroy(struct psc_trace *trace);

/** 1 when everything was readable, 0 when parts are missing (each has a warning or a gap). */
PSC_API int psc_trace_is_complete(const struct psc_trace *trace);

/** The id of the process; 0 when it is not known. */
PSC_API int32_t psc_trace_pid(const struct psc_trace *trace);

/**
 * What became of psc_capture_options.core_path: PSC_OK when the file is there, PSC_ERR_NOT_FOUND
 * when none was asked for, else why it is not there.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_core(const struct psc_trace *trace,
                                                      struct psc_error *err);

/* ---- what a trace holds ---- */

/** Whether the target is a core file or was alive. */
enum psc_target_kind { PSC_TARGET_CORE = 0, PSC_TARGET_PROCESS = 1 };

/** What was looked at; begin with PSC_TARGET_INFO_INIT. Strings are owned by the trace. */
struct psc_target_info {
    uint32_t size; /**< sizeof(struct psc_target_info) */
    enum psc_target_kind kind;
    int32_t pid;              /**< 0: not known. */
    uint32_t argument_count;  /**< See psc_trace_argument(). */
    const char *path;         /**< Of the core file, or NULL. */
    const char *executable;   /**< As the target names it, or NULL. */
    const char *architecture; /**< "x86_64" */
};
#define PSC_TARGET_INFO_INIT                                                    \
    {                                                                           \
        sizeof(struct psc_target_info), PSC_TARGET_CORE, 0, 0, NULL, NULL, NULL \
    }

/** Fills *ret. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_target(const struct psc_trace *trace,
                                                            struct psc_target_info *ret,
                                                            struct psc_error *err);

/** Argument `index` of the command line, owned by the trace; NULL out of range. */
PSC_API const char *psc_trace_argument(const struct psc_trace *trace, size_t index);

/** The interpreter; begin with PSC_PYTHON_INFO_INIT. Strings are owned by the trace. */
struct psc_python_info {
    uint32_t size;              /**< sizeof(struct psc_python_info) */
    uint32_t debug;             /**< Non-zero: a debug build. */
    const char *implementation; /**< "CPython" */
    const char *version;        /**< "3.11.2" */
    uint32_t free_threaded;     /**< Non-zero: built without a GIL; it may use one nevertheless. */
    uint32_t gil_known;         /**< Non-zero: gil_holder is known. */
    int32_t gil_holder; /**< Its thread id; 0: nobody. Of several GILs, of the first held. */
    uint32_t reserved;
};
#define PSC_PYTHON_INFO_INIT                                      \
    {                                                             \
        sizeof(struct psc_python_info), 0, NULL, NULL, 0, 0, 0, 0 \
    }

/** Fills *ret; PSC_ERR_NOT_FOUND when the target has no Python that can be read. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_python(const struct psc_trace *trace,
                                                            struct psc_python_info *ret,
                                                            struct psc_error *err);

/** The signal that ended or stopped the target; begin with PSC_CRASH_INFO_INIT. */
struct psc_crash_info {
    uint32_t size; /**< sizeof(struct psc_crash_info) */
    int32_t signal_number;
    const char *signal;  /**< "SIGSEGV" */
    const char *code;    /**< si_code by its name, "SEGV_MAPERR"; or NULL. */
    const char *summary; /**< One phrase: "accessing 0x0 (a null pointer), not mapped"; or NULL. */
    const char *message; /**< What the program itself said of it, or NULL. */
    psc_addr fault_address; /**< With has_fault_address. */
    uint32_t has_fault_address;
    int32_t sender_pid; /**< Of the process that sent the signal; with has_sender. */
    uint32_t has_sender;
    int32_t thread_id; /**< Of the thread that took it; 0: not known. */
    /** What it died of in one word, "null-pointer": those of the JSON Schema; NULL: not known. */
    const char *cause;
    const char *access;      /**< "read", "write", "execute"; NULL: not known, or none. */
    const char *instruction; /**< The one that it died at, "mov %rax,0x18(%rbx)"; or NULL. */
    uint32_t operand_count;  /**< Registers in it, see psc_trace_get_operand(). */
    /** Non-zero: a signal handler passed an earlier fault on, which is the one described. */
    uint32_t raised_again;
};
#define PSC_CRASH_INFO_INIT                                                                        \
    {                                                                                              \
        sizeof(struct psc_crash_info), 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, \
            0, 0                                                                                   \
    }

/** What each frame is to a signature; see docs/signatures.md. */
struct psc_signature_rules;

/**
 * The rules that are built in, and before them those of `text` (NULL: none); of several that match
 * the first counts. `name` is what messages call the text, such as its file.
 * @param[out] ret  to be given to psc_signature_rules_destroy().
 * @return PSC_ERR_ARGUMENT when a line cannot be read; the message says which.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_signature_rules_create(const char *text,
                                                                  const char *name,
                                                                  struct psc_signature_rules **ret,
                                                                  struct psc_error *err);
PSC_API void psc_signature_rules_destroy(struct psc_signature_rules *rules);
/** The rules that are built in, one a line; static. */
PSC_API const char *psc_signature_default_rules(void);

/**
 * Makes the signature of a trace anew: equal for deaths of one cause. A captured trace has one, of
 * the rules that are built in.
 * @param rules  NULL: those that are built in.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_sign(struct psc_trace *trace,
                                                      const struct psc_signature_rules *rules,
                                                      struct psc_error *err);

/** The signature of a trace; begin with PSC_SIGNATURE_INFO_INIT. */
struct psc_signature_info {
    uint32_t size;       /**< sizeof(struct psc_signature_info) */
    uint32_t version;    /**< Of the way it is made; those of another version are not compared. */
    const char *hash;    /**< 40 hexadecimal digits. The strings are owned by the trace. */
    const char *exact;   /**< The same of build-ids and offsets: needs no symbols. */
    const char *title;   /**< One line for people. */
    uint64_t part_count; /**< See psc_trace_signature_part(). */
};
#define PSC_SIGNATURE_INFO_INIT                                   \
    {                                                             \
        sizeof(struct psc_signature_info), 0, NULL, NULL, NULL, 0 \
    }

/** Fills *ret; PSC_ERR_NOT_FOUND for a trace that has none. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_signature(const struct psc_trace *trace,
                                                               struct psc_signature_info *ret,
                                                               struct psc_error *err);
/** What the hash is made of: the cause, then functions; NULL behind the last. Owned by the trace.
 */
PSC_API const char *psc_trace_signature_part(const struct psc_trace *trace, size_t index);
/**
 * The signature, its parts, and what the rules said of each frame that was looked at, a line each;
 * "" without one. Owned by the trace.
 */
PSC_API const char *psc_trace_explain_signature(const struct psc_trace *trace);

/** Fills *ret; PSC_ERR_NOT_FOUND when there was no signal. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_crash(const struct psc_trace *trace,
                                                           struct psc_crash_info *ret,
                                                           struct psc_error *err);

/** A register that the instruction uses which it died at; begin with PSC_OPERAND_INIT. */
struct psc_operand {
    uint32_t size; /**< sizeof(struct psc_operand) */
    uint32_t reserved;
    const char *name; /**< "rbx"; owned by the trace. */
    uint64_t value;   /**< Before the instruction ran. */
};
#define PSC_OPERAND_INIT                       \
    {                                          \
        sizeof(struct psc_operand), 0, NULL, 0 \
    }

/** Fills *ret with number `index` of psc_crash_info.operand_count; else PSC_ERR_ARGUMENT. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_operand(const struct psc_trace *trace,
                                                             size_t index, struct psc_operand *ret,
                                                             struct psc_error *err);

/** Bits of psc_thread_info.state. */
enum psc_thread_state {
    PSC_THREAD_CRASHED = 1u << 0, /**< Took the signal. */
    PSC_THREAD_HOLDS_GIL = 1u << 1,
    PSC_THREAD_WAITS_FOR_GIL = 1u << 2,
    PSC_THREAD_COLLECTING = 1u << 3, /**< Runs the garbage collector. */
    PSC_THREAD_MAIN = 1u << 4,
    PSC_THREAD_NO_PYTHON = 1u << 5, /**< The process has Python, this thread does not. */
    PSC_THREAD_FINALIZING = 1u << 6,
    PSC_THREAD_IDLE = 1u << 7,      /**< Waits in the kernel, without the GIL. */
    PSC_THREAD_TERMINATED = 1u << 8 /**< A thread of Python whose thread of the system has ended. */
};

/** A thread; begin with PSC_THREAD_INFO_INIT. Strings are owned by the trace. */
struct psc_thread_info {
    uint32_t size;       /**< sizeof(struct psc_thread_info) */
    int32_t thread_id;   /**< The system's; 0: a thread of Python's for which none is known. */
    uint32_t state;      /**< enum psc_thread_state bits. */
    uint32_t has_python; /**< Non-zero: the next two are known. */
    uint64_t python_thread_id; /**< What threading.get_ident() gives. */
    int64_t interpreter_id;    /**< 0: the main interpreter; -1: not known. */
    const char *name;          /**< Python's if there is one, else the system's; or NULL. */
    const char *system_name;   /**< Or NULL. */
    /** The exception that is raised, else the newest that is being handled; NULL: none. */
    const char *exception_type;
    const char *exception_message; /**< Or NULL. */
    uint32_t exception_raised;     /**< Non-zero: not caught yet. */
    uint32_t reserved;
};
#define PSC_THREAD_INFO_INIT                                                        \
    {                                                                               \
        sizeof(struct psc_thread_info), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0 \
    }

/** How many threads the trace has; the crashed one is the first. */
PSC_API size_t psc_trace_thread_count(const struct psc_trace *trace);

/** Fills *ret; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_thread(const struct psc_trace *trace,
                                                            size_t thread,
                                                            struct psc_thread_info *ret,
                                                            struct psc_error *err);

enum psc_frame_kind {
    PSC_FRAME_PYTHON = 0,
    PSC_FRAME_CYTHON = 1,
    PSC_FRAME_NATIVE = 2,
    PSC_FRAME_GAP = 3 /**< A part of the stack that could not be read; function is the reason. */
};

/** Where a line number comes from. */
enum psc_line_source {
    PSC_LINE_NONE = 0,
    PSC_LINE_CODE = 1, /**< The line table of the Python code. */
    PSC_LINE_DWARF = 2,
    PSC_LINE_C_FILE = 3, /**< Comments in the C file that Cython generated. */
    PSC_LINE_XML = 4,    /**< Cython's debug files (gdb_debug=True). */
    PSC_LINE_MACHINE_CODE = 5,
    PSC_LINE_ESTIMATE = 6
};

/** How a native or Cython frame was found, best first. */
enum psc_trust {
    PSC_TRUST_CONTEXT = 0, /**< By the registers: the innermost frame, or one below a signal. */
    PSC_TRUST_CFI = 1,     /**< By the unwind tables. */
    PSC_TRUST_FRAME_POINTER = 2,
    PSC_TRUST_SCAN = 3,  /**< A return address that was found on the stack. */
    PSC_TRUST_ANCHOR = 4 /**< By what Python keeps of the evaluator's frame. */
};

/** Bits of psc_frame_info.flags. */
enum psc_frame_flag {
    PSC_FRAME_HIDDEN = 1u << 0,    /**< Machinery: printed with `all` only. */
    PSC_FRAME_INLINED = 1u << 1,   /**< Inlined into the frame that follows. */
    PSC_FRAME_HAS_PC = 1u << 2,    /**< pc and sp are known. */
    PSC_FRAME_HAS_OFFSET = 1u << 3 /**< offset is known. */
};

/** A frame; begin with PSC_FRAME_INFO_INIT. Strings are owned by the trace, or NULL: not known. */
struct psc_frame_info {
    uint32_t size; /**< sizeof(struct psc_frame_info) */
    enum psc_frame_kind kind;
    const char *language; /**< "Python", "Cython", "C", "C++", "Rust" */
    const char *function; /**< What a person reads: demangled, qualified. Of a gap: its reason. */
    const char *name;     /**< The bare name of the code (co_name). */
    const char *symbol;   /**< The linker's name. */
    const char *file;     /**< As the target names it. */
    const char *source;   /**< The text of the line, without its indentation. */
    const char *module;   /**< Path of the ELF file. */
    const char *build_id; /**< Of the module: lower-case hexadecimal digits. */
    uint32_t line;        /**< Lines and columns count from 1; 0: not known. */
    uint32_t column;      /**< In characters. */
    uint32_t end_line;
    uint32_t end_column; /**< One past the last character. */
    enum psc_line_source line_source;
    enum psc_trust trust; /**< Of native and Cython frames. */
    uint32_t flags;       /**< enum psc_frame_flag bits. */
    uint32_t local_count; /**< See psc_trace_get_local(). */
    psc_addr pc;          /**< The innermost frame's program counter; the others' return address. */
    psc_addr sp;          /**< The stack pointer in that frame. */
    uint64_t offset;      /**< Of the code within the module: what addr2line takes. */
    psc_addr python_frame;  /**< As psc_trace_python_frame(). */
    int64_t interpreter_id; /**< Of a Python frame: 0 is the main interpreter; -1: not known. */
    const char *self_class; /**< Of `self` or `cls`, where the function names another class. */
};
#define PSC_FRAME_INFO_INIT                                                                        \
    {                                                                                              \
        sizeof(struct psc_frame_info), PSC_FRAME_PYTHON, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, 0, 0, 0, 0, PSC_LINE_NONE, PSC_TRUST_CONTEXT, 0, 0, 0, 0, 0, 0, 0, NULL          \
    }

/** How many frames a thread has, those that merging hides with them; 0 out of range. */
PSC_API size_t psc_trace_frame_count(const struct psc_trace *trace, size_t thread);

/** Fills *ret with frame `frame` of thread `thread`, the innermost is 0; PSC_ERR_ARGUMENT out of
 * range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_frame(const struct psc_trace *trace,
                                                           size_t thread, size_t frame,
                                                           struct psc_frame_info *ret,
                                                           struct psc_error *err);

/** A name in a frame and its value as text, for psc_capture_options.locals. */
struct psc_local {
    uint32_t size;     /**< sizeof(struct psc_local) */
    uint32_t argument; /**< Non-zero: an argument; else a variable. */
    const char *name;
    const char *value;
};
#define PSC_LOCAL_INIT                          \
    {                                           \
        sizeof(struct psc_local), 0, NULL, NULL \
    }

/** Fills *ret with name `local` of a frame, arguments first; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_local(const struct psc_trace *trace,
                                                           size_t thread, size_t frame,
                                                           size_t local, struct psc_local *ret,
                                                           struct psc_error *err);

/**
 * A recursion: frames that stand there again and again, alike in function, file and line (native
 * ones without a line: in their address). Begin with PSC_RECURSION_INIT.
 */
struct psc_recursion {
    uint32_t size; /**< sizeof(struct psc_recursion) */
    uint32_t reserved;
    uint64_t first;  /**< Index of the innermost frame of all its cycles. */
    uint64_t last;   /**< Of the outermost one. */
    uint64_t frames; /**< Of one cycle; hidden ones are not counted. */
    uint64_t times;  /**< How many cycles there are, one behind the other. */
};
#define PSC_RECURSION_INIT                          \
    {                                               \
        sizeof(struct psc_recursion), 0, 0, 0, 0, 0 \
    }

/** How many recursions a thread is in; 0 out of range. */
PSC_API size_t psc_trace_recursion_count(const struct psc_trace *trace, size_t thread);

/** Fills *ret with recursion `index` of a thread, the innermost first; PSC_ERR_ARGUMENT out of
 * range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_recursion(const struct psc_trace *trace,
                                                               size_t thread, size_t index,
                                                               struct psc_recursion *ret,
                                                               struct psc_error *err);

/**
 * What a thread waits for, and who has it; begin with PSC_WAIT_INIT. Strings are owned by the
 * trace. Only what memory or the system prove.
 */
struct psc_wait {
    uint32_t size;          /**< sizeof(struct psc_wait) */
    int32_t owner_tid;      /**< Who has to do something before the wait ends; 0: not known. */
    int32_t owner_pid;      /**< Of a child, of the other end of a pipe, ...; 0: none. */
    uint32_t owner_certain; /**< Non-zero: the object itself records it; else it is likely. */
    const char *kind;       /**< "lock", "gil", "mutex", ...: as "waits_for" of JSON has it. */
    const char *object;     /**< What it is, for people; or NULL. */
    psc_addr address;       /**< Of the lock or object, with has_address. */
    uint32_t has_address;
    uint32_t timed;         /**< Non-zero: it ends by itself after some time. */
    const char *owner_text; /**< Of an owner that is not there; or NULL. */
    const char *known_by;   /**< How it is known. */
    double time_left;       /**< Seconds, with has_time_left. */
    uint32_t has_time_left;
    uint32_t reserved;
    const char *system_call; /**< Its name; NULL: the thread is in none. */
    const char *arguments;   /**< Of the system call, decoded; or NULL. */
    const char *kernel;      /**< Where in the kernel it sleeps; or NULL. */
};
#define PSC_WAIT_INIT                                                                           \
    {                                                                                           \
        sizeof(struct psc_wait), 0, 0, 0, NULL, NULL, 0, 0, 0, NULL, NULL, 0, 0, 0, NULL, NULL, \
            NULL                                                                                \
    }

/** Fills *ret; PSC_ERR_NOT_FOUND when nothing is known that the thread waits for. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_wait(const struct psc_trace *trace,
                                                          size_t thread, struct psc_wait *ret,
                                                          struct psc_error *err);

/**
 * Threads and tasks of which each waits for the next, and the last for the first; begin with
 * PSC_DEADLOCK_INIT. Strings are owned by the trace.
 */
struct psc_deadlock {
    uint32_t size;         /**< sizeof(struct psc_deadlock) */
    uint32_t member_count; /**< See psc_trace_get_deadlock_member(). */
    /**
     * "deadlock": each owner is recorded, and no wait ends by itself; "likely": an owner is not
     * recorded; "stall": a time limit will end a wait.
     */
    const char *verdict;
    const char *summary; /**< One sentence. */
};
#define PSC_DEADLOCK_INIT                          \
    {                                              \
        sizeof(struct psc_deadlock), 0, NULL, NULL \
    }

/** A member of such a cycle; begin with PSC_DEADLOCK_MEMBER_INIT. */
struct psc_deadlock_member {
    uint32_t size;         /**< sizeof(struct psc_deadlock_member) */
    int32_t pid;           /**< 0: not known. */
    int32_t tid;           /**< Of a task: the thread of its event loop; 0: not known. */
    uint32_t certain;      /**< Non-zero: it is recorded that the next member has it. */
    psc_addr task;         /**< Address of the task; 0: it is a thread. */
    const char *name;      /**< Of the thread or task; or NULL. */
    const char *waits_for; /**< What it waits for, and which member has it. */
    const char *known_by;  /**< How it is known. */
    uint32_t timed;        /**< Non-zero: the wait ends by itself after some time. */
    uint32_t reserved;
};
#define PSC_DEADLOCK_MEMBER_INIT                                               \
    {                                                                          \
        sizeof(struct psc_deadlock_member), 0, 0, 0, 0, NULL, NULL, NULL, 0, 0 \
    }

/** How many cycles of waits were found; the certain ones come first. */
PSC_API size_t psc_trace_deadlock_count(const struct psc_trace *trace);

/** Fills *ret with cycle `index`; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_deadlock(const struct psc_trace *trace,
                                                              size_t index,
                                                              struct psc_deadlock *ret,
                                                              struct psc_error *err);

/** Fills *ret with a member of cycle `index`; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status
psc_trace_get_deadlock_member(const struct psc_trace *trace, size_t index, size_t member,
                              struct psc_deadlock_member *ret, struct psc_error *err);

/**
 * Looks for cycles among processes: afterwards each trace has those that a thread or task of its
 * process is a member of. psc_capture() finds those within one process.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_find_deadlocks(struct psc_trace *const *traces,
                                                          size_t count, struct psc_error *err);

enum psc_file_kind {
    PSC_FILE_EXECUTABLE = 0,
    PSC_FILE_LIBRARY = 1,
    PSC_FILE_DEBUG = 2,  /**< Separate debug information. */
    PSC_FILE_CYTHON = 3, /**< Generated C, or Cython's debug XML. */
    PSC_FILE_SOURCE = 4
};

enum psc_file_state {
    PSC_FILE_FOUND = 0,
    PSC_FILE_MISSING = 1,
    PSC_FILE_MISMATCH = 2 /**< Another build of it is here. */
};

/** A file that the report needs; begin with PSC_FILE_INFO_INIT. Strings are owned by the trace. */
struct psc_file_info {
    uint32_t size; /**< sizeof(struct psc_file_info) */
    enum psc_file_kind kind;
    enum psc_file_state state;
    uint32_t reserved;
    /** Where the target has it, or would: below a sysroot it is found there again. */
    const char *path;
    const char *build_id; /**< Lower-case hexadecimal digits, or NULL. */
    const char *here;     /**< Where it was found on this machine, or NULL. */
};
#define PSC_FILE_INFO_INIT                                                                     \
    {                                                                                          \
        sizeof(struct psc_file_info), PSC_FILE_EXECUTABLE, PSC_FILE_FOUND, 0, NULL, NULL, NULL \
    }

/** How many files psc_trace_get_file() has; 0 unless psc_capture_options.list_files was set. */
PSC_API size_t psc_trace_file_count(const struct psc_trace *trace);

/** Fills *ret with file `index`; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_file(const struct psc_trace *trace,
                                                          size_t index, struct psc_file_info *ret,
                                                          struct psc_error *err);

/** What was running; begin with PSC_RUNNING_INFO_INIT. Strings are owned by the trace, or NULL. */
struct psc_running_info {
    uint32_t size;                 /**< sizeof(struct psc_running_info) */
    uint32_t has_uptime;           /**< Non-zero: the next one is known, of living processes. */
    uint64_t uptime_milliseconds;  /**< Since the process began. */
    const char *working_directory; /**< Of living processes. */
    const char *host;              /**< The name of the machine, of living processes. */
    const char *test;              /**< Of pytest: PYTEST_CURRENT_TEST without the phase. */
    const char *test_phase;        /**< "setup", "call", "teardown" */
    const char *test_worker;       /**< PYTEST_XDIST_WORKER */
    const char *rank_variable;     /**< Whose value the next one is: "RANK". */
    uint64_t rank;                 /**< Which of many equal processes it is. */
    uint32_t environment_known;    /**< Non-zero: variables that are not listed are not set. */
    uint32_t environment_initial;  /**< Non-zero: they are those that the process began with. */
    uint32_t memory_count;         /**< Items of PSC_RUNNING_MEMORY, */
    uint32_t package_count;        /**< of PSC_RUNNING_PACKAGES, */
    uint32_t variable_count;       /**< of PSC_RUNNING_ENVIRONMENT. */
    uint32_t reserved;
};
#define PSC_RUNNING_INFO_INIT                                                                     \
    {                                                                                             \
        sizeof(struct psc_running_info), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, \
            0, 0                                                                                  \
    }

/** Fills *ret. */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_running(const struct psc_trace *trace,
                                                             struct psc_running_info *ret,
                                                             struct psc_error *err);

/** Lists of what was running; docs/running.md tells what is in them. */
enum psc_running_list {
    PSC_RUNNING_MEMORY = 0,     /**< Kinds of memory: name and bytes. */
    PSC_RUNNING_PACKAGES = 1,   /**< Of extension modules on the stacks: name and version. */
    PSC_RUNNING_ENVIRONMENT = 2 /**< Variables: name and value. */
};

/** An item of such a list; begin with PSC_RUNNING_ITEM_INIT. Strings are owned by the trace. */
struct psc_running_item {
    uint32_t size; /**< sizeof(struct psc_running_item) */
    uint32_t reserved;
    const char *name;
    const char *value; /**< NULL for memory. */
    uint64_t bytes;    /**< Of memory. */
};
#define PSC_RUNNING_ITEM_INIT                             \
    {                                                     \
        sizeof(struct psc_running_item), 0, NULL, NULL, 0 \
    }

/** Fills *ret with item `index` of a list; PSC_ERR_ARGUMENT out of range. */
PSC_MUST_CHECK PSC_API enum psc_status
psc_trace_get_running_item(const struct psc_trace *trace, enum psc_running_list list, size_t index,
                           struct psc_running_item *ret, struct psc_error *err);

/** How many warnings the trace has. */
PSC_API size_t psc_trace_warning_count(const struct psc_trace *trace);

/** The sentence of warning `index`, owned by the trace; NULL out of range. */
PSC_API const char *psc_trace_warning(const struct psc_trace *trace, size_t index);

/** Its code for programs, "file-missing"; as above. */
PSC_API const char *psc_trace_warning_code(const struct psc_trace *trace, size_t index);

/* ---- printing ---- */

/**
 * Reads one report (psc_print() as JSON) at the beginning of some text, for a summary of many
 * processes: psc_print_processes() with PSC_CONTENT_SUMMARY. What that does not need is not read.
 * @param ret_used  how many bytes of the text the report took: the next one follows.
 * @param ret       as psc_capture(); NULL where there was nothing but white space.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_read_report(const char *text, size_t size,
                                                       size_t *ret_used, struct psc_trace **ret,
                                                       struct psc_error *err);

/**
 * Writes the trace in one of the formats.
 * @return PSC_ERR_IO when `write` stopped it.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_print(const struct psc_trace *trace,
                                                 const struct psc_print_options *options,
                                                 psc_write_fn write, void *context,
                                                 struct psc_error *err);

/**
 * Writes the traces of several processes: as text each stack once, with all threads that have it;
 * as JSON one object a line.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_print_processes(const struct psc_trace *const *traces,
                                                           size_t count,
                                                           const struct psc_print_options *options,
                                                           psc_write_fn write, void *context,
                                                           struct psc_error *err);

/**
 * Where the Python frame `frame` of thread `thread` is in the target, both counted as JSON lists
 * them with `all`: a PyFrameObject up to 3.10, a _PyInterpreterFrame from 3.11 on.
 * @return 0 when there is no such frame or when it is not one of Python.
 */
PSC_API psc_addr psc_trace_python_frame(const struct psc_trace *trace, size_t thread, size_t frame);

/** Whose name it is. */
enum psc_scope {
    PSC_SCOPE_LOCAL = 0,
    PSC_SCOPE_CLOSURE = 1, /**< Of an outer function, or one that inner functions share. */
    PSC_SCOPE_GLOBAL = 2,
    PSC_SCOPE_BUILTIN = 3
};

/**
 * Writes the value of a name in a Python frame as text, bounded as psc_capture_options.locals has
 * it. Locals go before globals, globals before builtins. Values are read, nothing is called: what
 * only code of the program can give (a property) is PSC_ERR_UNSUPPORTED.
 * The text may hold what the program holds, control characters too.
 * @param target  a core file, or a process that a debugger holds. One that runs on is
 *                PSC_ERR_UNSUPPORTED: its frames do not wait.
 * @param frame   of a trace of this target, see psc_trace_python_frame().
 * @param what    a name, and steps on from there: `self.rows[-1]['name']`.
 * @param ret     whose name the first one is; may be NULL.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_frame_value(struct psc_target *target, psc_addr frame,
                                                       const char *what, psc_write_fn write,
                                                       void *context, enum psc_scope *ret,
                                                       struct psc_error *err);

/** psc_frame_value() with limits, which may be NULL. */
PSC_MUST_CHECK PSC_API enum psc_status
psc_frame_value_within(struct psc_target *target, psc_addr frame, const char *what,
                       const struct psc_value_limits *limits, psc_write_fn write, void *context,
                       enum psc_scope *ret, struct psc_error *err);

/** What became of a psc_evaluation; begin with PSC_EVALUATED_INIT. Strings are the trace's. */
struct psc_evaluated {
    uint32_t size;     /**< sizeof(struct psc_evaluated) */
    int32_t thread_id; /**< 0: there is no such thread. */
    uint32_t frame;
    enum psc_scope scope; /**< With a value. */
    const char *function; /**< Of the frame, or NULL. */
    const char *expression;
    const char *value;   /**< NULL: `problem` says why. */
    const char *problem; /**< Or NULL. */
};
#define PSC_EVALUATED_INIT                                                          \
    {                                                                               \
        sizeof(struct psc_evaluated), 0, 0, PSC_SCOPE_LOCAL, NULL, NULL, NULL, NULL \
    }

/** How many values were asked for. */
PSC_API size_t psc_trace_evaluation_count(const struct psc_trace *trace);

/** Fills *ret with the value that was asked for as number `index`; PSC_ERR_ARGUMENT out of range.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_trace_get_evaluation(const struct psc_trace *trace,
                                                                size_t index,
                                                                struct psc_evaluated *ret,
                                                                struct psc_error *err);

/**
 * Writes the names that psc_frame_value() knows, each followed by a line break; those of locals
 * first, some may come twice.
 * @param what  NULL, or a value as above: then the names of its attributes.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_frame_names(struct psc_target *target, psc_addr frame,
                                                       const char *what, psc_write_fn write,
                                                       void *context, struct psc_error *err);

/**
 * The name that a person wrote, from a linker's symbol: Cython names as Python's __qualname__
 * ("Solver.steps"; "f [parallel]" for the body of a parallel block), C++ and Rust names qualified
 * but without parameters.
 * @param buffer  takes at most size - 1 bytes and a terminating zero; may be NULL when size is 0.
 * @return bytes of the whole name without the zero; 0, and an empty buffer, when it is no such
 *         symbol or when memory ran out.
 */
PSC_API size_t psc_demangle(const char *symbol, char *buffer, size_t size);

/**
 * Symbols of one file, stack or text. A Cython symbol alone may leave open where a name begins
 * (`4free_list`: the fourth entry `free_list`, or `list` in a scope `free`), and that of a
 * generator does not name the function; others seen with it tell.
 */
struct psc_symbols;
PSC_API struct psc_symbols *psc_symbols_create(void); /**< NULL: out of memory. */
PSC_API void psc_symbols_destroy(struct psc_symbols *symbols);
/** Takes a copy of a symbol; those that tell nothing are passed over. */
PSC_MUST_CHECK PSC_API enum psc_status psc_symbols_add(struct psc_symbols *symbols,
                                                       const char *symbol);
/** psc_demangle() with what the others tell, which need not be told of this one. */
PSC_API size_t psc_symbols_demangle(struct psc_symbols *symbols, const char *symbol, char *buffer,
                                    size_t size);

#ifdef __cplusplus
}
#endif
#endif
