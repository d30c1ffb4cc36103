/*
 * Going on behind a part of the native stack that no rule covers (JIT code, perf trampolines,
 * a library without unwind tables, or whose file is gone): the distance from the object that an
 * evaluator call leaves on the C stack to the evaluator's CFA is constant for a binary, so the next
 * such object tells the CFA, and the evaluator's own rule the registers of its caller.
 */
#include "merge_private.h"

#include <stdlib.h>

#define BREAK_LIMIT 10000 /* Parts of one stack that no rule covers. */

void merge_learn_evaluator(struct evaluator_facts *facts, const struct merged_stack *merged)
{
    struct extents extents;
    if (facts->known || !merged->interpreter_count || !extents_init(&extents, &merged->native))
        return;
    for (size_t s = 0; s < merged->interpreter_count && !facts->known; s++) {
        const struct python_stack *stack = &merged->interpreters[s].stack;
        for (size_t i = 0; i < stack->anchor_count; i++) {
            size_t at = extents_find(&extents, stack->anchors[i].address);
            if (at == SIZE_MAX)
                continue;
            const struct native_frame *frame = &merged->native.frames[at];
            const struct address_info *info = merged->native_info[at];
            // The innermost frame may be in the evaluator's prologue, where other rules hold.
            if (frame->exact || frame->trust > NATIVE_TRUST_CFI || !info->interpreter)
                continue;
            facts->known = true;
            facts->pc = frame->pc;
            facts->cfa_minus_anchor = frame->cfa - stack->anchors[i].address;
            facts->cfa_minus_sp = frame->cfa - frame->sp;
            break;
        }
    }
    extents_deinit(&extents);
}

/* The lowest anchor at or above `top`; 0: none. */
static psc_addr next_anchor(const struct merged_stack *merged, psc_addr top)
{
    psc_addr best = 0;
    for (size_t s = 0; s < merged->interpreter_count; s++) {
        const struct python_stack *stack = &merged->interpreters[s].stack;
        for (size_t i = 0; i < stack->anchor_count; i++) {
            psc_addr address = stack->anchors[i].address;
            if (address >= top && (!best || address < best))
                best = address;
        }
    }
    return best;
}

/* Where a stack breaks: its end, or a guess that has passed over an evaluator. */
struct unwinding_break {
    size_t at; /* How many frames are further in. */
    psc_addr anchor;
};

/* The first one from frame `from` on; false when there is none that an anchor helps over. */
static bool find_break(const struct merged_stack *merged, size_t from, struct unwinding_break *ret)
{
    const struct native_stack *stack = &merged->native;
    for (size_t at = from; (at = skips_find_next(stack, at, stack->count)) < stack->count; at++) {
        // The frame further in has no rule, and so is no evaluator that the facts are about.
        psc_addr anchor = next_anchor(merged, stack->frames[at - 1].sp);
        if (anchor && anchor < stack->frames[at].sp) {
            *ret = (struct unwinding_break){at, anchor};
            return true;
        }
    }
    if (stack->end == NATIVE_END_COMPLETE || stack->end == NATIVE_END_LIMIT || !stack->count)
        return false;
    const struct native_frame *last = &stack->frames[stack->count - 1];
    *ret = (struct unwinding_break){
        stack->count, next_anchor(merged, last->cfa > last->sp ? last->cfa : last->sp)};
    return ret->anchor != 0;
}

/* The registers of the caller of an evaluator, by the anchor that it holds. */
static bool find_caller(const struct merged_stack *merged, struct native *native,
                        struct target *target, const struct evaluator_facts *facts, psc_addr anchor,
                        struct target_registers *ret)
{
    struct target_registers evaluator = merged->native.last;
    psc_addr cfa = anchor + facts->cfa_minus_anchor, found;
    evaluator.value[target->machine->pc] = facts->pc;
    evaluator.value[target->machine->sp] = cfa - facts->cfa_minus_sp;
    return native_step(native, &evaluator, false, ret, &found) == PSC_OK && found == cfa &&
           target_is_executable(target, target_pc(target, ret));
}

enum psc_status merge_continue_unwinding(struct merged_stack *merged, struct native *native,
                                         struct target *target, const struct evaluator_facts *facts)
{
    struct unwinding_break broken = {0};
    struct target_registers caller;
    for (size_t i = 0; i < BREAK_LIMIT && facts->known; i++) {
        if (!find_break(merged, broken.at + 1, &broken))
            return PSC_OK;
        if (!find_caller(merged, native, target, facts, broken.anchor, &caller)) {
            if (broken.at == merged->native.count)
                return PSC_OK;
            continue;
        }
        native_stack_cut(&merged->native, broken.at);
        size_t before = merged->native.count;
        enum psc_status status =
            native_walk_from(native, &caller, false, NATIVE_TRUST_ANCHOR, &merged->native);
        if (status != PSC_OK)
            return status;
        if (merged->native.count == before)
            return PSC_OK;
    }
    return PSC_OK;
}
