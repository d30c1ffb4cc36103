/**
 * @file
 * Room `target`: bytes, threads, registers and mappings of what is looked at.
 *
 * Behind target_read() stands a core file (core.c), a living process (live.c) or a
 * debugger's inferior (debugger/debugger.c). Knows no symbols and no Python: that is for the
 * rooms above.
 *
 * To add a kind of target: fill struct target_ops, and before returning the
 * target fill mappings (sorted by start), threads (crashed first), process.
 * To add an architecture: a row in registers.c, the register numbers below,
 * then native/.
 */
#ifndef PSC_TARGET_H
#define PSC_TARGET_H

#include "base.h"

/** DWARF register numbers of x86-64 (System V ABI, AMD64 supplement, figure 3.36). */
enum target_register {
    X86_RAX = 0,
    X86_RDX = 1,
    X86_RCX = 2,
    X86_RBX = 3,
    X86_RSI = 4,
    X86_RDI = 5,
    X86_RBP = 6,
    X86_RSP = 7,
    X86_R8 = 8,
    X86_R12 = 12,
    X86_R15 = 15,
    X86_RIP = 16,
    X86_COUNT = 17
};

struct target_registers {
    uint64_t value[X86_COUNT];
    bool in_system_call;  /**< The kernel was at work for this thread. */
    uint32_t system_call; /**< Its number (orig_rax), with in_system_call. */
};

/** Intel SDM, volume 1, table 10-2: st0 to st7 and xmm0 to xmm15, 16 bytes each. */
#define TARGET_VECTORS_SIZE 512u
#define TARGET_VECTORS_ST   32u
#define TARGET_VECTORS_XMM  160u

struct target_thread {
    int32_t tid; /**< As the dumping side saw it. */
    struct target_registers registers;
    psc_addr thread_pointer; /**< fs_base; equals pthread_self() with glibc and musl. */
    const char *name;        /**< Native name or NULL; cores have it for the main thread only. */
    bool crashed;            /**< Took the signal that killed the process. */
    /** What FXSAVE stores, TARGET_VECTORS_SIZE bytes, kept with the target; NULL: not known. */
    const uint8_t *vectors;
    const char
        *unreadable; /**< Why neither registers nor stack could be had, and its state; or NULL. */
};

/** Whether the file of a mapping may stand in for pages that are not in the core. */
enum target_file_state {
    TARGET_FILE_UNTRIED,
    TARGET_FILE_FOUND,      /**< Build-ids of file and memory are equal. */
    TARGET_FILE_UNVERIFIED, /**< Found, but the memory holds no build-id to compare with. */
    TARGET_FILE_MISSING,
    TARGET_FILE_MISMATCH /**< A file is there, but another build of it: not used. */
};

#define TARGET_BUILD_ID_MAX 64

struct target_build_id {
    uint8_t bytes[TARGET_BUILD_ID_MAX];
    size_t size; /**< 0: none known. */
};

/** A file that the target had mapped. Opened on first need by target_file_open(). */
struct target_file {
    const char *path; /**< As the target names it, without " (deleted)". */
    bool deleted;     /**< The target said " (deleted)". */
    enum target_file_state state;
    const char *local_path; /**< Where it was found here, or NULL. */
    const uint8_t *image;   /**< The local file, mapped; NULL unless FOUND or UNVERIFIED. */
    size_t size;
    struct target_build_id build_id; /**< From the target's memory, else from the file. */

    /* Of a living process; 0 otherwise. */
    uint64_t device; /**< major << 32 | minor */
    uint64_t inode;
    psc_addr mapped_at; /**< One of its mappings, as /proc/PID/map_files names it. */
    psc_addr mapped_to;
};

struct target_mapping {
    psc_addr start;
    psc_addr end;
    uint64_t offset;          /**< Into the file. */
    struct target_file *file; /**< NULL: anonymous. */
    bool permissions_known;   /**< False for a range that only NT_FILE names (gcore). */
    bool readable;
    bool writable;
    bool executable;
};

/** The signal that ended (or stopped) the process. */
struct target_signal {
    int32_t number; /**< 0: none (gcore of a running process, live target). */
    int32_t code;   /**< si_code; meaningful with has_info. */
    bool has_info;  /**< A siginfo was there. */
    bool has_address;
    psc_addr address; /**< si_addr of SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP. */
    bool has_sender;
    int32_t sender_pid; /**< si_pid when a process sent it. */
    int32_t sender_uid;
};

struct target_process {
    int32_t pid;
    const char *name;             /**< comm, or NULL. */
    const char *executable;       /**< Path as the target names it, or NULL. */
    const char *const *arguments; /**< argv; the bytes may be any. */
    size_t argument_count;
    bool arguments_cut; /**< Only what the kernel's note kept (80 characters). */
    struct target_signal signal;
};

/** auxv entries that other rooms need; 0 = absent. */
struct target_auxv {
    psc_addr phdr;
    uint64_t phnum;
    psc_addr entry;
    psc_addr vdso; /**< AT_SYSINFO_EHDR */
    psc_addr execfn;
    uint64_t page_size;
};

