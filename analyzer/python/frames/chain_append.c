/* Frames of a greenlet behind those of the one that runs. */
#include "frames_private.h"

#include <stdlib.h>
#include <string.h>

#define HIDDEN_LIMIT 8u /* Frames of the interpreter between two that run code. */

static enum psc_status add_frame(struct python_stack *stack, const struct python_frame *frame)
{
    void *frames = stack->frames;
    if (!array_reserve(&frames, &stack->capacity, stack->count + 1, sizeof(*frame)))
        return PSC_ERR_MEMORY;
    stack->frames = frames;
    stack->frames[stack->count++] = *frame;
    return PSC_OK;
}

/*
 * The module greenlet 3 takes the shims out of the chain of one that is switched from, with CPython
 * 3.12 and later, and keeps what `previous` was in the frame object (TGreenlet.cpp,
 * Greenlet::expose_frames()). They are believed when they lead to the same caller.
 */
static enum psc_status add_hidden(struct python *python, psc_addr frame, psc_addr caller,
                                  struct python_stack *stack)
{
    struct python_frame hidden[HIDDEN_LIMIT];
    size_t count = 0;
    psc_addr object;
    psc_addr at;
    enum psc_status status;
    if (py_read_u64(python, frame, PY_FRAME_OBJECT, &object) != PSC_OK ||
        !py_is_object_address(object) ||
        target_read_u64(python->target, py_field_address(python, object, PY_FRAMEOBJ_DATA), &at) !=
            PSC_OK)
        return PSC_OK;
    while (at != caller && count < HIDDEN_LIMIT) {
        status = frame_read(python, at, &hidden[count], &at);
        if (status == PSC_ERR_MEMORY)
            return status;
        if (status != PSC_OK)
            return PSC_OK;
        count++;
    }
    status = PSC_OK;
    for (size_t i = 0; at == caller && status == PSC_OK && i < count; i++)
        if (hidden[i].kind == PYTHON_FRAME_SHIM)
            status = add_frame(stack, &hidden[i]);
    return status;
}

/* The chain of frames with the shims that are not in it. */
static enum psc_status take_shims(struct python *python, struct python_stack *stack)
{
    struct python_stack whole = {.end = stack->end, .end_address = stack->end_address};
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < stack->count; i++) {
        const struct python_frame *frame = &stack->frames[i];
        bool last = i + 1 == stack->count;
        status = add_frame(&whole, frame);
        if (status == PSC_OK && frame->kind == PYTHON_FRAME_CODE &&
            (!last || stack->end == PYTHON_END_COMPLETE))
            status = add_hidden(python, frame->address, last ? 0 : frame[1].address, &whole);
    }
    python_stack_deinit(stack);
    *stack = whole;
    return status;
}

static enum psc_status find_anchors(struct python *python, psc_addr tstate, psc_addr cframe,
                                    struct python_stack *stack)
{
    PSC_CLEANUP(cframes_deinit) struct py_cframes cframes = {0};
    switch (python->layout.rules->join) {
    case PYTHON_JOIN_SLOT:
    case PYTHON_JOIN_CFRAME_SLOT:
        break;
    case PYTHON_JOIN_CFRAME: {
        enum psc_status status = anchors_list_cframes(python, tstate, cframe, &cframes);
        return status == PSC_OK ? anchors_from_cframes(cframes.items, cframes.count, stack)
                                : status;
    }
    case PYTHON_JOIN_SHIM: {
        enum psc_status status = take_shims(python, stack);
        return status == PSC_OK ? anchors_from_shims(python, tstate, stack) : status;
    }
    }
    return PSC_OK;
}

/* Those in the moved part of the C stack have their place no more: others use it. */
static enum psc_status take_anchors(const struct python_stack *from, const struct py_moved *moved,
                                    struct python_stack *stack)
{
    void *anchors = stack->anchors;
    size_t base = stack->count;
    if (!array_reserve(&anchors, &stack->anchor_capacity, stack->anchor_count + from->anchor_count,
                       sizeof(*stack->anchors)))
        return PSC_ERR_MEMORY;
    stack->anchors = anchors;
    for (size_t i = 0; i < from->anchor_count; i++) {
        struct python_anchor anchor = from->anchors[i];
        anchor.first += base;
        if (anchor.address - moved->start >= moved->size)
            stack->anchors[stack->anchor_count++] = anchor;
    }
    return PSC_OK;
}

static enum psc_status take_frames(const struct python_stack *from, struct python_stack *stack)
{
    void *frames = stack->frames;
    if (!array_reserve(&frames, &stack->capacity, stack->count + from->count,
                       sizeof(*stack->frames)))
        return PSC_ERR_MEMORY;
    stack->frames = frames;
    if (from->count)
        memcpy(stack->frames + stack->count, from->frames, from->count * sizeof(*from->frames));
    stack->count += from->count;
    stack->end = from->end;
    stack->end_address = from->end_address;
    return PSC_OK;
}

enum psc_status chain_append(struct python *python, psc_addr tstate,
                             const struct py_suspended *suspended, struct python_stack *stack)
{
    PSC_CLEANUP(python_stack_deinit) struct python_stack found = {0};
    frame_set_moved(python, suspended->moved);
    enum psc_status status = chain_walk(python, suspended->top, &found);
    if (status == PSC_OK)
        status = find_anchors(python, tstate, suspended->cframe, &found);
    frame_set_moved(python, (struct py_moved){0});
    if (status == PSC_OK && found.count > PSC_PYTHON_FRAME_LIMIT - stack->count)
        return PSC_OK;
    if (status == PSC_OK)
        status = take_anchors(&found, &suspended->moved, stack);
    return status == PSC_OK ? take_frames(&found, stack) : status;
}
