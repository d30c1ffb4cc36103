/*
 * The merge: where the evaluator stands on the native stack, the Python frames it runs.
 *
 * Joined by address: what an evaluator call leaves on the C stack (a shim, a CFrame, a slot with
 * its frame object) lies in exactly one native frame's [sp, cfa). Nothing is counted over the
 * whole stack, so an unwinder that lost frames costs only what stands where it lost them.
 */
#include "segments.h"

#include <stdlib.h>

/* Up to 3.10: each interpreter's chain, after those of all were joined to one. */
static enum psc_status join_by_slot(struct segments *segments, struct merged_stack *merged,
                                    struct python *python, struct target *target,
                                    struct symbolizer *symbolizer)
{
    bool ordered;
    enum psc_status status = interpreters_join(merged, target, &ordered);
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++) {
        struct slot_assignments slots = {0};
        status = slots_find(merged, &merged->interpreters[i], python, target, &slots);
        if (status == PSC_OK)
            status = segments_add_slotted(segments, merged, i, &slots);
        free(slots.items);
    }
    if (status == PSC_OK && !ordered && merged->interpreter_count > 1 &&
        !merged_add_gap(merged,
                        symbolizer_gap(symbolizer, "several interpreters on this thread; which "
                                                   "of them runs another is not known")))
        return PSC_ERR_MEMORY;
    return status;
}

/* 3.11 and later. */
static enum psc_status join_by_anchor(struct segments *segments, const struct merged_stack *merged,
                                      const struct extents *extents)
{
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++)
        status = segments_add_anchored(segments, merged, extents, i);
    return status == PSC_OK ? segments_order_interpreters(segments, merged->interpreter_count)
                            : status;
}

static bool joins_by_slot(const struct python *python)
{
    return python && (python_get_join(python) == PYTHON_JOIN_SLOT ||
                      python_get_join(python) == PYTHON_JOIN_CFRAME_SLOT);
}

enum psc_status merge_stacks(struct merged_stack *merged, struct python *python,
                             struct target *target, struct symbolizer *symbolizer)
{
    struct segments segments PSC_CLEANUP(segments_deinit) = {0};
    struct extents extents PSC_CLEANUP(extents_deinit) = {0};
    if (!extents_init(&extents, &merged->native))
        return PSC_ERR_MEMORY;
    enum psc_status status = joins_by_slot(python)
                                 ? join_by_slot(&segments, merged, python, target, symbolizer)
                                 : join_by_anchor(&segments, merged, &extents);
    if (status != PSC_OK)
        return status;
    status = compiled_frames_split(&segments, merged);
    if (status == PSC_OK)
        status = segments_sort(&(struct segment_places){.segments = &segments,
                                                        .merged = merged,
                                                        .extents = &extents,
                                                        .python = python,
                                                        .target = target,
                                                        .symbolizer = symbolizer});
    if (status != PSC_OK)
        return status;
    return merged_add_frames(merged, &segments, symbolizer);
}
