/*
 * The outer part of a stack that was merged before. Which Python frames an evaluator runs follows
 * from its part of the stack and from the chain of frames; so with both as they were, from some
 * evaluator on outward, the frames of the last sample stand there again: only what is further in is
 * merged. After a Python frame nothing that is further in tells of the roles of what is outside.
 */
#include "sampling.h"

#include <stdlib.h>

/* Frames of one thread that are kept. */
#define OUTER_LIMIT ((size_t)16384)

void known_outer_forget(struct known_outer *outer)
{
    free(outer->frames);
    free(outer->trace);
    *outer = (struct known_outer){.counted = outer->counted};
}

size_t known_outer_size(const struct known_outer *outer)
{
    return outer->capacity * sizeof(*outer->frames) + outer->trace_capacity * sizeof(*outer->trace);
}

/* ---- what is as it was ---- */

static bool is_same(const struct python_frame *one, const struct python_frame *other)
{
    return one->address == other->address && one->code == other->code &&
           one->lasti == other->lasti && one->line == other->line && one->kind == other->kind &&
           one->generator == other->generator && one->compiled == other->compiled &&
           one->interpreter_id == other->interpreter_id;
}

/* Python frames, from the outermost on. */
static size_t count_same(const struct known_outer *outer, const struct python_stack *stack)
{
    size_t most = outer->count < stack->count ? outer->count : stack->count, same = 0;
    while (same < most &&
           is_same(&outer->frames[same].python, &stack->frames[stack->count - 1 - same]))
        same++;
    return same;
}

static bool is_simple(const struct merged_stack *merged)
{
    const struct native_stack *native = &merged->native;
    if (merged->interpreter_count != 1 || !native->count || native->lacks || native->skips ||
        native->end != NATIVE_END_COMPLETE)
        return false;
    const struct python_stack *stack = &merged->interpreters[0].stack;
    return stack->count && stack->end == PYTHON_END_COMPLETE && !stack->partial_cframe &&
           !stack->seam_count && !merged->interpreters[0].further.count;
}

/* Python frames [0, count) and native ones up to the evaluator of the last of them. */
static void cut(struct merged_stack *merged, size_t native_count, size_t count)
{
    struct python_stack *stack = &merged->interpreters[0].stack;
    merged->native.count = native_count;
    stack->count = count;
    while (stack->anchor_count && stack->anchors[stack->anchor_count - 1].first >= count)
        stack->anchor_count--;
    struct python_anchor *last =
        stack->anchor_count ? &stack->anchors[stack->anchor_count - 1] : NULL;
    if (last && last->first + last->count > count)
        last->count = count - last->first;
}

bool known_outer_cut(const struct known_outer *outer, struct merged_stack *merged,
                     struct outer_cut *ret)
{
    *ret = (struct outer_cut){0};
    if (!outer->count || !is_simple(merged))
        return false;
    const struct python_stack *stack = &merged->interpreters[0].stack;
    size_t same = count_same(outer, stack);
    for (; same; same--) {
        const struct outer_frame *frame = &outer->frames[same - 1];
        // The evaluator itself is merged again: its caller is as it was.
        // A generator at the end of a chain would say that it was cut elsewhere.
        if (frame->native && frame->native <= merged->native.known_outer + 1 &&
            frame->native <= merged->native.count && frame->python.kind == PYTHON_FRAME_CODE &&
            !frame->python.generator && !frame->python.compiled)
            break;
    }
    if (!same)
        return false;
    ret->same = same;
    ret->native_count = merged->native.count;
    ret->python_count = stack->count;
    cut(merged, merged->native.count - outer->frames[same - 1].native + 1, stack->count - same + 1);
    return true;
}

/* The last evaluator of the part that was merged runs the last Python frame of it. */
static bool ends_as_before(const struct known_outer *outer, const struct merged_stack *merged,
                           const struct trace_thread *thread, const struct outer_cut *at)
{
    size_t i = merged->count;
    if (!i || merged->items[i - 1].kind != MERGED_PYTHON || merged->awaiting)
        return false;
    while (i && merged->items[i - 1].kind == MERGED_PYTHON)
        i--;
    const struct merged_item *evaluator = i ? &merged->items[i - 1] : NULL;
    const struct trace_frame *last = &thread->frames[thread->frame_count - 1];
    const struct trace_frame *known = &outer->trace[outer->frames[at->same - 1].trace];
    return evaluator && evaluator->kind == MERGED_NATIVE && evaluator->evaluator &&
           evaluator->is.native + 1 == merged->native.count && last->location == known->location &&
           last->id == known->id && !last->has_pc && last->role == known->role &&
           last->hidden == known->hidden;
}

