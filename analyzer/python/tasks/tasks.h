/**
 * @file
 * Room `python/tasks`: the tasks of asyncio, from the lists that it keeps of them (task_list.c),
 * what they are doing (task.c, task_chain.c) and what they wait for (task_waits.c); those of trio
 * and curio (task_library.c); greenlets (greenlet.c, greenlet_stack.c, greenlet_state.c). What
 * others ask of it is in python.h.
 */
#ifndef PSC_PY_TASK_H
#define PSC_PY_TASK_H

#include "frames.h"

/** Types of one interpreter's _asyncio and functools; 0: it has none. */
struct py_asyncio_types {
    psc_addr future;
    psc_addr task;
    psc_addr partial;
};

struct py_tasks {
    struct python *python;
    const struct python_thread *threads;
    size_t thread_count;
    bool described; /**< `asyncio` is filled. */
    struct py_asyncio asyncio;
    bool cut;       /**< A limit was reached, or a list could not be read to its end. */
    bool waits_cut; /**< Which tasks wait for which was not looked at to the end. */
    size_t running; /**< Stacks of threads that were walked for tasks that run. */

    /* Of the interpreter at hand. */
    psc_addr interpreter;
    int64_t interpreter_id;
    psc_addr loop;        /**< The event loop of the last task, */
    uint64_t loop_thread; /**< and the thread that runs it. */
    struct py_asyncio_types types;
    struct hash_table found; /**< Addresses of tasks, a psc_addr each. */
};

/** Tasks of all interpreters so far. */
struct task_array {
    struct python_task *items;
    size_t count;
    size_t capacity;
};

/** Room for one more behind the last; NULL without memory. */
struct python_task *task_array_next(struct task_array *array);

/** Adds the tasks of other libraries than asyncio that the interpreter at hand has imported. */
PSC_MUST_CHECK enum psc_status task_libraries_add(struct py_tasks *tasks, struct task_array *all);

/**
 * From a task's own coroutine along what each awaits: its frames, and what it is doing as far as
 * these tell it.
 */
PSC_MUST_CHECK enum psc_status task_read_chain(struct py_tasks *tasks, struct python_task *task,
                                               psc_addr coroutine);

/** The name of a task of asyncio, or NULL. In the arena. */
const char *task_read_name(struct py_tasks *tasks, psc_addr task);
/** Of an object's type, with its module; NULL: not known. In the arena. */
const char *task_type_name(struct python *python, psc_addr object);

/** All task objects of tasks->interpreter, done or not, into tasks->found. */
PSC_MUST_CHECK enum psc_status task_list_find(struct py_tasks *tasks);

/** True for a future or a task, of _asyncio or of Python code. */
bool task_is_future(struct py_tasks *tasks, psc_addr object);
bool task_is_task(struct py_tasks *tasks, psc_addr object);
/** A member of a future or task: of the C struct, or the attribute of one in Python code. */
PSC_MUST_CHECK enum psc_status task_read_part(struct py_tasks *tasks, psc_addr object,
                                              enum py_field field, const char *attribute,
                                              psc_addr *ret);
/**
 * What future_add_to_awaited_by() noted of a future or task (CPython 3.14, _asynciomodule.c and
 * Lib/asyncio/futures.py): one that waits for it, a set of such, or 0.
 */
psc_addr task_read_awaited_by(struct py_tasks *tasks, psc_addr future);
/** True when it waits for something; false also when that is not readable. */
bool task_is_pending(struct py_tasks *tasks, psc_addr future);

/** False: no more need be shown. */
typedef bool task_callback_visit(void *context, psc_addr callback);
/** Shows what is called when a future or task of asyncio is done; bounded. */
void task_each_callback(struct py_tasks *tasks, psc_addr future, task_callback_visit *visit,
                        void *context);
/** The same of a list of such, as concurrent.futures.Future has one. */
void task_each_in_list(struct python *python, psc_addr list, task_callback_visit *visit,
                       void *context);
/** Finds tasks->types; without asyncio all are 0. */
void task_find_types(struct py_tasks *tasks);

/** Fills waits_for of tasks of one interpreter; indices are those of items + first. */
PSC_MUST_CHECK enum psc_status task_waits_find(struct py_tasks *tasks, struct python_task *items,
                                               size_t count, size_t first);

#endif
