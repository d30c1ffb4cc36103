/*
 * Up to CPython 3.10 the evaluator keeps its PyFrameObject in a slot of its native frame, at a
 * distance from the stack pointer that is constant for a binary. It is learned here from the
 * process itself: the distance at which most evaluators hold a frame of the chain.
 */
#include "trace_private.h"

#include <stdlib.h>
#include <string.h>

#define FRAME_SIZE_LIMIT 4096u /* Of an evaluator's native frame; Debian's 3.9 has 304 bytes. */
#define FRAME_WORDS      (FRAME_SIZE_LIMIT / 8)
#define LEARN_FROM       64u /* Evaluators that are read whole to learn the slot. */

/* Address of a frame object -> its index in the chain. */
struct chain_index {
    const struct python_stack *stack;
    size_t *table; /* Index + 1; 0: free. */
    size_t mask;
};

static bool chain_index_init(struct chain_index *index, const struct python_stack *stack)
{
    size_t size = 16;
    while (size < 2 * stack->count)
        size *= 2;
    *index = (struct chain_index){stack, calloc(size, sizeof(size_t)), size - 1};
    if (!index->table)
        return false;
    for (size_t i = 0; i < stack->count; i++) {
        size_t at = hash_u64(stack->frames[i].address) & index->mask;
        while (index->table[at])
            at = (at + 1) & index->mask;
        index->table[at] = i + 1;
    }
    return true;
}

static size_t chain_index_find(const struct chain_index *index, psc_addr address)
{
    if (address & 7 || address < 4096)
        return SIZE_MAX;
    size_t at = hash_u64(address) & index->mask;
    for (; index->table[at]; at = (at + 1) & index->mask)
        if (index->stack->frames[index->table[at] - 1].address == address)
            return index->table[at] - 1;
    return SIZE_MAX;
}

struct slot_search {
    const struct plan *plan;
    struct python *python;
    struct target *target;
    struct chain_index chain;
    size_t *evaluators; /* Native indices, innermost first. */
    size_t evaluator_count;
    uint64_t evaluator_size; /* Of most of them. */
    size_t slot;             /* Words from sp; SIZE_MAX: not learned. */
    struct slot_assignment *found;
    size_t count;
    size_t capacity;
};

static size_t read_words(struct target *target, const struct native_frame *frame, uint64_t *words)
{
    if (frame->cfa <= frame->sp || frame->cfa - frame->sp > FRAME_SIZE_LIMIT)
        return 0;
    size_t count = (size_t)(frame->cfa - frame->sp) / 8;
    return target_read(target, frame->sp, words, count * 8) == PSC_OK ? count : 0;
}

static bool is_evaluator(const struct slot_search *search, size_t native)
{
    const struct place *place = search->plan->native_places[native];
    if (place->interpreter && place->level_count &&
        place->levels[place->level_count - 1].function_class == FUNCTION_EVALUATOR)
        return true;
    // The cold part of a stripped evaluator has no name, but the same frame and a frame object.
    const struct native_frame *frame = &search->plan->native.frames[native];
    psc_addr value;
    return place->interpreter && !place->symbol.name && search->slot != SIZE_MAX &&
           frame->cfa - frame->sp == search->evaluator_size &&
           target_read_pointer(search->target, frame->sp + 8 * search->slot, &value) == PSC_OK &&
           python_is_frame_object(search->python, value);
}

static bool list_evaluators(struct slot_search *search)
{
    size_t capacity = 0;
    free(search->evaluators);
    search->evaluators = NULL;
    search->evaluator_count = 0;
    for (size_t i = 0; i < search->plan->native.count; i++) {
        if (!is_evaluator(search, i))
            continue;
        if (!array_reserve((void **)&search->evaluators, &capacity, search->evaluator_count + 1,
                           sizeof(size_t)))
            return false;
        search->evaluators[search->evaluator_count++] = i;
    }
    return true;
}

static void learn_slot(struct slot_search *search)
{
    uint32_t hits[FRAME_WORDS] = {0};
    uint64_t words[FRAME_WORDS];
    for (size_t i = 0; i < search->evaluator_count && i < LEARN_FROM; i++) {
        const struct native_frame *frame = &search->plan->native.frames[search->evaluators[i]];
        size_t count = read_words(search->target, frame, words);
        for (size_t w = 0; w < count; w++)
            hits[w] += chain_index_find(&search->chain, words[w]) != SIZE_MAX;
        if (i == 0)
            search->evaluator_size = frame->cfa - frame->sp;
    }
    search->slot = SIZE_MAX;
    for (size_t w = 0; w < FRAME_WORDS; w++)
        if (hits[w] && (search->slot == SIZE_MAX || hits[w] > hits[search->slot]))
            search->slot = w;
}

