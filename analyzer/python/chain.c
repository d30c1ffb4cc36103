#include "python_private.h"

#include <stdlib.h>

/* This many frames in a row whose code is something else: the chain has left the stack. */
#define FOREIGN_LIMIT 8u

/* A chain that runs into itself after `count` frames, `length` before its end. */
static void cut_cycle(struct python_stack *stack, size_t length)
{
    size_t first = 0;
    while (first + length < stack->count &&
           stack->frames[first].address != stack->frames[first + length].address)
        first++;
    stack->end = PYTHON_END_CYCLE;
    stack->end_address = stack->frames[first].address;
    if (first + length < stack->count)
        stack->count = first + length;
}

static bool is_foreign(struct python *python, const struct python_frame *frame)
{
    const struct py_code *code =
        frame->kind == PYTHON_FRAME_UNREADABLE ? code_find(python, frame->code) : NULL;
    return code && code->state == PY_CODE_OTHER;
}

enum psc_status chain_walk(struct python *python, psc_addr first, struct python_stack *ret)
{
    psc_addr address = first;
    struct py_cycle cycle = {0};
    size_t foreign = 0;

    ret->count = 0;
    ret->end = PYTHON_END_COMPLETE;
    ret->end_address = 0;
    while (address) {
        struct python_frame frame;
        psc_addr previous;
        if (py_cycle_met(&cycle, address)) {
            cut_cycle(ret, cycle.since);
            return PSC_OK;
        }
        if (ret->count >= PSC_PYTHON_FRAME_LIMIT) {
            ret->end = PYTHON_END_LIMIT;
            ret->end_address = address;
            return PSC_OK;
        }
        enum psc_status status = frame_read(python, address, &frame, &previous);
        if (status == PSC_ERR_MEMORY)
            return status;
        if (status != PSC_OK) {
            ret->end = PYTHON_END_UNREADABLE;
            ret->end_address = address;
            return PSC_OK;
        }
        foreign = is_foreign(python, &frame) ? foreign + 1 : 0;
        if (foreign == FOREIGN_LIMIT) {
            ret->count -= FOREIGN_LIMIT - 1;
            ret->end = PYTHON_END_UNREADABLE;
            ret->end_address = ret->frames[ret->count].address;
            return PSC_OK;
        }
        void *frames = ret->frames;
        if (!array_reserve(&frames, &ret->capacity, ret->count + 1, sizeof(frame)))
            return PSC_ERR_MEMORY;
        ret->frames = frames;
        ret->frames[ret->count++] = frame;
        address = previous;
    }
    return PSC_OK;
}

/* True when the chain holds the frame, or ends before that can be said. */
static bool may_contain(const struct python_stack *stack, psc_addr address)
{
    if (!address || stack->end != PYTHON_END_COMPLETE)
        return true;
    for (size_t i = 0; i < stack->count; i++)
        if (stack->frames[i].address == address)
            return true;
    return false;
}

/* The newest frame has run nothing, and its caller is not filled in. */
static bool is_being_entered(const struct python_stack *stack)
{
    return stack->end != PYTHON_END_COMPLETE && stack->count && stack->frames[0].lasti < 0;
}

/*
 * An evaluator links its CFrame in some instructions before it fills current_frame in
 * (CPython 3.11, _PyEval_EvalFrameDefault): what the newest says is believed when a frame
 * is there whose callers include the next older CFrame's frame. The same memory served the last
 * call, too: it may point to where the new frame is just being made.
 */
static enum psc_status walk_cframes(struct python *python, struct py_cframe *cframes, size_t count,
                                    const struct py_cframe *root, struct python_stack *ret)
{
    psc_addr newest = count ? cframes[0].current : root->current;
    psc_addr older = count > 1 ? cframes[1].current : root->current;
    enum psc_status status = chain_walk(python, newest, ret);
    if (status != PSC_OK || !count)
        return status;
    bool believed = ret->count && ret->frames[0].kind != PYTHON_FRAME_UNREADABLE &&
                    may_contain(ret, older) && !is_being_entered(ret);
    if (believed || (!older && newest && ret->count))
        return PSC_OK;
    cframes[0].current = 0;
    return chain_walk(python, older, ret);
}

static enum psc_status walk_from_cframes(struct python *python, const struct python_thread *thread,
                                         struct python_stack *ret)
{
    PSC_CLEANUP(cleanup_free) struct py_cframe *cframes = NULL;
    struct py_cframe root = {0};
    size_t count = 0;
    enum psc_status status = anchors_list_cframes(python, thread->tstate, &cframes, &count, &root);
    if (status != PSC_OK)
        return status;
    status = walk_cframes(python, cframes, count, &root, ret);
    if (status != PSC_OK)
        return status;
    if (python->layout.rules->join == PYTHON_JOIN_CFRAME)
        return anchors_from_cframes(cframes, count, ret);
    return anchors_from_shims(python, thread->tstate, ret);
}

static enum psc_status walk_frame_objects(struct python *python, const struct python_thread *thread,
                                          psc_addr first, struct python_stack *ret)
{
    PSC_CLEANUP(cleanup_free) struct py_cframe *cframes = NULL;
    struct py_cframe root = {0};
    size_t count = 0;
    enum psc_status status = chain_walk(python, first, ret);
    if (status != PSC_OK || python->layout.offset[PY_THREAD_CFRAME] == PY_NO_OFFSET)
        return status;
    status = anchors_list_cframes(python, thread->tstate, &cframes, &count, &root);
    return status == PSC_OK ? anchors_in_order(cframes, count, ret) : status;
}

enum psc_status python_walk(struct python *python, const struct python_thread *thread,
                            struct python_stack *ret)
{
    psc_addr first;
    enum py_top top = python->layout.rules->top;
    if (top == PY_TOP_CFRAME)
        return walk_from_cframes(python, thread, ret);
    enum psc_status status = py_read_u64(python, thread->tstate, PY_THREAD_FRAME, &first);
    if (status != PSC_OK) {
        ret->end = PYTHON_END_UNREADABLE;
        ret->end_address = thread->tstate;
        return PSC_OK;
    }
    if (top == PY_TOP_FRAME_OBJECT)
        return walk_frame_objects(python, thread, first, ret);
    status = chain_walk(python, first, ret);
    return status == PSC_OK ? anchors_from_shims(python, thread->tstate, ret) : status;
}

enum psc_status python_walk_from(struct python *python, psc_addr frame, struct python_stack *ret)
{
    return chain_walk(python, frame, ret);
}

void python_stack_deinit(struct python_stack *stack)
{
    free(stack->frames);
    free(stack->anchors);
    *stack = (struct python_stack){0};
}
