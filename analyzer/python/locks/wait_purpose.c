/* What a sleep is for: Lib/threading.py, queue.py, concurrent/futures and so on wait in layers. */
#include "locks.h"

#include <string.h>

/* Frames of the library on top of those that people wrote. */
#define LIBRARY_DEPTH 12u
#define NAME_LIMIT    200u

/** A function of the library that waits. */
struct purpose {
    const char *file; /**< The end of its path. */
    const char *function;
    enum python_wait_kind kind;
    const char *type;
    /** Only where one of these further in waits: not for the lock of the thing itself. */
    bool outer;
};

static const struct purpose purposes[] = {
    {"threading.py", "Condition.wait", PYTHON_WAIT_CONDITION, "threading.Condition", false},
    {"threading.py", "Condition.wait_for", PYTHON_WAIT_CONDITION, "threading.Condition", true},
    {"threading.py", "Event.wait", PYTHON_WAIT_EVENT, "threading.Event", true},
    {"threading.py", "Semaphore.acquire", PYTHON_WAIT_SEMAPHORE, "threading.Semaphore", true},
    {"threading.py", "BoundedSemaphore.acquire", PYTHON_WAIT_SEMAPHORE,
     "threading.BoundedSemaphore", true},
    {"threading.py", "Barrier._wait", PYTHON_WAIT_BARRIER, "threading.Barrier", true},
    {"threading.py", "Barrier._enter", PYTHON_WAIT_BARRIER, "threading.Barrier", true},
    {"threading.py", "Barrier.wait", PYTHON_WAIT_BARRIER, "threading.Barrier", true},
    {"threading.py", "Thread._wait_for_tstate_lock", PYTHON_WAIT_JOIN, "the end of thread", false},
    {"threading.py", "Thread.join", PYTHON_WAIT_JOIN, "the end of thread", false},
    {"threading.py", "Thread.start", PYTHON_WAIT_EVENT, "the start of thread", true},
    {"threading.py", "_shutdown", PYTHON_WAIT_JOIN, "the end of threads at exit", false},
    {"queue.py", "Queue.get", PYTHON_WAIT_QUEUE, "an item of queue.Queue", true},
    {"queue.py", "Queue.put", PYTHON_WAIT_QUEUE, "room in queue.Queue", true},
    {"queue.py", "Queue.join", PYTHON_WAIT_QUEUE, "the items of queue.Queue to be done", true},
    {"queue.py", "LifoQueue.get", PYTHON_WAIT_QUEUE, "an item of queue.LifoQueue", true},
    {"queue.py", "LifoQueue.put", PYTHON_WAIT_QUEUE, "room in queue.LifoQueue", true},
    {"queue.py", "PriorityQueue.get", PYTHON_WAIT_QUEUE, "an item of queue.PriorityQueue", true},
    {"queue.py", "PriorityQueue.put", PYTHON_WAIT_QUEUE, "room in queue.PriorityQueue", true},
    {"futures/_base.py", "Future.result", PYTHON_WAIT_RESULT,
     "the result of concurrent.futures.Future", true},
    {"futures/_base.py", "Future.exception", PYTHON_WAIT_RESULT,
     "the result of concurrent.futures.Future", true},
    {"futures/_base.py", "wait", PYTHON_WAIT_RESULT, "concurrent.futures.wait()", true},
    {"futures/_base.py", "as_completed", PYTHON_WAIT_RESULT, "concurrent.futures.as_completed()",
     true},
    {"multiprocessing/synchronize.py", "Condition.wait", PYTHON_WAIT_CONDITION,
     "multiprocessing.Condition", false},
    {"multiprocessing/synchronize.py", "Condition.wait_for", PYTHON_WAIT_CONDITION,
     "multiprocessing.Condition", true},
    {"multiprocessing/synchronize.py", "Event.wait", PYTHON_WAIT_EVENT, "multiprocessing.Event",
     true},
    {"multiprocessing/pool.py", "ApplyResult.wait", PYTHON_WAIT_RESULT,
     "the result of multiprocessing.pool.AsyncResult", true},
    {"multiprocessing/pool.py", "ApplyResult.get", PYTHON_WAIT_RESULT,
     "the result of multiprocessing.pool.AsyncResult", true},
    {"multiprocessing/pool.py", "MapResult.wait", PYTHON_WAIT_RESULT,
     "the result of multiprocessing.pool.MapResult", true},
    {"multiprocessing/pool.py", "MapResult.get", PYTHON_WAIT_RESULT,
     "the result of multiprocessing.pool.MapResult", true},
    {"multiprocessing/pool.py", "IMapIterator.next", PYTHON_WAIT_RESULT,
     "the next result of multiprocessing.pool.IMapIterator", true},
    {"importlib._bootstrap>", "_ModuleLock.acquire", PYTHON_WAIT_IMPORT,
     "the import lock of module", false},
    {"importlib._bootstrap>", "acquire", PYTHON_WAIT_IMPORT, "the import lock of module", false},
    {"importlib/_bootstrap.py", "_ModuleLock.acquire", PYTHON_WAIT_IMPORT,
     "the import lock of module", false},
};

/** Files of which functions may stand between the sleep and those above. */
static const struct library_file {
    const char *file;
    const char *module; /**< Others have files of that name, too; NULL: of this one nobody has. */
} library_files[] = {
    {"threading.py", "threading"},
    {"queue.py", "queue"},
    {"futures/_base.py", "concurrent.futures._base"},
    {"multiprocessing/synchronize.py", "multiprocessing.synchronize"},
    {"multiprocessing/pool.py", "multiprocessing.pool"},
    {"importlib._bootstrap>", NULL},
    {"importlib/_bootstrap.py", NULL},
};

