/*
 * Going on behind a part of the native stack that no rule covers (JIT code, perf trampolines,
 * a library without unwind tables): the distance from the object that an evaluator call leaves
 * on the C stack to the evaluator's CFA is constant for a binary, so the next such object tells
 * the CFA, and the evaluator's own rule the registers of its caller.
 */
#include "extents.h"
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

/* The lowest anchor above the end of the native stack; 0: none. */
static psc_addr next_anchor(const struct merged_stack *merged)
{
    psc_addr top = 0, best = 0;
    if (merged->native.count) {
        const struct native_frame *last = &merged->native.frames[merged->native.count - 1];
        top = last->cfa > last->sp ? last->cfa : last->sp;
    }
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

enum psc_status merge_continue_unwinding(struct merged_stack *merged, struct native *native,
                                         struct target *target, const struct evaluator_facts *facts)
{
    for (size_t i = 0; i < BREAK_LIMIT && facts->known; i++) {
        if (merged->native.end == NATIVE_END_COMPLETE || merged->native.end == NATIVE_END_LIMIT)
            return PSC_OK;
        psc_addr anchor = next_anchor(merged);
        if (!anchor)
            return PSC_OK;
        struct target_registers evaluator = merged->native.last, caller;
        psc_addr cfa = anchor + facts->cfa_minus_anchor, found;
        evaluator.value[target->machine->pc] = facts->pc;
        evaluator.value[target->machine->sp] = cfa - facts->cfa_minus_sp;
        if (native_step(native, &evaluator, false, &caller, &found) != PSC_OK || found != cfa ||
            !target_is_executable(target, target_pc(target, &caller)))
            return PSC_OK;
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
