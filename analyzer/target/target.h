/**
 * @file
 * Room `target`: bytes, threads, registers and mappings of a process.
 *
 * Behind target_read() stands a core file (core/core.h), a living process (live/live.h) or a
 * debugger's inferior (debugger/debugger.h), each opened by its own door. Knows no symbols and no
 * Python: that is for the rooms above. Strings and arrays are the target's, until it is closed.
 * Memory that cannot be read is PSC_ERR_FAULT.
 *
 * To add a kind of target: a room beside those, an enum target_kind, and struct target_ops; before
 * returning the target fill mappings (sorted by start), threads (crashed first), process.
 * To add a machine: see machine.h.
 */
#ifndef PSC_TARGET_H
#define PSC_TARGET_H

#include "base.h"
#include "machine.h"

struct module;

struct target_thread {
    int32_t tid; /**< As the core has it, or /proc here. */
    struct target_registers registers;
    psc_addr thread_pointer; /**< Of x86-64 fs_base; equals pthread_self() with glibc and musl. */
    const char *name;        /**< Native name or NULL; cores have it for the main thread only. */
    bool crashed;            /**< Took the signal that killed the process. */
    bool has_blocked;
    uint64_t blocked; /**< Signals that it has blocked, bit 0 for number 1; with has_blocked. */
    /** NT_PRFPREG, machine->vectors_size bytes, kept with the target; NULL: not known. */
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
    uint8_t *spare;         /**< The same bytes, to be changed, where they are a copy; or NULL. */
    /** Of the one who keeps the image (target_options.kept) and more that was read of it. */
    struct module *kept;
    size_t size;
    struct target_build_id build_id; /**< From the target's memory, else from the file. */
    uint32_t first_mapping;          /**< Its number in target->chain, from 1; 0: none. */
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
    bool served; /**< Of a process: what is missing of it is not known to be zeros. */
};

/** The signal that ended (or stopped) the process. */
struct target_signal {
    int32_t number; /**< 0: none (gcore of a running process, live target). */
    int32_t code;   /**< si_code; meaningful with has_info. */
    bool has_info;  /**< A siginfo was there. */
    bool has_address;
    psc_addr address; /**< si_addr of SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP. */
    bool has_key;
    uint32_t key; /**< si_pkey of SEGV_PKUERR: which protection key refused. */
    bool has_sender;
    int32_t sender_pid; /**< si_pid when a process sent it. */
    int32_t sender_uid;
    /** comm of the sender while it is there, of a process that is held here; or NULL. */
    const char *sender_name;
    bool has_system_call; /**< SIGSYS says which one was refused. */
    int32_t system_call;
    uint32_t system_call_arch; /**< AUDIT_ARCH_*: whose numbers they are. */
};

