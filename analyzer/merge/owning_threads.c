/*
 * Which thread runs the frames of a thread state. Mostly that whose thread_id it has; but an
 * interpreter made by one thread and run by another keeps the id of the first (CPython 3.8 to 3.12,
 * Modules/_xxsubinterpretersmodule.c). What its evaluators leave on the C stack tells.
 */
#include "merge_private.h"

#include <stdlib.h>

/* The stack is searched in pieces of 4 KB, up to 8 MB. */
#define PIECE_LIMIT 2048u
/* Frames that are looked for there. */
#define CHECKED_FRAMES ((size_t)64)

/*
 * The thread on whose stack the address lies: that with the highest stack pointer below it. Of
 * threads that were not stopped their mappings tell.
 */
static size_t find_stack(struct merged_stack *const *stacks, size_t count,
                         const struct target *target, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    size_t best = SIZE_MAX;
    for (size_t i = 0; mapping && i < count; i++) {
        psc_addr sp = stacks[i]->sp;
        if (sp >= mapping->start && sp <= address && (best == SIZE_MAX || sp > stacks[best]->sp))
            best = i;
        if (!sp && best == SIZE_MAX && stacks[i]->inside >= mapping->start &&
            stacks[i]->inside < mapping->end)
            best = i;
    }
    return best;
}

/* The outermost frames of a chain, up to CHECKED_FRAMES, of which pointers are looked for. */
static uint64_t note_frames(const struct python_stack *stack, const uint64_t *words, size_t count)
{
    uint64_t found = 0;
    size_t checked = stack->count < CHECKED_FRAMES ? stack->count : CHECKED_FRAMES;
    for (size_t w = 0; w < count; w++)
        for (size_t i = 0; i < checked; i++)
            if (words[w] == stack->frames[stack->count - 1 - i].address)
                found |= UINT64_C(1) << i;
    return found;
}

/*
 * Without unwinding: how many frames of a chain something on the thread's stack points to. Each
 * evaluator points to its own; other pointers to some of them may be left over anywhere.
 */
static unsigned count_held(const struct merged_stack *merged, struct target *target,
                           const struct python_stack *stack)
{
    uint64_t words[STACK_PIECE_WORDS], found = 0;
    psc_addr at = 0;
    size_t count = STACK_PIECE_WORDS;
    for (size_t piece = 0; count == STACK_PIECE_WORDS && piece < PIECE_LIMIT; piece++) {
        count = merged_stack_read_words(merged, target, &at, words);
        found |= note_frames(stack, words, count);
    }
    return (unsigned)__builtin_popcountll(found);
}

/* The thread that holds most of the frames; its own where several do. */
static size_t find_holder(struct merged_stack *const *stacks, size_t count, size_t own,
                          const struct python_stack *stack, struct target *target)
{
    unsigned most = 0;
    size_t best = own;
    for (size_t i = 0; i < count; i++) {
        unsigned held = count_held(stacks[i], target, stack);
        if (held == most)
            best = own;
        if (held > most) {
            most = held;
            best = i;
        }
    }
    return best;
}

/* Up to 3.9 evaluators hold pointers to their frames. */
static bool holds_frame(const struct merged_stack *merged, struct target *target, psc_addr frame)
{
    for (size_t i = 0; i < merged->native.count; i++)
        if (address_is_evaluator(merged->native_info[i]) &&
            evaluators_points_to(&merged->native.frames[i], target, frame))
            return true;
    return false;
}

static bool is_unwound(struct merged_stack *const *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (stacks[i]->native.count)
            return true;
    return false;
}

static size_t find_owning_thread(struct merged_stack *const *stacks, size_t count, size_t own,
                                 const struct python_stack *stack, struct target *target)
{
    if (stack->anchor_count) {
        size_t found = find_stack(stacks, count, target, stack->anchors[0].address);
        return found == SIZE_MAX ? own : found;
    }
    if (stack->count && !is_unwound(stacks, count))
        return find_holder(stacks, count, own, stack, target);
    if (!stack->count || holds_frame(stacks[own], target, stack->frames[0].address))
        return own;
    for (size_t i = 0; i < count; i++)
        if (i != own && holds_frame(stacks[i], target, stack->frames[0].address))
            return i;
    return own;
}

static enum psc_status move_interpreter(struct merged_stack *from, size_t interpreter,
                                        struct merged_stack *to)
{
    enum psc_status status = merged_stack_add(to, &from->interpreters[interpreter]);
    if (status != PSC_OK)
        return status;
    for (size_t i = interpreter + 1; i < from->interpreter_count; i++)
        from->interpreters[i - 1] = from->interpreters[i];
    from->interpreter_count--;
    return PSC_OK;
}

static bool has_other_interpreter(struct merged_stack *const *stacks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < stacks[i]->interpreter_count; s++)
            if (stacks[i]->interpreters[s].thread->interpreter_id > 0)
                return true;
    return false;
}

enum psc_status merge_find_owning_threads(struct merged_stack *const *stacks, size_t count,
                                          struct target *target)
{
    if (count < 2 || !has_other_interpreter(stacks, count))
        return PSC_OK;
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < stacks[i]->interpreter_count;) {
            const struct interpreter_stack *interpreter = &stacks[i]->interpreters[s];
            size_t owner = interpreter->thread->interpreter_id > 0
                               ? find_owning_thread(stacks, count, i, &interpreter->stack, target)
                               : i;
            enum psc_status status =
                owner == i ? PSC_OK : move_interpreter(stacks[i], s, stacks[owner]);
            if (status != PSC_OK)
                return status;
            s += owner == i;
        }
    return PSC_OK;
}
