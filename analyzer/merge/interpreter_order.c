/*
 * Several interpreters on one thread, up to CPython 3.10: where one runs the code of another the
 * chain of frames ends, and nothing says where it goes on. But evaluators hold pointers to their
 * frames, so the interpreter whose newest frame is found further in is the inner one; its
 * chain goes on with that of the next.
 */
#include "merge_private.h"

#include <stdlib.h>
#include <string.h>

/* The stack is searched in pieces of 4 KB, up to 64 MB. */
#define PIECE_LIMIT 16384u

size_t merged_stack_read_words(const struct merged_stack *merged, struct target *target,
                               psc_addr *at, uint64_t words[STACK_PIECE_WORDS])
{
    size_t size = STACK_PIECE_WORDS * sizeof(*words);
    *at = *at ? *at + size : merged->sp & ~UINT64_C(7);
    if (!merged->sp || *at >= merged->stack_end)
        return 0;
    if (merged->stack_end - *at < size)
        size = (size_t)(merged->stack_end - *at);
    return target_read_some(target, *at, words, size) / sizeof(*words);
}

struct interpreter_depth {
    size_t interpreter;
    uint64_t depth; /* How far out its evaluators are; UINT64_MAX: not known. */
};

static void note_words(const struct merged_stack *merged, size_t native, struct target *target,
                       struct interpreter_depth *depths)
{
    uint64_t words[EVALUATOR_WORD_LIMIT];
    size_t count = evaluators_read_words(&merged->native.frames[native], target, words);
    for (size_t s = 0; s < merged->interpreter_count; s++) {
        const struct python_stack *stack = &merged->interpreters[s].stack;
        for (size_t w = 0; stack->count && depths[s].depth == UINT64_MAX && w < count; w++)
            if (words[w] == stack->frames[0].address)
                depths[s].depth = native;
    }
}

static void note_outermost(const struct merged_stack *merged, uint64_t word, psc_addr address,
                           struct interpreter_depth *depths)
{
    for (size_t s = 0; s < merged->interpreter_count; s++) {
        const struct python_stack *stack = &merged->interpreters[s].stack;
        if (stack->count && word == stack->frames[stack->count - 1].address)
            depths[s].depth = address;
    }
}

/*
 * Without unwinding: the evaluator of an interpreter's outermost frame points to it, and nothing
 * further out does. Pointers further in may be left over from calls that have returned: the
 * outermost one counts.
 */
static void note_stack(const struct merged_stack *merged, struct target *target,
                       struct interpreter_depth *depths)
{
    uint64_t words[STACK_PIECE_WORDS];
    psc_addr at = 0;
    size_t count = STACK_PIECE_WORDS;
    for (size_t piece = 0; count == STACK_PIECE_WORDS && piece < PIECE_LIMIT; piece++) {
        count = merged_stack_read_words(merged, target, &at, words);
        for (size_t w = 0; w < count; w++)
            note_outermost(merged, words[w], at + 8 * w, depths);
    }
}

/* CPython 3.10 leaves a CFrame of each evaluator on the stack. */
static bool note_anchors(const struct merged_stack *merged, struct interpreter_depth *depths)
{
    for (size_t s = 0; s < merged->interpreter_count; s++) {
        const struct python_stack *stack = &merged->interpreters[s].stack;
        if (stack->count && !stack->anchor_count)
            return false;
        if (stack->count)
            depths[s].depth = stack->anchors[0].address;
    }
    return true;
}

static int compare_depths(const void *left, const void *right)
{
    const struct interpreter_depth *a = left, *b = right;
    return a->depth != b->depth ? COMPARE(a->depth, b->depth)
                                : COMPARE(a->interpreter, b->interpreter);
}

/* The frames of all interpreters in one chain, which the first one gets; the others have none. */
static enum psc_status join_chains(struct merged_stack *merged,
                                   const struct interpreter_depth *depths)
{
    size_t total = 0, at = 0;
    for (size_t s = 0; s < merged->interpreter_count; s++)
        total += merged->interpreters[s].stack.count;
    struct python_frame *frames = calloc(total ? total : 1, sizeof(*frames));
    if (!frames)
        return PSC_ERR_MEMORY;
    for (size_t s = 0; s < merged->interpreter_count; s++) {
        struct python_stack *stack = &merged->interpreters[depths[s].interpreter].stack;
        if (stack->count)
            memcpy(frames + at, stack->frames, stack->count * sizeof(*frames));
        at += stack->count;
        stack->count = 0;
    }
    struct python_stack *first = &merged->interpreters[0].stack;
    free(first->frames);
    first->frames = frames;
    first->capacity = total ? total : 1;
    first->count = total;
    return PSC_OK;
}

enum psc_status interpreters_join(struct merged_stack *merged, struct target *target,
                                  bool *ret_ordered)
{
    struct interpreter_depth depths[INTERPRETER_LIMIT];
    *ret_ordered = merged->interpreter_count < 2;
    if (merged->interpreter_count < 2 || merged->interpreter_count > INTERPRETER_LIMIT)
        return PSC_OK;
    for (size_t s = 0; s < merged->interpreter_count; s++)
        depths[s] = (struct interpreter_depth){s, UINT64_MAX};
    if (merged->native.count) {
        for (size_t i = 0; i < merged->native.count; i++)
            if (address_is_evaluator(merged->native_info[i]))
                note_words(merged, i, target, depths);
    } else if (!note_anchors(merged, depths)) {
        note_stack(merged, target, depths);
    }
    qsort(depths, merged->interpreter_count, sizeof(*depths), compare_depths);
    *ret_ordered = true;
    // A thread state that was made for a thread to be started is here as well, without frames.
    size_t unknown = 0, running = 0;
    for (size_t s = 0; s < merged->interpreter_count; s++) {
        bool runs = merged->interpreters[depths[s].interpreter].stack.count != 0;
        running += runs;
        unknown += runs && depths[s].depth == UINT64_MAX;
    }
    if (unknown && running > 1) {
        *ret_ordered = false;
        if (!merged->native.count)
            return PSC_OK;
    }
    return join_chains(merged, depths);
}
