/* From the address that a thread sleeps on to the object of Python that it is in. */
#include "locks.h"

#include <string.h>

/* Bytes above the stack pointer in which the lock's object is looked for. */
#define SCAN_SIZE  ((psc_addr)16 << 10)
#define SCAN_WORDS 128u

static const struct lock_type {
    const char *c_name;
    const char *title;
    enum python_wait_kind kind;
} lock_types[] = {
    {"_thread.lock", "threading.Lock", PYTHON_WAIT_LOCK},
    {"thread.lock", "threading.Lock", PYTHON_WAIT_LOCK},
    {"_thread.RLock", "threading.RLock", PYTHON_WAIT_RLOCK},
    {"_queue.SimpleQueue", "queue.SimpleQueue", PYTHON_WAIT_QUEUE},
    {"_multiprocessing.SemLock", "multiprocessing.Semaphore", PYTHON_WAIT_SEMAPHORE},
};

static const struct lock_type *find_type(struct python *python, psc_addr object)
{
    const struct py_type *type;
    if (!py_is_object_address(object) || py_type_of(python, object, &type) != PSC_OK)
        return NULL;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(lock_types); i++)
        if (!strcmp(lock_types[i].c_name, type->c_name))
            return &lock_types[i];
    return NULL;
}

enum python_wait_kind locks_kind_of(struct python *python, psc_addr object)
{
    const struct lock_type *type = find_type(python, object);
    return type ? type->kind : PYTHON_WAIT_NONE;
}

static void read_rlock_owner(struct python *python, psc_addr object, struct python_wait *ret)
{
    enum psc_status status = py_read_u64(python, object, PY_RLOCK_OWNER, &ret->owner);
    if (status == PSC_ERR_UNSUPPORTED)
        status = py_read_u64(python, object, PY_RLOCK_MUTEX_OWNER, &ret->owner);
    ret->records_owner = status == PSC_OK;
    ret->owner = ret->records_owner ? ret->owner : 0;
}

struct semlock {
    psc_addr semaphore;
    uint64_t owner;
    uint32_t count; /* How often this process has taken it and not given it back. */
    uint32_t most;
    bool recursive;
};

static bool read_semlock(struct python *python, psc_addr object, struct semlock *ret)
{
    psc_addr handle = py_field_address(python, object, PY_LOCK_HANDLE);
    uint32_t kind = 0;
    if (target_read_u64(python->target, handle, &ret->semaphore) != PSC_OK ||
        target_read_u64(python->target, handle + PY_SEMLOCK_OWNER, &ret->owner) != PSC_OK ||
        target_read_u32(python->target, handle + PY_SEMLOCK_MAX, &ret->most) != PSC_OK ||
        target_read_u32(python->target, handle + PY_SEMLOCK_COUNT, &ret->count) != PSC_OK ||
        target_read_u32(python->target, handle + PY_SEMLOCK_KIND, &kind) != PSC_OK)
        return false;
    // It is a signed number, and below 0 where another process gave back what this one took.
    ret->count = ret->count > INT32_MAX ? 0 : ret->count;
    ret->recursive = kind == PY_SEMLOCK_RECURSIVE;
    return true;
}

/* last_tid is left there by a release; what another process took is not in it. */
static void describe_semlock(struct python *python, psc_addr object, struct python_wait *ret)
{
    struct semlock lock;
    if (!read_semlock(python, object, &lock))
        return;
    if (lock.recursive)
        ret->type = "multiprocessing.RLock";
    else if (lock.most == 1)
        ret->type = "multiprocessing.Lock";
    ret->records_owner = lock.recursive && lock.count;
    ret->owner = ret->records_owner ? lock.owner : 0;
    ret->keeper = !lock.recursive && lock.most == 1 && lock.count ? lock.owner : 0;
}

bool locks_read_process_lock(struct python *python, psc_addr object,
                             struct python_process_lock *ret)
{
    struct semlock lock;
    if (!read_semlock(python, object, &lock) || !lock.count || !(lock.recursive || lock.most == 1))
        return false;
    *ret = (struct python_process_lock){
        .semaphore = lock.semaphore, .owner = lock.owner, .certain = lock.recursive};
    return true;
}

