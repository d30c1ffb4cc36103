/* The objects that the names of a frame have. */
#include "frames.h"

#include <stdlib.h>

#define NAME_LIMIT 200u

/* Behind the values on the frame's stack; 0: not known. */
static psc_addr find_end(struct python *python, const struct python_frame *frame, size_t slots)
{
    int32_t stack_size;
    if (py_read_i32(python, frame->code, PY_CODE_STACKSIZE, &stack_size) != PSC_OK ||
        stack_size < 0 || (uint32_t)stack_size > PY_SLOT_COUNT_LIMIT)
        return 0;
    return py_frame_slots(python, frame->address) + 8 * (slots + (uint64_t)stack_size);
}

enum psc_status python_list_frame_objects(struct python *python, const struct python_frame *frame,
                                          struct python_frame_objects *ret)
{
    PSC_CLEANUP(py_slots_deinit) struct py_slots slots = {0};
    bool readable = false;
    *ret = (struct python_frame_objects){0};
    if (frame->kind != PYTHON_FRAME_CODE)
        return PSC_OK;
    enum psc_status status = py_slots_read(python, frame, &slots, &readable);
    if (status != PSC_OK || !readable)
        return status;
    ret->items = calloc(slots.count + 1, sizeof(*ret->items));
    if (!ret->items)
        return PSC_ERR_MEMORY;
    ret->end = find_end(python, frame, slots.count);
    for (size_t i = 0; i < slots.count; i++) {
        const psc_addr object = py_untag(python, slots.items[i].value);
        const char *name;
        if (!py_is_object_address(object) ||
            py_read_string(python, slots.items[i].name, NAME_LIMIT, &name) != PSC_OK)
            continue;
        ret->items[ret->count++] = (struct python_frame_object){name, object};
    }
    return PSC_OK;
}

void python_frame_objects_deinit(struct python_frame_objects *objects)
{
    free(objects->items);
    *objects = (struct python_frame_objects){0};
}
