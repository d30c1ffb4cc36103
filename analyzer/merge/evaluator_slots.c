/*
 * Up to CPython 3.10 the evaluator's native frame holds its PyFrameObject: in a spill slot, or
 * where it saved the register in which its caller kept it. So of the frame objects that its words
 * point to, its own is the newest that no evaluator further in has taken; older ones are its
 * callers'.
 */
#include "merge_private.h"

#include <stdlib.h>
#include <string.h>

/* A frame object of the chain. */
struct chain_frame {
    psc_addr address;
    size_t index; /* In the chain. */
};

struct slot_search {
    const struct merged_stack *merged;
    struct python_stack *stack;
    struct python *python;
    struct target *target;
    struct hash_table chain; /* struct chain_frame: those before `indexed`. */
    size_t indexed;
    psc_addr lowest; /* Of the addresses in `chain`. */
    psc_addr highest;
    psc_addr awaiting_frame; /* A frame of the chain that no evaluator runs; 0: none. */
    size_t *evaluators;      /* Native indices, innermost first. */
    size_t evaluator_count;
    uint64_t evaluator_size;              /* Of their native frames. */
    uint32_t taken[EVALUATOR_WORD_LIMIT]; /* How often each word held the evaluator's own frame. */
    struct slot_assignments *found;
};

/* Makes the frames known that the chain has gained. Of one that it has twice the first counts. */
static bool index_chain(struct slot_search *search)
{
    const struct python_stack *stack = search->stack;
    // Most words of a stack are no frames: a table with much room tells that soonest.
    if (!hash_table_reserve(&search->chain, 2 * stack->count))
        return false;
    for (; search->indexed < stack->count; search->indexed++) {
        psc_addr address = stack->frames[search->indexed].address;
        if (hash_table_find(&search->chain, address))
            continue;
        // There is room: NULL is for addresses that were made to collide.
        struct chain_frame *frame = hash_table_add(&search->chain, address);
        if (!frame)
            continue;
        frame->index = search->indexed;
        search->lowest = address < search->lowest || !search->lowest ? address : search->lowest;
        search->highest = address > search->highest ? address : search->highest;
    }
    return true;
}

/* The index in the chain of a frame object; SIZE_MAX: it is none of the chain's. */
static size_t find_in_chain(const struct slot_search *search, psc_addr address)
{
    if (address & 7 || address < search->lowest || address > search->highest)
        return SIZE_MAX;
    const struct chain_frame *frame = hash_table_find(&search->chain, address);
    return frame ? frame->index : SIZE_MAX;
}

/* The word that held an evaluator's own frame most often; SIZE_MAX before any did. */
static size_t best_slot(const struct slot_search *search)
{
    size_t best = SIZE_MAX;
    for (size_t w = 0; w < EVALUATOR_WORD_LIMIT; w++)
        if (search->taken[w] && (best == SIZE_MAX || search->taken[w] > search->taken[best]))
            best = w;
    return best;
}

static bool is_evaluator(const struct slot_search *search, size_t native, size_t slot)
{
    const struct address_info *info = search->merged->native_info[native];
    if (address_is_evaluator(info))
        return true;
    // The cold part of a stripped evaluator has no name, but the same frame and a frame object.
    const struct native_frame *frame = &search->merged->native.frames[native];
    psc_addr value;
    return info->interpreter && !info->symbol.name && slot != SIZE_MAX &&
           frame->cfa - frame->sp == search->evaluator_size &&
           target_read_pointer(search->target, frame->sp + 8 * slot, &value) == PSC_OK &&
           python_is_frame_object(search->python, value);
}

static bool list_evaluators(struct slot_search *search)
{
    size_t capacity = 0, slot = best_slot(search);
    free(search->evaluators);
    search->evaluators = NULL;
    search->evaluator_count = 0;
    for (size_t i = 0; i < search->merged->native.count; i++) {
        if (!is_evaluator(search, i, slot))
            continue;
        if (!array_reserve(&search->evaluators, &capacity, search->evaluator_count + 1,
                           sizeof(size_t)))
            return false;
        search->evaluators[search->evaluator_count++] = i;
    }
    if (search->evaluator_count) {
        // The outermost: it has called something, so its frame is complete.
        const struct native_frame *frame =
            &search->merged->native.frames[search->evaluators[search->evaluator_count - 1]];
        search->evaluator_size = frame->cfa - frame->sp;
    }
    return true;
}

static bool add_found(struct slot_search *search, size_t native, size_t chain_index)
{
    struct slot_assignments *found = search->found;
    if (!array_reserve(&found->items, &found->capacity, found->count + 1, sizeof(*found->items)))
        return false;
    found->items[found->count++] = (struct slot_assignment){native, chain_index};
    return true;
}

static bool is_unchained(const struct slot_search *search, psc_addr address)
{
    return find_in_chain(search, address) == SIZE_MAX &&
           python_is_frame_object(search->python, address);
}

