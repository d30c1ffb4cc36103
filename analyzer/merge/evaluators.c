/* Evaluators among the native frames. */
#include "merge_private.h"

size_t evaluators_find_next(const struct merged_stack *merged, size_t from)
{
    for (size_t i = from; i < merged->native.count; i++)
        if (address_is_evaluator(merged->native_info[i]))
            return i;
    return SIZE_MAX;
}

size_t evaluators_read_words(const struct native_frame *frame, struct target *target,
                             uint64_t words[EVALUATOR_WORD_LIMIT])
{
    if (frame->cfa <= frame->sp || frame->cfa - frame->sp > EVALUATOR_WORD_LIMIT * sizeof(*words))
        return 0;
    size_t count = (size_t)(frame->cfa - frame->sp) / sizeof(*words);
    return target_read(target, frame->sp, words, count * sizeof(*words)) == PSC_OK ? count : 0;
}

bool evaluators_points_to(const struct native_frame *frame, struct target *target, psc_addr address)
{
    uint64_t words[EVALUATOR_WORD_LIMIT];
    size_t count = evaluators_read_words(frame, target, words);
    for (size_t w = 0; w < count; w++)
        if (words[w] == address)
            return true;
    return false;
}
