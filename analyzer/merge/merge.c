/*
 * The merge: where the evaluator stands on the native stack, the Python frames it runs.
 *
 * Joined by address: what an evaluator call leaves on the C stack (a shim, a CFrame, a slot with
 * its frame object) lies in exactly one native frame's [sp, cfa). Nothing is counted over the
 * whole stack, so an unwinder that lost frames costs only the place where it lost them.
 */
#include "trace_private.h"

#include <stdlib.h>
#include <string.h>

#define SIDE_LIMIT 256u /* Interpreters on one thread whose order is looked for. */

/* A run of Python frames that one evaluator call runs, newest first. */
struct segment {
    size_t side;
    size_t first;
    size_t count;
    size_t order;     /* As added: what stands first in its chain. */
    psc_addr address; /* On the C stack; 0 when only the order is known. */
    size_t native;    /* The evaluator; SIZE_MAX: no native frame holds the address. */
    size_t before;    /* Without one: the native frame before which the segment stands. */
};

struct segments {
    struct segment *items;
    size_t count;
    size_t capacity;
};

void plan_deinit(struct plan *plan)
{
    native_stack_deinit(&plan->native);
    free(plan->native_info);
    free(plan->delegations);
    for (size_t i = 0; i < plan->side_count; i++)
        python_stack_deinit(&plan->sides[i].stack);
    free(plan->sides);
    free(plan->items);
    *plan = (struct plan){0};
}

static struct segment *segments_add(struct segments *segments)
{
    if (!array_reserve((void **)&segments->items, &segments->capacity, segments->count + 1,
                       sizeof(*segments->items)))
        return NULL;
    struct segment *segment = &segments->items[segments->count];
    *segment = (struct segment){.order = segments->count++, .native = SIZE_MAX};
    return segment;
}

/*
 * The frame whose part of the stack holds an anchor. Where its caller was guessed, frames between
 * the two may be missing; what is of another module than the interpreter's is then no evaluator.
 */
static size_t find_evaluator(const struct plan *plan, const struct extents *extents,
                             psc_addr anchor)
{
    size_t at = extents_find(extents, anchor);
    if (at >= plan->native.count || at + 1 == plan->native.count ||
        plan->native.frames[at + 1].trust <= NATIVE_TRUST_CFI)
        return at;
    const struct address_info *info = plan->native_info[at];
    return info->module && !info->interpreter ? SIZE_MAX : at;
}

/* Joins of 3.11 and later: anchors partition the chain. */
static enum psc_status add_anchored(struct segments *segments, const struct plan *plan,
                                    const struct extents *extents, size_t side)
{
    const struct python_stack *stack = &plan->sides[side].stack;
    size_t done = 0;
    for (size_t i = 0; i < stack->anchor_count; i++) {
        const struct python_anchor *anchor = &stack->anchors[i];
        struct segment *segment = segments_add(segments);
        if (!segment)
            return PSC_ERR_MEMORY;
        // From where the last one ended: the shim itself stands between two runs. One without
        // frames may lie within the run of the one before; greenlets leave such.
        size_t end = anchor->first + anchor->count;
        segment->side = side;
        segment->first = done;
        segment->count = end > done ? end - done : 0;
        segment->address = anchor->address;
        segment->native = find_evaluator(plan, extents, anchor->address);
        done += segment->count;
    }
    if (done < stack->count) {
        struct segment *segment = segments_add(segments);
        if (!segment)
            return PSC_ERR_MEMORY;
        segment->side = side;
        segment->first = done;
        segment->count = stack->count - done;
    }
    return PSC_OK;
}

static enum psc_status add_run(struct segments *segments, size_t side, size_t first, size_t count,
                               size_t native)
{
    if (!count)
        return PSC_OK;
    struct segment *segment = segments_add(segments);
    if (!segment)
        return PSC_ERR_MEMORY;
    segment->side = side;
    segment->first = first;
    segment->count = count;
    segment->native = native;
    return PSC_OK;
}

/*
 * Joins up to 3.10: evaluators name their frame objects. Chain frames between two named ones have
 * no evaluator of their own (a generator that delegates to another): they belong to the evaluator
 * of the frame above them.
 */
static enum psc_status add_slotted(struct segments *segments, const struct plan *plan, size_t side,
                                   const struct slot_assignment *slots, size_t slot_count)
{
    const struct python_stack *stack = &plan->sides[side].stack;
    size_t done = 0, last_native = SIZE_MAX;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < slot_count; i++) {
        size_t at = slots[i].chain_index;
        size_t owner = last_native != SIZE_MAX ? last_native : slots[i].native;
        status = add_run(segments, side, done, at - done, owner);
        if (status == PSC_OK)
            status = add_run(segments, side, at, 1, slots[i].native);
        done = at + 1;
        last_native = slots[i].native;
    }
    if (status == PSC_OK)
        status = add_run(segments, side, done, stack->count - done, SIZE_MAX);
    return status;
}

/* Segments by their place on the native stack; those of one place keep their order. */
static size_t segment_key(const struct segment *segment)
{
    return segment->native != SIZE_MAX ? 2 * segment->native + 1 : 2 * segment->before;
}

