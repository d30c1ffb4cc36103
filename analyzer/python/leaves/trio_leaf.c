/*
 * What a task of trio waits for (trio 0.12 to 0.35: trio/_sync.py, _channel.py, _threads.py,
 * _subprocess.py, _core/_io_epoll.py, _core/_run.py). Its locks record their owner; cancel scopes
 * around the task may end the wait.
 */
#include "leaves.h"

#include <math.h>
#include <string.h>

#define SCOPE_LIMIT    1000u /* Cancel scopes around a task. */
#define BORROWER_LIMIT ((size_t)64)

static const struct library_function functions[] = {
    {"trio/_timeouts.py", "sleep_until", PYTHON_LEAF_TIMER, NULL, NULL, NULL},
    {"trio/_sync.py", "acquire", PYTHON_LEAF_LOCK, "self", NULL, NULL},
    {"trio/_sync.py", "acquire_on_behalf_of", PYTHON_LEAF_SEMAPHORE, "self", NULL, NULL},
    {"trio/_sync.py", "wait", PYTHON_LEAF_EVENT, "self", NULL, NULL},
    {"trio/_channel.py", "send", PYTHON_LEAF_QUEUE, "self", NULL, "send"},
    {"trio/_channel.py", "receive", PYTHON_LEAF_QUEUE, "self", NULL, "receive"},
    {"trio/_core/_io_epoll.py", "_epoll_wait", PYTHON_LEAF_DESCRIPTOR, "fd", NULL, NULL},
    {"trio/_socket.py", "_nonblocking_helper", PYTHON_LEAF_SOCKET, "self", NULL, NULL},
    {"trio/_socket.py", "accept", PYTHON_LEAF_SOCKET, "self", NULL, "accept"},
    {"trio/_socket.py", "connect", PYTHON_LEAF_SOCKET, "self", NULL, "connect"},
    {"trio/_threads.py", "to_thread_run_sync", PYTHON_LEAF_EXECUTOR, "sync_fn", NULL, NULL},
    {"trio/_subprocess.py", "wait", PYTHON_LEAF_CHILD, "self", NULL, NULL},
    {"trio/_core/_run.py", "_nested_child_finished", PYTHON_LEAF_TASKS, "self", NULL, NULL},
};

static bool take_number(struct python *python, psc_addr object, const char *name, int32_t *ret)
{
    double number;
    if (!leaf_part_number(python, object, name, &number) || number < 0 || number > INT32_MAX)
        return false;
    *ret = (int32_t)number;
    return true;
}

/* The owner of a lock is a task. */
static bool take_lock(struct leaf_search *search, psc_addr lock)
{
    psc_addr owner;
    search->leaf->kind = PYTHON_LEAF_LOCK;
    search->leaf->address = lock;
    search->leaf->object = task_type_name(search->leaves->python, lock);
    if (!leaf_part(search->leaves->python, lock, "_owner", &owner))
        return true;
    size_t holder = leaf_find_task(search->leaves, owner);
    if (holder == SIZE_MAX)
        return true;
    search->leaf->known_by = "the owner that the lock records";
    return leaf_set_holder(search, holder, true);
}

/* Condition.notify() moves those that wait over to the lock, of which the task keeps a note. */
static bool take_wait(struct leaf_search *search, psc_addr object)
{
    struct python *python = search->leaves->python;
    psc_addr lock;
    psc_addr lot;
    psc_addr data;
    if (!leaf_part(python, object, "_lock", &lock))
        return true;
    search->leaf->kind = PYTHON_LEAF_CONDITION;
    if (leaf_part(python, search->task->address, "custom_sleep_data", &data) &&
        leaf_part(python, lock, "_lot", &lot) && lot == data)
        return take_lock(search, lock);
    return true;
}

static bool take_child(struct leaf_search *search, psc_addr process)
{
    psc_addr popen;
    return leaf_part(search->leaves->python, process, "_proc", &popen) &&
           take_number(search->leaves->python, popen, "pid", &search->leaf->pid);
}

/* The tasks of a set, at most `limit`, as holders. */
static bool take_set(struct leaf_search *search, psc_addr set, size_t limit)
{
    struct python *python = search->leaves->python;
    struct py_set_items items;
    psc_addr task;
    if (!limit || py_set_open(python, set, &items) != PSC_OK)
        return true;
    size_t *holders = arena_array(python->arena, limit, sizeof(*holders));
    size_t count = 0;
    while (holders && count < limit && budget_spend(python, 4) &&
           py_set_next(python, &items, &task) == PSC_OK) {
        size_t index = leaf_find_task(search->leaves, task);
        if (index != SIZE_MAX)
            holders[count++] = index;
    }
    search->leaf->holders = holders;
    search->leaf->holder_count = count;
    search->leaf->certain = true;
    return holders != NULL;
}

/* A nursery ends with the last of its tasks. */
static bool take_nursery(struct leaf_search *search, psc_addr nursery)
{
    psc_addr children;
    search->leaf->kind = PYTHON_LEAF_TASKS;
    search->leaf->known_by = "the tasks of the nursery that it stands at the end of";
    return !leaf_part(search->leaves->python, nursery, "_children", &children) ||
           take_set(search, children, search->task->children_count);
}

