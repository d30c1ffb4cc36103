/* Whose blocks `with lock:` are on the stacks of values of frames. */
#include "locks.h"

/* Frames of a thread that are looked at, and values of each. */
#define FRAME_LIMIT 200u
#define VALUE_LIMIT 64u

/* Up to 3.13: the bound method that ends the block. */
static psc_addr find_bound(struct python *python, psc_addr value)
{
    const struct py_type *type;
    psc_addr self;
    if (py_type_of(python, value, &type) != PSC_OK || type->kind != PY_KIND_BUILTIN ||
        py_read_u64(python, value, PY_BUILTIN_SELF, &self) != PSC_OK)
        return 0;
    return self;
}

/* 3.14: the function of the class, and behind it the object. */
static psc_addr find_pair(struct python *python, psc_addr value, psc_addr next)
{
    const struct py_type *type;
    if (!next || py_type_of(python, value, &type) != PSC_OK ||
        type->kind != PY_KIND_METHOD_DESCRIPTOR)
        return 0;
    return next;
}

static void add_lock(struct python *python, psc_addr object, psc_addr ret[PYTHON_HELD_LIMIT],
                     size_t *count)
{
    if (!py_is_object_address(object) || locks_kind_of(python, object) == PYTHON_WAIT_NONE)
        return;
    for (size_t i = 0; i < *count; i++)
        if (ret[i] == object)
            return;
    if (*count < PYTHON_HELD_LIMIT)
        ret[(*count)++] = object;
}

static void list_frame(struct python *python, const struct python_frame *frame,
                       psc_addr ret[PYTHON_HELD_LIMIT], size_t *count)
{
    uint64_t values[VALUE_LIMIT];
    psc_addr at;
    size_t size = frame_kept_values(python, frame, &at);
    if (!size || size > VALUE_LIMIT)
        return;
    size_t found = target_read_some(python->target, at, values, 8 * size) / 8;
    for (size_t i = 0; i < found; i++) {
        psc_addr value = py_untag(python, values[i]);
        if (!py_is_object_address(value))
            continue;
        psc_addr next = i + 1 < found ? py_untag(python, values[i + 1]) : 0;
        psc_addr object = python->layout.rules->pointer_tag ? find_pair(python, value, next)
                                                            : find_bound(python, value);
        if (object)
            add_lock(python, object, ret, count);
    }
}

size_t python_list_held(struct python *python, const struct python_frame *frames, size_t count,
                        psc_addr ret[PYTHON_HELD_LIMIT])
{
    size_t found = 0;
    for (size_t i = 0; i < count && i < FRAME_LIMIT; i++)
        list_frame(python, &frames[i], ret, &found);
    return found;
}

enum psc_status python_find_wait(struct python *python, const struct python_wait_place *place,
                                 struct python_wait *ret)
{
    size_t outside = 0;
    locks_find_object(python, place, ret);
    locks_find_purpose(python, place, ret, &outside);
    psc_addr object = ret->object ? ret->object : ret->lock;
    for (size_t i = outside; ret->kind != PYTHON_WAIT_NONE && i < place->count; i++) {
        if (place->frames[i].kind != PYTHON_FRAME_CODE)
            continue;
        ret->name = locks_name_of(python, &place->frames[i], object);
        break;
    }
    return PSC_OK;
}
