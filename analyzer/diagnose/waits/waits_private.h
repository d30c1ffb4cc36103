/** @file Shared by the files of room `diagnose/waits` only. */
#ifndef PSC_WAITS_PRIVATE_H
#define PSC_WAITS_PRIVATE_H

#include "python.h"
#include "system.h"
#include "system_calls.h"
#include "waits.h"

/** Bytes around the address of a futex that are kept, before it and from it on. */
#define WINDOW_BEFORE 64
#define WINDOW_AFTER  64

/** Descriptors of one call that are kept. */
#define WAIT_DESCRIPTOR_LIMIT 16

struct wait_descriptor {
    int32_t fd;
    bool writes; /**< It is waited for to be written to. */
};

/** What was read of a thread. */
struct wait_facts {
    uint64_t tid;       /**< As it is seen from here. */
    uint32_t inner_tid; /**< As its process knows it, and keeps it in locks. */
    psc_addr thread_pointer;
    psc_addr pc;
    bool sleeps; /**< The kernel was at work for it, and has no result yet. */
    uint32_t number;
    const char *call;                          /**< Its name; NULL: not known. */
    uint64_t arguments[SYSTEM_CALL_ARGUMENTS]; /**< Else what is in these registers. */
    const char *arguments_text;                /**< In the arena of waits; or NULL. */
    bool timed;
    bool has_deadline; /**< A time of that clock (clock_gettime(2)), in seconds. */
    int clock;
    double deadline;
    struct wait_descriptor descriptors[WAIT_DESCRIPTOR_LIMIT];
    size_t descriptor_count;
    size_t descriptor_total; /**< With those that are not kept. */
    psc_addr condition;      /**< Of a futex, that it is one of; 0: not known. */
    const char *path;        /**< Of a call that opens a file, in the arena of waits; or NULL. */
    bool for_gil;
    bool has_window;
    uint8_t window[WINDOW_BEFORE + WINDOW_AFTER];
    struct python_wait python;
    psc_addr tstate;      /**< 0: not known. */
    psc_addr interpreter; /**< Of that. */
    struct python_attachment attachment;
    const psc_addr *held; /**< Locks inside whose blocks it is. */
    size_t held_count;
};

/** Locks of multiprocessing that are told of one process. */
#define PROCESS_LOCK_LIMIT 256u

struct waits {
    struct diagnose_wait_input input;
    struct python_process_lock *process_locks; /**< PROCESS_LOCK_LIMIT of them, in the arena. */
    size_t process_lock_count;
    struct arena *arena;
    struct hash_table facts; /**< struct wait_facts */
    bool lost_counted;
    size_t lost; /**< With lost_counted: see waits_read_lost(). */
    bool want_held;
    psc_addr stop_of; /**< The interpreter of which `stop` was read; 0: of none. */
    struct python_wait stop;
};

/** A wait on its way into the trace. */
struct wait_maker {
    struct waits *waits;
    struct psc_trace *trace;
    const struct trace_thread *thread;
    const struct wait_facts *facts;
    struct system *system; /**< NULL: of a core file, or when the thread has gone on. */
    struct trace_wait wait;
};

/** Whether what a thread sleeps in does not say who has it, but the stacks of others may. */
static inline bool waits_has_likely_owner(const struct python_wait *python)
{
    return !python->records_owner &&
           (python->kind == PYTHON_WAIT_LOCK || python->kind == PYTHON_WAIT_SEMAPHORE);
}

/** For the thread of that pthread_self(); NULL: there is none. */
const struct wait_facts *waits_find_pointer(const struct waits *waits, psc_addr thread_pointer);
/** For the thread of that thread state; NULL: there is none. */
const struct wait_facts *waits_find_tstate(const struct waits *waits, psc_addr tstate);
/** For the thread that its process knows by that id; NULL: there is none. */
const struct wait_facts *waits_find_inner(const struct waits *waits, uint32_t inner_tid);

/** A word of the window, at an offset from the futex; 0 where there is none. */
uint32_t waits_word(const struct wait_facts *facts, int offset);
uint64_t waits_long(const struct wait_facts *facts, int offset);

/* ---- futex_condition.c ---- */

/** The pthread_cond_t of which its futex is a word; 0: none, or not known. */
psc_addr waits_find_condition(struct target *target, const struct target_registers *registers,
                              const struct wait_facts *facts);

/* ---- call_details.c ---- */

/** Fills the times, the descriptors and the path. */
void waits_read_details(struct waits *waits, struct wait_facts *facts);

/** A call that opens a file: where it has the folder's descriptor, its path and flags. */
struct wait_open_call {
    const char *name;
    int folder; /**< The number of the argument; -1: none, as AT_FDCWD. */
    int path;
    int flags; /**< -1: they are not among the arguments. */
};
/** NULL: it opens none. */
const struct wait_open_call *waits_find_open_call(const char *name);

/* ---- futexes.c ---- */

/** Fills the wait of a thread that sleeps on a futex which is none of Python's. */
void waits_describe_futex(struct wait_maker *maker);
/** Whether it is one of the C library's functions that sleep in locks of that kind. */
bool waits_is_kind_of_function(const struct trace_location *location, enum trace_wait_kind kind);

/** The one lock that the interpreter has for all imports. */
#define WAITS_IMPORT_LOCK "the interpreter's import lock"
/** Whether it stands in the function that takes that. */
bool waits_is_for_imports(const struct trace_thread *thread);

/* ---- malloc_lock.c ---- */

/** Fills the owner of the allocator's lock that it sleeps for, where exactly one is likely. */
void waits_find_arena_owner(struct wait_maker *maker);

/* ---- python_waits.c ---- */

/** Fills it by facts->python. */
void waits_describe_python(struct wait_maker *maker);

/* ---- lost_threads.c ---- */

/** Whether a struct pthread is that of a thread that was not copied by fork(). */
bool waits_was_left_by_fork(struct target *target, psc_addr thread_pointer);
/** Counts, once, the threads there were when the process was forked that did not come along. */
void waits_read_lost(struct waits *waits);

/* ---- process_waits.c ---- */

/** Fills trace->process_locks; `system` may be NULL. */
PSC_MUST_CHECK enum psc_status
waits_fill_process_locks(const struct waits *waits, struct system *system, struct psc_trace *trace);
/** Names a lock that the thread sleeps in and other processes may have. */
void waits_name_process_lock(struct wait_maker *maker);

/* ---- section_owners.c ---- */

/** Of a free-threaded interpreter: who has a mutex by a critical section. */
void waits_take_section_owner(struct wait_maker *maker);
/** Of one: who keeps all its threads stopped, or does not stop. */
void waits_take_world_owner(struct wait_maker *maker, const struct python_wait *python);

/* ---- spins.c ---- */

/** Whether the thread runs in the loop of pthread_spin_lock(); fills the wait. */
bool waits_describe_spin(struct wait_maker *maker);

/* ---- waiting_calls.c ---- */

/** Fills it by the system call, of what is no futex. */
void waits_describe_call(struct wait_maker *maker);

#endif
