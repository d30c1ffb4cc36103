/** @file Shared by the files of room `cli/handle` only. */
#ifndef PSC_HANDLE_PRIVATE_H
#define PSC_HANDLE_PRIVATE_H

#include "crash_store.h"
#include "handle.h"

#include <stdint.h>
#include <sys/types.h>

/** Strings belong to argv. */
struct handle_request {
    int32_t pid; /**< As this system knows it. */
    uint32_t user;
    uint32_t group;
    int32_t signal; /**< 0: not known. */
    int64_t time;   /**< 0: now. */
    const char *store;
    struct crash_limits limits;
    double seconds;     /**< That the process is held at most. */
    uint64_t megabytes; /**< Of address space, for the one that parses. */
    bool redacts;
    bool no_sandbox;
    bool installs;
    bool uninstalls;
    const char *root; /**< Of the system that is changed by these two; "" is this one. */
    char **then;      /**< A program and its arguments, with a NULL behind; NULL: none. */
};

/* ---- core_head.c ---- */

/** Seconds of a clock that goes on steadily. */
double handle_now(void);

/** The begin of a core: header, program headers, notes. Zero-initialise. */
struct stream_head {
    /** As they came, but for notes that stood behind the memory; malloc'd. */
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    int file; /**< Without a name, which can be read as a core's head; or -1. */
    char problem[160];
};

/** Bytes of a head. */
#define HEAD_LIMIT ((uint64_t)64 << 20)

struct elf_header;

/**
 * Reads so much of a pipe. Memory that stands before the notes, as in cores that gdb writes, is
 * read and dropped. NULL, or what is wrong with it: what was read stays.
 * @param is_passed_on  all of it is needed later: such notes are not reached then.
 * @param until  of handle_now().
 */
const char *core_head_read(struct stream_head *head, int fd, bool is_passed_on, double until);
/**
 * How many program headers there are: the kernel puts the notes right behind them, and the number
 * of more than 65,534 at the end of the core (fs/binfmt_elf.c, elf_core_dump()).
 */
uint64_t core_head_count_segments(const struct stream_head *head, const struct elf_header *header);

/* ---- stream_head.c ---- */

/**
 * Reads a head, as core_head_read() has it, in a child without rights. NULL, or what is wrong with
 * it: what was read stays.
 * @param until  of handle_now().
 */
const char *stream_head_read(struct stream_head *head, int fd, const struct handle_request *request,
                             double until);
void stream_head_deinit(struct stream_head *head);
/**
 * Puts nothing in the place of standard input. The kernel lets the process go when its pipe has no
 * reader any more: fs/coredump.c, wait_for_dump_helpers().
 */
void handle_drop_input(void);
/**
 * Starts a program and gives it all on its standard input: the head, and what is still to come.
 * @return its exit code; 127, and said so, when it cannot be started.
 */
int stream_pass_on(const struct stream_head *head, int fd, char **program);

/* ---- held_report.c ---- */

/** Told by the one who parses, in memory that is shared. */
struct held_result {
    bool reported; /**< Text and JSON are whole. */
    bool has_core;
    char title[512];
    char signature[48];
};

struct held_job {
    const struct handle_request *request;
    int head; /**< Of stream_head_make_file(). */
    int text, json, core, log;
    const char *name; /**< What the report calls the core. */
    struct held_result *result;
    /** Called once, as soon as the process is needed no longer, before all is written. */
    void (*let_go)(void *context);
    void *context;
};

/**
 * Makes the report and the small core in a child with little memory and time, which is ended when
 * that is over. The child has no standard input, so that the caller's is the only one.
 * @return NULL, or why there is no report.
 */
const char *held_report_make(const struct held_job *job, double until);

/* ---- install.c ---- */

/** Makes this program the one behind core_pattern, now and after the next start. Exit code. */
int handle_install(const struct handle_request *request);
/** Puts back what was there before. Exit code. */
int handle_uninstall(const struct handle_request *request);

#endif
