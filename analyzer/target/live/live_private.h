/** @file What the files of room `target/live` share. */
#ifndef PSC_LIVE_PRIVATE_H
#define PSC_LIVE_PRIVATE_H

#include "live.h"
#include "new_file.h"

#include "pages.h"
#include "save.h"
#include "target_private.h"

#include <dirent.h>
#include <sys/types.h>

struct live;
struct live_sampler;

/* ---- maps.c ---- */

/** One line of /proc/PID/maps. */
struct live_map {
    psc_addr start;
    psc_addr end;
    uint64_t offset;
    uint64_t device;  /**< major << 32 | minor */
    uint64_t inode;   /**< 0: no file. */
    const char *path; /**< In the text, not terminated; empty for anonymous memory. */
    size_t path_size;
    bool readable;
    bool writable;
    bool executable;
    bool shared;
};

/**
 * Takes the next line that is a mapping; lines that are none are passed over.
 * @param at  where to begin; moved behind the line.
 * @return false at the end.
 */
bool parse_next_map(const char **at, const char *end, struct live_map *ret);

/** Bytes of a file of /proc, whose size no one knows before. Kept and grown by the reader. */
struct live_text {
    char *bytes;
    size_t size;
    size_t capacity;
};

/** 0 or errno. The file is read from its beginning. */
int live_read_file(int fd, struct live_text *ret);
/** Opens below the directory and reads; 0 or errno. */
int live_read_path(int directory, const char *name, struct live_text *ret);

/**
 * Reads a file of /proc that shows memory of the process, at most about `limit` bytes. False where
 * that takes too long or is refused: the text is empty then. What it had when that took too long is
 * kept for good, for the read may still be done.
 */
bool live_read_timed(const struct live *live, int fd, size_t limit, struct live_text *ret);

/** What the list of mappings says of a file. */
struct live_file {
    uint64_t device; /**< major << 32 | minor */
    uint64_t inode;
};

/** Parallel to target->files. */
struct live_files {
    struct live_file *items;
    size_t count;
    size_t capacity;
};

/**
 * Replaces target->mappings by what the text says; files that were known stay the same ones.
 * @param root  of the process as its paths are written in the text, "" for the root of all.
 */
PSC_MUST_CHECK enum psc_status live_take_maps(struct target *target, struct live_files *files,
                                              const struct live_text *maps, const char *root);

/** Whether files of code are at the same places; data files come and go. */
bool live_same_modules(const struct target_mapping *a, size_t a_count,
                       const struct target_mapping *b, size_t b_count);
/**
 * Adds what of another list, of the same files, lies where target->mappings has nothing: what may
 * have been there when the list was not read.
 */
PSC_MUST_CHECK enum psc_status
live_join_maps(struct target *target, const struct target_mapping *before, size_t before_count);

/* ---- stop.c ---- */

/** Who else has stopped a thread, or may. */
struct live_tracer {
    pid_t pid; /**< The process that it belongs to; 0: nobody that is seen from here. */
    char name[64];
};

struct live_thread {
    pid_t tid;
    int signal;     /**< Was about to be delivered when it stopped; handed back. */
    int group_stop; /**< The signal that had stopped the whole process before; 0: none. */
    bool stopped;
    bool waits;  /**< Was not stopped, and stands still all the same: in the kernel. */
    bool sleeps; /**< It slept before the stop, and is stopped when the others have been let go. */
    bool gone;
    bool seized;
    uint8_t registers[TARGET_USER_REGISTERS_LIMIT];
    /* Of all_registers or vectors, in live_stop.more. */
    size_t more_at;
    size_t fp_size;       /**< NT_PRFPREG, at more_at. */
    size_t extended_size; /**< machine->extended_note, behind it. */
};

/** How often a thread had been given a processor when it was noted. */
struct live_quiet {
    pid_t tid;
    uint64_t runs; /**< 0: it is not known, or it has run since. */
    int schedstat; /**< Its file, where that is kept open; -1: it is opened each time. */
};

/** All threads of a process, held by the calling thread. */
struct live_stop {
    pid_t pid;
    DIR *tasks; /**< /proc/PID/task */
    struct live_thread *threads;
    size_t count;
    size_t capacity;
    struct live_quiet *quiet; /**< By tid. */
    size_t quiet_count;
    size_t quiet_capacity;
    size_t running;            /**< Threads that did not stop in time. */
    bool cut;                  /**< There are more: to stop them all would take too long. */
    int refusal;               /**< errno of the first thread that could not be seized; 0. */
    pid_t refused;             /**< That thread. */
    struct live_tracer tracer; /**< The last other one that was met. */
    bool other_width;          /**< A 32-bit process. */
    bool all_registers;        /**< Not only the general ones are wanted. */
    bool vectors;              /**< Of the others, those of NT_PRFPREG are wanted. */
    struct text more;          /**< The others, of all threads. */
    int64_t released; /**< When all were let go, in nanoseconds of CLOCK_MONOTONIC; 0: not yet. */
};