/*
 * A frame that no chain reaches, in a word that held an evaluator's own frame before; 0: none.
 * Where there is none in such a word any word does, and the frame that calls most others is the
 * newest.
 */
static psc_addr find_unchained(struct slot_search *search, const uint64_t *words, size_t count)
{
    size_t best = SIZE_MAX, longest = 0;
    for (size_t w = 0; w < count; w++)
        if (search->taken[w] && (best == SIZE_MAX || search->taken[w] > search->taken[best]) &&
            is_unchained(search, words[w]))
            best = w;
    for (size_t w = 0, any = best == SIZE_MAX; any && w < count; w++) {
        struct python_stack callers = {0};
        if (is_unchained(search, words[w]) &&
            python_walk_from(search->python, words[w], &callers) == PSC_OK &&
            callers.count > longest) {
            best = w;
            longest = callers.count;
        }
        python_stack_deinit(&callers);
    }
    return best == SIZE_MAX ? 0 : words[best];
}

/* Goes on where the chain was cut, with the callers of a frame found on the native stack. */
static bool continue_chain(struct slot_search *search, psc_addr frame)
{
    struct python_stack *stack = search->stack;
    // The chain may be of several interpreters: it was cut in that of its last frame.
    struct python_stack tail = {.interpreter_id =
                                    stack->count ? stack->frames[stack->count - 1].interpreter_id
                                                 : stack->interpreter_id};
    bool fine = python_walk_from(search->python, frame, &tail) == PSC_OK &&
                array_reserve(&stack->frames, &stack->capacity, stack->count + tail.count,
                              sizeof(*stack->frames));
    for (size_t i = 0; fine && i < tail.count; i++) {
        if (find_in_chain(search, tail.frames[i].address) != SIZE_MAX)
            break;
        stack->frames[stack->count++] = tail.frames[i];
    }
    python_stack_deinit(&tail);
    return fine && index_chain(search);
}

/* The newest frame from `done` on that any word points to; SIZE_MAX when none does. */
static size_t find_newest(const struct slot_search *search, const uint64_t *words, size_t count,
                          size_t done)
{
    size_t newest = SIZE_MAX;
    for (size_t w = 0; w < count; w++) {
        size_t at = find_in_chain(search, words[w]);
        if (at != SIZE_MAX && !search->stack->frames[at].compiled && at >= done && at < newest &&
            words[w] != search->awaiting_frame)
            newest = at;
    }
    return newest;
}

/*
 * What the words of the evaluators from `first` on say of their frames: own[e] is an index into the
 * chain, rising; SIZE_MAX where they do not tell.
 * @return how many evaluators, the innermost apart, told theirs.
 */
static size_t read_own(struct slot_search *search, size_t first, size_t *own)
{
    size_t next = 0, told = 0;
    memset(search->taken, 0, sizeof(search->taken));
    for (size_t e = 0; e < first && e < search->evaluator_count; e++)
        own[e] = SIZE_MAX;
    for (size_t e = first; e < search->evaluator_count; e++) {
        const struct native_frame *frame = &search->merged->native.frames[search->evaluators[e]];
        uint64_t words[EVALUATOR_WORD_LIMIT];
        size_t count = evaluators_read_words(frame, search->target, words);
        own[e] = find_newest(search, words, count, next);
        if (own[e] == SIZE_MAX)
            continue;
        for (size_t w = 0; w < count; w++)
            search->taken[w] += words[w] == search->stack->frames[own[e]].address;
        next = own[e] + 1;
        told += e > 0;
    }
    return told;
}

static bool points_to(const struct slot_search *search, size_t e, psc_addr frame)
{
    return e < search->evaluator_count &&
           evaluators_points_to(&search->merged->native.frames[search->evaluators[e]],
                                search->target, frame);
}

/*
 * CPython 3.9 and early 3.10 cut the chain while an exception is thrown into a generator: what
 * follows is on the native stack only. Looked for in the evaluators outside of those that told
 * theirs; of which the innermost may point to its caller's. False without memory.
 */
static bool find_cut_off(struct slot_search *search, size_t *own)
{
    size_t e = search->evaluator_count, next = 0;
    while (e && own[e - 1] == SIZE_MAX)
        e--;
    if (e)
        next = own[e - 1] + 1;
    for (; e < search->evaluator_count; e++) {
        const struct native_frame *frame = &search->merged->native.frames[search->evaluators[e]];
        uint64_t words[EVALUATOR_WORD_LIMIT];
        size_t count = evaluators_read_words(frame, search->target, words);
        // What was found for an evaluator further in may have brought this one's with it.
        own[e] = find_newest(search, words, count, next);
        psc_addr unchained = own[e] == SIZE_MAX ? find_unchained(search, words, count) : 0;
        if (unchained && !e && points_to(search, 1, unchained))
            continue;
        if (unchained) {
            own[e] = search->stack->count;
            if (!continue_chain(search, unchained))
                return false;
        }
        if (own[e] == SIZE_MAX)
            continue;
        for (size_t w = 0; w < count; w++)
            search->taken[w] += words[w] == search->stack->frames[own[e]].address;
        next = own[e] + 1;
    }
    return true;
}

