/** @file What threads and tasks wait for, and the cycles of such waits: a part of trace.h. */
#ifndef PSC_TRACE_WAITS_H
#define PSC_TRACE_WAITS_H

#include "base.h"

/** What a thread waits for. */
enum trace_wait_kind {
    TRACE_WAIT_GIL,
    TRACE_WAIT_MUTEX, /**< pthread_mutex_t */
    TRACE_WAIT_RWLOCK,
    TRACE_WAIT_CONDITION, /**< pthread_cond_t, or threading.Condition. */
    TRACE_WAIT_BARRIER,
    TRACE_WAIT_SEMAPHORE, /**< sem_t, threading's or multiprocessing's. */
    TRACE_WAIT_SPIN,      /**< pthread_spinlock_t, for which it runs. */
    TRACE_WAIT_LOCK,      /**< threading.Lock */
    TRACE_WAIT_RLOCK,     /**< threading.RLock */
    TRACE_WAIT_EVENT,     /**< threading.Event */
    TRACE_WAIT_QUEUE,
    TRACE_WAIT_JOIN, /**< For the end of a thread. */
    TRACE_WAIT_PYTHON_MUTEX,
    TRACE_WAIT_STOP_THE_WORLD, /**< All threads of a free-threaded interpreter stop. */
    TRACE_WAIT_IMPORT_LOCK,
    TRACE_WAIT_LOADER_LOCK,
    TRACE_WAIT_MALLOC_LOCK,
    TRACE_WAIT_STDIO_LOCK,
    TRACE_WAIT_FUTEX, /**< Of which no more is known. */
    TRACE_WAIT_CHILD, /**< For the end of a process. */
    TRACE_WAIT_PIPE,
    TRACE_WAIT_SOCKET,
    TRACE_WAIT_TERMINAL,
    TRACE_WAIT_FILE,
    TRACE_WAIT_FILE_LOCK,
    TRACE_WAIT_POLL, /**< For one of several descriptors. */
    TRACE_WAIT_SLEEP,
    TRACE_WAIT_TIMER,
    TRACE_WAIT_SIGNAL,
    TRACE_WAIT_IO_URING,
    TRACE_WAIT_SYSTEM_CALL, /**< Any other. */
    TRACE_WAIT_FUTURE,      /**< The result of what somebody else works on. */
    TRACE_WAIT_TASKS,       /**< Of a task: the end of others. */
    TRACE_WAIT_STREAM,      /**< Of a task: a transport of asyncio. */
    TRACE_WAIT_KINDS
};

/** What one thread waits for, and who has it: what memory or the system prove, else nothing. */
struct trace_wait {
    enum trace_wait_kind kind;
    const char *object; /**< What it is, without its address: "threading.Lock 'jobs'"; or NULL. */
    bool has_address;
    psc_addr address; /**< Of the lock or object. */
    /** Who has to do something before the wait ends; 0: not known, or nobody. */
    int32_t owner_tid;
    int32_t owner_pid;  /**< Of the other end, of a child, or of the process of owner_tid. */
    bool owner_certain; /**< The object itself records it; else it is likely. */
    /** Of an owner that has no thread here ("a thread that existed at fork()"); or NULL. */
    const char *owner_text;
    const char *known_by; /**< How it is known, a phrase; never NULL. */
    bool timed;           /**< It ends by itself after some time. */
    bool has_time_left;
    double time_left;        /**< Seconds; with has_time_left. */
    const char *system_call; /**< Its name, or "system call 462"; NULL: it is in none. */
    const char *arguments;   /**< Of the system call, decoded, without brackets; or NULL. */
    const char *kernel;      /**< The function of the kernel that it sleeps in (wchan); or NULL. */
    psc_addr owner_task;     /**< Address of the task that has to end, or to let go; 0: none. */
    const char *owner_task_name; /**< Or NULL. */
    int32_t loop_tid;    /**< The thread whose event loop has that task, or has yet to make it. */
    psc_addr work_queue; /**< Of the executor whose threads have not begun with it; 0: none. */
    /** Of a lock in memory that processes share: which it is, alike in all of them; or NULL. */
    const char *shared;
};

/** A lock that processes share and a thread of this one has. */
struct trace_process_lock {
    const char *shared; /**< As in struct trace_wait. */
    int32_t tid;
    bool certain; /**< Nobody else may give it back. */
};

/** What the innermost coroutine of a task waits for. */
struct trace_leaf {
    struct trace_wait wait;
    int32_t fd;            /**< -1: none. */
    const size_t *holders; /**< Indices of the tasks that have it, rising; it may be one of them. */
    size_t holder_count;
    bool any; /**< It goes on when one of the tasks ends that it waits for. */
};

/** A thread of an executor (concurrent.futures), and the queue of its work. */
struct trace_worker {
    int32_t tid;
    psc_addr work_queue;
};

/** How sure it is that a cycle of waits never ends. */
enum trace_verdict {
    TRACE_VERDICT_DEADLOCK, /**< Each owner is recorded, and no wait has a time limit. */
    TRACE_VERDICT_LIKELY,   /**< An owner is likely only. */
    TRACE_VERDICT_STALL     /**< A time limit will end a wait. */
};

/** A thread or a task, and what it waits for, which the next member has. */
struct trace_deadlock_member {
    int32_t pid;
    int32_t tid;           /**< Of a task: the thread of its event loop, 0: not known. */
    psc_addr task;         /**< 0: it is a thread. */
    const char *name;      /**< Of the thread or task; or NULL. */
    const char *waits_for; /**< "a pthread mutex 0x55d0c8a2e040, held by thread 12 \"feeder\"" */
    const char *known_by;  /**< How it is known. */
    bool certain;
    bool timed;
};

/** Members of which each waits for the next, and the last for the first. */
struct trace_deadlock {
    enum trace_verdict verdict;
    const struct trace_deadlock_member *members;
    size_t count;
    const char *summary; /**< One sentence. */
};

/** "deadlock", "likely", "stall". Static. */
const char *trace_verdict_name(enum trace_verdict verdict);
/** "file-lock", as JSON has it. Static. */
const char *trace_wait_name(enum trace_wait_kind kind);

#endif
