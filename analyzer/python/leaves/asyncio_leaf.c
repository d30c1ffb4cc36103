/*
 * What a task of asyncio waits for. The innermost frames of its coroutine are functions of asyncio
 * (Lib/asyncio of CPython 3.6 to 3.15); a local variable of theirs is the future that the task
 * awaits, and others are what that is for.
 */
#include "leaves.h"

enum wait_kind {
    WAIT_SLEEP,
    WAIT_ACQUIRE, /* Lock or Semaphore. */
    WAIT_EVENT,   /* Event, Condition or Barrier. */
    WAIT_QUEUE,
    WAIT_SOCKET,
    WAIT_READER,
    WAIT_WRITER,
    WAIT_CHILD,
    WAIT_CHILD_OF_PROCESS,
    WAIT_TASKS /* The tasks are known; a time limit may be: wait_for()'s cancels them. */
};

static const struct library_function functions[] = {
    {"asyncio/tasks.py", "sleep", WAIT_SLEEP, "h", "future", NULL},
    {"asyncio/tasks.py", "wait_for", WAIT_TASKS, "timeout_handle", NULL, NULL},
    {"asyncio/tasks.py", "_wait", WAIT_TASKS, "timeout_handle", "waiter", NULL},
    {"asyncio/locks.py", "acquire", WAIT_ACQUIRE, "self", "fut", NULL},
    {"asyncio/locks.py", "wait", WAIT_EVENT, "self", "fut", NULL},
    {"asyncio/locks.py", "_block", WAIT_EVENT, "self", NULL, NULL},
    {"asyncio/locks.py", "_wait", WAIT_EVENT, "self", NULL, NULL},
    {"asyncio/queues.py", "get", WAIT_QUEUE, "self", "getter", "get"},
    {"asyncio/queues.py", "put", WAIT_QUEUE, "self", "putter", "put"},
    {"asyncio/queues.py", "join", WAIT_QUEUE, "self", NULL, "join"},
    {"asyncio/selector_events.py", "sock_recv", WAIT_SOCKET, "sock", "fut", "recv"},
    {"asyncio/selector_events.py", "sock_recv_into", WAIT_SOCKET, "sock", "fut", "recv_into"},
    {"asyncio/selector_events.py", "sock_recvfrom", WAIT_SOCKET, "sock", "fut", "recvfrom"},
    {"asyncio/selector_events.py", "sock_recvfrom_into", WAIT_SOCKET, "sock", "fut",
     "recvfrom_into"},
    {"asyncio/selector_events.py", "sock_sendall", WAIT_SOCKET, "sock", "fut", "sendall"},
    {"asyncio/selector_events.py", "sock_sendto", WAIT_SOCKET, "sock", "fut", "sendto"},
    {"asyncio/selector_events.py", "sock_accept", WAIT_SOCKET, "sock", "fut", "accept"},
    {"asyncio/selector_events.py", "sock_connect", WAIT_SOCKET, "sock", "fut", "connect"},
    {"asyncio/streams.py", "_wait_for_data", WAIT_READER, "self", NULL, "read"},
    {"asyncio/streams.py", "_drain_helper", WAIT_WRITER, "self", NULL, "drain"},
    {"asyncio/streams.py", "drain", WAIT_WRITER, "self", NULL, "drain"},
    {"asyncio/base_subprocess.py", "_wait", WAIT_CHILD, "self", "waiter", NULL},
    {"asyncio/subprocess.py", "wait", WAIT_CHILD_OF_PROCESS, "self", NULL, NULL},
};

static bool is_exactly(psc_addr found, psc_addr wanted)
{
    return found && found == wanted;
}

/* ---- of each kind ---- */

static bool take_handle(struct leaf_search *search, psc_addr handle)
{
    struct python *python = search->leaves->python;
    double when;
    if (!leaf_part_number(python, handle, "_when", &when))
        return false;
    leaf_set_deadline(search->leaf, when);
    return true;
}

static bool take_sleep(struct leaf_search *search, psc_addr handle)
{
    search->leaf->kind = PYTHON_LEAF_TIMER;
    search->leaf->known_by = "the timer that asyncio.sleep() has set";
    return take_handle(search, handle);
}

static bool has_part(struct leaf_search *search, psc_addr object, const char *name)
{
    psc_addr part;
    return py_part_find(search->leaves->python, object, name, &part);
}

static void take_object(struct leaf_search *search, psc_addr object,
                        const struct library_function *function)
{
    search->leaf->object = task_type_name(search->leaves->python, object);
    search->leaf->address = object;
    search->leaf->action = function->action;
    search->leaf->known_by = "the local variables of the method that waits";
}

static bool take_acquire(struct leaf_search *search, psc_addr object)
{
    search->leaf->kind =
        has_part(search, object, "_locked") ? PYTHON_LEAF_LOCK : PYTHON_LEAF_SEMAPHORE;
    return true;
}

static bool take_wait(struct leaf_search *search, psc_addr object)
{
    search->leaf->kind = has_part(search, object, "_parties") ? PYTHON_LEAF_BARRIER
                         : has_part(search, object, "_lock")  ? PYTHON_LEAF_CONDITION
                                                              : PYTHON_LEAF_EVENT;
    return true;
}

static bool take_child(struct leaf_search *search, psc_addr transport)
{
    double pid;
    if (!leaf_part_number(search->leaves->python, transport, "_pid", &pid) || pid < 1 ||
        pid > INT32_MAX)
        return false;
    search->leaf->kind = PYTHON_LEAF_CHILD;
    search->leaf->pid = (int32_t)pid;
    return true;
}

