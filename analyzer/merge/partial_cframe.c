/*
 * A thread that was stopped while its innermost evaluator was being entered. CPython 3.11 and 3.12
 * publish the new CFrame some instructions before they fill it in (_PyEval_EvalFrameDefault;
 * compilers move the stores): until then its `previous` is whatever the C stack held there, and the
 * list of CFrames cannot be followed. The next evaluator's own CFrame lies in its native frame.
 */
#include "merge_private.h"

/* Searched for the next CFrame where nothing is known of the native stack. */
#define SEARCHED_STACK ((psc_addr)64 * 1024)

static bool has_anchor(const struct python_stack *stack, const struct native_frame *frame)
{
    for (size_t i = 0; i < stack->anchor_count; i++)
        if (stack->anchors[i].address >= frame->sp && stack->anchors[i].address < frame->cfa)
            return true;
    return false;
}

static void forget(struct python_stack *stack)
{
    stack->count = stack->anchor_count = 0;
    stack->end = PYTHON_END_COMPLETE;
    stack->partial_cframe = stack->cframe_list_end = 0;
}

/* Whether the stack begins at the first CFrame of the native frame. */
static bool begins_in(const struct python_stack *stack, psc_addr searched_from,
                      const struct native_frame *frame)
{
    return stack->anchor_count && frame->sp >= searched_from &&
           stack->anchors[0].address >= frame->sp && stack->anchors[0].address < frame->cfa;
}

static void take_stack(struct interpreter_stack *interpreter, struct python_stack *stack)
{
    python_stack_deinit(&interpreter->stack);
    interpreter->stack = *stack;
    *stack = (struct python_stack){0};
}

static enum psc_status choose(struct merged_stack *merged, struct interpreter_stack *interpreter,
                              struct python *python)
{
    struct python_stack *further = &interpreter->further;
    if (!merged->native.count) {
        if (interpreter->stack.cframe_list_end && further->anchor_count)
            take_stack(interpreter, further);
        return PSC_OK;
    }
    size_t innermost = evaluators_find_next(merged, 0);
    size_t next = innermost == SIZE_MAX ? SIZE_MAX : evaluators_find_next(merged, innermost + 1);
    if (next == SIZE_MAX) {
        // It runs nothing yet, and there is no other.
        if (interpreter->stack.cframe_list_end && merged->interpreter_count == 1 &&
            merged->native.end == NATIVE_END_COMPLETE)
            forget(&interpreter->stack);
        return PSC_OK;
    }
    const struct native_frame *frame = &merged->native.frames[next];
    if (!interpreter->stack.cframe_list_end && has_anchor(&interpreter->stack, frame))
        return PSC_OK;
    if (begins_in(further, interpreter->stack.partial_cframe + 8, frame)) {
        take_stack(interpreter, further);
        return PSC_OK;
    }
    struct python_stack stack = {0};
    enum psc_status status =
        python_walk_between(python, interpreter->thread, frame->sp, frame->cfa, &stack);
    if (status == PSC_OK)
        take_stack(interpreter, &stack);
    return status == PSC_ERR_NOT_FOUND ? PSC_OK : status;
}

enum psc_status merge_walk_further(struct interpreter_stack *interpreter, struct python *python)
{
    psc_addr low = interpreter->stack.partial_cframe + 8;
    if (!interpreter->stack.partial_cframe)
        return PSC_OK;
    enum psc_status status = python_walk_between(python, interpreter->thread, low,
                                                 low + SEARCHED_STACK, &interpreter->further);
    return status == PSC_ERR_NOT_FOUND ? PSC_OK : status;
}

enum psc_status merge_choose_partial_cframes(struct merged_stack *merged, struct python *python,
                                             struct target *target)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++) {
        struct interpreter_stack *interpreter = &merged->interpreters[i];
        if (interpreter->stack.partial_cframe)
            status = choose(merged, interpreter, python);
        if (interpreter->stack.cframe_list_end)
            target_warn(target, "python-anchors",
                        "Python thread 0x%llx: its CFrame list ends at 0x%llx",
                        (unsigned long long)interpreter->thread->tstate,
                        (unsigned long long)interpreter->stack.cframe_list_end);
    }
    return status;
}