/**
 * Stops all threads but those that sleep, also those that are born meanwhile. Whatever comes of it,
 * stop_release() has to be called by the same thread, which must end then: the kernel lets go of
 * what the thread still holds (a thread that could not be stopped cannot be detached).
 */
PSC_MUST_CHECK enum psc_status stop_all(struct live_stop *stop);
void stop_read_registers(struct live_stop *stop);
/** The thread of that id, or NULL. */
const struct live_thread *stop_find(const struct live_stop *stop, pid_t tid);
/** Waits until it stands or has ended. False: the kernel holds it longer than that. */
bool stop_wait(const struct live_stop *stop, struct live_thread *thread, int64_t nanoseconds);
/** Lets all go, with the signals that were held back; does nothing a second time. */
void stop_release(struct live_stop *stop);
void stop_deinit(struct live_stop *stop);

/* ---- stacks.c ---- */

struct live_range {
    psc_addr start;
    psc_addr end;
};

/** Room for the stacks, made ready before the stop. */
struct live_stacks {
    uint8_t *bytes;
    size_t size;
    size_t used;
};

/** @param ready  how many bytes are going to be copied, about. */
bool stacks_init(struct live_stacks *stacks, size_t ready);
/** @param keep  a read that was given up may still write there: the memory is not let go. */
void stacks_deinit(struct live_stacks *stacks, bool keep);

/** Copies the ranges into pages, by as few calls as there can be. */
void stacks_copy(struct live_stacks *stacks, struct live_pages *pages, pid_t pid,
                 const struct live_range *ranges, size_t count);

/**
 * Copies the stacks of the threads that stand, and what is named besides, by as few calls.
 * @param sleeping  of those that slept alone; else of the others.
 */
PSC_MUST_CHECK enum psc_status
stacks_copy_threads(struct target *target, const struct live_thread *threads, size_t thread_count,
                    bool sleeping, const struct live_range *more, size_t more_count);
/**
 * In the stop: copies the stacks of those that stand, what was read before it and is going to be
 * read again, and what a core file needs.
 */
PSC_MUST_CHECK enum psc_status stacks_copy_all(struct target *target);
/** Reads the ranges one behind the other into `ret`, and keeps nothing. False: not all of them. */
bool stacks_peek(struct live_stacks *stacks, const struct live_pages *pages, pid_t pid,
                 const struct live_range *ranges, size_t count, uint8_t *ret);

/* ---- stop.c ---- */

/** CLOCK_MONOTONIC, nanoseconds. */
int64_t live_now(void);

/* ---- sleeping.c ---- */

/**
 * What /proc/PID/task/TID/syscall says of a thread that waits in the kernel, as registers: its
 * stack pointer, its place, its system call and arguments; the others are 0.
 * @return false for one that runs, and for text that says something else.
 */
bool parse_waiting(const char *text, size_t size, uint8_t ret[TARGET_USER_REGISTERS_LIMIT]);
/** Reads that of each thread that did not stop. */
void stop_read_waiting(struct live_stop *stop);
/** After their stacks were copied: those that have moved since do not count. */
void stop_check_waiting(struct live_stop *stop);

/** Forgets all threads that were noted; to be called before stop_deinit(). */
void sleeping_forget(struct live_stop *stop);
/** Notes all threads; those that have not run when sleeping_find() comes to them are asleep. */
void sleeping_note(struct live_stop *stop);
/**
 * Begins the list of threads with those that were noted, and finds which of them sleep; not
 * live.memory_tid. While all others are stopped these are left alone: who sleeps from before the
 * stop until after it stands as still.
 */
void sleeping_find(struct target *target, bool none);
/**
 * After the others were let go: takes registers and stacks of those that slept, some at a time.
 * @param ret_slept  false: one of them has not slept all the time, so that what was read is not of
 *                   one moment; the next sleeping_find() leaves that one out.
 */
PSC_MUST_CHECK enum psc_status sleeping_take(struct target *target, bool *ret_slept);

/* ---- stacks.c, before the stop ---- */

/**
 * Finds out what is going to be copied in the stop, and makes room for it. False: out of memory.
 */
PSC_MUST_CHECK bool prefetch_for_snapshot(struct target *target,
                                          const struct live_request *request);
