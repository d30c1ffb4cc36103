/*
 * Which thread runs the frames of a thread state. Mostly that whose thread_id it has; but an
 * interpreter made by one thread and run by another keeps the id of the first (CPython 3.8 to 3.12,
 * Modules/_xxsubinterpretersmodule.c). What its evaluators leave on the C stack tells.
 */
#include "trace_private.h"

#include <stdlib.h>

/* The thread on whose stack the address lies: that with the highest stack pointer below it. */
static size_t find_stack(struct plan *const *plans, size_t count, const struct target *target,
                         psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    size_t best = SIZE_MAX;
    for (size_t i = 0; mapping && i < count; i++) {
        psc_addr sp = plans[i]->sp;
        if (sp >= mapping->start && sp <= address && (best == SIZE_MAX || sp > plans[best]->sp))
            best = i;
    }
    return best;
}

/* Up to 3.9 evaluators hold pointers to their frames. */
static bool holds_frame(const struct plan *plan, struct target *target, psc_addr frame)
{
    for (size_t i = 0; i < plan->native.count; i++)
        if (merge_points_to(plan, i, target, frame))
            return true;
    return false;
}

static size_t find_home(struct plan *const *plans, size_t count, size_t own,
                        const struct python_stack *stack, struct target *target)
{
    if (stack->anchor_count) {
        size_t found = find_stack(plans, count, target, stack->anchors[0].address);
        return found == SIZE_MAX ? own : found;
    }
    if (!stack->count || holds_frame(plans[own], target, stack->frames[0].address))
        return own;
    for (size_t i = 0; i < count; i++)
        if (i != own && holds_frame(plans[i], target, stack->frames[0].address))
            return i;
    return own;
}

static enum psc_status move_side(struct plan *from, size_t side, struct plan *to)
{
    struct python_side *sides = realloc(to->sides, (to->side_count + 1) * sizeof(*sides));
    if (!sides)
        return PSC_ERR_MEMORY;
    to->sides = sides;
    to->sides[to->side_count++] = from->sides[side];
    for (size_t i = side + 1; i < from->side_count; i++)
        from->sides[i - 1] = from->sides[i];
    from->side_count--;
    return PSC_OK;
}

static bool has_other_interpreter(struct plan *const *plans, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < plans[i]->side_count; s++)
            if (plans[i]->sides[s].thread->interpreter_id > 0)
                return true;
    return false;
}

enum psc_status merge_find_homes(struct plan *const *plans, size_t count, struct target *target)
{
    if (count < 2 || !has_other_interpreter(plans, count))
        return PSC_OK;
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < plans[i]->side_count;) {
            const struct python_side *side = &plans[i]->sides[s];
            size_t home = side->thread->interpreter_id > 0
                              ? find_home(plans, count, i, &side->stack, target)
                              : i;
            if (home == i)
                s++;
            else if (move_side(plans[i], s, plans[home]) != PSC_OK)
                return PSC_ERR_MEMORY;
        }
    return PSC_OK;
}