size_t plan_next_evaluator(const struct plan *plan, size_t from)
{
    for (size_t i = from; i < plan->native.count; i++)
        if (address_is_evaluator(plan->native_info[i]))
            return i;
    return SIZE_MAX;
}

/*
 * Where segments without a native frame stand: by address where there is one, else (a damaged chain
 * does not reach its anchor) at the next evaluator; never before the segment ahead of them in
 * their chain.
 */
static void place_segments(struct segments *segments, const struct plan *plan,
                           const struct extents *extents)
{
    size_t lowest = 0, side = SIZE_MAX;
    for (size_t i = 0; i < segments->count; i++) {
        struct segment *segment = &segments->items[i];
        if (segment->side != side) {
            side = segment->side;
            lowest = 0;
        }
        if (segment->native != SIZE_MAX && segment_key(segment) < lowest)
            segment->native = SIZE_MAX;
        if (segment->native == SIZE_MAX && !segment->address)
            segment->native = plan_next_evaluator(plan, (lowest + 1) / 2);
        if (segment->native == SIZE_MAX) {
            segment->before =
                segment->address ? extents_next(extents, segment->address) : extents->stack->count;
            if (2 * segment->before < lowest)
                segment->before = (lowest + 1) / 2;
        }
        lowest = segment_key(segment);
    }
}