/** Lets the visitor read while the process runs; as in a stop, no files are opened. */
void visit_now(struct target *target, const struct live_request *request);

/* ---- refusal.c ---- */

/** What is known of a process that may not be read, and of who wants to. */
struct refusal {
    pid_t pid;
    int error; /**< errno of what was refused. */
    char name[64];
    char state; /**< As in /proc/PID/stat; 0: there is no such process. */
    long parent;
    struct live_tracer tracer; /**< pid 0: nobody. */
    bool tracer_gone;          /**< It was met, and has let go since. */
    uint64_t user;
    uint64_t own_user;
    bool own_right;    /**< CAP_SYS_PTRACE */
    bool own_filter;   /**< A seccomp filter decides what this program may call. */
    bool memory_opens; /**< /proc/PID/mem can be opened all the same. */
    bool undumpable;   /**< Its files in /proc belong to root. */
    char ptrace_scope; /**< kernel.yama.ptrace_scope; 0: there is no Yama. */
};

/** The one sentence that such a refusal makes, with the way out; never PSC_OK. */
enum psc_status describe_refusal(const struct refusal *refusal, struct psc_error *err);
/** Why the process may not be read, and the way out: one sentence. */
enum psc_status live_refuse(pid_t pid, int error, struct psc_error *err);
/** The same of a target, by who may trace it. */
enum psc_status live_refuse_target(const struct target *target, int error, struct psc_error *err);
/** The same of a thread that a stop could not seize. */
enum psc_status live_refuse_stop(const struct live_stop *stop, struct psc_error *err);
/**
 * Who traces a thread now, by TracerPid of proc(5).
 * @param ret  its pid is 0 for one outside of this pid namespace, and for this program.
 * @return false when nobody does.
 */
bool live_find_tracer(pid_t tid, struct live_tracer *ret);
/** Checks what can be known beforehand: there is such a process, and it has memory of its own. */
PSC_MUST_CHECK enum psc_status live_check(pid_t pid, struct psc_error *err);

/* ---- thread_list.c ---- */

/**
 * Fills target->threads by the stop.
 * @param standing  those that are stopped alone. The others, and names, may take longer.
 */
PSC_MUST_CHECK enum psc_status live_take_threads(struct target *target, bool standing);
/** The native name of a thread; NULL when it has ended. */
const char *live_read_name(struct target *target, pid_t tid);
/** The parent of the process of /proc/PID, by its "stat" (proc(5)); 0 where it is not known. */
pid_t live_read_parent(int folder);

/* ---- dump.c ---- */

/** Of one mapping, from /proc/PID/smaps. */
struct dump_flags {
    psc_addr start;
    bool excluded; /**< By madvise(MADV_DONTDUMP), or memory of a device. */
    bool huge;     /**< hugetlbfs */
    bool served;   /**< Somebody serves what is not in memory: userfaultfd(2). */
};

struct dump {
    unsigned filter; /**< /proc/PID/coredump_filter */
    struct dump_flags *flags;
    size_t flag_count;
    size_t flag_capacity;
    int pagemap;
    uint8_t *buffer;
    uint64_t *pages;
};

/** What of a mapping is dumped. */
enum dump_part {
    DUMP_NOTHING,
    DUMP_FIRST_PAGE,
    DUMP_TOUCHED, /**< All, of which pages that were never touched are known to be zeros. */
    DUMP_ALL
};

/** What the kernel would dump; `flags` may be NULL. */
enum dump_part dump_choose(const struct live_map *map, const struct dump_flags *flags,
                           unsigned filter, bool written);
/** Fills dump->flags from the text of smaps; false: out of memory. */
bool parse_smaps(const char *text, size_t size, struct dump *dump);
/** Before the stop. False: out of memory. */
bool dump_prepare(struct target *target);
/** Whether what is missing of the mapping that begins there is not known to be zeros. */
bool dump_is_served(const struct dump *dump, psc_addr start);
/** In it: copies memory into the core file. */
void dump_copy(struct target *target);
void dump_deinit(struct dump *dump);

/* ---- saved.c ---- */

/** A core file of the next snapshot. */
struct live_save {
    bool wanted;
    bool taken; /**< Of the last snapshot. */
    bool full;
    size_t held_pages; /**< The first of live.pages: read while the process stood. */
    const char *path;  /**< As it was given. */
    struct new_file output;
    struct core_file file;
    struct core_identity identity;
    struct live_text auxv;
    struct live_range *ranges; /**< Taken at the stop, beside the stacks. */
    size_t range_count;
    size_t range_capacity;
    struct dump dump;
};

