#include "frames_private.h"

#include <stdlib.h>

/** Of what is copied of a frame; frames of all versions are smaller. */
#define FRAME_WINDOW_LIMIT 512u

#define COPY_LIMIT (1u << 24) /* Threads that ever ran a code object. */

struct frame_reader {
    size_t window; /* Bytes at the start of a frame that hold all that is read of it. */
    psc_addr type; /* Of frame objects; 0: not known. */
    struct py_frame_types types;
    struct py_moved moved;
};

enum psc_status frame_reader_create(struct python *python)
{
    python->frame_reader = calloc(1, sizeof(*python->frame_reader));
    return python->frame_reader ? PSC_OK : PSC_ERR_MEMORY;
}

void frame_reader_forget(struct python *python)
{
    python->frame_reader->type = 0;
    python->frame_reader->types = (struct py_frame_types){0};
}

void frame_reader_destroy(struct python *python)
{
    free(python->frame_reader);
    python->frame_reader = NULL;
}

void frame_set_moved(struct python *python, struct py_moved moved)
{
    python->frame_reader->moved = moved;
}

psc_addr frame_moved_to(const struct python *python, psc_addr address)
{
    const struct py_moved *moved = &python->frame_reader->moved;
    return address - moved->start < moved->size ? moved->copy + (address - moved->start) : address;
}

static bool has_frame_objects(const struct python *python)
{
    switch (python->layout.rules->top) {
    case PY_TOP_FRAME_OBJECT:
        return true;
    case PY_TOP_CFRAME:
    case PY_TOP_FRAME:
        break;
    }
    return false;
}

void frame_use_layout(struct python *python)
{
    static const enum py_field of_objects[] = {PY_OBJECT_REFCNT,  PY_OBJECT_TYPE,
                                               PY_FRAMEOBJ_BACK,  PY_FRAMEOBJ_CODE,
                                               PY_FRAMEOBJ_LASTI, PY_FRAMEOBJ_STATE};
    static const enum py_field of_frames[] = {PY_FRAME_CODE,  PY_FRAME_PREVIOUS, PY_FRAME_INSTR,
                                              PY_FRAME_OWNER, PY_FRAME_COPY,     PY_FRAME_OBJECT};
    bool objects = has_frame_objects(python);
    const enum py_field *fields = objects ? of_objects : of_frames;
    size_t count = objects ? PSC_ARRAY_SIZE(of_objects) : PSC_ARRAY_SIZE(of_frames);
    size_t window = 0;
    for (size_t i = 0; i < count; i++) {
        if (python->layout.offset[fields[i]] == PY_NO_OFFSET)
            continue;
        size_t end = (size_t)python->layout.offset[fields[i]] + layout_field_width(fields[i]);
        if (end > window)
            window = end;
    }
    python->frame_reader->window = window;
}

/** Bytes at the start of a frame; NULL on a fault. `buffer` has room for FRAME_WINDOW_LIMIT. */
static const uint8_t *peek_frame(struct python *python, psc_addr address, uint8_t *buffer)
{
    size_t size = python->frame_reader->window;
    if (!py_is_object_address(address) || size > FRAME_WINDOW_LIMIT)
        return NULL;
    address = frame_moved_to(python, address);
    const uint8_t *bytes = target_peek(python->target, address, size);
    if (bytes)
        return bytes;
    if (target_read(python->target, address, buffer, size) != PSC_OK)
        return NULL;
    return buffer;
}

static enum psc_status set_code(struct python *python, psc_addr address, struct python_frame *ret,
                                struct py_code **ret_code)
{
    struct py_code *code = code_find(python, address);
    if (!code)
        return PSC_ERR_MEMORY;
    ret->code = address;
    ret->lasti = -1;
    ret->generator = code->flags & PY_CODE_GENERATORS;
    ret->kind = code->state != PY_CODE_VALID ? PYTHON_FRAME_UNREADABLE
                : code->interpreter_made     ? PYTHON_FRAME_TRAMPOLINE
                                             : PYTHON_FRAME_CODE;
    *ret_code = code;
    return PSC_OK;
}