enum psc_status known_outer_take(const struct known_outer *outer, struct merged_stack *merged,
                                 struct trace_thread *thread, const struct outer_cut *at,
                                 bool *ret_taken)
{
    *ret_taken = thread->frame_count && ends_as_before(outer, merged, thread, at);
    size_t outside = outer->frames[at->same - 1].trace;
    thread->native_count += at->native_count - merged->native.count;
    merged->native.count = at->native_count;
    merged->interpreters[0].stack.count = at->python_count;
    if (!*ret_taken)
        return PSC_OK;
    struct trace_frame *frames =
        realloc(thread->frames, (thread->frame_count + outside) * sizeof(*frames));
    if (!frames)
        return PSC_ERR_MEMORY;
    thread->frames = frames;
    while (outside) {
        struct trace_frame *frame = &frames[thread->frame_count++];
        *frame = outer->trace[--outside];
        thread->python_count += frame->location->kind == TRACE_PYTHON && !frame->has_pc;
        if (frame->role == TRACE_ROLE_COLLECT)
            thread->state |= TRACE_STATE_COLLECTING;
    }
    return PSC_OK;
}

/* ---- what is kept ---- */

static bool keep_trace(struct known_outer *outer, const struct trace_thread *thread, size_t from)
{
    if (!array_reserve(&outer->trace, &outer->trace_capacity, thread->frame_count + 1,
                       sizeof(*outer->trace)))
        return false;
    outer->trace_count = from;
    for (size_t i = thread->frame_count - from; i-- > 0;)
        outer->trace[outer->trace_count++] = thread->frames[i];
    return true;
}

/* Where the Python frame stands in the trace, from the outermost frame `from` on. */
static bool find_in_trace(const struct known_outer *outer, psc_addr address, size_t *from)
{
    while (*from < outer->trace_count &&
           (outer->trace[*from].has_pc || outer->trace[*from].id != address))
        ++*from;
    return *from < outer->trace_count;
}

/*
 * Native items further in than `item`. The first one runs the frames [*first, end) if it is an
 * evaluator; what none runs stays without.
 */
static size_t pass_native(struct known_outer *outer, const struct merged_stack *merged, size_t item,
                          size_t *first, size_t end)
{
    for (; item && merged->items[item - 1].kind == MERGED_NATIVE; item--) {
        const struct merged_item *native = &merged->items[item - 1];
        for (; native->evaluator && *first < end; ++*first)
            outer->frames[*first].native = merged->native.count - native->is.native;
        *first = end;
    }
    return item;
}

/* From the outermost one on. Items [0, item) are of the frames that are not known yet. */
static bool keep_frames(struct known_outer *outer, const struct merged_stack *merged, size_t item)
{
    const struct python_stack *stack = &merged->interpreters[0].stack;
    size_t first = outer->count;
    size_t trace = first ? outer->frames[first - 1].trace + 1 : 0;
    if (!array_reserve(&outer->frames, &outer->capacity, stack->count, sizeof(*outer->frames)))
        return false;
    for (size_t i = stack->count - outer->count; i-- > 0;) {
        const struct python_frame *python = &stack->frames[i];
        outer->frames[outer->count] = (struct outer_frame){.python = *python};
        if (python->kind != PYTHON_FRAME_SHIM) {
            item = pass_native(outer, merged, item, &first, outer->count);
            if (!item || merged->items[item - 1].kind != MERGED_PYTHON ||
                merged->items[item - 1].is.python.address != python->address ||
                !find_in_trace(outer, python->address, &trace))
                return false;
            outer->frames[outer->count].trace = trace++;
            item--;
        }
        outer->count++;
    }
    (void)pass_native(outer, merged, item, &first, outer->count);
    return true;
}

void known_outer_keep(struct known_outer *outer, const struct merged_stack *merged,
                      const struct trace_thread *thread, const struct outer_cut *at)
{
    size_t item = merged->count;
    outer->count = at->same;
    size_t trace = at->same ? outer->frames[at->same - 1].trace : 0;
    outer->taken = at->same ? outer->frames[at->same - 1].native - 1 : 0;
    if (!is_simple(merged) || merged->awaiting || thread->frame_count > OUTER_LIMIT ||
        !keep_trace(outer, thread, trace)) {
        known_outer_forget(outer);
        return;
    }
    // The last one that was merged is known already.
    if (at->same)
        item--;
    if (!keep_frames(outer, merged, item))
        known_outer_forget(outer);
}
