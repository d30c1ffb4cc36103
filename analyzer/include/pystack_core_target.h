/** @file pystack-core: targets: core files, living processes, processes that a debugger holds.
 * Included by pystack_core.h. */
#ifndef PYSTACK_CORE_TARGET_H
#define PYSTACK_CORE_TARGET_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What psc_open_options.fetch_file is asked for. */
enum psc_fetched {
    PSC_FETCHED_PROGRAM,    /**< A program or library. */
    PSC_FETCHED_DEBUG_INFO, /**< A separate debug file. */
    PSC_FETCHED_SOURCE
};

/** What is kept of the files of libraries; see psc_kept_create(). */
struct psc_kept;

/** Whether it is noted which memory is read, for psc_write_slim_core(). */
enum psc_notes_reads {
    PSC_NOTES_READS_NOT = 0,
    PSC_NOTES_READS_ALL = 1,
    /** But for text of values and the environment, which then is not in the slim core. */
    PSC_NOTES_READS_REDACTED = 2
};

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
     * Non-zero: files are mapped where they lie, for a host whose handler of SIGBUS deals with
     * those that become shorter meanwhile. Else files are copied first: into memory, those of more
     * than 512 MB into a file without a name below TMPDIR or in /var/tmp; larger cores are read.
     */
    uint32_t maps_files;
    uint32_t reserved;
    /**
     * Asked for a file that was found nowhere, as debuginfod(8) names it, and never while a living
     * process stands still: by the build-id of the program, library or debug file (hexadecimal),
     * of a source the one of the code that was made of it. `path` is where the target had it. The
     * path of a file here, which is copied, or NULL; what has another build-id is not used. May be
     * NULL. Threads as for find_file.
     */
    const char *(*fetch_file)(void *context, enum psc_fetched what, const char *build_id,
                              const char *path);
    void *fetch_context;
    /** What was learned of libraries, which the target takes out of it; or NULL. */
    struct psc_kept *kept;
    /** enum psc_notes_reads; of psc_open_core() only. */
    uint32_t notes_reads;
    /**
     * Of psc_open_core(): the process itself, by its id here, which the kernel holds while it dumps
     * this core (core(5), "Piping core dumps to a program"). Of the core the head is enough then,
     * with all its notes: memory is read of the process. 0: none.
     */
    int32_t held_pid;
    /**
     * With held_pid: a time behind its death, in clock ticks since the system began, as starttime
     * of proc(5). Who sent the signal has its name in reports while a process with its id is there
     * that began before. 0: not known, and nobody has.
     */
    uint64_t held_since;
};
#define PSC_OPEN_OPTIONS_INIT                                                                     \
    {                                                                                             \
        sizeof(struct psc_open_options), 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, 0                            \
    }

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

/**
 * For many core files that share libraries: what is read of their files alone (symbols, lines,
 * inlined calls; nothing of a core) is kept in a process that looks at no core itself. For each
 * core it makes a child with fork(2), which opens it with psc_open_options.kept: the target takes
 * over what it needs of the child's copy. What was not known yet the child tells by
 * psc_target_lessons(), and its parent learns that: paths, build-ids and addresses, with which
 * files of this machine are opened and read again.
 * @param options  as the targets will have them. `kept` of them is not used.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_kept_create(const struct psc_open_options *options,
                                                       struct psc_kept **ret,
                                                       struct psc_error *err);
/** NULL is none. */
PSC_API void psc_kept_destroy(struct psc_kept *kept);
/** PSC_ERR_FORMAT: the bytes are damaged; what was whole until there is learned. */
PSC_MUST_CHECK PSC_API enum psc_status psc_kept_learn(struct psc_kept *kept, const void *bytes,
                                                      size_t size, struct psc_error *err);

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
 * Whose process it is, or whose file a core is in.
 * @return 1; 0 where that is not known.
 */
PSC_API int psc_target_owner(const struct psc_target *target, uint32_t *ret_user,
                             uint32_t *ret_group);

/**
 * What had to be read of libraries for all that was asked of the target, as bytes for
 * psc_kept_learn(): of one that was opened with psc_open_options.kept. Nothing is written where all
 * of it was known.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_target_lessons(const struct psc_target *target,
                                                          psc_write_fn write, void *context,
                                                          struct psc_error *err);

#ifdef __cplusplus
}
#endif
#endif
