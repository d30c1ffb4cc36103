/*
 * The merge: where the evaluator stands on the native stack, the Python frames it runs.
 *
 * Joined by address: what an evaluator call leaves on the C stack (a shim, a CFrame, a slot with
 * its frame object) lies in exactly one native frame's [sp, cfa). Nothing is counted over the
 * whole stack, so an unwinder that lost frames costs only the place where it lost them.
 */
#include "extents.h"
#include "merge_private.h"

#include <stdlib.h>
#include <string.h>

/* A run of Python frames that one evaluator call runs, newest first. */
struct segment {
    size_t interpreter;
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

void merged_stack_deinit(struct merged_stack *merged)
{
    native_stack_deinit(&merged->native);
    free(merged->native_info);
    free(merged->awaiting);
    for (size_t i = 0; i < merged->interpreter_count; i++)
        python_stack_deinit(&merged->interpreters[i].stack);
    free(merged->interpreters);
    free(merged->items);
    *merged = (struct merged_stack){0};
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
static size_t find_evaluator(const struct merged_stack *merged, const struct extents *extents,
                             psc_addr anchor)
{
    size_t at = extents_find(extents, anchor);
    if (at >= merged->native.count || at + 1 == merged->native.count ||
        merged->native.frames[at + 1].trust <= NATIVE_TRUST_CFI)
        return at;
    const struct address_info *info = merged->native_info[at];
    return info->module && !info->interpreter ? SIZE_MAX : at;
}

/* Joins of 3.11 and later: anchors partition the chain. */
static enum psc_status add_anchored(struct segments *segments, const struct merged_stack *merged,
                                    const struct extents *extents, size_t interpreter)
{
    const struct python_stack *stack = &merged->interpreters[interpreter].stack;
    size_t done = 0;
    for (size_t i = 0; i < stack->anchor_count; i++) {
        const struct python_anchor *anchor = &stack->anchors[i];
        struct segment *segment = segments_add(segments);
        if (!segment)
            return PSC_ERR_MEMORY;
        // From where the last one ended: the shim itself stands between two runs. One without
        // frames may lie within the run of the one before; greenlets leave such.
        size_t end = anchor->first + anchor->count;
        segment->interpreter = interpreter;
        segment->first = done;
        segment->count = end > done ? end - done : 0;
        segment->address = anchor->address;
        segment->native = find_evaluator(merged, extents, anchor->address);
        done += segment->count;
    }
    if (done < stack->count) {
        struct segment *segment = segments_add(segments);
        if (!segment)
            return PSC_ERR_MEMORY;
        segment->interpreter = interpreter;
        segment->first = done;
        segment->count = stack->count - done;
    }
    return PSC_OK;
}

static enum psc_status add_run(struct segments *segments, size_t interpreter, size_t first,
                               size_t count, size_t native)
{
    if (!count)
        return PSC_OK;
    struct segment *segment = segments_add(segments);
    if (!segment)
        return PSC_ERR_MEMORY;
    segment->interpreter = interpreter;
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
static enum psc_status add_slotted(struct segments *segments, const struct merged_stack *merged,
                                   size_t interpreter, const struct slot_assignment *slots,
                                   size_t slot_count)
{
    const struct python_stack *stack = &merged->interpreters[interpreter].stack;
    size_t done = 0, last_native = SIZE_MAX;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i < slot_count; i++) {
        size_t at = slots[i].chain_index;
        size_t owner = last_native != SIZE_MAX ? last_native : slots[i].native;
        status = add_run(segments, interpreter, done, at - done, owner);
        if (status == PSC_OK)
            status = add_run(segments, interpreter, at, 1, slots[i].native);
        done = at + 1;
        last_native = slots[i].native;
    }
    if (status == PSC_OK)
        status = add_run(segments, interpreter, done, stack->count - done, SIZE_MAX);
    return status;
}

/* Segments by their place on the native stack; those of one place keep their order. */
static size_t segment_key(const struct segment *segment)
{
    return segment->native != SIZE_MAX ? 2 * segment->native + 1 : 2 * segment->before;
}

/*
 * Where segments without a native frame stand: by address where there is one, else (a damaged chain
 * does not reach its anchor) at the next evaluator; never before the segment ahead of them in
 * their chain.
 */
static void place_segments(struct segments *segments, const struct merged_stack *merged,
                           const struct extents *extents)
{
    size_t lowest = 0, interpreter = SIZE_MAX;
    for (size_t i = 0; i < segments->count; i++) {
        struct segment *segment = &segments->items[i];
        if (segment->interpreter != interpreter) {
            interpreter = segment->interpreter;
            lowest = 0;
        }
        if (segment->native != SIZE_MAX && segment_key(segment) < lowest)
            segment->native = SIZE_MAX;
        if (segment->native == SIZE_MAX && !segment->address)
            segment->native = evaluators_find_next(merged, (lowest + 1) / 2);
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
static enum psc_status order_segments(struct segments *segments, size_t interpreter_count)
{
    if (interpreter_count < 2 || interpreter_count > INTERPRETER_LIMIT)
        return PSC_OK;
    PSC_CLEANUP(cleanup_free) size_t *next = calloc(interpreter_count, sizeof(*next));
    if (!next)
        return PSC_ERR_MEMORY;
    for (size_t i = segments->count; i-- > 0;)
        next[segments->items[i].interpreter] = i;
    size_t last = SIZE_MAX;
    for (size_t order = 0; order < segments->count; order++) {
        size_t best = SIZE_MAX;
        for (size_t interpreter = 0; interpreter < interpreter_count; interpreter++) {
            size_t at = next[interpreter];
            if (at >= segments->count || segments->items[at].interpreter != interpreter)
                continue;
            // Frames without an address follow those of their evaluator.
            if (!segments->items[at].address && interpreter == last) {
                best = interpreter;
                break;
            }
            if (best == SIZE_MAX ||
                segments->items[at].address < segments->items[next[best]].address)
                best = interpreter;
        }
        if (best == SIZE_MAX)
            break;
        segments->items[next[best]++].order = order;
        last = best;
    }
    return PSC_OK;
}

/* ---- writing the plan ---- */

static struct merged_item *add_item(struct merged_stack *merged, enum merged_kind kind)
{
    if (!array_reserve((void **)&merged->items, &merged->capacity, merged->count + 1,
                       sizeof(*merged->items)))
        return NULL;
    struct merged_item *item = &merged->items[merged->count++];
    *item = (struct merged_item){.kind = kind};
    return item;
}

static bool add_gap(struct merged_stack *merged, const struct trace_location *gap)
{
    struct merged_item *item = gap ? add_item(merged, MERGED_GAP) : NULL;
    if (item)
        item->is.gap = gap;
    return item != NULL;
}

static bool add_segment(struct merged_stack *merged, const struct segment *segment)
{
    const struct python_stack *stack = &merged->interpreters[segment->interpreter].stack;
    for (size_t i = 0; i < segment->count; i++) {
        const struct python_frame *frame = &stack->frames[segment->first + i];
        if (frame->kind == PYTHON_FRAME_SHIM)
            continue;
        struct merged_item *item = add_item(merged, MERGED_PYTHON);
        if (!item)
            return false;
        item->is.python = *frame;
    }
    return true;
}

static bool segment_shows(const struct merged_stack *merged, const struct segment *segment)
{
    const struct python_stack *stack = &merged->interpreters[segment->interpreter].stack;
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

static const struct trace_location *python_end_gap(const struct interpreter_stack *interpreter,
                                                   struct symbolizer *symbolizer)
{
    unsigned long long address = interpreter->stack.end_address;
    switch (interpreter->stack.end) {
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

static enum psc_status write_items(struct merged_stack *merged, const struct segments *segments,
                                   struct symbolizer *symbolizer)
{
    size_t next = 0;
    bool unwound = merged->native.count > 0;
    for (size_t i = 0; i <= merged->native.count; i++) {
        bool at_end = i == merged->native.count, gap_told = false;
        if (at_end && unwound && merged->native.end != NATIVE_END_COMPLETE) {
            if (!add_gap(merged, native_end_gap(&merged->native, symbolizer)))
                return PSC_ERR_MEMORY;
            gap_told = true;
        }
        for (; next < segments->count && segments->items[next].native == SIZE_MAX &&
               segments->items[next].before == i;
             next++) {
            const struct segment *segment = &segments->items[next];
            if (unwound && !gap_told && segment_shows(merged, segment)) {
                if (!add_gap(merged,
                             symbolizer_gap(symbolizer, "native frames that could not be "
                                                        "unwound; their Python frames follow")))
                    return PSC_ERR_MEMORY;
                gap_told = true;
            }
            if (!add_segment(merged, segment))
                return PSC_ERR_MEMORY;
        }
        if (at_end)
            break;
        if (!gap_told && merged->native.frames[i].trust == NATIVE_TRUST_ANCHOR &&
            !add_gap(merged, symbolizer_gap(symbolizer, "native frames that could not be unwound")))
            return PSC_ERR_MEMORY;
        struct merged_item *item = add_item(merged, MERGED_NATIVE);
        if (!item)
            return PSC_ERR_MEMORY;
        item->is.native = i;
        size_t at = merged->count - 1;
        for (; next < segments->count && segments->items[next].native == i; next++) {
            merged->items[at].evaluator = true;
            if (!add_segment(merged, &segments->items[next]))
                return PSC_ERR_MEMORY;
        }
    }
    for (size_t i = 0; i < merged->interpreter_count; i++) {
        const struct trace_location *gap = python_end_gap(&merged->interpreters[i], symbolizer);
        if (gap && !add_gap(merged, gap))
            return PSC_ERR_MEMORY;
    }
    return PSC_OK;
}

enum psc_status merge_stacks(struct merged_stack *merged, struct python *python,
                             struct target *target, struct symbolizer *symbolizer)
{
    struct segments segments = {0};
    struct extents extents;
    if (!extents_init(&extents, &merged->native))
        return PSC_ERR_MEMORY;
    struct slot_assignment **slots =
        calloc(merged->interpreter_count ? merged->interpreter_count : 1, sizeof(*slots));
    enum psc_status status = slots ? PSC_OK : PSC_ERR_MEMORY;
    bool by_slot = python && (python_get_join(python) == PYTHON_JOIN_SLOT ||
                              python_get_join(python) == PYTHON_JOIN_CFRAME_SLOT);
    bool ordered = true;
    if (status == PSC_OK && by_slot)
        status = interpreters_join(merged, target, &ordered);
    for (size_t i = 0; status == PSC_OK && i < merged->interpreter_count; i++) {
        if (by_slot) {
            size_t count = 0;
            status =
                slots_find(merged, &merged->interpreters[i], python, target, &slots[i], &count);
            if (status == PSC_OK)
                status = add_slotted(&segments, merged, i, slots[i], count);
        } else {
            status = add_anchored(&segments, merged, &extents, i);
        }
    }
    if (status == PSC_OK && !by_slot)
        status = order_segments(&segments, merged->interpreter_count);
    if (status == PSC_OK && !ordered && merged->interpreter_count > 1)
        status =
            add_gap(merged, symbolizer_gap(symbolizer, "several interpreters on this thread; which "
                                                       "of them runs another is not known"))
                ? PSC_OK
                : PSC_ERR_MEMORY;
    if (status == PSC_OK) {
        place_segments(&segments, merged, &extents);
        if (segments.count)
            qsort(segments.items, segments.count, sizeof(*segments.items), compare_segments);
        status = write_items(merged, &segments, symbolizer);
    }
    for (size_t i = 0; slots && i < merged->interpreter_count; i++)
        free(slots[i]);
    free(slots);
    free(segments.items);
    extents_deinit(&extents);
    return status;
}