/* A generator's frame has a caller: where it is the last one, the chain was cut. */
static bool is_cut(const struct python_stack *stack)
{
    return stack->end != PYTHON_END_COMPLETE ||
           (stack->count && stack->frames[stack->count - 1].generator);
}

/* Where the chain was cut: the last frame, when it is a generator that awaits another; else 0. */
static psc_addr find_awaiting_frame(const struct slot_search *search)
{
    const struct python_stack *stack = search->stack;
    if (stack->end != PYTHON_END_COMPLETE || !stack->count)
        return 0;
    psc_addr last = stack->frames[stack->count - 1].address;
    return python_is_frame_object(search->python, last) ? 0 : last;
}

/*
 * The innermost evaluator may have just been entered, or be about to return, and runs no frame
 * then, though it points to its caller's: the reading is right in which more of the others tell
 * theirs.
 */
static bool find_own(struct slot_search *search, size_t *own)
{
    bool cut = is_cut(search->stack);
    search->awaiting_frame = cut ? find_awaiting_frame(search) : 0;
    size_t running = read_own(search, 0, own);
    if (read_own(search, 1, own) <= running)
        read_own(search, 0, own);
    return !cut || find_cut_off(search, own);
}

/* How many of the frames [from, to) evaluators run. */
static size_t count_evaluated(const struct python_stack *stack, size_t from, size_t to)
{
    size_t count = 0;
    for (; from < to; from++)
        count += !stack->frames[from].compiled;
    return count;
}

/*
 * Evaluators [first, end), whose words do not tell, and chain frames [from, to) lie between two
 * that belong together. They are paired from the outside in: it is the innermost evaluator that may
 * be without a frame, just entered or left.
 */
static bool pair_between(struct slot_search *search, size_t first, size_t end, size_t from,
                         size_t to)
{
    size_t frames = count_evaluated(search->stack, from, to);
    size_t pairs = end - first < frames ? end - first : frames;
    for (size_t evaluator = end - pairs; from < to && evaluator < end; from++) {
        // No evaluator runs a compiled one.
        if (search->stack->frames[from].compiled || frames-- > end - evaluator)
            continue;
        if (!add_found(search, search->evaluators[evaluator++], from))
            return false;
    }
    return true;
}

static bool assign_all(struct slot_search *search)
{
    size_t count = search->evaluator_count, first = 0, from = 0;
    bool cut = is_cut(search->stack);
    search->found->count = 0;
    // Up to 3.9 each evaluator has one frame; the innermost has none in its first and last
    // instructions.
    size_t evaluated = count_evaluated(search->stack, 0, search->stack->count);
    if (!cut && !search->stack->seam_count && python_get_join(search->python) == PYTHON_JOIN_SLOT &&
        search->merged->native.end == NATIVE_END_COMPLETE && !search->merged->native.skips &&
        (count == evaluated || count == evaluated + 1))
        return pair_between(search, 0, count, 0, search->stack->count);
    size_t *own PSC_CLEANUP(cleanup_free) = calloc(count ? count : 1, sizeof(*own));
    bool fine = own && find_own(search, own);
    for (size_t e = 0; fine && e < count; e++) {
        if (own[e] == SIZE_MAX)
            continue;
        fine = pair_between(search, first, e, from, own[e]) &&
               add_found(search, search->evaluators[e], own[e]);
        first = e + 1;
        from = own[e] + 1;
    }
    // Evaluators outside of a cut have frames that are not known.
    if (fine && !(cut && count - first > search->stack->count - from))
        fine = pair_between(search, first, count, from, search->stack->count);
    return fine;
}

static void deinit_search(struct slot_search *search)
{
    hash_table_deinit(&search->chain);
    free(search->evaluators);
}

enum psc_status slots_find(const struct merged_stack *merged, struct interpreter_stack *interpreter,
                           struct python *python, struct target *target,
                           struct slot_assignments *ret)
{
    struct slot_search search PSC_CLEANUP(deinit_search) = {
        .merged = merged,
        .stack = &interpreter->stack,
        .python = python,
        .target = target,
        .chain = HASH_TABLE_OF(struct chain_frame),
        .found = ret,
    };
    if (!index_chain(&search) || !list_evaluators(&search) || !assign_all(&search))
        return PSC_ERR_MEMORY;
    // Once more, now that a nameless part of the evaluator can be told.
    size_t before = search.evaluator_count;
    if (!list_evaluators(&search) || (search.evaluator_count != before && !assign_all(&search)))
        return PSC_ERR_MEMORY;
    return PSC_OK;
}
