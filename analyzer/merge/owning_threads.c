/*
 * Which thread runs the frames of a thread state. Mostly that whose thread_id it has; but an
 * interpreter made by one thread and run by another keeps the id of the first (CPython 3.8 to 3.12,
 * Modules/_xxsubinterpretersmodule.c). What its evaluators leave on the C stack tells.
 */
#include "merge_private.h"

#include <stdlib.h>

/* The thread on whose stack the address lies: that with the highest stack pointer below it. */
static size_t find_stack(struct merged_stack *const *stacks, size_t count,
                         const struct target *target, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    size_t best = SIZE_MAX;
    for (size_t i = 0; mapping && i < count; i++) {
        psc_addr sp = stacks[i]->sp;
        if (sp >= mapping->start && sp <= address && (best == SIZE_MAX || sp > stacks[best]->sp))
            best = i;
    }
    return best;
}

/* Up to 3.9 evaluators hold pointers to their frames. */
static bool holds_frame(const struct merged_stack *merged, struct target *target, psc_addr frame)
{
    for (size_t i = 0; i < merged->native.count; i++)
        if (address_is_evaluator(merged->native_info[i]) &&
            evaluators_points_to(&merged->native.frames[i], target, frame))
            return true;
    return false;
}

static size_t find_owning_thread(struct merged_stack *const *stacks, size_t count, size_t own,
                                 const struct python_stack *stack, struct target *target)
{
    if (stack->anchor_count) {
        size_t found = find_stack(stacks, count, target, stack->anchors[0].address);
        return found == SIZE_MAX ? own : found;
    }
    if (!stack->count || holds_frame(stacks[own], target, stack->frames[0].address))
        return own;
    for (size_t i = 0; i < count; i++)
        if (i != own && holds_frame(stacks[i], target, stack->frames[0].address))
            return i;
    return own;
}

static enum psc_status move_interpreter(struct merged_stack *from, size_t interpreter,
                                        struct merged_stack *to)
{
    enum psc_status status = merged_stack_add(to, &from->interpreters[interpreter]);
    if (status != PSC_OK)
        return status;
    for (size_t i = interpreter + 1; i < from->interpreter_count; i++)
        from->interpreters[i - 1] = from->interpreters[i];
    from->interpreter_count--;
    return PSC_OK;
}

static bool has_other_interpreter(struct merged_stack *const *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < stacks[i]->interpreter_count; s++)
            if (stacks[i]->interpreters[s].thread->interpreter_id > 0)
                return true;
    return false;
}

enum psc_status merge_find_owning_threads(struct merged_stack *const *stacks, size_t count,
                                          struct target *target)
{
    if (count < 2 || !has_other_interpreter(stacks, count))
        return PSC_OK;
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < stacks[i]->interpreter_count;) {
            const struct interpreter_stack *interpreter = &stacks[i]->interpreters[s];
            size_t owner = interpreter->thread->interpreter_id > 0
                               ? find_owning_thread(stacks, count, i, &interpreter->stack, target)
                               : i;
            enum psc_status status =
                owner == i ? PSC_OK : move_interpreter(stacks[i], s, stacks[owner]);
            if (status != PSC_OK)
                return status;
            s += owner == i;
        }
    return PSC_OK;
}
