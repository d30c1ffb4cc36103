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

struct side_place {
    size_t side;
    size_t native; /* The innermost native frame that points to the side's newest frame. */
};

static bool is_evaluator(const struct place *place)
{
    return place->interpreter && place->level_count &&
           place->levels[place->level_count - 1].function_class == FUNCTION_EVALUATOR;
}

static void note_words(const struct plan *plan, size_t native, struct target *target,
                       struct side_place *places)
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
        for (size_t w = 0; stack->count && places[s].native == SIZE_MAX && w < count; w++)
            if (words[w] == stack->frames[0].address)
                places[s].native = native;
    }
}

static int compare_places(const void *left, const void *right)
{
    const struct side_place *a = left, *b = right;
    if (a->native != b->native)
        return a->native < b->native ? -1 : 1;
    return a->side < b->side ? -1 : a->side > b->side;
}

/* The frames of all sides in one chain, which the first side gets; the others have none then. */
static enum psc_status join_chains(struct plan *plan, const struct side_place *places)
{
    size_t total = 0, at = 0;
    for (size_t s = 0; s < plan->side_count; s++)
        total += plan->sides[s].stack.count;
    struct python_frame *frames = calloc(total ? total : 1, sizeof(*frames));
    if (!frames)
        return PSC_ERR_MEMORY;
    for (size_t s = 0; s < plan->side_count; s++) {
        struct python_stack *stack = &plan->sides[places[s].side].stack;
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

enum psc_status merge_join_sides(struct plan *plan, struct target *target)
{
    struct side_place places[SIDE_LIMIT];
    if (plan->side_count < 2 || plan->side_count > SIDE_LIMIT || !plan->native.count)
        return PSC_OK;
    for (size_t s = 0; s < plan->side_count; s++)
        places[s] = (struct side_place){s, SIZE_MAX};
    for (size_t i = 0; i < plan->native.count; i++)
        if (is_evaluator(plan->native_places[i]))
            note_words(plan, i, target, places);
    qsort(places, plan->side_count, sizeof(*places), compare_places);
    return join_chains(plan, places);
}
