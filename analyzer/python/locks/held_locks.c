/* Whose blocks `with lock:` are on the stacks of values of frames. */
#include "locks.h"

/* Frames of a thread that are looked at, and values of each. */
#define FRAME_LIMIT 200u
#define VALUE_LIMIT 64u

/**
 * Classes of the library that are written in Python, and what their blocks hold. Lib/threading.py,
 * Lib/multiprocessing/synchronize.py, the same from 3.6 to 3.14.
 */
static const struct block_class {
    const char *file;
    const char *attribute; /**< By which it is known, among those with __exit__ in that file. */
    bool whole;            /**< It is held itself, and not its attribute. */
} block_classes[] = {
    {"threading.py", "_lock", false}, // Condition
    {"threading.py", "_cond", true},  // Semaphore
    {"multiprocessing/synchronize.py", "_semlock", false},
    {"multiprocessing/synchronize.py", "_lock", false}, // Condition
};

static psc_addr read_in_object(struct python *python, psc_addr function, psc_addr self)
{
    psc_addr address;
    psc_addr held;
    psc_addr inner;
    if (py_read_u64(python, function, PY_FUNC_CODE, &address) != PSC_OK)
        return 0;
    const struct py_code *code = code_find_named(python, address);
    for (size_t i = 0; code && i < PSC_ARRAY_SIZE(block_classes); i++) {
        const struct block_class *row = &block_classes[i];
        if (!code_is(code, row->file, "__exit__") ||
            py_attribute_find(python, self, row->attribute, &held) != PSC_OK)
            continue;
        if (row->whole)
            return self;
        // A condition of multiprocessing has a lock that has the lock.
        return py_attribute_find(python, held, "_semlock", &inner) == PSC_OK ? inner : held;
    }
    return 0;
}

/* What the block of an object holds that ends with that function; 0: nothing that is known. */
static psc_addr find_in_object(struct python *python, psc_addr function, psc_addr self)
{
    bool found;
    struct locks_known *known = locks_recall(python, LOCKS_BLOCK, function, self, &found);
    if (known && !found)
        known->address = read_in_object(python, function, self);
    return known ? known->address : 0;
}

/* Up to 3.13: the bound method that ends the block. */
static psc_addr find_bound(struct python *python, psc_addr value)
{
    const struct py_type *type;
    psc_addr self;
    psc_addr function;
    if (py_type_of(python, value, &type) != PSC_OK)
        return 0;
    if (type->kind == PY_KIND_BUILTIN &&
        py_read_u64(python, value, PY_BUILTIN_SELF, &self) == PSC_OK)
        return locks_kind_of(python, self) != PYTHON_WAIT_NONE ? self : 0;
    if (type->kind == PY_KIND_METHOD &&
        py_read_u64(python, value, PY_METHOD_FUNC, &function) == PSC_OK &&
        py_read_u64(python, value, PY_METHOD_SELF, &self) == PSC_OK)
        return find_in_object(python, function, self);
    return 0;
}

/* 3.14: the function of the class, and behind it the object. */
static psc_addr find_pair(struct python *python, psc_addr value, psc_addr next)
{
    const struct py_type *type;
    if (!next || py_type_of(python, value, &type) != PSC_OK)
        return 0;
    if (type->kind == PY_KIND_METHOD_DESCRIPTOR)
        return py_is_object_address(next) && locks_kind_of(python, next) != PYTHON_WAIT_NONE ? next
                                                                                             : 0;
    return type->kind == PY_KIND_FUNCTION ? find_in_object(python, value, next) : 0;
}

static void add_lock(psc_addr object, psc_addr ret[PYTHON_HELD_LIMIT], size_t *count)
{
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
            add_lock(object, ret, count);
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