/* 0: not known. */
static psc_addr frame_type(const struct python *python)
{
    return python->types.frame ? python->types.frame : python->frame_reader->type;
}

/* A PyFrameObject that is the frame, up to 3.10. */
static enum psc_status parse_frame_object(struct python *python, const uint8_t *bytes,
                                          struct python_frame *ret, psc_addr *ret_previous)
{
    const uint32_t *offset = python->layout.offset;
    struct py_code *code;
    psc_addr type = load_u64(bytes + offset[PY_OBJECT_TYPE]);
    psc_addr known = frame_type(python);
    bool compiled =
        type != known && compiled_frame_is_type(python, &python->frame_reader->types, type);
    if (known && type != known && !compiled)
        return PSC_ERR_FORMAT;
    enum psc_status status =
        set_code(python, load_u64(bytes + offset[PY_FRAMEOBJ_CODE]), ret, &code);
    if (status != PSC_OK)
        return status;
    *ret_previous = load_u64(bytes + offset[PY_FRAMEOBJ_BACK]);
    if (compiled) {
        compiled_frame_take(python, ret->address, ret);
        return PSC_OK;
    }
    if (!known) {
        if (code->state != PY_CODE_VALID)
            return PSC_ERR_FORMAT;
        python->frame_reader->type = type;
    }
    int32_t lasti = (int32_t)load_u32(bytes + offset[PY_FRAMEOBJ_LASTI]);
    switch (python->layout.rules->instruction) {
    case PY_INSTRUCTION_BYTES:
        ret->lasti = lasti < 0 ? -1 : lasti;
        break;
    case PY_INSTRUCTION_UNITS:
        ret->lasti = lasti < 0                                   ? -1
                     : lasti > INT32_MAX / (int32_t)PY_CODE_UNIT ? INT32_MAX
                                                                 : (int32_t)PY_CODE_UNIT * lasti;
        break;
    case PY_INSTRUCTION_POINTER:
        break;
    }
    return PSC_OK;
}

/* Before the first traceable instruction a function has not begun: it is at its first line
   (CPython 3.11, _PyFrame_IsIncomplete). Generators pass there when they are made. Up to 3.12
   the pointer starts out at the unit before the code. */
static int32_t instruction_offset(const struct py_code *code, psc_addr start, psc_addr instruction,
                                  uint8_t owner)
{
    psc_addr before = start - PY_CODE_UNIT;
    if (!start || instruction < before || instruction - before > INT32_MAX)
        return INT32_MAX; /* Not in this code: no line. */
    if (instruction < start ||
        (owner != PY_OWNER_GENERATOR && instruction < start + code->first_traceable))
        return -1;
    return (int32_t)(instruction - start);
}

/*
 * Without a GIL each thread runs a copy of its own of what it specialises (CPython 3.14,
 * Include/internal/pycore_code.h, _PyCodeArray; pycore_frame.h, _PyFrame_GetBytecode). 0: the copy
 * is not there, so no instruction is known.
 */
static psc_addr read_start(struct python *python, const struct py_code *code, const uint8_t *frame)
{
    uint32_t offset = python->layout.offset[PY_FRAME_COPY];
    psc_addr copies;
    psc_addr start;
    uint64_t count;
    if (offset == PY_NO_OFFSET)
        return code->start;
    uint32_t copy = load_u32(frame + offset);
    if (!copy)
        return code->start;
    if (py_read_u64(python, code->address, PY_CODE_COPIES, &copies) != PSC_OK ||
        target_read_u64(python->target, copies, &count) != PSC_OK || copy >= count ||
        copy > COPY_LIMIT ||
        target_read_u64(python->target, copies + PY_CODE_COPIES_FIRST + 8 * (uint64_t)copy,
                        &start) != PSC_OK)
        return 0;
    return start;
}