/** A thread's id in the process's own pid namespace, and that which it has from here. */
struct live_seen_thread {
    pid_t inner;
    pid_t tid;
};

/** Before the stop, and before the pages are forgotten. False: out of memory. */
bool save_prepare(struct target *target);

/* ---- identity.c ---- */

/** The id that a thread has in its own pid namespace; of the first one, that of the process. */
pid_t live_read_inner_tid(pid_t tid);
void live_read_identity(const struct target *target, struct core_identity *ret);

/* ---- memory.c ---- */

struct live {
    pid_t pid;
    pid_t memory_tid;      /**< A thread that lives: the first may have ended before the others. */
    int folder;            /**< /proc/PID/task/TID of that thread. */
    const char *proc;      /**< The same as a path. */
    const char *refusal;   /**< Why the memory of the process may not be read; NULL: it may. */
    const char *root;      /**< Where its root is, as /proc writes paths; "" for the root of all. */
    const char *root_here; /**< proc/root where its paths are to be looked up there; or NULL. */
    int maps_fd;
    struct live_reader *reader;
    bool held; /**< It stands still, so that reading must end in time. */
    struct live_text maps;
    struct live_files files;
    struct live_seen_thread *seen; /**< The threads at the last snapshot; NULL: none was taken. */
    size_t seen_count;
    struct live_facts facts;
    int environment; /**< /proc/PID/environ, which can be read without a right once it is open. */
    struct live_pages pages;
    struct live_stacks stacks;
    struct live_range *wanted; /**< What the visitor read before the stop, and will read in it. */
    size_t wanted_count;
    struct live_stop stop;
    struct live_save save;
    struct live_pause pause;
    double runs_until; /**< It is not stopped again before, in milliseconds of CLOCK_MONOTONIC. */
    struct live_sampler *sampler; /**< NULL: no thread was sampled yet. */
};

/* ---- thread_list.c: files of single threads ---- */

struct thread_files {
    int folder; /**< /proc/PID, which stays the caller's. */
    struct hash_table table;
    size_t run_count; /**< Files "schedstat" that are open. */
    uint64_t limit;   /**< Of descriptors where there are some; 0: there are none. */
};

void thread_files_init(struct thread_files *files, int folder);
void thread_files_deinit(struct thread_files *files);
/**
 * /proc/PID/task/TID/syscall. One that may not be asked what it does (EPERM) is a thread all the
 * same, which the stop finds out.
 * @return bytes of the text; -1: there is no such thread in the process.
 */
ssize_t thread_files_read_call(struct thread_files *files, pid_t tid, char *ret, size_t size);
/**
 * Of a thread whose call was read just now, as live_read_runs() has it; 0: not known, as where many
 * hundred are asked for.
 */
uint64_t thread_files_read_runs(struct thread_files *files, pid_t tid);

/* ---- sample.c ---- */

void sampler_destroy(struct live *live);

extern const struct target_ops live_ops;

/** The backend of a target of this kind; NULL for another, which must not be given. */
static inline struct live *live_of(const struct target *target)
{
    return target->kind == TARGET_PROCESS ? target->backend : NULL;
}

/** Lists the threads that there are just now, for live_find_threads(). */
PSC_MUST_CHECK enum psc_status live_see_threads(struct live *live);
/** The next live_find_threads() lists them itself. */
void live_forget_seen(struct live *live);

/* ---- thread_list.c: what is copied of one thread ---- */

/** Of which pages are in memory. */
struct traced_memory {
    int folder;                    /**< /proc/PID, which stays the caller's. */
    struct live_reader *reader;    /**< NULL until it is asked. */
    struct live_presence presence; /**< In this moment: */
    uint64_t moment;
};

/** An order that is carried out, and what comes of it: what another process has is written once. */
struct traced_order {
    struct live_order order;
    psc_addr pages[LIVE_SAMPLE_PAGES]; /**< That are to be copied, and are in memory. */
    size_t page_count;
    uint8_t *bytes;
    int64_t asked_at; /**< When it was asked to stop. */
    bool awaited;     /**< It does not stand yet. */
    struct live_delivery delivery;
};

void traced_memory_init(struct traced_memory *memory, int folder);
void traced_memory_deinit(struct traced_memory *memory);
/** Before the thread stands: to read a page that is not there may wait, and the thread with it. */
void traced_memory_choose(struct traced_memory *memory, struct traced_order *one);
/** The stack from the stack pointer on, then the pages. */
void traced_memory_copy(struct traced_memory *memory, struct traced_order *one, psc_addr sp);

#endif
