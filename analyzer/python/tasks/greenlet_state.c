/* Where the stacks of one greenlet are. */
#include "greenlets.h"

#define BASE_LIMIT       32u
#define STACK_SAVE_LIMIT (UINT64_C(1) << 30)
#define VERSION_LIMIT    16u

bool greenlet_find_module(struct python *python, psc_addr interpreter, struct greenlet_module *ret)
{
    psc_addr version;
    const char *text = NULL;
    if (py_module_find(python, interpreter, "greenlet", "greenlet", &ret->type) != PSC_OK ||
        !py_has_flags(python, ret->type, PY_FLAG_TYPE))
        return false;
    ret->has_struct =
        py_module_find(python, interpreter, "greenlet", "__version__", &version) == PSC_OK &&
        py_read_string(python, version, VERSION_LIMIT, &text) == PSC_OK &&
        layout_has_greenlet_struct(text);
    ret->layout = layout_of_greenlets(&python->layout, ret->has_struct);
    return true;
}

bool greenlet_is_type(struct python *python, const struct greenlet_module *module, psc_addr type)
{
    for (size_t i = 0; i < BASE_LIMIT && py_is_object_address(type); i++) {
        if (type == module->type)
            return true;
        if (py_read_u64(python, type, PY_TYPE_BASE, &type) != PSC_OK)
            break;
    }
    return false;
}

static bool read_word(struct python *python, psc_addr address, psc_addr *ret)
{
    return target_read_u64(python->target, address, ret) == PSC_OK;
}

bool greenlet_find_state(struct python *python, const struct greenlet_module *module,
                         psc_addr object, psc_addr *ret)
{
    const struct greenlet_layout *layout = &module->layout;
    psc_addr head = object + python->layout.offset[PY_OBJECT_SIZE];
    psc_addr at;
    psc_addr own;
    if (module->has_struct) {
        *ret = head + layout->stack_start;
        return true;
    }
    if (!read_word(python, head + layout->pointer, &at) || !py_is_object_address(at) ||
        !read_word(python, at + layout->own_pointer, &own))
        return false;
    *ret = at + (own == object ? layout->own_size : 0) + layout->stack_start;
    return true;
}

static bool has_frame_objects(const struct python *python)
{
    return python->layout.offset[PY_FRAMEOBJ_CODE] != PY_NO_OFFSET;
}

static bool is_code_frame(struct python *python, psc_addr address)
{
    struct python_frame frame;
    psc_addr previous;
    return frame_read(python, address, &frame, &previous) == PSC_OK &&
           (frame.kind == PYTHON_FRAME_CODE || frame.kind == PYTHON_FRAME_TRAMPOLINE);
}

/* The frame object is made for the greenlet; the frame itself is another member. */
static bool find_top(struct python *python, const struct greenlet_layout *layout, psc_addr state,
                     struct greenlet_state *ret)
{
    psc_addr word;
    ret->top = 0;
    frame_set_moved(python, ret->moved);
    for (psc_addr at = layout->frames_first; !ret->top && at <= layout->frames_last; at += 8)
        if (read_word(python, state + at, &word) && is_code_frame(python, word))
            ret->top = word;
    frame_set_moved(python, (struct py_moved){0});
    return ret->top != 0;
}

bool greenlet_read_state(struct python *python, const struct greenlet_module *module,
                         psc_addr state, struct greenlet_state *ret)
{
    const struct greenlet_layout *layout = &module->layout;
    uint64_t saved;
    psc_addr copy;
    *ret = (struct greenlet_state){0};
    if (!read_word(python, state, &ret->stack_start) ||
        !read_word(python, state + layout->stack_stop, &ret->stack_stop) ||
        !read_word(python, state + layout->top_frame, &ret->top))
        return false;
    if (!read_word(python, state + layout->previous, &ret->previous))
        ret->previous = 0;
    if (ret->previous && module->has_struct)
        ret->previous += python->layout.offset[PY_OBJECT_SIZE] + layout->stack_start;
    if (read_word(python, state + layout->stack_copy, &copy) &&
        read_word(python, state + layout->stack_saved, &saved) && copy && saved &&
        saved <= STACK_SAVE_LIMIT)
        ret->moved = (struct py_moved){ret->stack_start, saved, copy};
    if (python->layout.offset[PY_THREAD_CFRAME] != PY_NO_OFFSET &&
        !read_word(python, state + layout->cframe, &ret->cframe))
        ret->cframe = 0;
    return has_frame_objects(python) || !ret->top || find_top(python, layout, state, ret);
}