/* asyncio/selector_events.py, unix_events.py: transports keep their descriptor. */
static void take_transport(struct leaf_search *search, psc_addr transport)
{
    static const char *const names[] = {"_sock_fd", "_fileno"};
    double fd;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (leaf_part_number(search->leaves->python, transport, names[i], &fd) && fd >= 0 &&
            fd <= INT32_MAX) {
            search->leaf->fd = (int32_t)fd;
            return;
        }
}

static bool take_reader(struct leaf_search *search, psc_addr reader)
{
    psc_addr found;
    struct python *python = search->leaves->python;
    // It has but one that waits, in this member.
    if (!leaf_part(python, reader, "_waiter", &found) || !is_exactly(found, search->task->future))
        return false;
    search->leaf->kind = PYTHON_LEAF_STREAM;
    if (leaf_part(python, reader, "_transport", &found))
        take_transport(search, found);
    return true;
}

static bool take_writer(struct leaf_search *search, psc_addr object)
{
    psc_addr transport;
    search->leaf->kind = PYTHON_LEAF_STREAM;
    if (leaf_part(search->leaves->python, object, "_transport", &transport))
        take_transport(search, transport);
    return true;
}

static bool take_socket(struct leaf_search *search, psc_addr object)
{
    search->leaf->kind = PYTHON_LEAF_SOCKET;
    search->leaf->fd = leaf_descriptor(search->leaves->python, object);
    return true;
}

/* wait_for() up to 3.11 and wait() set a timer that ends the wait. */
static bool take_tasks(struct leaf_search *search, psc_addr handle)
{
    search->leaf->kind = PYTHON_LEAF_TASKS;
    search->leaf->known_by = "the callbacks of what it awaits";
    (void)take_handle(search, handle);
    return true;
}

static bool take_function(struct leaf_search *search, const struct library_function *function,
                          psc_addr subject)
{
    psc_addr transport;
    if (function->kind != WAIT_SLEEP && function->kind != WAIT_TASKS)
        take_object(search, subject, function);
    switch ((enum wait_kind)function->kind) {
    case WAIT_SLEEP:
        return take_sleep(search, subject);
    case WAIT_ACQUIRE:
        return take_acquire(search, subject);
    case WAIT_EVENT:
        return take_wait(search, subject);
    case WAIT_QUEUE:
        search->leaf->kind = PYTHON_LEAF_QUEUE;
        return true;
    case WAIT_SOCKET:
        return take_socket(search, subject);
    case WAIT_READER:
        return take_reader(search, subject);
    case WAIT_WRITER:
        return take_writer(search, subject);
    case WAIT_CHILD:
        return take_child(search, subject);
    case WAIT_CHILD_OF_PROCESS:
        return leaf_part(search->leaves->python, subject, "_transport", &transport) &&
               take_child(search, transport);
    case WAIT_TASKS:
        return take_tasks(search, subject);
    }
    return false;
}

/* ---- which of the frames ---- */

/* asyncio.wait(return_when=FIRST_COMPLETED), and FIRST_EXCEPTION. */
static bool needs_one(struct python *python, const struct python_frame *frame)
{
    psc_addr when = py_frame_variable(python, frame, "return_when");
    return when && !py_string_equals(python, when, "ALL_COMPLETED");
}

static bool take_frame(struct leaf_search *search, const struct library_function *function,
                       const struct python_frame *frame)
{
    struct python *python = search->leaves->python;
    psc_addr subject = py_frame_variable(python, frame, function->subject);
    if (!subject ||
        (function->future &&
         !is_exactly(py_frame_variable(python, frame, function->future), search->task->future)) ||
        !take_function(search, function, subject))
        return false;
    bool waits = function->kind == WAIT_TASKS && function->future;
    search->leaf->any = waits && needs_one(python, frame);
    search->leaf->cancels = function->kind == WAIT_TASKS && !waits && search->leaf->timed;
    return true;
}

static const struct library_functions asyncio_functions = {"/asyncio/", functions,
                                                           PSC_ARRAY_SIZE(functions), take_frame};

/* ---- what another thread works on ---- */

static bool take_executor(struct leaf_search *search)
{
    const struct leaves *leaves = search->leaves;
    struct future_source source;
    psc_addr future = future_find_chained(&search->leaves->tasks, search->task->future);
    if (!future || task_is_future(&search->leaves->tasks, future))
        return false;
    search->leaf->kind = PYTHON_LEAF_EXECUTOR;
    search->leaf->object = task_type_name(leaves->python, future);
    search->leaf->address = future;
    search->leaf->known_by = "the callback that asyncio has put into the future";
    if (!future_find_source(leaves->python, leaves->works, leaves->work_count, future, &source))
        return true;
    search->leaf->thread_id = source.thread_id;
    search->leaf->work_queue = source.work_queue;
    search->leaf->known_by = source.known_by;
    search->leaf->certain = source.thread_id != 0;
    size_t task = source.task ? leaf_find_task(leaves, source.task) : SIZE_MAX;
    if (task != SIZE_MAX && !leaf_set_holder(search, task, true))
        return false;
    return true;
}

bool leaf_of_asyncio(struct leaf_search *search)
{
    struct python_leaf *leaf = search->leaf;
    if (!search->task->future)
        return false;
    if (leaf_find_in_frames(search, &asyncio_functions) || take_executor(search))
        return true;
    *leaf = (struct python_leaf){.fd = -1,
                                 .kind = search->task->waits_for_count ? PYTHON_LEAF_TASKS
                                                                       : PYTHON_LEAF_FUTURE,
                                 .known_by = "the future that its innermost coroutine awaits"};
    if (leaf->kind == PYTHON_LEAF_FUTURE) {
        leaf->object = search->task->awaits;
        leaf->address = search->task->future;
    }
    return true;
}
