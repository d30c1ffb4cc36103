/**
 * @file
 * Room `cli/descendants`: the processes that descend from this one, what is known of each, and how
 * each ended. Nothing is done to them: what is seen is what the kernel tells of them.
 *
 * This process becomes their reaper (PR_SET_CHILD_SUBREAPER), so that those whose parent has ended
 * are its own children. How others end is told by their pidfd (Linux 6.15), by /proc while nobody
 * has waited for them, or by the kernel's connector (root).
 */
#ifndef PSC_DESCENDANTS_H
#define PSC_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define TEST_LIMIT 2048u /* Bytes of a test's name. */

/** A process. Strings are malloc'd, NULL: not known. */
struct descendant {
    pid_t pid;
    pid_t parent;
    uint64_t started;         /**< Of /proc/PID/stat, in clock ticks: pids come again. */
    int pidfd;                /**< -1: none. */
    double seen;              /**< Of descendants_now(), when it was seen first. */
    uint64_t image;           /**< Differs behind each exec. */
    char *working_directory;  /**< The last one that was seen. */
    char name[32];            /**< That the kernel has, cut; "": not known. */
    char *executable;         /**< Path. */
    char *arguments;          /**< As /proc/PID/cmdline has them, */
    size_t arguments_size;    /**< so long. */
    struct rlimit core_limit; /**< With has_limit. */
    bool has_limit;
    uint64_t ticks;      /**< Processor time, its own and that of children it waited for. */
    uint64_t written;    /**< Bytes that it has written, by any call. */
    double starved;      /**< Seconds that its threads could have run, but others did. */
    bool ready;          /**< It could run when that was looked at. */
    const char *counter; /**< Of its cgroup's kills for lack of memory; or NULL. */
    /* pytest */
    int memory;           /**< /proc/PID/mem, or -1. */
    uint64_t environment; /**< Address of its variable `environ`; 0: not known. */
    unsigned tries;       /**< To find that. */
    char *test;           /**< PYTEST_CURRENT_TEST that it has set itself, as it was seen last. */
    char *worker;         /**< PYTEST_XDIST_WORKER, the same. */
    double test_seen;
    uint64_t written_at_test; /**< `written` just before that test was seen first, */
    uint64_t written_in_test; /**< and before it was seen last, */
    double used_in_test;      /**< and the seconds of processors that it had used. */
    bool session_seen;        /**< It has set PYTEST_VERSION itself, as pytest does from 8.2 on: */
    bool session_over;        /**< what that stands for has returned. */
    bool forked;  /**< It runs what its parent runs: it was forked, and has not called exec. */
    bool in_test; /**< At the last look there was a test. */
    /* The end */
    /**
     * Since the test was seen last it has used less of a processor than an interpreter needs to
     * end, and has not said how the tests went; false also where that is not known.
     */
    bool cut_short;
    bool signalled;       /**< It was told to end by this program. */
    bool ended;           /**< It is dead. */
    double end;           /**< When that was seen. */
    bool status_known;    /**< The next one is. */
    int status;           /**< Of wait(2). */
    const char *known_by; /**< "wait", "pidfd", "proc", "connector" */
    int told_status;      /**< The connector told of its end, with has_told_status. */
    bool has_told_status;
    bool out_of_memory; /**< Its cgroup counted one more kill. */
};

/** Called with each that has ended, once; it is forgotten afterwards. */
typedef void descendant_fn(void *context, const struct descendant *descendant);

struct descendants;

/** Becomes the reaper. NULL: out of memory. */
struct descendants *descendants_create(descendant_fn *ended, void *context);
void descendants_destroy(struct descendants *all);
/** Seconds of a clock that only grows. */
double descendants_now(void);

/**
 * A child that was just made; until more is seen it is where its parent is. false: out of memory.
 */
bool descendants_add(struct descendants *all, pid_t child, pid_t parent);
/** A child that is none of them: it does something for this program. */
void descendants_hide(struct descendants *all, pid_t child);
/** Looks at all that live. */
void descendants_look(struct descendants *all);
/** Takes the ends of children of this process: on SIGCHLD. */
void descendants_reap(struct descendants *all);
/**
 * Waits until something happens to one of them, `fd` can be read, or so many milliseconds have
 * passed; then takes what happened. @return whether `fd` can be read.
 */
bool descendants_wait(struct descendants *all, int fd, int milliseconds);
/** Milliseconds between two looks that cost little. */
int descendants_pause(const struct descendants *all);

size_t descendants_count(const struct descendants *all);
/** Those that live, parents before children; good until the next call. */
const struct descendant *descendants_get(const struct descendants *all, size_t index);
/** Seconds since the last call, so many ago, in which they could have run, but others did. */
double descendants_starved(struct descendants *all, double passed);
/** Whether one that lives writes its core just now. */
bool descendants_dump(const struct descendants *all);
/** Sends a signal to each that lives; one that ended in between is none of them. */
void descendants_signal(struct descendants *all, int signal);
/** The same to one. */
void descendants_signal_one(struct descendants *all, pid_t pid, int signal);
/** How many began and ended so far. */
uint64_t descendants_changes(const struct descendants *all);

#endif