static int compare_segments(const void *left, const void *right)
{
    const struct segment *a = left, *b = right;
    size_t key_a = segment_key(a), key_b = segment_key(b);
    if (key_a != key_b)
        return key_a < key_b ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/*
 * Several interpreters on one thread: what lies further in on the C stack comes first, whichever of
 * them it is of; each one's own order is kept. Segments stand side by side.
 */
static enum psc_status order_segments(struct segments *segments, size_t side_count)
{
    if (side_count < 2 || side_count > SIDE_LIMIT)
        return PSC_OK;
    PSC_CLEANUP(cleanup_free) size_t *next = calloc(side_count, sizeof(*next));
    if (!next)
        return PSC_ERR_MEMORY;
    for (size_t i = segments->count; i-- > 0;)
        next[segments->items[i].side] = i;
    size_t last = SIZE_MAX;
    for (size_t order = 0; order < segments->count; order++) {
        size_t best = SIZE_MAX;
        for (size_t side = 0; side < side_count; side++) {
            size_t at = next[side];
            if (at >= segments->count || segments->items[at].side != side)
                continue;
            // Frames without an address follow those of their evaluator.
            if (!segments->items[at].address && side == last) {
                best = side;
                break;
            }
            if (best == SIZE_MAX ||
                segments->items[at].address < segments->items[next[best]].address)
                best = side;
        }
        if (best == SIZE_MAX)
            break;
        segments->items[next[best]++].order = order;
        last = best;
    }
    return PSC_OK;
}

/* ---- writing the plan ---- */

static struct plan_item *plan_add(struct plan *plan, enum plan_kind kind)
{
    if (!array_reserve((void **)&plan->items, &plan->capacity, plan->count + 1,
                       sizeof(*plan->items)))
        return NULL;
    struct plan_item *item = &plan->items[plan->count++];
    *item = (struct plan_item){.kind = kind};
    return item;
}

static bool plan_add_gap(struct plan *plan, const struct trace_location *gap)
{
    struct plan_item *item = gap ? plan_add(plan, PLAN_GAP) : NULL;
    if (item)
        item->is.gap = gap;
    return item != NULL;
}

static bool plan_add_segment(struct plan *plan, const struct segment *segment)
{
    const struct python_stack *stack = &plan->sides[segment->side].stack;
    for (size_t i = 0; i < segment->count; i++) {
        const struct python_frame *frame = &stack->frames[segment->first + i];
        if (frame->kind == PYTHON_FRAME_SHIM)
            continue;
        struct plan_item *item = plan_add(plan, PLAN_PYTHON);
        if (!item)
            return false;
        item->is.python = *frame;
    }
    return true;
}

static bool segment_shows(const struct plan *plan, const struct segment *segment)
{
    const struct python_stack *stack = &plan->sides[segment->side].stack;
    for (size_t i = 0; i < segment->count; i++)
        if (stack->frames[segment->first + i].kind != PYTHON_FRAME_SHIM)
            return true;
    return false;
}

static const struct trace_location *native_end_gap(const struct native_stack *stack,
                                                   struct symbolizer *symbolizer)
{
    unsigned long long address = stack->end_address;
    switch (stack->end) {
    case NATIVE_END_COMPLETE:
        return NULL;
    case NATIVE_END_NO_RULE:
        return symbolizer_gap(symbolizer, "no unwind rule at 0x%llx: the callers are not known",
                              address);
    case NATIVE_END_UNREADABLE:
        return symbolizer_gap(symbolizer,
                              "the stack at 0x%llx cannot be read: the callers are not "
                              "known",
                              address);
    case NATIVE_END_CYCLE:
        return symbolizer_gap(
            symbolizer, "the native stack turns back at 0x%llx: damaged, or not a stack", address);
    case NATIVE_END_LIMIT:
        return symbolizer_gap(symbolizer, "more than %u native frames: the rest is not shown",
                              PSC_NATIVE_FRAME_LIMIT);
    }
    return NULL;
}

static const struct trace_location *python_end_gap(const struct python_side *side,
                                                   struct symbolizer *symbolizer)
{
    unsigned long long address = side->stack.end_address;
    switch (side->stack.end) {
    case PYTHON_END_COMPLETE:
        return NULL;
    case PYTHON_END_UNREADABLE:
        return symbolizer_gap(symbolizer,
                              "the Python frame at 0x%llx cannot be read: its callers are not "
                              "known",
                              address);
    case PYTHON_END_CYCLE:
        return symbolizer_gap(symbolizer,
                              "the Python frames run in a circle through 0x%llx: damaged", address);
    case PYTHON_END_LIMIT:
        return symbolizer_gap(symbolizer, "more than %u Python frames: the rest is not shown",
                              PSC_PYTHON_FRAME_LIMIT);
    }
    return NULL;
}

static enum psc_status write_plan(struct plan *plan, const struct segments *segments,
                                  struct symbolizer *symbolizer)
{
    size_t next = 0;
    bool unwound = plan->native.count > 0;
    for (size_t i = 0; i <= plan->native.count; i++) {
        bool at_end = i == plan->native.count, gap_told = false;
        if (at_end && unwound && plan->native.end != NATIVE_END_COMPLETE) {
            if (!plan_add_gap(plan, native_end_gap(&plan->native, symbolizer)))
                return PSC_ERR_MEMORY;
            gap_told = true;
        }
        for (; next < segments->count && segments->items[next].native == SIZE_MAX &&
               segments->items[next].before == i;
             next++) {
            const struct segment *segment = &segments->items[next];
            if (unwound && !gap_told && segment_shows(plan, segment)) {
                if (!plan_add_gap(plan, symbolizer_gap(symbolizer,
                                                       "native frames that could not be "
                                                       "unwound; their Python frames follow")))
                    return PSC_ERR_MEMORY;
                gap_told = true;
            }
            if (!plan_add_segment(plan, segment))
                return PSC_ERR_MEMORY;
        }
        if (at_end)
            break;
        if (!gap_told && plan->native.frames[i].trust == NATIVE_TRUST_ANCHOR &&
            !plan_add_gap(plan,
                          symbolizer_gap(symbolizer, "native frames that could not be unwound")))
            return PSC_ERR_MEMORY;
        struct plan_item *item = plan_add(plan, PLAN_NATIVE);
        if (!item)
            return PSC_ERR_MEMORY;
        item->is.native = i;
        size_t at = plan->count - 1;
        for (; next < segments->count && segments->items[next].native == i; next++) {
            plan->items[at].evaluator = true;
            if (!plan_add_segment(plan, &segments->items[next]))
                return PSC_ERR_MEMORY;
        }
    }
    for (size_t i = 0; i < plan->side_count; i++) {
        const struct trace_location *gap = python_end_gap(&plan->sides[i], symbolizer);
        if (gap && !plan_add_gap(plan, gap))
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

enum psc_status merge_stacks(struct plan *plan, struct python *python, struct target *target,
                             struct symbolizer *symbolizer)
{
    struct segments segments = {0};
    struct extents extents;
    if (!extents_init(&extents, &plan->native))
        return PSC_ERR_MEMORY;
    struct slot_assignment **slots =
        calloc(plan->side_count ? plan->side_count : 1, sizeof(*slots));
    enum psc_status status = slots ? PSC_OK : PSC_ERR_MEMORY;
    bool by_slot = python && (python_get_join(python) == PYTHON_JOIN_SLOT ||
                              python_get_join(python) == PYTHON_JOIN_CFRAME_SLOT);
    bool ordered = true;
    if (status == PSC_OK && by_slot)
        status = merge_join_sides(plan, target, &ordered);
    for (size_t i = 0; status == PSC_OK && i < plan->side_count; i++) {
        if (by_slot) {
            size_t count = 0;
            status = merge_find_slots(plan, &plan->sides[i], python, target, &slots[i], &count);
            if (status == PSC_OK)
                status = add_slotted(&segments, plan, i, slots[i], count);
        } else {
            status = add_anchored(&segments, plan, &extents, i);
        }
    }
    if (status == PSC_OK && !by_slot)
        status = order_segments(&segments, plan->side_count);
    if (status == PSC_OK && !ordered && plan->side_count > 1)
        status = plan_add_gap(plan, symbolizer_gap(symbolizer,
                                                   "several interpreters on this thread; which "
                                                   "of them runs another is not known"))
                     ? PSC_OK
                     : PSC_ERR_MEMORY;
    if (status == PSC_OK) {
        place_segments(&segments, plan, &extents);
        if (segments.count)
            qsort(segments.items, segments.count, sizeof(*segments.items), compare_segments);
        status = write_plan(plan, &segments, symbolizer);
    }
    for (size_t i = 0; slots && i < plan->side_count; i++)
        free(slots[i]);
    free(slots);
    free(segments.items);
    extents_deinit(&extents);
    return status;
}