bool frame_is_compiled(struct python *python, psc_addr object)
{
    psc_addr type;
    return py_is_object_address(object) &&
           py_read_u64(python, object, PY_OBJECT_TYPE, &type) == PSC_OK &&
           compiled_frame_is_type(python, &python->frame_reader->types, type);
}

/* The object of a frame, which only some have, if a compiled function made it; else 0. */
static psc_addr find_compiled_object(struct python *python, const uint8_t *frame)
{
    psc_addr object = load_u64(frame + python->layout.offset[PY_FRAME_OBJECT]);
    return frame_is_compiled(python, object) ? object : 0;
}

static enum psc_status parse_frame(struct python *python, const uint8_t *bytes,
                                   struct python_frame *ret, psc_addr *ret_previous)
{
    const uint32_t *offset = python->layout.offset;
    const struct py_rules *rules = python->layout.rules;
    uint8_t owner = bytes[offset[PY_FRAME_OWNER]];
    *ret_previous = load_u64(bytes + offset[PY_FRAME_PREVIOUS]);
    switch (rules->shims) {
    case PY_SHIMS_NONE:
        break;
    case PY_SHIMS_OWNER:
    case PY_SHIMS_OWNER_INIT:
        if (owner >= PY_OWNER_FIRST_SHIM) {
            ret->kind = PYTHON_FRAME_SHIM;
            ret->lasti = -1;
            return PSC_OK;
        }
        break;
    }
    struct py_code *code;
    psc_addr address = load_u64(bytes + offset[PY_FRAME_CODE]) & ~rules->pointer_tag;
    enum psc_status status = set_code(python, address, ret, &code);
    if (status != PSC_OK || code->state != PY_CODE_VALID)
        return status;
    psc_addr compiled = find_compiled_object(python, bytes);
    if (compiled)
        compiled_frame_take(python, compiled, ret);
    else
        ret->lasti = instruction_offset(code, read_start(python, code, bytes),
                                        load_u64(bytes + offset[PY_FRAME_INSTR]), owner);
    return PSC_OK;
}

enum psc_status frame_read(struct python *python, psc_addr address, struct python_frame *ret,
                           psc_addr *ret_previous)
{
    uint8_t buffer[FRAME_WINDOW_LIMIT];
    const uint8_t *bytes = peek_frame(python, address, buffer);
    if (!bytes)
        return PSC_ERR_FAULT;
    *ret = (struct python_frame){.address = address, .interpreter_id = -1};
    return has_frame_objects(python) ? parse_frame_object(python, bytes, ret, ret_previous)
                                     : parse_frame(python, bytes, ret, ret_previous);
}

static bool is_executing(const struct python *python, const uint8_t *bytes)
{
    uint32_t offset = python->layout.offset[PY_FRAMEOBJ_STATE];
    return offset == PY_NO_OFFSET || layout_is_executing(python->layout.rules, bytes[offset]);
}

bool python_is_frame_object(struct python *python, psc_addr address)
{
    uint8_t buffer[FRAME_WINDOW_LIMIT];
    const uint32_t *offset = python->layout.offset;
    psc_addr type = frame_type(python);
    if (!has_frame_objects(python) || !type || !py_is_object_address(address))
        return false;
    const uint8_t *bytes = peek_frame(python, address, buffer);
    if (!bytes || load_u64(bytes + offset[PY_OBJECT_TYPE]) != type)
        return false;
    /* Frames that were freed wait for reuse with a count of 0. */
    if ((int64_t)load_u64(bytes + offset[PY_OBJECT_REFCNT]) <= 0 || !is_executing(python, bytes))
        return false;
    const struct py_code *code = code_find(python, load_u64(bytes + offset[PY_FRAMEOBJ_CODE]));
    return code && code->state == PY_CODE_VALID;
}
