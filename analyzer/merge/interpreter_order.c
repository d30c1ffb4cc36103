/*
 * Several interpreters on one thread, up to CPython 3.10: where one runs the code of another the
 * chain of frames ends, and nothing says where it goes on. But evaluators hold pointers to their
 * frames, so the interpreter whose newest frame is found further in is the inner one; its
 * chain goes on with that of the next.
 */
#include "trace_private.h"

#include <stdlib.h>
#include <string.h>

#define SIDE_LIMIT       256u
#define FRAME_WORD_LIMIT 512u

#define PIECE_WORDS 512u
#define PIECE_LIMIT 16384u /* 64 MB of stack. */

struct side_place {
    size_t side;
    uint64_t info; /* How far out its evaluators are; UINT64_MAX: not known. */
};

bool merge_points_to(const struct plan *plan, size_t native, struct target *target,
                     psc_addr address)
{
    const struct native_frame *frame = &plan->native.frames[native];
    uint64_t words[FRAME_WORD_LIMIT];
    if (!address_is_evaluator(plan->native_info[native]) || frame->cfa <= frame->sp ||
        frame->cfa - frame->sp > sizeof(words))
        return false;
    size_t count = (size_t)(frame->cfa - frame->sp) / 8;
    if (target_read(target, frame->sp, words, 8 * count) != PSC_OK)
        return false;
    for (size_t w = 0; w < count; w++)
        if (words[w] == address)
            return true;
    return false;
}

static void note_words(const struct plan *plan, size_t native, struct target *target,
                       struct side_place *symbolizer)
{
    const struct native_frame *frame = &plan->native.frames[native];
    uint64_t words[FRAME_WORD_LIMIT];
    if (frame->cfa <= frame->sp || frame->cfa - frame->sp > sizeof(words))
        return;
    size_t count = (size_t)(frame->cfa - frame->sp) / 8;
    if (target_read(target, frame->sp, words, 8 * count) != PSC_OK)
        return;
    for (size_t s = 0; s < plan->side_count; s++) {
        const struct python_stack *stack = &plan->sides[s].stack;
        for (size_t w = 0; stack->count && symbolizer[s].info == UINT64_MAX && w < count; w++)
            if (words[w] == stack->frames[0].address)
                symbolizer[s].info = native;
    }
}

/*
 * Without unwinding: the evaluator of a side's outermost frame points to it, and nothing further
 * out does. What calls left behind further in does not matter, so the outermost pointer counts.
 */
static void note_stack(const struct plan *plan, struct target *target,
                       struct side_place *symbolizer)
{
    uint64_t words[PIECE_WORDS];
    psc_addr at = plan->sp & ~UINT64_C(7);
    for (size_t piece = 0; at && piece < PIECE_LIMIT; piece++) {
        size_t count = target_read_some(target, at, words, sizeof(words)) / 8;
        for (size_t w = 0; w < count; w++)
            for (size_t s = 0; s < plan->side_count; s++) {
                const struct python_stack *stack = &plan->sides[s].stack;
                if (stack->count && words[w] == stack->frames[stack->count - 1].address)
                    symbolizer[s].info = at + 8 * w;
            }
        if (count < PIECE_WORDS)
            break;
        at += sizeof(words);
    }
}

/* 3.10 leaves an object of each evaluator on the stack. */
static bool note_anchors(const struct plan *plan, struct side_place *symbolizer)
{
    for (size_t s = 0; s < plan->side_count; s++) {
        const struct python_stack *stack = &plan->sides[s].stack;
        if (stack->count && !stack->anchor_count)
            return false;
        if (stack->count)
            symbolizer[s].info = stack->anchors[0].address;
    }
    return true;
}

static int compare_places(const void *left, const void *right)
{
    const struct side_place *a = left, *b = right;
    if (a->info != b->info)
        return a->info < b->info ? -1 : 1;
    return a->side < b->side ? -1 : a->side > b->side;
}

/* The frames of all sides in one chain, which the first side gets; the others have none then. */
static enum psc_status join_chains(struct plan *plan, const struct side_place *symbolizer)
{
    size_t total = 0, at = 0;
    for (size_t s = 0; s < plan->side_count; s++)
        total += plan->sides[s].stack.count;
    struct python_frame *frames = calloc(total ? total : 1, sizeof(*frames));
    if (!frames)
        return PSC_ERR_MEMORY;
    for (size_t s = 0; s < plan->side_count; s++) {
        struct python_stack *stack = &plan->sides[symbolizer[s].side].stack;
        if (stack->count)
            memcpy(frames + at, stack->frames, stack->count * sizeof(*frames));
        at += stack->count;
        stack->count = 0;
    }
    struct python_stack *first = &plan->sides[0].stack;
    free(first->frames);
    first->frames = frames;
    first->capacity = total ? total : 1;
    first->count = total;
    return PSC_OK;
}

enum psc_status merge_join_sides(struct plan *plan, struct target *target, bool *ret_ordered)
{
    struct side_place symbolizer[SIDE_LIMIT];
    *ret_ordered = plan->side_count < 2;
    if (plan->side_count < 2 || plan->side_count > SIDE_LIMIT)
        return PSC_OK;
    for (size_t s = 0; s < plan->side_count; s++)
        symbolizer[s] = (struct side_place){s, UINT64_MAX};
    if (plan->native.count) {
        for (size_t i = 0; i < plan->native.count; i++)
            if (address_is_evaluator(plan->native_info[i]))
                note_words(plan, i, target, symbolizer);
    } else if (!note_anchors(plan, symbolizer)) {
        note_stack(plan, target, symbolizer);
    }
    qsort(symbolizer, plan->side_count, sizeof(*symbolizer), compare_places);
    *ret_ordered = true;
    // A thread state that was made for a thread to be started is here as well, without frames.
    size_t unknown = 0, running = 0;
    for (size_t s = 0; s < plan->side_count; s++) {
        bool runs = plan->sides[symbolizer[s].side].stack.count != 0;
        running += runs;
        unknown += runs && symbolizer[s].info == UINT64_MAX;
    }
    if (unknown && running > 1) {
        *ret_ordered = false;
        if (!plan->native.count)
            return PSC_OK;
    }
    return join_chains(plan, symbolizer);
}