struct target_process {
    int32_t pid;
    int32_t inner_pid;            /**< As the process itself knows it; 0: not known. */
    int32_t parent_pid;           /**< Of a core file; 0: not known. */
    const char *name;             /**< comm, or NULL. */
    const char *executable;       /**< Path as the target names it, or NULL. */
    const char *const *arguments; /**< argv; the bytes may be any. */
    size_t argument_count;
    bool arguments_cut; /**< Only what the kernel's note kept (80 characters). */
    struct target_signal signal;
    /** Of the pointers to the environment that the process was started with; 0: not known. */
    psc_addr environment;
    bool owner_known;
    uint32_t user; /**< Whose process it is; of a core file, whose file. */
    uint32_t group;
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

enum target_kind {
    TARGET_CORE,
    TARGET_PROCESS, /**< A living process, which goes on: only a snapshot is of one moment. */
    TARGET_DEBUGGER
};

struct target;
struct target_reads;

struct target_ops {
    /** The caller's `interrupted` is not called while reading, which other threads do too. */
    bool silent;
    /**
     * Where the bytes at an address are in this process, and how many follow them in one piece;
     * NULL when they are not there. They stay until the target is closed, or the next snapshot.
     */
    const uint8_t *(*piece)(struct target *target, psc_addr address, size_t *ret_size);
    /**
     * Where memory that may be written can be there again behind an address where it is not: above
     * that address; 0: nowhere. May be NULL.
     */
    psc_addr (*skip_missing)(struct target *target, psc_addr address);
    /**
     * For targets without pieces: all of the bytes or PSC_ERR_FAULT; a copy that ends early leaves
     * the buffer undefined.
     */
    enum psc_status (*read)(struct target *target, psc_addr address, void *buffer, size_t size);
    /** Hint that [address, address + size) is wanted soon; may be NULL. */
    void (*prefetch)(struct target *target, psc_addr address, size_t size);
    /** Hint that it is not wanted any more; may be NULL. */
    void (*release)(struct target *target, psc_addr address, size_t size);
    /**
     * The root below which paths of the target are to be looked up ("/proc/PID/root" of a process
     * in a container); NULL, or no function: the root of this program.
     */
    const char *(*root)(const struct target *target);
    /**
     * Paths by which the file that is mapped can be opened, the best first: writes the one of that
     * index. False: there are no more. May be NULL.
     */
    bool (*file_path)(const struct target *target, const struct target_file *file, size_t index,
                      char *buffer, size_t size);
    /** Warns of what only shows when all was read; may be NULL. */
    void (*warn_at_end)(struct target *target);
    /** Frees what the kind owns; the common part is freed by target_close(). */
    void (*close)(struct target *target);
};

struct kept_modules;
struct live_agent;

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
    /** See psc_open_options; or NULL. */
    const char *(*find_file)(void *context, const char *path);
    void *find_file_context;
    /** See psc_open_options; or NULL. */
    const char *(*fetch_file)(void *context, enum psc_fetched what, const char *build_id,
                              const char *path);
    void *fetch_context;
    struct {
        const char *name; /**< What the core file is called, where that is not its path; or NULL. */
        const char *warning; /**< A sentence on what is missing of it; or NULL. */
        bool owner_known;    /**< Whose it is, where the owner of the file is another. */
        uint32_t user;
        uint32_t group;
    } core;
    bool maps_files;   /**< Not copied: whoever calls handles SIGBUS. */
    bool maps_modules; /**< The same, of the files of modules alone. */
    /**
     * What is known of files that other targets had, or NULL: fills all but the path and the
     * build-id of a file that is one of them.
     */
    struct kept_modules *kept;
    bool (*find_kept)(struct kept_modules *kept, struct target_file *file);
    bool notes_reads; /**< See target->reads. */
    bool leaves_text; /**< With it: but for the text of values. */
    /** Of a living process: who has the right to trace it, see live.h; NULL: this process. */
    const struct live_agent *agent;
    int32_t held_pid; /**< Of core_open(): the process itself, which the kernel holds; 0: none. */
    /** Clock ticks since the system began, at a time behind its death (proc(5), starttime); 0: not
     * known. */
    uint64_t held_since;
};

enum target_need {
    TARGET_NEED_DEBUG,  /**< A separate debug file, of one module or shared by several. */
    TARGET_NEED_CYTHON, /**< Generated C, or Cython's debug XML. */
    TARGET_NEED_SOURCE
};

/** A file beside those that are mapped. */
struct target_needed_file {
    enum target_need kind;
    const char *path;  /**< Where the target would have it. */
    const char *local; /**< Where it was found here; NULL: nowhere. */
    struct target_build_id build_id;
};

/** What is installed that a mapped file is a part of. */
struct target_package {
    const char *path; /**< Of the file. */
    const char *name;
    const char *version;
};

struct target {
    const struct target_ops *ops;
    enum target_kind kind;
    const struct target_machine *machine;
    struct arena *arena;
    struct warnings warnings;
    struct target_options options;
    struct file_index *sources;   /**< What is below the source directories; NULL until asked. */
    struct file_index *libraries; /**< What is below the library directories; NULL until asked. */
    struct target_process process;
    struct target_auxv auxv;
    psc_addr signed_bits; /**< Of a return address that are no part of it, but sign it; 0: none. */
    struct target_thread *threads;
    size_t thread_count;
    struct target_mapping *mappings; /**< Sorted by start, not overlapping. */
    size_t mapping_count;
    /** For each mapping the number, from 1, of the next one of the same file; 0: none. Made by
     * files.c; 0 mappings are in it when they have changed since. */
    uint32_t *chain;
    size_t chained_count;
    struct target_file **files;
    size_t file_count;
    size_t file_capacity;
    struct hash_table homes; /**< See target_home_of(). */
    struct hash_table
        needed; /**< struct target_needed_file, in the order in which it was needed. */
    struct hash_table packages;  /**< struct target_package, as they were found. */
    const char *executable_here; /**< Where the caller said that the program is, or NULL. */
    bool stands;                 /**< A living process stands still just now. */
    bool local_only;             /**< What is looked for now is not worth to be fetched. */
    size_t refused;   /**< Files for which there are no rights: another target may have them. */
    bool interrupted; /**< The caller wants no more: nothing can be read. */
    bool is_slim;     /**< A small core: what no report reads was left out. */
    size_t unasked;   /**< Reads, or pages of large ones, since `interrupted` was called. */
    void *backend;    /**< Of the kind, whose files alone use it. */
    struct target_reads *reads; /**< Which bytes were read so far; NULL: that is not noted. */
    struct target_reads *noted; /**< Of target_begin_reads(); NULL until then. */
};

