/* Whose blocks `with lock:` are on the stacks of values of frames. */
#include "locks.h"

#include <string.h>

/* Frames of a thread that are looked at, and values of each. */
#define FRAME_LIMIT 200u
#define VALUE_LIMIT 64u
/* Bytes of a table of handlers. */
#define TABLE_LIMIT 4096u

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

/* From 3.11 on. */
static size_t read_handler_depth(struct python *python, const struct python_frame *frame)
{
    uint8_t table[TABLE_LIMIT];
    psc_addr bytes;
    uint64_t size;
    if (py_read_u64(python, frame->code, PY_CODE_HANDLERS, &bytes) != PSC_OK ||
        !py_has_flags(python, bytes, PY_FLAG_BYTES) ||
        py_read_u64(python, bytes, PY_VAR_SIZE, &size) != PSC_OK || !size || size > sizeof(table) ||
        target_read(python->target, py_field_address(python, bytes, PY_BYTES_DATA), table,
                    (size_t)size) != PSC_OK)
        return 0;
    return parse_handler_depth(table, (size_t)size, frame->lasti);
}

/* Up to 3.10. */
static size_t read_block_depth(struct python *python, psc_addr frame)
{
    int32_t count;
    size_t depth = 0;
    psc_addr blocks = py_field_address(python, frame, PY_FRAMEOBJ_BLOCKS);
    if (py_read_i32(python, frame, PY_FRAMEOBJ_BLOCK_COUNT, &count) != PSC_OK || count < 0)
        return 0;
    for (size_t i = 0; i < (size_t)count && i < PY_BLOCK_COUNT; i++) {
        uint32_t level;
        if (target_read_u32(python->target, blocks + i * PY_BLOCK_SIZE + PY_BLOCK_LEVEL, &level) ==
                PSC_OK &&
            level > depth)
            depth = level;
    }
    return depth;
}

/*
 * How many values are on a frame's stack for certain: those that its handlers keep, among which is
 * what ends a block. Above them may be what is left of others.
 */
static size_t read_depth(struct python *python, const struct python_frame *frame)
{
    return python->layout.offset[PY_CODE_HANDLERS] == PY_NO_OFFSET
               ? read_block_depth(python, frame->address)
               : read_handler_depth(python, frame);
}

static void list_frame(struct python *python, const struct python_frame *frame,
                       psc_addr ret[PYTHON_HELD_LIMIT], size_t *count)
{
    uint64_t values[VALUE_LIMIT];
    int32_t most = 0;
    size_t slots;
    if (frame->kind != PYTHON_FRAME_CODE || frame->compiled ||
        !py_slots_count(python, frame->code, &slots) ||
        py_read_i32(python, frame->code, PY_CODE_STACKSIZE, &most) != PSC_OK || most <= 0)
        return;
    size_t size = read_depth(python, frame);
    if (!size || size > (size_t)most || size > VALUE_LIMIT)
        return;
    psc_addr at = py_frame_slots(python, frame->address) + 8 * slots;
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
