/**
 * @file
 * Room `python/leaves`: what the tasks wait for that no other task explains. Of each the frames are
 * known (python/tasks); which library function the innermost ones are, and what their local
 * variables lead to, says the rest (asyncio_leaf.c, trio_leaf.c, curio_leaf.c). Who has entered
 * what is on the value stacks of coroutines (entered.c); which thread works for whom, on those of
 * threads (futures.c). What others ask of it is in python.h.
 */
#ifndef PSC_PYTHON_LEAVES_H
#define PSC_PYTHON_LEAVES_H

#include "tasks.h"

/** Seconds; more is no time of a clock (CLOCK_MONOTONIC counts from the start of the machine). */
#define PY_CLOCK_LIMIT 1e10

struct leaves {
    struct py_tasks tasks; /**< Of the interpreter at hand. */
    struct python *python;
    struct python_task *items;
    size_t count;
    const struct python_thread_work *works;
    size_t work_count;
    struct hash_table addresses; /**< Of the tasks, and their indices. */
};

/** An item of leaves.addresses. */
struct known_task {
    psc_addr address; /**< First: the key of the hash table. */
    size_t index;
};

/** A task on its way to have a leaf. */
struct leaf_search {
    struct leaves *leaves;
    const struct python_task *task;
    struct python_leaf *leaf;
};

/** Fill search->leaf of a task that waits; false: it is not known what for. */
bool leaf_of_asyncio(struct leaf_search *search);
bool leaf_of_trio(struct leaf_search *search);
bool leaf_of_curio(struct leaf_search *search);

/* ---- leaf_parts.c ---- */

/** Notes that a timer ends the wait; of several the first one counts. */
void leaf_set_deadline(struct python_leaf *leaf, double deadline);
/** The index of a task by its address; SIZE_MAX: none. */
size_t leaf_find_task(const struct leaves *leaves, psc_addr address);
/** Makes one task the holder of what the leaf waits for; false: out of memory. */
bool leaf_set_holder(struct leaf_search *search, size_t holder, bool certain);

/* ---- leaf_values.c: members of objects ---- */

/** False also for None. */
bool leaf_part(struct python *python, psc_addr object, const char *name, psc_addr *ret);
bool leaf_is_none(struct python *python, psc_addr object);
/** A float or an int. */
bool leaf_number(struct python *python, psc_addr object, double *ret);
bool leaf_part_number(struct python *python, psc_addr object, const char *name, double *ret);
/** The value of a cell of a function's closure, by its name. */
bool leaf_closure(struct python *python, psc_addr function, const char *name, psc_addr *ret);
/** Whether it is a function of Python code by that file and name. */
bool leaf_is_function(struct python *python, psc_addr object, const char *file, const char *name);
/** Descriptor of a socket or file object; -1: none. */
int32_t leaf_descriptor(struct python *python, psc_addr object);

/* ---- library_frames.c ---- */

/** A function of a library of tasks, in which a task waits. */
struct library_function {
    const char *file; /**< The end of its path. */
    const char *name;
    int kind;            /**< For its library's file. */
    const char *subject; /**< The variable with what is waited for; NULL: none. */
    const char *future;  /**< The one that has to be the future that the task awaits; NULL: none. */
    const char *action;
};

/** The functions of a library, and what takes one of them over as the leaf; false: it is not. */
struct library_functions {
    const char *folder; /**< In the paths of all its files. */
    const struct library_function *items;
    size_t count;
    bool (*take)(struct leaf_search *search, const struct library_function *function,
                 const struct python_frame *frame);
};

/**
 * Looks at the innermost frames of the task, as far as they are the library's. Of its functions
 * that call one another the outermost is what a person has called: that is the leaf.
 */
bool leaf_find_in_frames(struct leaf_search *search, const struct library_functions *functions);

/* ---- entered.c ---- */

/** Tasks that stand inside of the locks and semaphores that others wait for; the timers of those.
 */
PSC_MUST_CHECK enum psc_status leaf_find_entered(struct leaves *leaves, struct python_leaf **found);

/* ---- futures.c ---- */

/** What a concurrent.futures.Future waits for, or works on it. */
struct future_source {
    psc_addr task;       /**< The task of asyncio that completes it; 0: none. */
    uint64_t thread_id;  /**< The thread that works on it; 0: none. */
    psc_addr work_queue; /**< The queue in which its work waits for a thread; 0: none. */
    psc_addr loop;       /**< The event loop that has yet to make the task; 0: none. */
    const char *known_by;
};

/** False where nothing is known of it. */
bool future_find_source(struct python *python, const struct python_thread_work *works, size_t count,
                        psc_addr future, struct future_source *ret);
/** The future of concurrent.futures that completes one of asyncio; 0: none. */
psc_addr future_find_chained(struct py_tasks *tasks, psc_addr future);

/* ---- simple_queue.c ---- */

/** Whether a queue.SimpleQueue has work for a future that no thread has begun with. */
bool simple_queue_has_future(struct python *python, psc_addr queue, psc_addr future);

#endif
