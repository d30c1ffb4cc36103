/*
 * Going on behind a part of the native stack that no rule covers (JIT code, perf trampolines,
 * a library without unwind tables): the distance from the object that an evaluator call leaves
 * on the C stack to the evaluator's CFA is constant for a binary, so the next such object tells
 * the CFA, and the evaluator's own rule the registers of its caller.
 */
#include "trace_private.h"

#include <stdlib.h>

#define RESUME_LIMIT 10000 /* Times one stack may break. */

void resume_learn(struct evaluator_facts *facts, const struct plan *plan)
{
    struct extents extents;
    if (facts->known || !plan->side_count || !extents_init(&extents, &plan->native))
        return;
    for (size_t s = 0; s < plan->side_count && !facts->known; s++) {
        const struct python_stack *stack = &plan->sides[s].stack;
        for (size_t i = 0; i < stack->anchor_count; i++) {
            size_t at = extents_find(&extents, stack->anchors[i].address);
            if (at == SIZE_MAX)
                continue;
            const struct native_frame *frame = &plan->native.frames[at];
            const struct address_info *info = plan->native_info[at];
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
static psc_addr next_anchor(const struct plan *plan)
{
    psc_addr top = 0, best = 0;
    if (plan->native.count) {
        const struct native_frame *last = &plan->native.frames[plan->native.count - 1];
        top = last->cfa > last->sp ? last->cfa : last->sp;
    }
    for (size_t s = 0; s < plan->side_count; s++) {
        const struct python_stack *stack = &plan->sides[s].stack;
        for (size_t i = 0; i < stack->anchor_count; i++) {
            psc_addr address = stack->anchors[i].address;
            if (address >= top && (!best || address < best))
                best = address;
        }
    }
    return best;
}

enum psc_status resume_native(struct plan *plan, struct native *native, struct target *target,
                              const struct evaluator_facts *facts)
{
    for (size_t i = 0; i < RESUME_LIMIT && facts->known; i++) {
        if (plan->native.end == NATIVE_END_COMPLETE || plan->native.end == NATIVE_END_LIMIT)
            return PSC_OK;
        psc_addr anchor = next_anchor(plan);
        if (!anchor)
            return PSC_OK;
        struct target_registers evaluator = plan->native.last, caller;
        psc_addr cfa = anchor + facts->cfa_minus_anchor, found;
        evaluator.value[X86_RIP] = facts->pc;
        evaluator.value[X86_RSP] = cfa - facts->cfa_minus_sp;
        if (native_step(native, &evaluator, false, &caller, &found) != PSC_OK || found != cfa ||
            !target_is_executable(target, caller.value[X86_RIP]))
            return PSC_OK;
        size_t before = plan->native.count;
        enum psc_status status =
            native_walk_from(native, &caller, false, NATIVE_TRUST_ANCHOR, &plan->native);
        if (status != PSC_OK)
            return status;
        if (plan->native.count == before)
            return PSC_OK;
    }
    return PSC_OK;
}
