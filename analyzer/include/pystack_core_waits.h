/** @file pystack-core: what threads wait for, and for whom. Included by pystack_core.h. */
#ifndef PYSTACK_CORE_WAITS_H
#define PYSTACK_CORE_WAITS_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 * process is a member of. psc_capture() finds those within one process. Of locks of
 * multiprocessing the owners are found, too, where the traces were captured with process_locks.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_find_deadlocks(struct psc_trace *const *traces,
                                                          size_t count, struct psc_error *err);

#ifdef __cplusplus
}
#endif
#endif
