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

static enum psc_status walk_again(struct merged_stack *merged,
                                  struct interpreter_stack *interpreter, struct python *python)
{
    struct python_stack stack = {0};
    psc_addr low = interpreter->stack.partial_cframe + 8, high = low + SEARCHED_STACK;
    if (merged->native.count) {
        size_t innermost = evaluators_find_next(merged, 0);
        size_t next =
            innermost == SIZE_MAX ? SIZE_MAX : evaluators_find_next(merged, innermost + 1);
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
        low = frame->sp;
        high = frame->cfa;
    } else if (!interpreter->stack.cframe_list_end) {
        return PSC_OK;
    }
    enum psc_status status = python_walk_between(python, interpreter->thread, low, high, &stack);
    if (status == PSC_OK) {
        python_stack_deinit(&interpreter->stack);
        interpreter->stack = stack;
    }
    return status == PSC_ERR_NOT_FOUND ? PSC_OK : status;
}

enum psc_status merge_walk_partial_cframes(struct merged_stack *merged, struct python *python,
                                           struct target *target)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++) {
        struct interpreter_stack *interpreter = &merged->interpreters[i];
        if (interpreter->stack.partial_cframe)
            status = walk_again(merged, interpreter, python);
        if (interpreter->stack.cframe_list_end)
            target_warn(target, "python-anchors",
                        "Python thread 0x%llx: its CFrame list ends at 0x%llx",
                        (unsigned long long)interpreter->thread->tstate,
                        (unsigned long long)interpreter->stack.cframe_list_end);
    }
    return status;
}
