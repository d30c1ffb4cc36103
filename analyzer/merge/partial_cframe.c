/*
 * A thread that was stopped while its innermost evaluator was being entered. CPython 3.11 and 3.12
 * publish the new CFrame some instructions before they fill it in (_PyEval_EvalFrameDefault;
 * compilers move the stores): until then it holds what lay there on the C stack, and the list of
 * CFrames goes astray. The next evaluator's own CFrame lies in its native frame.
 */
#include "trace_private.h"

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
    stack->doubtful = stack->loose = 0;
}

static enum psc_status walk_again(struct plan *plan, struct python_side *side,
                                  struct python *python)
{
    struct python_stack stack = {0};
    psc_addr low = side->stack.doubtful + 8, high = low + SEARCHED_STACK;
    if (plan->native.count) {
        size_t innermost = plan_next_evaluator(plan, 0);
        size_t next = innermost == SIZE_MAX ? SIZE_MAX : plan_next_evaluator(plan, innermost + 1);
        if (next == SIZE_MAX) {
            // It runs nothing yet, and there is no other.
            if (side->stack.loose && plan->side_count == 1 &&
                plan->native.end == NATIVE_END_COMPLETE)
                forget(&side->stack);
            return PSC_OK;
        }
        const struct native_frame *frame = &plan->native.frames[next];
        if (!side->stack.loose && has_anchor(&side->stack, frame))
            return PSC_OK;
        low = frame->sp;
        high = frame->cfa;
    } else if (!side->stack.loose) {
        return PSC_OK;
    }
    enum psc_status status = python_walk_between(python, side->thread, low, high, &stack);
    if (status == PSC_OK) {
        python_stack_deinit(&side->stack);
        side->stack = stack;
    }
    return status == PSC_ERR_NOT_FOUND ? PSC_OK : status;
}

enum psc_status entering_walk_again(struct plan *plan, struct python *python, struct target *target)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < plan->side_count; i++) {
        struct python_side *side = &plan->sides[i];
        if (side->stack.doubtful)
            status = walk_again(plan, side, python);
        if (side->stack.loose)
            target_warn(
                target, "python-anchors", "Python thread 0x%llx: its CFrame list ends at 0x%llx",
                (unsigned long long)side->thread->tstate, (unsigned long long)side->stack.loose);
    }
    return status;
}
