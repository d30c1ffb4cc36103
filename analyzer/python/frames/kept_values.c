/* The values on a frame's stack that its handlers keep, among which is what ends a `with` block. */
#include "frames_private.h"

/* Bytes of a table of handlers. */
#define TABLE_LIMIT ((uint64_t)4096)

/* Of a code object: all that does not change from one of its frames to the next. */
static void read_shape(struct python *python, struct py_code *code)
{
    psc_addr bytes;
    uint64_t size;
    code->shape_read = true;
    if (!py_slots_count(python, code->address, &code->slot_count) ||
        py_read_i32(python, code->address, PY_CODE_STACKSIZE, &code->stack_size) != PSC_OK)
        code->stack_size = 0;
    if (py_read_u64(python, code->address, PY_CODE_HANDLERS, &bytes) != PSC_OK ||
        !py_has_flags(python, bytes, PY_FLAG_BYTES) ||
        py_read_u64(python, bytes, PY_VAR_SIZE, &size) != PSC_OK || !size || size > TABLE_LIMIT)
        return;
    uint8_t *table = arena_alloc(python->arena, (size_t)size);
    if (!table || target_read(python->target, py_field_address(python, bytes, PY_BYTES_DATA), table,
                              (size_t)size) != PSC_OK)
        return;
    code->handlers = table;
    code->handlers_size = (size_t)size;
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

size_t frame_kept_values(struct python *python, const struct python_frame *frame, psc_addr *ret)
{
    if (frame->kind != PYTHON_FRAME_CODE || frame->compiled)
        return 0;
    struct py_code *code = code_find(python, frame->code);
    if (!code || code->state != PY_CODE_VALID)
        return 0;
    if (!code->shape_read)
        read_shape(python, code);
    if (code->stack_size <= 0)
        return 0;
    size_t depth = python->layout.offset[PY_CODE_HANDLERS] == PY_NO_OFFSET
                       ? read_block_depth(python, frame->address)
                       : parse_handler_depth(code->handlers, code->handlers_size, frame->lasti);
    *ret = py_frame_slots(python, frame->address) + 8 * code->slot_count;
    return depth <= (size_t)code->stack_size ? depth : 0;
}
