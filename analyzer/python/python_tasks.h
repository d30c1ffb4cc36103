/** @file Tasks, greenlets, and what these and threads wait for: a part of python.h, which includes
 * it last. */
#ifndef PSC_PYTHON_TASKS_H
#define PSC_PYTHON_TASKS_H

/** What a task or greenlet is doing. */
enum python_work {
    PYTHON_WORK_UNKNOWN,
    PYTHON_WORK_CREATED, /**< Has not begun. */
    PYTHON_WORK_READY,   /**< Waits for nothing: its event loop will resume it. */
    PYTHON_WORK_WAITING, /**< For a future. */
    PYTHON_WORK_RUNNING,
    PYTHON_WORK_SUSPENDED /**< A greenlet that another one was switched to from. */
};

/** Whose task it is. */
enum python_task_library { PYTHON_TASK_ASYNCIO, PYTHON_TASK_TRIO, PYTHON_TASK_CURIO };

/** What the innermost coroutine of a task waits for. */
enum python_leaf_kind {
    PYTHON_LEAF_TIMER,
    PYTHON_LEAF_LOCK,
    PYTHON_LEAF_SEMAPHORE, /**< Or a limiter of capacity. */
    PYTHON_LEAF_CONDITION,
    PYTHON_LEAF_EVENT,
    PYTHON_LEAF_BARRIER,
    PYTHON_LEAF_QUEUE, /**< Or a channel of memory. */
    PYTHON_LEAF_SOCKET,
    PYTHON_LEAF_DESCRIPTOR, /**< A file descriptor, whatever it is. */
    PYTHON_LEAF_STREAM,     /**< Of a transport. */
    PYTHON_LEAF_CHILD,
    PYTHON_LEAF_EXECUTOR, /**< What another thread works on, or will. */
    PYTHON_LEAF_TASKS,    /**< Others: see waits_for, or those of its nursery. */
    PYTHON_LEAF_FUTURE    /**< Which something will complete that is not known. */
};

/** Each fact from memory: the local variables of library functions, and what these lead to. */
struct python_leaf {
    enum python_leaf_kind kind;
    const char *object; /**< Its type with its module, or NULL. */
    const char *action; /**< "get", "put", "join"; or NULL. */
    psc_addr address;   /**< Of the object; 0: none. */
    int32_t fd;         /**< -1: none. */
    int32_t pid;        /**< Of a child; 0: none. */
    bool timed;         /**< A timer ends the wait, */
    bool has_deadline;
    double deadline; /**< at this time of CLOCK_MONOTONIC, in seconds. */
    /** Indices of the tasks that hold the object, rising; the task itself may be one. */
    size_t *holders;
    size_t holder_count;
    bool certain;        /**< The object has its holder recorded; else they stand inside of it. */
    uint64_t thread_id;  /**< Of the thread that works on it; 0: none. */
    psc_addr work_queue; /**< Of an executor, where its work waits for a thread; 0: none. */
    const char *known_by;
    bool cancels; /**< The timer cancels the task, and with it what that waits for. */
    bool any;     /**< The end of one of the tasks that it waits for is enough. */
};

/** A task that is not done. */
struct python_task {
    psc_addr address;
    int64_t interpreter_id;
    uint64_t thread_id; /**< Of the thread that runs its event loop; 0: not known. */
    const char *name;   /**< Or NULL: it has none (up to 3.7). */
    enum python_work work;
    /** From what it stands at to its own coroutine; of one that runs, these frames of its thread.
     */
    struct python_frame *frames;
    size_t frame_count;
    bool frames_cut;    /**< Further frames could not be read. */
    psc_addr future;    /**< That it waits for; 0: none. */
    const char *awaits; /**< Type of the future, or of what its innermost frame awaits; or NULL. */
    size_t *waits_for;  /**< Indices of the tasks that have to end before it goes on, rising. */
    size_t waits_for_count;
    enum python_task_library library;
    /** Of trio and curio: indices of the tasks in its nurseries, or that it spawned, rising. */
    size_t *children;
    size_t children_count;
    const struct python_leaf *leaf; /**< Of one that waits; NULL: not known. */
};

#define PSC_PYTHON_TASK_LIMIT 100000u

/** The tasks of all interpreters, by interpreter, thread and name; bounded. */
PSC_MUST_CHECK enum psc_status python_read_tasks(struct python *python,
                                                 const struct python_thread *threads,
                                                 size_t thread_count, struct python_task **ret,
                                                 size_t *ret_count);

#define PYTHON_WORK_LIMIT 8u /**< Calls of one kind on one stack. */

/** What the Python frames of a thread say of futures (concurrent.futures) and event loops. */
struct python_thread_work {
    const struct python_thread *thread;
    psc_addr result;                       /**< The future whose result it waits for; 0: none. */
    bool timed;                            /**< Not for ever. */
    psc_addr submitted[PYTHON_WORK_LIMIT]; /**< The futures that it works on. */
    size_t submitted_count;
    psc_addr loops[PYTHON_WORK_LIMIT]; /**< asyncio's event loops that it runs. */
    size_t loop_count;
    psc_addr work_queue; /**< It is a thread of the executor that has this queue; 0: of none. */

    /* By python_read_futures(). */
    const char *object;      /**< Type of `result`. */
    uint64_t by_thread;      /**< Of the thread that works on `result`; 0: none. */
    psc_addr by_task;        /**< The task of asyncio that completes it; 0: none. */
    const char *by_name;     /**< Of that task, or NULL. */
    uint64_t by_loop_thread; /**< That of the event loop which has that task, or has yet to make
                                  it; 0: none. */
    psc_addr by_queue;       /**< The queue in which its work waits for a thread; 0: none. */
    const char *known_by;    /**< Or NULL: none of them is known. */
};

/** Looks for such calls among the frames of a stack; false where it has none. */
bool python_find_work(struct python *python, const struct python_thread *thread,
                      const struct python_stack *stack, struct python_thread_work *ret);
/** Finds who completes the futures that threads wait for. */
PSC_MUST_CHECK enum psc_status python_read_futures(struct python *python,
                                                   struct python_thread_work *works, size_t count);
/** Tasks, and the threads that have to do with them. */
struct python_leaves {
    struct python_task *tasks; /**< As python_read_tasks() gave them. */
    size_t task_count;
    const struct python_thread *threads;
    size_t thread_count;
    const struct python_thread_work *works; /**< As python_find_work() did. */
    size_t work_count;
};

/** Fills python_task.leaf of all tasks. */
PSC_MUST_CHECK enum psc_status python_read_leaves(struct python *python,
                                                  const struct python_leaves *given);

/** A greenlet that is not running and has not ended. */
struct python_greenlet {
    psc_addr address;
    int64_t interpreter_id;
    const char *type;      /**< With its module: "greenlet.greenlet", "gevent.greenlet.Greenlet". */
    enum python_work work; /**< PYTHON_WORK_SUSPENDED, PYTHON_WORK_CREATED. */
    psc_addr stack;        /**< In its C stack, which tells the thread; 0: none yet. */
    struct python_frame *frames; /**< Innermost first. */
    size_t frame_count;
    bool frames_cut; /**< Further frames could not be read. */
};

#define PSC_PYTHON_GREENLET_LIMIT 100000u

/**
 * The greenlets of all interpreters, from the lists of objects that the collector keeps; bounded.
 * Only their Python frames: what they had on the C stack was copied elsewhere.
 */
PSC_MUST_CHECK enum psc_status
python_read_greenlets(struct python *python, const struct python_thread *threads,
                      size_t thread_count, struct python_greenlet **ret, size_t *ret_count);

#endif