static bool is_file(const char *path, const char *end)
{
    size_t size = strlen(path);
    size_t part = strlen(end);
    if (size < part || strcmp(path + size - part, end) != 0)
        return false;
    return size == part || path[size - part - 1] == '/' || path[0] == '<';
}

static bool is_module(struct python *python, const struct python_frame *frame, const char *module)
{
    psc_addr globals;
    const char *name = module && locks_find_globals(python, frame, &globals) == PSC_OK
                           ? locks_name_of_module(python, globals)
                           : NULL;
    return !name || !strcmp(name, module);
}

static bool is_library(struct python *python, const struct python_frame *frame, const char *path)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(library_files); i++)
        if (is_file(path, library_files[i].file))
            return is_module(python, frame, library_files[i].module);
    return false;
}

static const struct purpose *find_purpose(const struct python_location *location)
{
    for (size_t i = 0; i < PSC_ARRAY_SIZE(purposes); i++)
        if (!strcmp(location->function, purposes[i].function) &&
            is_file(location->file, purposes[i].file))
            return &purposes[i];
    return NULL;
}

static const char *read_text_attribute(struct python *python, psc_addr object, const char *name)
{
    psc_addr string;
    const char *text = NULL;
    if (py_attribute_find(python, object, name, &string) != PSC_OK ||
        py_read_string(python, string, NAME_LIMIT, &text) != PSC_OK)
        return NULL;
    return text;
}

/* Nobody has it where the attribute is None. */
static void read_owner(struct python *python, psc_addr object, const char *attribute,
                       struct python_wait *ret)
{
    psc_addr number;
    ret->records_owner = py_attribute_find(python, object, attribute, &number) == PSC_OK;
    if (!ret->records_owner || py_read_int(python, number, &ret->owner) != PSC_OK)
        ret->owner = 0;
}

/* Condition.wait() of both libraries: the waiter's semaphore is another one than the lock. */
static psc_addr find_given_back(struct python *python, psc_addr condition)
{
    psc_addr lock;
    psc_addr inner;
    bool found;
    struct locks_known *known =
        condition ? locks_recall(python, LOCKS_GIVEN_BACK, condition, 0, &found) : NULL;
    if (known && !found && py_attribute_find(python, condition, "_lock", &lock) == PSC_OK)
        known->address =
            py_attribute_find(python, lock, "_semlock", &inner) == PSC_OK ? inner : lock;
    return known ? known->address : 0;
}

static void take_purpose(struct python *python, const struct purpose *purpose, psc_addr self,
                         struct python_wait *ret)
{
    uint64_t parked = ret->owner;
    ret->kind = purpose->kind;
    ret->type = purpose->type;
    ret->object = self;
    ret->detail = NULL;
    ret->owner = 0;
    ret->records_owner = false;
    ret->known_by = "the functions of the library that wait";
    if (purpose->kind == PYTHON_WAIT_JOIN && !self)
        ret->owner = parked; // Of _shutdown(), from the handle.
    if (!self)
        return;
    if (purpose->kind == PYTHON_WAIT_JOIN || !strcmp(purpose->function, "Thread.start"))
        ret->detail =
            read_text_attribute(python, self, python->layout.rules->spelling->thread_name);
    if (purpose->kind == PYTHON_WAIT_JOIN)
        read_owner(python, self, "_ident", ret);
    if (purpose->kind == PYTHON_WAIT_IMPORT) {
        ret->detail = read_text_attribute(python, self, "name");
        read_owner(python, self, "owner", ret);
    }
}

/* What the interpreter waits for by itself, in whatever function: of an object's lock, for one. */
static bool is_own_purpose(const struct python_wait *wait)
{
    return wait->kind == PYTHON_WAIT_WORLD || wait->kind == PYTHON_WAIT_ONCE ||
           (wait->kind == PYTHON_WAIT_MUTEX && wait->object != wait->lock);
}

void locks_find_purpose(struct python *python, const struct python_wait_place *place,
                        struct python_wait *ret, size_t *ret_outside)
{
    bool waits = false;
    bool is_part = false;
    psc_addr outer = 0;
    size_t i = 0;
    *ret_outside = 0;
    if (is_own_purpose(ret))
        return;
    for (; i < place->count && i < LIBRARY_DEPTH; i++) {
        struct python_location location;
        if (place->frames[i].kind != PYTHON_FRAME_CODE)
            continue;
        if (python_read_location(python, &place->frames[i], &location) != PSC_OK ||
            !location.file || !location.function ||
            !is_library(python, &place->frames[i], location.file))
            break;
        const struct purpose *purpose = find_purpose(&location);
        psc_addr self = py_frame_self(python, &place->frames[i]);
        if (purpose && !strcmp(purpose->function, "Condition.wait"))
            ret->given_back = find_given_back(python, self);
        // It was notified, or its time is over: it wants the lock again, and no more.
        bool again = ret->given_back && ret->given_back == ret->lock;
        if (purpose && !again && (waits || !purpose->outer)) {
            take_purpose(python, purpose, self, ret);
            waits = true;
        }
        outer = self ? self : outer;
        is_part = !is_file(location.file, "multiprocessing/synchronize.py");
    }
    *ret_outside = i;
    // In the lock of such a thing, which people have a name for.
    if (!waits && ret->kind != PYTHON_WAIT_NONE && outer) {
        ret->object = outer;
        ret->named_outer = is_part;
    }
}
