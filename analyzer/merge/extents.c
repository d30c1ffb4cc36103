#include "merge_private.h"

#include <stdlib.h>

struct extent_key {
    psc_addr sp;
    size_t index;
};

static int compare_keys(const void *left, const void *right)
{
    const struct extent_key *a = left, *b = right;
    return a->sp != b->sp ? COMPARE(a->sp, b->sp) : COMPARE(a->index, b->index);
}

bool extents_init(struct extents *extents, const struct native_stack *stack)
{
    *extents = (struct extents){.stack = stack};
    bool rising = true;
    for (size_t i = 1; i < stack->count; i++)
        if (stack->frames[i].sp < stack->frames[i - 1].sp)
            rising = false;
    if (rising)
        return true;
    // A signal handler on its own stack: the frames lie on two stacks.
    struct extent_key *keys PSC_CLEANUP(cleanup_free) = calloc(stack->count, sizeof(*keys));
    extents->order = calloc(stack->count, sizeof(*extents->order));
    if (!keys || !extents->order) {
        extents_deinit(extents);
        return false;
    }
    for (size_t i = 0; i < stack->count; i++)
        keys[i] = (struct extent_key){stack->frames[i].sp, i};
    qsort(keys, stack->count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < stack->count; i++)
        extents->order[i] = keys[i].index;
    return true;
}

void extents_deinit(struct extents *extents)
{
    free(extents->order);
    extents->order = NULL;
}

static const struct native_frame *extent_at(const struct extents *extents, size_t rank)
{
    return &extents->stack->frames[extents->order ? extents->order[rank] : rank];
}

/* How many frames have sp <= address. */
static size_t extents_rank(const struct extents *extents, psc_addr address)
{
    return SORTED_COUNT(i, extents->stack->count, extent_at(extents, i)->sp <= address);
}

size_t extents_find(const struct extents *extents, psc_addr address)
{
    size_t rank = extents_rank(extents, address);
    if (!rank)
        return SIZE_MAX;
    const struct native_frame *frame = extent_at(extents, rank - 1);
    return address < frame->cfa ? (size_t)(frame - extents->stack->frames) : SIZE_MAX;
}

size_t extents_next(const struct extents *extents, psc_addr address)
{
    size_t rank = extents_rank(extents, address);
    if (rank >= extents->stack->count)
        return extents->stack->count;
    return (size_t)(extent_at(extents, rank) - extents->stack->frames);
}

size_t skips_find_next(const struct native_stack *stack, size_t from, size_t end)
{
    if (!stack->skips)
        return end;
    while (from < end && !stack->frames[from].skipped &&
           stack->frames[from].trust != NATIVE_TRUST_ANCHOR)
        from++;
    return from;
}
