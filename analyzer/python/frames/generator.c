/* Generators, coroutines and async generators: what they are doing and what they wait for. */
#include "frames.h"

#include <string.h>

#define STACK_DEPTH_LIMIT (1 << 20)

/* Values on top of the awaited one: 3.15 keeps an index there. */
#define VALUES_ABOVE 2u

/* ---- state ---- */

/* Of one that has a frame. */
static enum py_generator_state read_state(struct python *python, psc_addr object, psc_addr frame,
                                          const struct python_frame *at)
{
    enum py_generator_states states = python->layout.rules->generators;
    uint8_t number;
    switch (states) {
    case PY_GENERATORS_RUNNING:
        if (py_read_u8(python, object, PY_GEN_RUNNING, &number) != PSC_OK || number > 1)
            return PY_GENERATOR_UNKNOWN;
        return number          ? PY_GENERATOR_RUNNING
               : at->lasti < 0 ? PY_GENERATOR_CREATED
                               : PY_GENERATOR_SUSPENDED;
    case PY_GENERATORS_FRAME:
        if (py_read_u8(python, frame, PY_FRAMEOBJ_STATE, &number) != PSC_OK)
            return PY_GENERATOR_UNKNOWN;
        return layout_parse_generator_state(states, (int8_t)number);
    case PY_GENERATORS_SUSPENDED:
    case PY_GENERATORS_AWAITING:
    case PY_GENERATORS_COUNTED:
        if (py_read_u8(python, object, PY_GEN_STATE, &number) != PSC_OK)
            return PY_GENERATOR_UNKNOWN;
        return layout_parse_generator_state(states, (int8_t)number);
    }
    return PY_GENERATOR_UNKNOWN;
}

/* ---- what it awaits ---- */

/*
 * A suspended coroutine always awaits something. A generator may as well stand at a plain
 * yield in a loop over the object that lies on its stack: the next instruction tells
 * (CPython 3.10, Objects/genobject.c, _PyGen_yf).
 */
static bool is_awaiting(struct python *python, const struct python_frame *frame)
{
    psc_addr bytes;
    uint8_t unit[PY_CODE_UNIT];
    if (frame->lasti < 0)
        return false;
    uint64_t next = (uint64_t)frame->lasti + PY_CODE_UNIT;
    const struct py_code *code = code_find(python, frame->code);
    if (!code || code->state != PY_CODE_VALID)
        return false;
    switch (python->layout.rules->generators) {
    case PY_GENERATORS_RUNNING:
    case PY_GENERATORS_FRAME:
        return py_read_u64(python, frame->code, PY_CODE_BYTES, &bytes) == PSC_OK &&
               py_has_flags(python, bytes, PY_FLAG_BYTES) &&
               target_read(python->target, py_field_address(python, bytes, PY_BYTES_DATA) + next,
                           unit, sizeof(unit)) == PSC_OK &&
               unit[0] == PY_OPCODE_YIELD_FROM;
    case PY_GENERATORS_SUSPENDED:
        return target_read(python->target, code->start + next, unit, sizeof(unit)) == PSC_OK &&
               unit[1] >= PY_RESUME_YIELD_FROM;
    case PY_GENERATORS_AWAITING:
    case PY_GENERATORS_COUNTED:
        break;
    }
    return false;
}

static bool find_value_stack(struct python *python, psc_addr frame, psc_addr *ret_bottom,
                             psc_addr *ret_top)
{
    int32_t count;
    int32_t depth;
    psc_addr code;
    if (py_field_address(python, frame, PY_FRAMEOBJ_VALUES)) {
        if (py_read_u64(python, frame, PY_FRAMEOBJ_VALUES, ret_bottom) != PSC_OK)
            return false;
        if (py_read_u64(python, frame, PY_FRAMEOBJ_STACKTOP, ret_top) == PSC_OK)
            return true;
        if (py_read_i32(python, frame, PY_FRAMEOBJ_STACKDEPTH, &depth) != PSC_OK || depth < 0 ||
            depth > STACK_DEPTH_LIMIT)
            return false;
        *ret_top = *ret_bottom + 8 * (uint64_t)depth;
        return true;
    }
    psc_addr slots = py_field_address(python, frame, PY_FRAME_LOCALSPLUS);
    if (py_read_u64(python, frame, PY_FRAME_CODE, &code) != PSC_OK ||
        py_read_i32(python, code & ~python->layout.rules->pointer_tag, PY_CODE_SLOT_COUNT,
                    &count) != PSC_OK ||
        count < 0 || count > STACK_DEPTH_LIMIT)
        return false;
    *ret_bottom = slots + 8 * (uint64_t)count;
    if (py_read_u64(python, frame, PY_FRAME_STACKPOINTER, ret_top) == PSC_OK)
        return true;
    if (py_read_i32(python, frame, PY_FRAME_STACKTOP, &depth) != PSC_OK || depth < count ||
        depth > STACK_DEPTH_LIMIT)
        return false;
    *ret_top = slots + 8 * (uint64_t)depth;
    return true;
}

