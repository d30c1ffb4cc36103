/** @file What the files of a living process share: live.c and live_*.c. */
#ifndef PSC_LIVE_PRIVATE_H
#define PSC_LIVE_PRIVATE_H

#include "target_private.h"

#include <dirent.h>
#include <sys/types.h>

/* ---- live_maps.c ---- */

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
 * Replaces target->mappings by what the text says; files that were known stay the same ones.
 * @param root  of the process as its paths are written in the text, "" for the root of all.
 */
PSC_MUST_CHECK enum psc_status live_take_maps(struct target *target, const struct live_text *maps,
                                              const char *root);

/* ---- live_pages.c ---- */

#define LIVE_PAGE ((psc_addr)4096)

struct live_page {
    psc_addr address; /**< 0: free. */
    const uint8_t *bytes;
};

/** Pages of the target that were read, each once: what was read while it stood still stays so. */
struct live_pages {
    int memory;              /**< /proc/PID/mem */
    struct live_page *table; /**< Open addressing. */
    size_t mask;
    size_t count;
    struct live_page last;
    uint8_t **slabs;
    size_t slab_count;
    size_t slab_capacity;
    size_t slab_used; /**< Of the last one. */
    size_t run;       /**< Pages that the last read of neighbours took. */
};

/** So that nothing has to be allocated while the target stands still. False: out of memory. */
bool pages_init(struct live_pages *pages, int memory);
void pages_deinit(struct live_pages *pages);
/** Forgets everything. */
void pages_clear(struct live_pages *pages);
const uint8_t *pages_find(struct live_pages *pages, psc_addr page);
/** Adds a page whose bytes live as long as this does. */
bool pages_add(struct live_pages *pages, psc_addr page, const uint8_t *bytes);
/** How many of the pages are not any more what they were when they were read. */
size_t pages_count_changed(const struct live_pages *pages, pid_t pid);
/** Reads the page, and what lies beside it when its neighbours were wanted too; or NULL. */
const uint8_t *pages_read(struct live_pages *pages, psc_addr page);

/* ---- live_stop.c ---- */

#define USER_REGISTERS_SIZE ((size_t)27 * 8) /* struct user_regs_struct */

struct live_thread {
    pid_t tid;
    int signal; /**< Was about to be delivered when it stopped; handed back. */
    bool stopped;
    bool gone;
    uint8_t registers[USER_REGISTERS_SIZE];
};

/** All threads of a process, held by the calling thread. */
struct live_stop {
    pid_t pid;
    DIR *tasks; /**< /proc/PID/task */
    struct live_thread *threads;
    size_t count;
    size_t capacity;
    size_t running;   /**< Threads that did not stop in time. */
    int refusal;      /**< errno of the first thread that could not be seized; 0. */
    pid_t refused;    /**< That thread. */
    bool other_width; /**< A 32-bit process. */
};

/**
 * Stops all threads, also those that are born meanwhile. Whatever comes of it, stop_release()
 * has to be called by the same thread, which must end then: the kernel lets go of what the
 * thread still holds (a thread that could not be stopped cannot be detached).
 */
PSC_MUST_CHECK enum psc_status stop_all(struct live_stop *stop);
void stop_read_registers(struct live_stop *stop);
/** Lets all go, with the signals that were held back. */
void stop_release(struct live_stop *stop);
void stop_deinit(struct live_stop *stop);

/* ---- live_stacks.c ---- */

/** Room for the stacks, made ready before the stop. */
struct live_stacks {
    uint8_t *bytes;
    size_t size;
    size_t used;
};

bool stacks_init(struct live_stacks *stacks, size_t thread_count);
void stacks_deinit(struct live_stacks *stacks);

struct live_range {
    psc_addr start;
    psc_addr end;
};

/** Copies the ranges into pages, by as few calls as there can be. */
void stacks_copy(struct live_stacks *stacks, struct live_pages *pages, pid_t pid,
                 const struct live_range *ranges, size_t count);

/* ---- live_refusal.c ---- */

/** Why nobody may look into the process, and the way out: one sentence. */
enum psc_status live_refuse(pid_t pid, int error, struct psc_error *err);
/** Who traces the process; 0: nobody. */
pid_t live_find_tracer(pid_t pid);
/** Checks what can be known beforehand: there is such a process, and it has memory of its own. */
PSC_MUST_CHECK enum psc_status live_check(pid_t pid, struct psc_error *err);

/* ---- live.c ---- */

struct live {
    pid_t pid;
    pid_t memory_tid; /**< A thread that lives: the first one may have ended before the others. */
    int folder;       /**< /proc/PID/task/TID of that thread. */
    const char *root; /**< Where its root is, as /proc writes paths; "" for the root of all. */
    int maps_fd;
    struct live_text maps;
    struct live_pages pages;
    struct live_stacks stacks;
    struct live_stop stop;
    bool stands; /**< The target stands still just now. */
};

extern const struct target_ops live_ops;

/** The native name of a thread; NULL when it has ended. */
const char *live_read_name(struct target *target, pid_t tid);

#endif