void target_close(struct target *target);

/**
 * A target without memory and threads, for files that are read before any process is known: a file
 * is found by its path and the build-id that it was given. NULL when out of memory.
 */
struct target *target_create_empty(const struct target_options *options);

/** The address that a word which was kept as a return address leads to. */
static inline psc_addr target_return_address(const struct target *target, psc_addr word)
{
    return word & ~target->signed_bits;
}

/** Takes over a siginfo_t of Linux on a 64-bit machine; nothing when it is too short for one. */
void target_signal_take(struct target_signal *signal, const uint8_t *bytes, size_t size);

/** Where the code is, and the stack pointer. */
static inline psc_addr target_pc(const struct target *target,
                                 const struct target_registers *registers)
{
    return registers->value[target->machine->pc];
}
static inline psc_addr target_sp(const struct target *target,
                                 const struct target_registers *registers)
{
    return registers->value[target->machine->sp];
}

/**
 * The system call that a thread sleeps in: it is in one, which has no result yet. One that was
 * begun again after a stop is told by the code that made it.
 */
bool target_find_waiting_call(struct target *target, const struct target_registers *registers,
                              uint32_t *ret);

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
/**
 * What is read in between is text that the program works with, of its values or its environment:
 * it is noted in target->reads where such text is wanted.
 */
bool target_leaves_text(const struct target *target);
/** A word that is read is noted alone, not with the page that it lies in. */
bool target_notes_words(const struct target *target);

/** Bytes of one page. */
struct target_run {
    psc_addr start;
    size_t size;
};

/**
 * Which bytes are read is noted from now on until target_end_reads(). Nothing is where the target
 * notes its reads anyway.
 */
void target_begin_reads(struct target *target);
void target_end_reads(struct target *target);
/**
 * What was noted last, by rising address.
 * @param ret  malloc'd.
 * @return false: something could not be read, that is more than `page_limit` pages, or there is no
 *         memory for it.
 */
bool target_list_reads(const struct target *target, size_t page_limit, struct target_run **ret,
                       size_t *ret_count);
void target_begin_text(struct target *target);
void target_end_text(struct target *target);
void target_prefetch(struct target *target, psc_addr address, size_t size);
/** Lets go of the memory behind a large range that was read; it can still be read again. */
void target_release(struct target *target, psc_addr address, size_t size);

/**
 * Asks the caller whether the work is still wanted: for loops that take long and read little.
 * Reading asks by itself now and then, and fails from then on, so that every walk ends soon.
 */
bool target_interrupted(struct target *target);

/**
 * Whether a stack was left out of a core, zeros in its place (gdb's gcore does so where it can read
 * a mapping in part only: gdb/gcore.c, gcore_copy_callback()): from its stack pointer on there are
 * zeros up to the end of the mapping, or for a megabyte. At the outer end of a stack there are the
 * program's arguments or the thread's own block.
 */
bool target_is_blank_stack(struct target *target, psc_addr sp);
/** The mapping that holds the address, or NULL. */
const struct target_mapping *target_find_mapping(const struct target *target, psc_addr address);
/**
 * Where the stack ends that holds an address: at the thread's own block, which glibc and musl keep
 * at the end of the stack that they made; elsewhere (the main thread's, a signal's own) at the end
 * of the mapping. What lies behind it, mostly another thread's stack, is none of the thread's.
 * @return the first address behind it; UINT64_MAX when neither is known.
 */
psc_addr target_find_stack_end(const struct target *target, psc_addr address,
                               psc_addr thread_pointer);
/** True in a mapping known to be executable, or in an executable segment of its mapped file. */
bool target_is_executable(struct target *target, psc_addr address);

