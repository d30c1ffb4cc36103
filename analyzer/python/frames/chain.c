#include "frames_private.h"

#include <stdlib.h>

/* This many frames in a row whose code is something else: the chain has left the stack. */
#define FOREIGN_LIMIT 8u

/* Bytes of a C stack that are searched for a CFrame, and its greatest distance to the next one. */
#define WALK_BETWEEN_LIMIT ((psc_addr)64 * 1024)
#define LARGEST_STACK      ((psc_addr)1024 * 1024 * 1024)

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
    bool alone = !python->frame_count;

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
        // Thousands of threads may have one deep stack.
        if (ret->count >= PSC_PYTHON_FRAME_LIMIT ||
            (++python->frame_count > PSC_PYTHON_FRAME_TOTAL && !alone &&
             ret->count >= PSC_PYTHON_FRAME_LEAST)) {
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
        frame.interpreter_id = ret->interpreter_id;
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
static enum psc_status walk_cframes(struct python *python, struct py_cframes *cframes,
                                    struct python_stack *ret)
{
    struct py_cframe *items = cframes->items;
    psc_addr newest = cframes->count ? items[0].current : cframes->root.current;
    psc_addr older = cframes->count > 1 ? items[1].current : cframes->root.current;
    enum psc_status status = chain_walk(python, newest, ret);
    if (status != PSC_OK || !cframes->count)
        return status;
    bool believed = ret->count && ret->frames[0].kind != PYTHON_FRAME_UNREADABLE &&
                    may_contain(ret, older) && !is_being_entered(ret);
    if (believed || (!older && newest && ret->count))
        return PSC_OK;
    ret->partial_cframe = items[0].address;
    items[0].current = 0;
    return chain_walk(python, older, ret);
}

/* What a CFrame and the shim of the same evaluator call (3.12) are apart at most. */
#define SHIM_DISTANCE 4096u

static bool is_stack_of(struct python *python, psc_addr cframe, const struct python_stack *stack)
{
    if (stack->end != PYTHON_END_COMPLETE || stack->partial_cframe || !stack->anchor_count ||
        stack->frames[0].kind == PYTHON_FRAME_UNREADABLE)
        return false;
    // The newest one may not be filled in, or belong to the last call that had this memory.
    psc_addr anchor = stack->anchors[0].address;
    return python->layout.rules->join == PYTHON_JOIN_CFRAME
               ? anchor == cframe
               : anchor > cframe && anchor - cframe < SHIM_DISTANCE;
}

static enum psc_status walk_and_anchor(struct python *python, const struct python_thread *thread,
                                       struct py_cframes *cframes, struct python_stack *ret)
{
    enum psc_status status = walk_cframes(python, cframes, ret);
    if (status != PSC_OK)
        return status;
    status = python->layout.rules->join == PYTHON_JOIN_CFRAME
                 ? anchors_from_cframes(cframes->items, cframes->count, ret)
                 : anchors_from_shims(python, thread->tstate, ret);
    if (cframes->count && !is_stack_of(python, cframes->items[0].address, ret))
        ret->partial_cframe = cframes->items[0].address;
    return status;
}

static enum psc_status walk_from_cframes(struct python *python, const struct python_thread *thread,
                                         struct python_stack *ret)
{
    PSC_CLEANUP(cframes_deinit) struct py_cframes cframes = {0};
    psc_addr first;
    if (py_read_u64(python, thread->tstate, PY_THREAD_CFRAME, &first) != PSC_OK) {
        ret->cframe_list_end = thread->tstate;
        return PSC_OK;
    }
    enum psc_status status = anchors_list_cframes(python, thread->tstate, first, &cframes);
    if (status == PSC_OK)
        status = walk_and_anchor(python, thread, &cframes, ret);
    if (!cframes.whole) {
        ret->partial_cframe = first;
        ret->cframe_list_end = cframes.end ? cframes.end : first;
    }
    return status;
}

/* Newer ones lie lower, and each points into the chain of frames further out than the one before.
 */
static bool is_list_of_stack(const struct py_cframes *cframes)
{
    for (size_t i = 1; i < cframes->count; i++)
        if (cframes->items[i].address <= cframes->items[i - 1].address)
            return false;
    return cframes->whole && cframes->count;
}

static enum psc_status walk_if_cframe(struct python *python, const struct python_thread *thread,
                                      psc_addr address, struct python_stack *ret)
{
    PSC_CLEANUP(cframes_deinit) struct py_cframes cframes = {0};
    ret->interpreter_id = thread->interpreter_id;
    enum psc_status status = anchors_list_cframes(python, thread->tstate, address, &cframes);
    if (status == PSC_OK && !is_list_of_stack(&cframes))
        status = PSC_ERR_NOT_FOUND;
    if (status == PSC_OK)
        status = walk_and_anchor(python, thread, &cframes, ret);
    if (status == PSC_OK && !is_stack_of(python, address, ret))
        status = PSC_ERR_NOT_FOUND;
    if (status != PSC_OK)
        python_stack_deinit(ret);
    return status;
}

enum psc_status python_walk_between(struct python *python, const struct python_thread *thread,
                                    psc_addr low, psc_addr high, struct python_stack *ret)
{
    psc_addr root = py_field_address(python, thread->tstate, PY_THREAD_ROOT_CFRAME);
    if (python->layout.rules->top != PY_TOP_CFRAME)
        return PSC_ERR_NOT_FOUND;
    low = (low + 7) & ~(psc_addr)7;
    for (psc_addr at = low; at < high && at - low < WALK_BETWEEN_LIMIT; at += 8) {
        psc_addr previous;
        if (py_read_u64(python, at, PY_CFRAME_PREVIOUS, &previous) != PSC_OK)
            return PSC_ERR_NOT_FOUND;
        if (previous != root && (previous <= at || previous - at > LARGEST_STACK))
            continue;
        enum psc_status status = walk_if_cframe(python, thread, at, ret);
        if (status != PSC_ERR_NOT_FOUND)
            return status;
    }
    return PSC_ERR_NOT_FOUND;
}

/* The frames need no CFrames, which only help to go on where the native stack breaks. */
static enum psc_status walk_frame_objects(struct python *python, const struct python_thread *thread,
                                          psc_addr first, struct python_stack *ret)
{
    PSC_CLEANUP(cframes_deinit) struct py_cframes cframes = {0};
    psc_addr newest;
    enum psc_status status = chain_walk(python, first, ret);
    if (status != PSC_OK || python->layout.offset[PY_THREAD_CFRAME] == PY_NO_OFFSET)
        return status;
    if (py_read_u64(python, thread->tstate, PY_THREAD_CFRAME, &newest) != PSC_OK)
        return PSC_OK;
    status = anchors_list_cframes(python, thread->tstate, newest, &cframes);
    if (status == PSC_OK && cframes.whole)
        status = anchors_in_order(cframes.items, cframes.count, ret);
    return status;
}

enum psc_status python_walk(struct python *python, const struct python_thread *thread,
                            struct python_stack *ret)
{
    psc_addr first;
    enum py_top top = python->layout.rules->top;
    ret->interpreter_id = thread->interpreter_id;
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
    free(stack->seams);
    *stack = (struct python_stack){0};
}