/* CapacityLimiter notes who has borrowed of it: tasks, or whatever its caller named. */
static bool take_limiter(struct leaf_search *search, psc_addr limiter)
{
    psc_addr borrowers;
    if (!leaf_part(search->leaves->python, limiter, "_borrowers", &borrowers))
        return true;
    if (!take_set(search, borrowers, BORROWER_LIMIT))
        return false;
    if (search->leaf->holder_count)
        search->leaf->known_by = "the borrowers that the limiter records";
    return true;
}

/* CapacityLimiter.acquire() calls acquire_on_behalf_of(). */
static bool take_acquire(struct leaf_search *search, psc_addr object)
{
    psc_addr part;
    if (py_part_find(search->leaves->python, object, "_owner", &part))
        return take_lock(search, object);
    search->leaf->kind = PYTHON_LEAF_SEMAPHORE;
    return take_limiter(search, object);
}

static bool take_descriptor(struct leaf_search *search, psc_addr object)
{
    double number;
    if (leaf_number(search->leaves->python, object, &number) && number >= 0 && number <= INT32_MAX)
        search->leaf->fd = (int32_t)number;
    else
        search->leaf->fd = leaf_descriptor(search->leaves->python, object);
    search->leaf->address = 0;
    search->leaf->object = NULL;
    return search->leaf->fd >= 0;
}

static bool take_socket(struct leaf_search *search, psc_addr object)
{
    psc_addr socket;
    if (leaf_part(search->leaves->python, object, "_sock", &socket))
        search->leaf->fd = leaf_descriptor(search->leaves->python, socket);
    return true;
}

static bool take_function(struct leaf_search *search, const struct library_function *function,
                          psc_addr subject)
{
    struct python_leaf *leaf = search->leaf;
    leaf->kind = function->kind;
    leaf->action = function->action;
    leaf->known_by = "the local variables of the method that waits";
    if (subject) {
        leaf->address = subject;
        leaf->object = task_type_name(search->leaves->python, subject);
    }
    switch (function->kind) {
    case PYTHON_LEAF_LOCK:
        return take_acquire(search, subject);
    case PYTHON_LEAF_EVENT:
        return take_wait(search, subject);
    case PYTHON_LEAF_CHILD:
        return take_child(search, subject);
    case PYTHON_LEAF_TASKS:
        return take_nursery(search, subject);
    case PYTHON_LEAF_DESCRIPTOR:
        return take_descriptor(search, subject);
    case PYTHON_LEAF_SOCKET:
        return take_socket(search, subject);
    case PYTHON_LEAF_TIMER:
        leaf->known_by = "the cancel scope that trio.sleep() has opened";
        return true;
    case PYTHON_LEAF_SEMAPHORE:
        return take_limiter(search, subject);
    case PYTHON_LEAF_CONDITION:
    case PYTHON_LEAF_BARRIER:
    case PYTHON_LEAF_QUEUE:
    case PYTHON_LEAF_STREAM:
    case PYTHON_LEAF_EXECUTOR:
    case PYTHON_LEAF_FUTURE:
        return true;
    }
    return false;
}

static bool take_frame(struct leaf_search *search, const struct library_function *function,
                       const struct python_frame *frame)
{
    psc_addr subject = 0;
    if (function->subject) {
        subject = py_frame_variable(search->leaves->python, frame, function->subject);
        if (!subject)
            return false;
    }
    return take_function(search, function, subject);
}

static const struct library_functions trio_functions = {"/trio/", functions,
                                                        PSC_ARRAY_SIZE(functions), take_frame};

/* ---- when it ends ---- */

/* trio's clock is perf_counter(), which is CLOCK_MONOTONIC, with an offset of its own. */
static bool read_offset(struct leaf_search *search, double *ret)
{
    static const char *const names[] = {"_runner", "runner"};
    struct python *python = search->leaves->python;
    psc_addr runner;
    psc_addr clock;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (leaf_part(python, search->task->address, names[i], &runner) &&
            leaf_part(python, runner, "clock", &clock))
            return leaf_part_number(python, clock, "offset", ret);
    return false;
}

static void take_deadlines(struct leaf_search *search)
{
    struct python *python = search->leaves->python;
    psc_addr status;
    psc_addr scope;
    double offset;
    double deadline;
    bool known = read_offset(search, &offset);
    struct py_cycle cycle = {0};
    if (!leaf_part(python, search->task->address, "_cancel_status", &status))
        return;
    for (size_t i = 0; i < SCOPE_LIMIT && !py_cycle_met(&cycle, status); i++) {
        psc_addr shield;
        if (!leaf_part(python, status, "_scope", &scope))
            return;
        if (leaf_part_number(python, scope, "_deadline", &deadline) && isfinite(deadline)) {
            search->leaf->timed = true;
            if (known)
                leaf_set_deadline(search->leaf, deadline - offset);
        }
        const char *name =
            leaf_part(python, scope, "_shield", &shield) ? py_builtin_name(python, shield) : NULL;
        if ((name && !strcmp(name, "True")) || !leaf_part(python, status, "_parent", &status))
            return;
    }
}

bool leaf_of_trio(struct leaf_search *search)
{
    if (!leaf_find_in_frames(search, &trio_functions))
        *search->leaf =
            (struct python_leaf){.kind = PYTHON_LEAF_FUTURE,
                                 .fd = -1,
                                 .known_by = "its innermost coroutine has not been resumed"};
    take_deadlines(search);
    return true;
}
