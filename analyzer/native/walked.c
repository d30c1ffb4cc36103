/*
 * What was walked before is not walked again. From a frame on whose return address, stack pointer
 * and preserved registers are as they were, with the same bytes in all of the stack outside of it,
 * every step leads where it led: rows take nothing else from a caller, whose other registers are
 * lost in the call (System V ABI, AMD64 supplement, 3.2.1).
 */
#include "native_private.h"

#include <stdlib.h>
#include <string.h>

void native_walked_deinit(struct native_walked *walked)
{
    free(walked->frames);
    free(walked->bytes);
    *walked = (struct native_walked){0};
}

size_t native_walked_size(const struct native_walked *walked)
{
    return walked->capacity * sizeof(*walked->frames) + walked->byte_capacity;
}

/* ---- the bytes: those up to `high` stand at the end of the buffer ---- */

static uint8_t *kept_byte(const struct native_walked *walked, psc_addr address)
{
    return walked->bytes + walked->byte_capacity - (size_t)(walked->high - address);
}

/* The first of a page, or of what is kept. */
static psc_addr begin_of_piece(psc_addr end, psc_addr low)
{
    psc_addr start = (end - 1) & ~(NATIVE_PAGE - 1);
    return start > low ? start : low;
}

/* Behind the last word that is another one now; `start` where all are the same. */
static psc_addr end_of_changes(const uint8_t *known, const uint8_t *now, psc_addr start,
                               psc_addr end)
{
    size_t size = (size_t)(end - start);
    if (!memcmp(known, now, size))
        return start;
    while (size >= 8 && load_u64(known + size - 8) == load_u64(now + size - 8))
        size -= 8;
    return start + size;
}

void walked_compare(struct native *native, struct native_walked *walked, psc_addr sp)
{
    walked->same_from = walked->high;
    psc_addr low = sp > walked->low ? sp & ~(psc_addr)7 : walked->low;
    while (walked->count && walked->same_from > low) {
        psc_addr end = walked->same_from, start = begin_of_piece(end, low);
        const uint8_t *now = target_peek(native->target, start, (size_t)(end - start));
        walked->same_from = now ? end_of_changes(kept_byte(walked, start), now, start, end) : end;
        if (walked->same_from > start)
            break;
    }
}

static bool reserve_bytes(struct native_walked *walked, size_t size)
{
    if (size <= walked->byte_capacity)
        return true;
    size_t capacity = size + size / 4, used = (size_t)(walked->high - walked->same_from);
    uint8_t *bytes = malloc(capacity);
    if (!bytes)
        return false;
    if (used)
        memcpy(bytes + capacity - used, kept_byte(walked, walked->same_from), used);
    free(walked->bytes);
    walked->bytes = bytes;
    walked->byte_capacity = capacity;
    return true;
}

/* Those below what is the same. */
static bool keep_bytes(struct native *native, struct native_walked *walked, psc_addr low)
{
    if (walked->high - low > WALKED_STACK_LIMIT ||
        !reserve_bytes(walked, (size_t)(walked->high - low)))
        return false;
    for (psc_addr end = walked->same_from, start; end > low; end = start) {
        start = begin_of_piece(end, low);
        const uint8_t *now = target_peek(native->target, start, (size_t)(end - start));
        if (!now)
            return false;
        memcpy(kept_byte(walked, start), now, (size_t)(end - start));
    }
    walked->low = low;
    return true;
}

/* ---- the frames ---- */

static bool are_saved_same(const struct native_saved *one, const struct native_saved *other)
{
    for (size_t i = 0; i < TARGET_SAVED_LIMIT; i++)
        if ((one->known >> i & 1) && one->value[i] != other->value[i])
            return false;
    return one->known == other->known;
}

static bool add_fresh(struct native_walked *walked, const struct native_saved *saved)
{
    void *fresh = walked->fresh;
    if (!array_reserve(&fresh, &walked->fresh_capacity, walked->fresh_count + 1, sizeof(*saved)))
        return false;
    walked->fresh = fresh;
    walked->fresh[walked->fresh_count++] = *saved;
    return true;
}

enum psc_status walked_find(struct native_walked *walked, const struct native_frame *frame,
                            const struct native_saved *saved, size_t *ret_outside)
{
    size_t at = walked->count;
    *ret_outside = SIZE_MAX;
    if (!add_fresh(walked, saved))
        return PSC_ERR_MEMORY;
    if (frame->sp < walked->same_from || frame->exact)
        return PSC_OK;
    while (at && walked->frames[at - 1].frame.sp < frame->sp)
        at--;
    const struct walked_frame *known = at ? &walked->frames[at - 1] : NULL;
    if (!known || known->frame.sp != frame->sp || known->frame.pc != frame->pc ||
        known->frame.trust != frame->trust || known->frame.skipped != frame->skipped ||
        !are_saved_same(&known->saved, saved))
        return PSC_OK;
    walked->count = at;
    walked->fresh_count--;
    *ret_outside = at - 1;
    return PSC_OK;
}

enum psc_status walked_take(const struct native_walked *walked, struct native_stack *stack)
{
    size_t outside = walked->count - 1;
    void *frames = stack->frames;
    if (!array_reserve(&frames, &stack->capacity, stack->count + outside, sizeof(*stack->frames)))
        return PSC_ERR_MEMORY;
    stack->frames = frames;
    // The one that was found is the last one of the stack.
    stack->frames[stack->count - 1] = walked->frames[outside].frame;
    while (outside)
        stack->frames[stack->count++] = walked->frames[--outside].frame;
    stack->known_outer = walked->count;
    return PSC_OK;
}

/* Whether the step to this frame was one by a row, up one stack. */
static bool is_plain(const struct native_frame *inner, const struct native_frame *frame)
{
    return frame->trust == NATIVE_TRUST_CFI && !frame->exact && !inner->signal &&
           inner->cfa == frame->sp && frame->sp > inner->sp;
}

static bool keep_frames(struct native_walked *walked, const struct native_stack *stack)
{
    void *frames = walked->frames;
    if (!array_reserve(&frames, &walked->capacity, stack->count, sizeof(*walked->frames)))
        return false;
    walked->frames = frames;
    for (size_t i = stack->count - walked->count; i-- > 0;) {
        bool outermost = i + 1 == stack->count;
        if (i >= walked->fresh_count || stack->frames[i].signal || stack->frames[i].exact ||
            (!outermost && !is_plain(&stack->frames[i], &stack->frames[i + 1])))
            break;
        walked->frames[walked->count++] =
            (struct walked_frame){.frame = stack->frames[i], .saved = walked->fresh[i]};
    }
    return walked->count != 0;
}

void walked_keep(struct native *native, struct native_walked *walked,
                 const struct native_stack *stack)
{
    bool whole = stack->count && stack->end == NATIVE_END_COMPLETE && !stack->lacks;
    bool fits = stack->count <= WALKED_FRAME_LIMIT;
    if (!stack->known_outer)
        walked->count = 0;
    if (!walked->count && whole) {
        const struct native_frame *last = &stack->frames[stack->count - 1];
        walked->high = walked->same_from = last->cfa > last->sp ? last->cfa : last->sp;
    }
    bool kept = whole && fits && keep_frames(walked, stack) &&
                keep_bytes(native, walked, walked->frames[walked->count - 1].frame.sp);
    free(walked->fresh);
    walked->fresh = NULL;
    walked->fresh_count = walked->fresh_capacity = 0;
    if (!kept)
        native_walked_deinit(walked);
}
