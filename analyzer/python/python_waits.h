/**
 * @file
 * Part of the door `python`: what a thread of Python's waits for, and which locks it stands in.
 */
#ifndef PSC_PYTHON_WAITS_H
#define PSC_PYTHON_WAITS_H

#include "base.h"

struct python;
struct python_frame;

/** What Python calls the thing that a thread waits for. */
enum python_wait_kind {
    PYTHON_WAIT_NONE, /**< Nothing of Python's. */
    PYTHON_WAIT_LOCK,
    PYTHON_WAIT_RLOCK,
    PYTHON_WAIT_CONDITION,
    PYTHON_WAIT_EVENT,
    PYTHON_WAIT_SEMAPHORE,
    PYTHON_WAIT_BARRIER,
    PYTHON_WAIT_QUEUE,
    PYTHON_WAIT_RESULT, /**< Of work that somebody else does: a future. */
    PYTHON_WAIT_JOIN,
    PYTHON_WAIT_CHILD, /**< The end of a process. */
    PYTHON_WAIT_IMPORT,
    /** A PyMutex within something else, or the end of the thread whose handle has it: `owner`. */
    PYTHON_WAIT_MUTEX,
    PYTHON_WAIT_PYEVENT, /**< A PyEvent, or that end. */
    PYTHON_WAIT_ONCE,    /**< What one thread makes for all, or readers and writers of C. */
    PYTHON_WAIT_WORLD    /**< All threads of a free-threaded interpreter are, or get, stopped. */
};

/** What a thread has to do with a stop of all threads. */
enum python_world_part {
    PYTHON_WORLD_STOPS,  /**< It stops the others, and waits for those that are attached. */
    PYTHON_WORLD_STOPPED /**< It is stopped. */
};

struct python_wait {
    enum python_wait_kind kind;
    psc_addr lock;      /**< The object of C that the thread sleeps in; 0: none. */
    psc_addr object;    /**< What it is for; the lock itself where that is nothing else. */
    const char *type;   /**< "threading.Lock", "queue.Queue"; never NULL but with NONE. */
    const char *name;   /**< Of a variable or attribute that has it: "self.lock"; or NULL. */
    bool named_outer;   /**< `name` is of something that the lock is a part of. */
    const char *detail; /**< Of a join the thread's name, of an import the module's; or NULL. */
    bool records_owner; /**< It keeps its owner; `owner` 0 is nobody then. */
    uint64_t owner;     /**< The pthread_self() of the thread that has it, or is joined. */
    /** Of MUTEX: the same behind it, where it is of a recursive one. Of multiprocessing's Lock: who
     * took it last, and has not given it back in this process. */
    uint64_t keeper;
    const char *known_by; /**< How it was found. */
    psc_addr given_back;  /**< The lock that Condition.wait() gave back while it waits; 0: none. */
    enum python_world_part world; /**< Of WORLD. */
    psc_addr requester;           /**< Of WORLD: the thread state that stops them; 0: not known. */
    bool all_interpreters;        /**< Of WORLD: not of its own interpreter alone. */
};

/** Where a thread sleeps. */
struct python_wait_place {
    psc_addr futex;     /**< The address that it waits on in the kernel; 0: it sleeps otherwise. */
    psc_addr sp;        /**< With a futex. */
    psc_addr stack_end; /**< See target_find_stack_end(). */
    const struct python_frame *frames; /**< Innermost first. */
    size_t count;
    psc_addr tstate;      /**< Its thread state; 0: not known. */
    psc_addr interpreter; /**< Of that. */
};

/**
 * What a thread of Python's waits for, by the futex that it sleeps on and the frames above it.
 * @param ret  kind NONE: nothing of Python's, or not known.
 */
PSC_MUST_CHECK enum psc_status python_find_wait(struct python *python,
                                                const struct python_wait_place *place,
                                                struct python_wait *ret);

/** Most critical sections of one thread that are told. */
#define PYTHON_SECTION_LIMIT 16u

/** What a thread of a free-threaded build keeps others from. */
struct python_attachment {
    bool attached; /**< It runs as Python does, or blocks so: a stop of all threads waits for it. */
    /** The PyMutexes of its critical sections that it has, of objects most of them. */
    psc_addr mutexes[PYTHON_SECTION_LIMIT];
    size_t count;
};

/** False: it is not free-threaded, or that cannot be read. */
bool python_read_attachment(struct python *python, psc_addr tstate, struct python_attachment *ret);

/**
 * Whether a thread of a free-threaded interpreter waits until all others are stopped: `requester`.
 * It looks each millisecond whether they are, so that it is not always met asleep.
 */
bool python_find_stop(struct python *python, psc_addr interpreter, struct python_wait *ret);

/** Most locks of one thread that are told. */
#define PYTHON_HELD_LIMIT 32u
/**
 * The locks of which the blocks `with lock:` of these frames are being run or entered, by what
 * they left on the stacks of values: likely held, or waited for. Of a Condition the lock that it
 * has; a Semaphore itself.
 * @return how many; each once.
 */
size_t python_list_held(struct python *python, const struct python_frame *frames, size_t count,
                        psc_addr ret[PYTHON_HELD_LIMIT]);

/** A lock of multiprocessing that a thread of this process has, as its object here records. */
struct python_process_lock {
    psc_addr semaphore; /**< In memory that processes share. */
    uint64_t owner;     /**< The pthread_self() of the thread that took it last. */
    bool certain;       /**< Nobody else may give it back: it is an RLock. */
};

/** Most of them that are told of one thread. */
#define PYTHON_PROCESS_LOCKS 32u
/**
 * Those that the process has of the locks which code of these frames has in a variable, an
 * attribute of `self`, a global, or a block `with lock:`. @return how many; each once.
 */
size_t python_list_process_locks(struct python *python, const struct python_frame *frames,
                                 size_t count,
                                 struct python_process_lock ret[PYTHON_PROCESS_LOCKS]);

#endif