/** Milliseconds of a look at a living process; all but `prepare` are part of its pause. */
struct target_pause {
    double prepare;
    double stop;      /**< From the first thread stopped to the last. */
    double registers; /**< And the list of mappings. */
    double stacks;
    double visit;
    double save; /**< What only a core file needs; 0 without. */
    double resume;
    size_t pages;   /**< Of a glance: how many were read, and how many had changed */
    size_t changed; /**< when they were read again. */
    bool refused;   /**< It may not be stopped; what can be read of it is another question. */
};

enum target_kind { TARGET_CORE, TARGET_PROCESS, TARGET_DEBUGGER };

struct target;

struct target_ops {
    /**
     * Where the bytes at an address are in this process, and how many follow them in one piece;
     * NULL when they are not there. They stay until the target is closed or looked at again.
     */
    const uint8_t *(*piece)(struct target *target, psc_addr address, size_t *ret_size);
    /**
     * For targets without pieces: all of the bytes or PSC_ERR_FAULT; a copy that ends early leaves
     * the buffer undefined.
     */
    enum psc_status (*read)(struct target *target, psc_addr address, void *buffer, size_t size);
    /** Hint that [address, address + size) is wanted soon; may be NULL. */
    void (*prefetch)(struct target *target, psc_addr address, size_t size);
    /** Hint that it is not wanted any more; may be NULL. */
    void (*release)(struct target *target, psc_addr address, size_t size);
    /** Frees what the kind owns; the common part is freed by target_close(). */
    void (*close)(struct target *target);
};

struct target_options {
    const char *sysroot;
    const char *const *library_directories;
    size_t library_directory_count;
    const char *debug_directory; /**< Never NULL once opened. */
    const char *const *source_maps;
    size_t source_map_count;
    const char *const *source_directories;
    size_t source_directory_count;
    int (*interrupted)(void *context); /**< See psc_open_options; or NULL. */
    void *interrupt_context;
};

struct target {
    const struct target_ops *ops;
    enum target_kind kind;
    const char *path; /**< Of the core file. */
    struct arena *arena;
    struct warnings warnings;
    struct target_options options;
    struct source_index *sources; /**< What is below the source directories; NULL until asked. */
    struct target_process process;
    struct target_auxv auxv;
    struct target_thread *threads;
    size_t thread_count;
    struct target_mapping *mappings; /**< Sorted by start, not overlapping. */
    size_t mapping_count;
    struct target_file **files;
    size_t file_count;
    const char *executable_here; /**< Where the caller said that the program is, or NULL. */
    bool truncated;              /**< Parts of the core file are missing. */
    const char *proc;            /**< /proc/PID of a living process, else NULL. */
    bool foreign_root;           /**< Its paths are to be looked up below proc/root. */
    struct target_pause pause;   /**< Of the last look at a living process. */
    bool wants_vectors;          /**< Of threads that are stopped their vectors are read. */
    bool tentative;              /**< Nothing of the coming look is kept as a core file. */
    const char *refusal; /**< Why the memory of a living process may not be read; NULL: it may. */
    bool interrupted;    /**< The caller wants no more: nothing can be read. */
    size_t unasked;      /**< What was read since the caller was asked, in pages or less. */
    void *backend;       /**< Owned by the kind. */
};

/**
 * Opens a core file (an ELF file of type ET_CORE, x86-64).
 * @param executable  where the program is on this machine, or NULL.
 * @param options     copied; may be NULL.
 */
PSC_MUST_CHECK enum psc_status target_open_core(const char *path, const char *executable,
                                                const struct target_options *options,
                                                struct target **ret, struct psc_error *err);
/**
 * A process that a debugger holds; see struct psc_debugger. `debugger` is of this library's size.
 * @param executable  where the program is on this machine, or NULL.
 * @param options     copied; may be NULL.
 */
PSC_MUST_CHECK enum psc_status target_open_debugger(const struct psc_debugger *debugger,
                                                    const char *executable,
                                                    const struct target_options *options,
                                                    struct target **ret, struct psc_error *err);
void target_close(struct target *target);

/**
 * Opens a living process. It has no threads until target_snapshot() was called. One whose memory
 * may not be read has target->refusal, no mappings, and can only be surveyed.
 * @param options  copied; may be NULL.
 */
PSC_MUST_CHECK enum psc_status target_open_process(int32_t pid,
                                                   const struct target_options *options,
                                                   struct target **ret, struct psc_error *err);
/**
 * Before a look: takes the list of mappings as it is now.
 * @param ret_changed  true when other files are mapped than before, or at other places: what was
 *                     made of them has to be made again.
 */
PSC_MUST_CHECK enum psc_status target_prepare_snapshot(struct target *target, bool *ret_changed,
                                                       struct psc_error *err);
