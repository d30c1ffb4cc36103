/*
 * Functions in several parts: gcc puts cold parts and the bodies of parallel blocks elsewhere. What
 * leads to them is a jump, or somebody who takes their address.
 */
#include "code.h"

bool code_is_fragment(const struct code_function *function)
{
    return !function->called && !function->pointed;
}

/** Notes a jump (or taken address) from one function into a fragment. */
static void note_referrer(struct code_image *image, uint64_t from, uint64_t to, bool is_jump)
{
    struct code_function *fragment = code_find_function(image, to);
    if (!fragment || !code_is_fragment(fragment) || (!is_jump && to != fragment->start))
        return;
    const struct code_function *function = code_find_function(image, from);
    uint32_t *note = is_jump ? &fragment->jumped_from : &fragment->addressed_from;
    const uint32_t number = function ? (uint32_t)(function - image->functions) + 1 : 0;
    if (function && function != fragment && (!*note || number < *note))
        *note = number;
}

static void read_referrers_of(struct code_image *image, const struct elf_load *segment,
                              enum reference_kind kind)
{
    struct code_range code = code_of_segment(image, segment);
    struct code_reference reference;
    for (size_t at = 0; image->abi->find_reference(&code, at, kind, &reference);
         at = reference.offset + 1)
        note_referrer(image, code.address + reference.offset, reference.target,
                      kind != REFERENCE_ADDRESS);
}

/** Jumps, and loads of an address, wherever the bytes look like one. */
static void read_referrers(struct code_image *image)
{
    static const enum reference_kind kinds[] = {REFERENCE_JUMP, REFERENCE_BRANCH,
                                                REFERENCE_ADDRESS};
    image->referrers_read = true;
    for (size_t k = 0; k < image->elf.load_count; k++)
        for (size_t i = 0; image->elf.loads[k].executable && i < PSC_ARRAY_SIZE(kinds); i++)
            read_referrers_of(image, &image->elf.loads[k], kinds[i]);
}

static const struct code_function *referrer(const struct code_image *image, uint32_t note)
{
    return note ? &image->functions[note - 1] : NULL;
}

const struct code_function *code_find_jumping(struct code_image *image,
                                              const struct code_function *function)
{
    if (!code_is_fragment(function))
        return NULL;
    if (!image->referrers_read)
        read_referrers(image);
    return referrer(image, function->jumped_from);
}

const struct code_function *code_find_addressing(struct code_image *image,
                                                 const struct code_function *function)
{
    if (!code_is_fragment(function))
        return NULL;
    if (!image->referrers_read)
        read_referrers(image);
    return referrer(image, function->addressed_from);
}

bool code_is_inside(const struct code_image *image, const struct code_function *function,
                    struct code_target target)
{
    const struct code_function *goal =
        target.import ? NULL : code_find_function(image, target.address);
    return goal &&
           (goal == function || goal->start != target.address || !(goal->called || goal->pointed));
}

static const struct code_function *whole_function(struct code_image *image, uint64_t address)
{
    const struct code_function *function = code_find_function(image, address);
    const struct code_function *parent = function ? code_find_jumping(image, function) : NULL;
    return parent ? parent : function;
}

bool code_is_same_function(struct code_image *image, uint64_t a, uint64_t b)
{
    const struct code_function *function = whole_function(image, a);
    return function && function == whole_function(image, b);
}
