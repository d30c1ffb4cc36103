/* Runs of Python frames: which evaluator runs each, and in which order they stand. */
#include "segments.h"

#include <stdlib.h>

void segments_deinit(struct segments *segments)
{
    free(segments->items);
    *segments = (struct segments){0};
}

static struct segment *segments_add(struct segments *segments)
{
    if (!array_reserve(&segments->items, &segments->capacity, segments->count + 1,
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
                             const struct python_stack *stack, size_t index)
{
    size_t at = extents_find(extents, stack->anchors[index].address);
    if (at >= merged->native.count || at + 1 == merged->native.count)
        return at;
    const struct native_frame *frames = merged->native.frames;
    const struct address_info *info = merged->native_info[at];
    if (frames[at + 1].skipped)
        // What an evaluator leaves lies in its own frame: the lowest is that of this one.
        return address_is_evaluator(info) &&
                       (!index || stack->anchors[index - 1].address < frames[at].sp)
                   ? at
                   : SIZE_MAX;
    if (frames[at + 1].trust <= NATIVE_TRUST_CFI)
        return at;
    return info->module && !info->interpreter ? SIZE_MAX : at;
}

/*
 * Frames whose evaluators were passed over between two native frames; false when none were, between
 * these.
 */
static bool were_skipped(const struct merged_stack *merged, size_t from, size_t end,
                         psc_addr *ret_address)
{
    size_t at = skips_find_next(&merged->native, from, end);
    if (at == end)
        return false;
    *ret_address = merged->native.frames[at].sp - 1;
    return true;
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

enum psc_status segments_add_anchored(struct segments *segments, const struct merged_stack *merged,
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
        segment->native = find_evaluator(merged, extents, stack, i);
        done += segment->count;
    }
    return done < stack->count ? add_run(segments, interpreter, done, stack->count - done, SIZE_MAX)
                               : PSC_OK;
}

/* Frames of an outer greenlet belong to no evaluator of the inner one. */
static size_t find_seam(const struct python_stack *stack, size_t first, size_t end)
{
    for (size_t i = 0; i < stack->seam_count; i++)
        if (stack->seams[i].first >= first && stack->seams[i].first < end)
            return stack->seams[i].first;
    return end;
}

/* Frames [first, end) of an interpreter that no evaluator names. */
struct apart_run {
    size_t interpreter;
    size_t first;
    size_t end;
    size_t native;
    psc_addr address;
};

static enum psc_status add_apart(struct segments *segments, const struct apart_run *run)
{
    size_t count = run->end - run->first;
    enum psc_status status = add_run(segments, run->interpreter, run->first, count, run->native);
    if (status == PSC_OK && count) {
        segments->items[segments->count - 1].address = run->address;
        segments->items[segments->count - 1].apart = true;
    }
    return status;
}

enum psc_status segments_add_slotted(struct segments *segments, const struct merged_stack *merged,
                                     size_t interpreter, const struct slot_assignments *slots)
{
    const struct python_stack *stack = &merged->interpreters[interpreter].stack;
    size_t done = 0, last_native = SIZE_MAX;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; status == PSC_OK && i <= slots->count; i++) {
        bool last = i == slots->count;
        size_t at = last ? stack->count : slots->items[i].chain_index;
        size_t seam = find_seam(stack, done, at);
        size_t native = last ? SIZE_MAX : slots->items[i].native;
        struct apart_run run = {interpreter, done, seam,
                                last || last_native == SIZE_MAX ? native : last_native, 0};
        bool skipped = were_skipped(merged, last_native == SIZE_MAX ? 0 : last_native + 1,
                                    last ? merged->native.count : native + 1, &run.address);
        if (skipped)
            run.native = SIZE_MAX;
        status = add_apart(segments, &run);
        run = (struct apart_run){interpreter, seam, at, skipped ? SIZE_MAX : native, run.address};
        if (status == PSC_OK)
            status = add_apart(segments, &run);
        if (status == PSC_OK && !last)
            status = add_run(segments, interpreter, at, 1, native);
        done = at + 1;
        last_native = native;
    }
    return status;
}

/* Where a segment stands on the native stack; those that stand together keep their order. */
static size_t segment_key(const struct segment *segment)
{
    return segment->native != SIZE_MAX ? 2 * segment->native + 1 : 2 * segment->before;
}

/* Behind the segments from `first` on that are compiled, and of one interpreter. */
static size_t compiled_run_end(const struct segments *segments, size_t first)
{
    size_t end = first + 1;
    while (end < segments->count && segments->items[end].compiled &&
           segments->items[end].interpreter == segments->items[first].interpreter)
        end++;
    return end;
}

/* The native frame of the next segment of an interpreter that has one, which stands from `from` on;
   the end of the native frames if none has. */
static size_t next_native(const struct segment_places *places, size_t segment, size_t interpreter,
                          size_t from)
{
    const struct segments *segments = places->segments;
    for (; segment < segments->count && segments->items[segment].interpreter == interpreter;
         segment++)
        if (segments->items[segment].native != SIZE_MAX && segments->items[segment].native >= from)
            return segments->items[segment].native;
    return places->extents->stack->count;
}

/*
 * Where segments without a native frame stand: by address where there is one, else (a damaged chain
 * does not reach its anchor) at the next evaluator; never before the segment ahead of them in
 * their chain.
 */
static bool place_segments(const struct segment_places *places)
{
    struct segments *segments = places->segments;
    const struct merged_stack *merged = places->merged;
    const struct extents *extents = places->extents;
    size_t lowest = 0, interpreter = SIZE_MAX;
    for (size_t i = 0; i < segments->count; i++) {
        struct segment *segment = &segments->items[i];
        if (segment->interpreter != interpreter) {
            interpreter = segment->interpreter;
            lowest = 0;
        }
        if (segment->compiled) {
            size_t end = compiled_run_end(segments, i);
            if (!compiled_frames_place(places, i, end, (lowest + 1) / 2,
                                       next_native(places, end, interpreter, (lowest + 1) / 2)))
                return false;
            i = end - 1;
            lowest = segment_key(&segments->items[i]);
            continue;
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
    return true;
}

static int compare_segments(const void *left, const void *right)
{
    const struct segment *a = left, *b = right;
    size_t key_a = segment_key(a), key_b = segment_key(b);
    return key_a != key_b ? COMPARE(key_a, key_b) : COMPARE(a->order, b->order);
}

enum psc_status segments_order_interpreters(struct segments *segments, size_t interpreter_count)
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

enum psc_status segments_sort(const struct segment_places *places)
{
    struct segments *segments = places->segments;
    if (!place_segments(places))
        return PSC_ERR_MEMORY;
    if (segments->count)
        qsort(segments->items, segments->count, sizeof(*segments->items), compare_segments);
    return PSC_OK;
}
