/* The locks of multiprocessing that a process has: its own objects say so, and those of no other.
 */
#include "locks.h"

#include <string.h>

/* Frames of a thread that are looked at, variables of each, and different globals. */
#define FRAME_LIMIT     100u
#define GLOBALS_LIMIT   2000u
#define ATTRIBUTE_LIMIT 200u
#define SCOPE_LIMIT     16u

struct search {
    struct python *python;
    struct python_process_lock *found;
    size_t count;
    psc_addr scopes[SCOPE_LIMIT]; /* Globals that were looked through, by where their items lie. */
    size_t scope_count;
};

/* Lib/multiprocessing/synchronize.py: classes of Python around a SemLock, the same from 3.6 on. */
static bool is_class_of_locks(const struct py_type *type)
{
    static const char *const names[] = {"Lock", "RLock", "BoundedSemaphore", "Condition"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (!strcmp(type->c_name, names[i]))
            return true;
    return false;
}

static void add_lock(struct search *search, psc_addr object)
{
    struct python_process_lock lock;
    if (search->count == PYTHON_PROCESS_LOCKS ||
        !locks_read_process_lock(search->python, object, &lock))
        return;
    for (size_t i = 0; i < search->count; i++)
        if (search->found[i].semaphore == lock.semaphore)
            return;
    search->found[search->count++] = lock;
}

/* A SemLock, or what has one. */
static void look_at(struct search *search, psc_addr object)
{
    struct python *python = search->python;
    const struct py_type *type;
    psc_addr inner;
    if (!py_is_object_address(object) || py_type_of(python, object, &type) != PSC_OK)
        return;
    if (is_class_of_locks(type)) {
        // A condition has a lock that has the SemLock.
        if (!strcmp(type->c_name, "Condition") &&
            py_attribute_find(python, object, "_lock", &object) != PSC_OK)
            return;
        if (py_attribute_find(python, object, "_semlock", &inner) != PSC_OK)
            return;
        object = inner;
    }
    if (locks_kind_of(python, object) == PYTHON_WAIT_SEMAPHORE)
        add_lock(search, object);
}

static void look_through(struct search *search, struct py_items *items, size_t limit)
{
    psc_addr key;
    psc_addr value;
    for (size_t i = 0; i < limit && py_items_next(search->python, items, &key, &value) == PSC_OK;
         i++)
        look_at(search, value);
}

static bool is_new_scope(struct search *search, psc_addr items)
{
    for (size_t i = 0; i < search->scope_count; i++)
        if (search->scopes[i] == items)
            return false;
    if (search->scope_count == SCOPE_LIMIT)
        return false;
    search->scopes[search->scope_count++] = items;
    return true;
}

static void look_at_variables(struct search *search, const struct python_frame *frame)
{
    struct python *python = search->python;
    struct py_slots slots PSC_CLEANUP(py_slots_deinit) = {0};
    struct py_items items;
    bool readable = false;
    if (py_slots_read(python, frame, &slots, &readable) != PSC_OK || !readable)
        slots.count = 0;
    for (size_t i = 0; i < slots.count; i++) {
        psc_addr value = py_untag(python, slots.items[i].value);
        look_at(search, value && slots.items[i].cell ? py_follow_cell(python, value) : value);
    }
    psc_addr self = frame->compiled ? 0 : py_frame_self(python, frame);
    if (self && py_attributes_open(python, self, &items) == PSC_OK)
        look_through(search, &items, ATTRIBUTE_LIMIT);
    if (py_frame_dict_open(python, frame->address, PY_FRAME_GLOBALS, PY_FRAMEOBJ_GLOBALS, &items) ==
            PSC_OK &&
        is_new_scope(search, items.entries))
        look_through(search, &items, GLOBALS_LIMIT);
}

size_t python_list_process_locks(struct python *python, const struct python_frame *frames,
                                 size_t count, struct python_process_lock ret[PYTHON_PROCESS_LOCKS])
{
    struct search search = {.python = python, .found = ret};
    psc_addr held[PYTHON_HELD_LIMIT];
    size_t held_count = python_list_held(python, frames, count, held);
    for (size_t i = 0; i < held_count; i++)
        look_at(&search, held[i]);
    for (size_t i = 0; i < count && i < FRAME_LIMIT; i++)
        if (frames[i].kind == PYTHON_FRAME_CODE)
            look_at_variables(&search, &frames[i]);
    return search.count;
}