/** Finds and checks the local file, once. Warns of nothing: the caller does, if it needs it. */
void target_file_open(struct target *target, struct target_file *file);
/**
 * A file that is nowhere here, from where the caller gets such; the last thing that is tried.
 * @param id    of the file; of a source that of the code which was made of it.
 * @param path  where the target had it.
 * @return its path here, to be checked as any other; NULL: it is not to be had.
 */
const char *target_fetch(struct target *target, enum psc_fetched what,
                         const struct target_build_id *id, const char *path);
/** Whether an opened file holds all that its program headers load; false for one not found. */
bool target_file_is_whole(const struct target_file *file);
/**
 * Opens a regular file of this machine for reading. One below the sysroot, or below the root of the
 * process, is found inside of that alone, wherever its links lead.
 * @return the descriptor, or -1 and errno.
 */
int target_open_local(const struct target *target, const char *path);
/** The same, to be mapped: a copy that cannot become shorter, unless the options do without. */
int target_open_mapped(const struct target *target, const char *path);
/** The same of a module's own file. */
int target_open_module(const struct target *target, const char *path);
/** Whether that is no copy. */
bool target_maps_modules(const struct target *target);
/**
 * Opens a folder of the target where it is on this machine (below the sysroot, below the root of
 * the process, here), for the names in it.
 * @param path  as the target has it, from the root on.
 * @param ret   `size` bytes for its path on this machine, for target_open_local().
 * @return the descriptor, or -1: it is nowhere.
 */
int target_open_folder(const struct target *target, const char *path, char *ret, size_t size);
/**
 * Whether the user of the target may read the file himself, by the rights of the file and of the
 * folders that it lies in: what a report shows of it tells him nothing new then. True where the
 * user is not known.
 * @param fd  of target_open_local().
 */
bool target_user_may_read(const struct target *target, const char *path, int fd);
/**
 * Where a path of the target (a source file, say) is on this machine: source
 * maps, sysroot, the path itself. NULL when nothing is there. Owned by the target.
 */
const char *target_find_local_path(struct target *target, const char *path);
/**
 * The same, opened as target_open_local() does.
 * @param ret  where it is; NULL when nothing is there.
 * @return the descriptor, or -1.
 */
int target_find_and_open(struct target *target, const char *path, const char **ret);
/**
 * The file below the source directories whose path has the most components at its end in common
 * with `path`: at least `least`, or all that it has. NULL when there is none, or several that
 * differ.
 */
const char *target_find_source(struct target *target, const char *path, size_t least);

/**
 * The path on the target of a file that target_find_local_path() found, or that was told by
 * target_add_home(); NULL: none is known.
 */
const char *target_home_of(struct target *target, const char *local);
/** Says so of a file that was found otherwise; the first one told stays. */
void target_add_home(struct target *target, const char *local, const char *path);
/** Notes that a file was wanted, for the list of all; one that was found replaces one that was not.
 */
void target_need_file(struct target *target, const struct target_needed_file *file);

/** Notes what a file is a part of; copied. The first one told stays. */
void target_add_package(struct target *target, const struct target_package *package);
/** What is noted of a path; NULL: nothing. */
const struct target_package *target_find_package(const struct target *target, const char *path);

/** Appends a file that the target names; " (deleted)" is taken off. NULL when out of memory. */
struct target_file *target_add_file(struct target *target, const char *path);

/** The build-id of an ELF image of which the first `size` bytes are at hand; size 0 if none. */
void target_parse_build_id(const uint8_t *image, size_t size, struct target_build_id *ret);

/** Bytes of a build-id as text. */
#define TARGET_BUILD_ID_TEXT (2 * TARGET_BUILD_ID_MAX + 1)
/** In lower case, as the files below .build-id/ are named; "" without one. @return `buffer`. */
static inline const char *target_build_id_text(const struct target_build_id *id,
                                               char buffer[TARGET_BUILD_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    char *end = buffer;
    for (size_t i = 0; i < id->size; i++) {
        *end++ = digits[id->bytes[i] >> 4];
        *end++ = digits[id->bytes[i] & 15];
    }
    *end = '\0';
    return buffer;
}

/** Adds a warning to target->warnings. */
#define target_warn(target, ...) warnings_add(&(target)->warnings, __VA_ARGS__)

#endif