/**
 * Stops all threads, takes registers and stacks, fills threads (but for their names), calls
 * `visit`, and lets them go. What `visit`
 * reads stays as it was then, until the next look; it must do no more than that, and runs
 * in a thread of its own. It is called before, too, while they run and without threads, so that
 * what it is going to read is known: each time it must begin afresh.
 * @param ret_changed  as above: other files were mapped at the stop than at the preparation.
 */
PSC_MUST_CHECK enum psc_status target_snapshot(struct target *target, void (*visit)(void *context),
                                               void *context, bool *ret_changed,
                                               struct psc_error *err);

/**
 * The next target_snapshot() also keeps what a core file needs. Nothing is at `path` before
 * target_save_core() has succeeded.
 * @param full  all memory that the kernel would dump is copied while the process stands still.
 */
PSC_MUST_CHECK enum psc_status target_keep_core(struct target *target, const char *path, bool full,
                                                struct psc_error *err);
/**
 * Writes the last look as a core file: registers, stacks, and all memory that was read for it
 * and since. Nothing is kept any more, whatever comes of it.
 */
PSC_MUST_CHECK enum psc_status target_save_core(struct target *target, struct psc_error *err);
/** Keeps nothing any more; nothing is written. */
void target_drop_core(struct target *target);

/**
 * As target_snapshot(), without stopping anything and without registers: `visit` is called until
 * what it read is the same when it is read again, or some times. There are no threads then.
 */
PSC_MUST_CHECK enum psc_status target_snapshot_unpaused(struct target *target,
                                                        void (*visit)(void *context), void *context,
                                                        struct psc_error *err);

/** Fills threads by what everybody may know: names and states. All are unreadable. */
PSC_MUST_CHECK enum psc_status target_list_threads(struct target *target, struct psc_error *err);

/** All of the bytes or PSC_ERR_FAULT. In a core: dumped bytes, else the mapped file's. */
PSC_MUST_CHECK enum psc_status target_read(struct target *target, psc_addr address, void *buffer,
                                           size_t size);
/** As many leading bytes as can be read; 0 when not even the first can. */
size_t target_read_some(struct target *target, psc_addr address, void *buffer, size_t size);
PSC_MUST_CHECK enum psc_status target_read_u8(struct target *target, psc_addr address,
                                              uint8_t *ret);
PSC_MUST_CHECK enum psc_status target_read_u32(struct target *target, psc_addr address,
                                               uint32_t *ret);
PSC_MUST_CHECK enum psc_status target_read_u64(struct target *target, psc_addr address,
                                               uint64_t *ret);
/** A pointer, which is a u64. */
PSC_MUST_CHECK enum psc_status target_read_pointer(struct target *target, psc_addr address,
                                                   psc_addr *ret);
/**
 * A NUL-terminated string of at most size - 1 bytes; PSC_ERR_LIMIT when it is
 * longer (the buffer then holds the beginning, terminated).
 */
PSC_MUST_CHECK enum psc_status target_read_string(struct target *target, psc_addr address,
                                                  char *buffer, size_t size);
/** The bytes where they lie in one piece, see struct target_ops; NULL when a copy is needed. */
const uint8_t *target_peek(struct target *target, psc_addr address, size_t size);
void target_prefetch(struct target *target, psc_addr address, size_t size);
/** Lets go of the memory behind a large range that was read; it can still be read again. */
void target_release(struct target *target, psc_addr address, size_t size);

/**
 * Asks the caller whether the work is still wanted: for loops that take long and read little.
 * Reading asks by itself now and then, and fails from then on, so that every walk ends soon.
 */
bool target_interrupted(struct target *target);

/** The mapping that holds the address, or NULL. */
const struct target_mapping *target_find_mapping(const struct target *target, psc_addr address);
/** True in a mapping known to be executable, or in an executable segment of its mapped file. */
bool target_is_executable(struct target *target, psc_addr address);

/** Finds and checks the local file, once. Whoever misses it says so: most files never matter. */
void target_file_open(struct target *target, struct target_file *file);
/** Whether an opened file holds all that its program headers load; false for one not found. */
bool target_file_is_whole(const struct target_file *file);
/**
 * Where a path of the target (a source file, say) is on this machine: source
 * maps, sysroot, the path itself. NULL when nothing is there. Owned by the target.
 */
const char *target_find_local_path(struct target *target, const char *path);
/**
 * The file below the source directories whose path has the most components at its end in common
 * with `path`: at least `least`, or all that it has. NULL when there is none, or several that
 * differ.
 */
const char *target_find_source(struct target *target, const char *path, size_t least);

/** Appends a file that the target names; " (deleted)" is taken off. NULL when out of memory. */
struct target_file *target_add_file(struct target *target, const char *path);

/** NT_GNU_BUILD_ID of an ELF image of which the first `size` bytes are at hand; size 0 if none. */
void parse_build_id(const uint8_t *image, size_t size, struct target_build_id *ret);

/** Adds a warning to target->warnings. */
#define target_warn(target, ...) warnings_add(&(target)->warnings, __VA_ARGS__)

#endif