bool locks_describe(struct python *python, psc_addr object, struct python_wait *ret)
{
    const struct lock_type *type = find_type(python, object);
    if (!type)
        return false;
    ret->kind = type->kind;
    ret->type = type->title;
    ret->lock = ret->object = object;
    if (type->kind == PYTHON_WAIT_RLOCK)
        read_rlock_owner(python, object, ret);
    if (type->kind == PYTHON_WAIT_SEMAPHORE)
        describe_semlock(python, object, ret);
    return true;
}

/* A file's own lock, which its thread has while it reads or writes. */
static bool describe_buffered(struct python *python, psc_addr object, struct python_wait *ret)
{
    static const char *const types[][2] = {
        {"_io.BufferedReader", "the lock of io.BufferedReader"},
        {"_io.BufferedWriter", "the lock of io.BufferedWriter"},
        {"_io.BufferedRandom", "the lock of io.BufferedRandom"},
    };
    const struct py_type *type;
    psc_addr fields = py_field_address(python, object, PY_LOCK_HANDLE);
    if (!py_is_object_address(object) || py_type_of(python, object, &type) != PSC_OK)
        return false;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(types); i++) {
        if (strcmp(types[i][0], type->c_name) != 0)
            continue;
        ret->kind = PYTHON_WAIT_LOCK;
        ret->type = types[i][1];
        ret->lock = ret->object = object;
        ret->records_owner =
            target_read_u64(python->target, fields + PY_BUFFERED_OWNER, &ret->owner) == PSC_OK;
        return true;
    }
    return false;
}

/* Not code: of the words on a stack many are return addresses. */
static bool may_be_object(const struct target *target, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    return mapping && !(mapping->permissions_known && mapping->executable && !mapping->writable);
}

/** Where an object has its lock, behind the header, and what tells of the object. */
struct lock_place {
    psc_addr offset;
    bool (*describe)(struct python *python, psc_addr object, struct python_wait *ret);
};

/*
 * Locks a member of which points to the semaphore that is slept on: a function of theirs has the
 * object on its stack (Modules/_threadmodule.c, _queuemodule.c, _multiprocessing/semaphore.c).
 */
static bool scan_stack(struct python *python, const struct python_wait_place *place,
                       const struct lock_place *lock, struct python_wait *ret)
{
    uint64_t words[SCAN_WORDS];
    psc_addr first = py_field_address(python, 0x1000, PY_LOCK_HANDLE) - 0x1000 + lock->offset;
    psc_addr end =
        place->stack_end - place->sp < SCAN_SIZE ? place->stack_end : place->sp + SCAN_SIZE;
    psc_addr last = 0;
    for (psc_addr at = place->sp & ~(psc_addr)7; at < end; at += sizeof(words)) {
        size_t size = end - at < sizeof(words) ? (size_t)(end - at) : sizeof(words);
        size_t count = target_read_some(python->target, at, words, size) / 8;
        for (size_t i = 0; i < count; i++) {
            psc_addr handle;
            // What lies on the stack itself is no object; nor is the word that was just looked at.
            if (!py_is_object_address(words[i]) || words[i] == last ||
                (words[i] >= place->sp && words[i] < place->stack_end) || words[i] < 0x1000 ||
                words[i] >> 47)
                continue;
            last = words[i];
            if (may_be_object(python->target, words[i]) &&
                target_read_u64(python->target, words[i] + first, &handle) == PSC_OK &&
                handle == place->futex && lock->describe(python, words[i], ret))
                return true;
        }
        if (count * 8 < size)
            return false;
    }
    return false;
}

bool locks_find_by_semaphore(struct python *python, const struct python_wait_place *place,
                             struct python_wait *ret)
{
    static const struct lock_place of_locks = {0, locks_describe};
    static const struct lock_place of_files = {PY_BUFFERED_LOCK, describe_buffered};
    return scan_stack(python, place, &of_locks, ret) || scan_stack(python, place, &of_files, ret);
}