bool py_value_stack_find(struct python *python, psc_addr frame, psc_addr *ret_bottom,
                         psc_addr *ret_top)
{
    return find_value_stack(python, frame, ret_bottom, ret_top) && !(*ret_top & 7) &&
           *ret_top >= *ret_bottom && *ret_top - *ret_bottom <= 8 * (uint64_t)STACK_DEPTH_LIMIT;
}

static psc_addr read_awaited(struct python *python, psc_addr frame)
{
    uint64_t tag = python->layout.rules->pointer_tag;
    psc_addr bottom;
    psc_addr top;
    psc_addr value;
    if (!py_value_stack_find(python, frame, &bottom, &top))
        return 0;
    for (size_t i = 0; i < VALUES_ABOVE && top - bottom >= 8; i++) {
        top -= 8;
        if (target_read_u64(python->target, top, &value) != PSC_OK)
            return 0;
        /* NULL has a tag, too. */
        if (tag && ((value & tag) == PY_TAG_INT || !(value & ~tag)))
            continue;
        return value & ~tag;
    }
    return 0;
}

enum psc_status py_generator_read(struct python *python, psc_addr object, struct py_generator *ret)
{
    psc_addr frame = py_field_address(python, object, PY_GEN_IFRAME);
    psc_addr previous;
    *ret = (struct py_generator){.state = PY_GENERATOR_UNKNOWN};
    if (!frame) {
        enum psc_status status = py_read_u64(python, object, PY_GEN_FRAME, &frame);
        if (status != PSC_OK)
            return status;
    }
    if (!frame) {
        ret->state = PY_GENERATOR_ENDED;
        return PSC_OK;
    }
    /* 3.11 leaves what was the frame of one that has ended. */
    if (read_state(python, object, frame, &ret->frame) == PY_GENERATOR_ENDED) {
        ret->state = PY_GENERATOR_ENDED;
        return PSC_OK;
    }
    enum psc_status status = frame_read(python, frame, &ret->frame, &previous);
    if (status != PSC_OK)
        return status;
    if (ret->frame.kind != PYTHON_FRAME_CODE)
        return PSC_ERR_FORMAT;
    ret->state = read_state(python, object, frame, &ret->frame);
    if (ret->state == PY_GENERATOR_SUSPENDED) {
        const struct py_code *code = code_find(python, ret->frame.code);
        if (code && ((code->flags & PY_CODE_COROUTINE) || is_awaiting(python, &ret->frame)))
            ret->state = PY_GENERATOR_AWAITING;
    }
    if (ret->state == PY_GENERATOR_AWAITING)
        ret->awaited = read_awaited(python, frame);
    return PSC_OK;
}

bool py_is_generator(struct python *python, psc_addr object)
{
    const struct py_type *type;
    return py_type_of(python, object, &type) == PSC_OK && type->kind == PY_KIND_GENERATOR;
}

/* What stands between: CPython, Objects/genobject.c; Objects/iterobject.c. */
static bool is_step(const struct py_type *type)
{
    return !type->module && (!strcmp(type->name, "async_generator_asend") ||
                             !strcmp(type->name, "async_generator_athrow"));
}

static bool is_wrapper(const struct py_type *type)
{
    return is_step(type) || (!type->module && (!strcmp(type->name, "coroutine_wrapper") ||
                                               !strcmp(type->name, "anext_awaitable")));
}

psc_addr py_awaited_target(struct python *python, psc_addr object)
{
    bool begun;
    return py_awaited_begun(python, object, &begun);
}

psc_addr py_awaited_begun(struct python *python, psc_addr object, bool *ret_begun)
{
    const struct py_type *type;
    psc_addr target;
    int32_t state;
    *ret_begun = true;
    for (size_t depth = 0; depth < PY_WRAPPER_DEPTH; depth++) {
        if (py_type_of(python, object, &type) != PSC_OK)
            return 0;
        if (!is_wrapper(type))
            return object;
        if (is_step(type) && py_read_i32(python, object, PY_STEP_STATE, &state) == PSC_OK &&
            state == PY_STEP_NEW)
            *ret_begun = false;
        if (py_read_u64(python, object, PY_AWAIT_TARGET, &target) != PSC_OK)
            return 0;
        object = target;
    }
    return 0;
}