static bool add_found(struct slot_search *search, size_t native, size_t chain_index,
                      const struct python_frame *frame)
{
    if (!array_reserve((void **)&search->found, &search->capacity, search->count + 1,
                       sizeof(*search->found)))
        return false;
    search->found[search->count++] = (struct slot_assignment){native, chain_index, *frame};
    return true;
}

/*
 * The frame of one evaluator: what its slot holds; else the first frame of the chain, from `done`
 * on, that any of its words points to. False without memory.
 */
static bool assign(struct slot_search *search, size_t native, size_t *done)
{
    const struct python_stack *stack = search->chain.stack;
    const struct native_frame *frame = &search->plan->native.frames[native];
    uint64_t words[FRAME_WORDS];
    size_t count = read_words(search->target, frame, words);
    size_t best = SIZE_MAX;
    if (search->slot < count) {
        psc_addr value = words[search->slot];
        size_t at = chain_index_find(&search->chain, value);
        struct python_frame extra;
        if (at != SIZE_MAX && at >= *done)
            best = at;
        else if (at == SIZE_MAX && python_is_frame_object(search->python, value) &&
                 python_read_frame_object(search->python, value, &extra) == PSC_OK)
            return add_found(search, native, SIZE_MAX, &extra);
    }
    for (size_t w = 0; best == SIZE_MAX && w < count; w++) {
        size_t at = chain_index_find(&search->chain, words[w]);
        if (at != SIZE_MAX && at == *done)
            best = at;
    }
    if (best == SIZE_MAX)
        return true;
    *done = best + 1;
    return add_found(search, native, best, &stack->frames[best]);
}

/*
 * Between two evaluators whose frames are known, those without one take the frames in between
 * one by one when the numbers are equal: the only counting there is, and it ends at the next
 * known frame.
 */
static bool fill_between(struct slot_search *search)
{
    const struct python_stack *stack = search->chain.stack;
    struct slot_assignment *known = search->found;
    size_t known_count = search->count, next_known = 0, done = 0;
    search->found = NULL;
    search->count = search->capacity = 0;
    bool fine = true;
    for (size_t e = 0; fine && e <= search->evaluator_count;) {
        size_t limit = next_known < known_count ? known[next_known].native : SIZE_MAX;
        size_t unknown = 0;
        while (e + unknown < search->evaluator_count && search->evaluators[e + unknown] < limit)
            unknown++;
        size_t end = next_known < known_count ? known[next_known].chain_index : stack->count;
        if (end != SIZE_MAX && end >= done && end - done == unknown)
            for (size_t i = 0; fine && i < unknown; i++, done++)
                fine = add_found(search, search->evaluators[e + i], done, &stack->frames[done]);
        e += unknown;
        if (next_known >= known_count)
            break;
        if (fine)
            fine = add_found(search, known[next_known].native, known[next_known].chain_index,
                             &known[next_known].frame);
        if (known[next_known].chain_index != SIZE_MAX)
            done = known[next_known].chain_index + 1;
        next_known++;
        e++;
    }
    free(known);
    return fine;
}

enum psc_status merge_find_slots(const struct plan *plan, const struct python_side *side,
                                 struct python *python, struct target *target,
                                 struct slot_assignment **ret, size_t *ret_count)
{
    struct slot_search search = {
        .plan = plan, .python = python, .target = target, .slot = SIZE_MAX};
    bool fine = chain_index_init(&search.chain, &side->stack) && list_evaluators(&search);
    if (fine) {
        learn_slot(&search);
        // Once more, now that a nameless part of the evaluator can be told.
        fine = list_evaluators(&search);
    }
    size_t done = 0;
    for (size_t i = 0; fine && i < search.evaluator_count; i++)
        fine = assign(&search, search.evaluators[i], &done);
    if (fine)
        fine = fill_between(&search);
    free(search.chain.table);
    free(search.evaluators);
    if (!fine) {
        free(search.found);
        return PSC_ERR_MEMORY;
    }
    *ret = search.found;
    *ret_count = search.count;
    return PSC_OK;
}
