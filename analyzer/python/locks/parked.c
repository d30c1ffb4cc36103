/* What a thread sleeps in; from CPython 3.13 on often on a semaphore of its own stack
 * (Python/parking_lot.c). */
#include "locks.h"

/* CPython 3.13, Include/internal/pycore_lock.h: _PyRecursiveMutex, as the import lock is one. */
static uint64_t read_keeper(struct python *python, psc_addr mutex)
{
    uint64_t thread;
    uint64_t level;
    if (mutex % sizeof(thread) ||
        target_read_u64(python->target, mutex + PY_RECURSIVE_MUTEX_THREAD, &thread) != PSC_OK ||
        target_read_u64(python->target, mutex + PY_RECURSIVE_MUTEX_LEVEL, &level) != PSC_OK)
        return 0;
    return level < PY_RECURSIVE_MUTEX_MOST ? thread : 0;
}

/* Who has a critical section of an object waits for the mutex in its header. */
static bool describe_object(struct python *python, psc_addr key, struct python_wait *ret)
{
    const struct py_type *type;
    struct text text PSC_CLEANUP(text_deinit) = {0};
    psc_addr behind = python->layout.offset[PY_OBJECT_TYPE] - PY_OBJECT_TYPE_BEHIND_MUTEX;
    if (!python->info.free_threaded || !py_is_object_address(key - behind) ||
        py_type_of(python, key - behind, &type) != PSC_OK)
        return false;
    text_add_string(&text, "the lock of ");
    py_type_add_name(type, &text);
    ret->type = text.failed ? NULL : arena_strdup(python->arena, text.data);
    if (!ret->type)
        return false;
    ret->object = key - behind;
    return true;
}

/* CPython 3.15, Python/thread.c: PyThread_allocate_lock() gives memory with a PyMutex in it. */
static bool find_in_object(struct python *python, const struct python_wait_place *place,
                           psc_addr key, struct python_wait *ret)
{
    struct python_wait_place of_key = *place;
    of_key.futex = key;
    return locks_find_by_semaphore(python, &of_key, ret);
}

/* What the waker is to fill in is on the waiter's stack, too: of a PyMutex alone. */
static void find_kind(struct python *python, const struct python_wait_place *place, psc_addr key,
                      struct python_wait *ret)
{
    psc_addr argument = 0;
    uint8_t bits = 0;
    ret->kind = PYTHON_WAIT_MUTEX;
    ret->type = "a PyMutex";
    if (target_read_u64(python->target, place->futex - PY_PARK_ARGUMENT_BEFORE_SEMAPHORE,
                        &argument) != PSC_OK ||
        argument || target_read(python->target, key, &bits, sizeof(bits)) != PSC_OK)
        return;
    ret->kind = bits == PY_PARKED_EVENT ? PYTHON_WAIT_PYEVENT : PYTHON_WAIT_ONCE;
    ret->type = bits == PY_PARKED_EVENT ? "a PyEvent" : "a _PyOnceFlag or _PyRWMutex";
}

static bool find_parked(struct python *python, const struct python_wait_place *place,
                        struct python_wait *ret)
{
    psc_addr key;
    uint64_t ident;
    psc_addr first = py_field_address(python, 0x1000, PY_LOCK_HANDLE) - 0x1000;
    if (target_read_u64(python->target, place->futex - PY_PARK_KEY_BEFORE_SEMAPHORE, &key) !=
            PSC_OK ||
        key < 0x1000 || key >> 47 || (key >= place->sp && key < place->stack_end))
        return false;
    if (locks_describe(python, key - first, ret) || locks_find_world(python, place, key, ret))
        return true;
    if (target_read_u64(python->target, key - PY_HANDLE_EVENT_BEHIND_IDENT, &ident) != PSC_OK)
        return false;
    find_kind(python, place, key, ret);
    ret->lock = ret->object = key;
    if (ret->kind == PYTHON_WAIT_MUTEX &&
        (describe_object(python, key, ret) || find_in_object(python, place, key, ret)))
        return true;
    ret->keeper = ret->kind == PYTHON_WAIT_MUTEX ? read_keeper(python, key) : 0;
    ret->owner = ident;
    return true;
}

void locks_find_object(struct python *python, const struct python_wait_place *place,
                       struct python_wait *ret)
{
    *ret = (struct python_wait){.kind = PYTHON_WAIT_NONE};
    if (!place->futex || !place->sp || place->stack_end <= place->sp)
        return;
    bool own = place->futex >= place->sp && place->futex < place->stack_end;
    if (own ? find_parked(python, place, ret) : locks_find_by_semaphore(python, place, ret))
        ret->known_by = own ? "the key that the thread is parked on"
                            : "the semaphore that the thread sleeps on";
}
