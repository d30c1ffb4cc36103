/*
 * Functions in several parts: gcc puts cold parts and the bodies of parallel blocks elsewhere. What
 * leads to them is a jump, or somebody who takes their address.
 */
#include "flow.h"

bool flow_is_fragment(const struct flow_function *function)
{
    return !function->called && !function->pointed;
}

/** Notes a jump (or taken address) from one function into a fragment. */
static void note_referrer(struct flow_image *image, uint64_t from, uint64_t to, bool is_jump)
{
    struct flow_function *fragment = flow_find_function(image, to);
    if (!fragment || !flow_is_fragment(fragment) || (!is_jump && to != fragment->start))
        return;
    const struct flow_function *function = flow_find_function(image, from);
    uint32_t *note = is_jump ? &fragment->jumped_from : &fragment->addressed_from;
    if (function && function != fragment && !*note)
        *note = (uint32_t)(function - image->functions) + 1;
}

/** Jumps, and loads of an address, wherever the bytes look like one. */
static void read_referrers(struct flow *flow)
{
    static const unsigned kinds = REFERENCE_JUMP | REFERENCE_BRANCH | REFERENCE_ADDRESS;
    struct flow_image *image = &flow->image;
    flow->referrers_read = true;
    for (size_t k = 0; k < image->elf.load_count; k++) {
        const struct elf_load *segment = &image->elf.loads[k];
        struct code_range code = flow_segment_code(image, segment);
        struct code_reference reference;
        for (size_t at = 0;
             segment->executable && image->machine->find_reference(&code, at, kinds, &reference);
             at = reference.offset + 1)
            note_referrer(image, code.address + reference.offset, reference.target,
                          reference.kind != REFERENCE_ADDRESS);
    }
}

static const struct flow_function *referrer(const struct flow *flow, uint32_t note)
{
    return note ? &flow->image.functions[note - 1] : NULL;
}

const struct flow_function *flow_find_jumping(struct flow *flow,
                                              const struct flow_function *function)
{
    if (!flow_is_fragment(function))
        return NULL;
    if (!flow->referrers_read)
        read_referrers(flow);
    return referrer(flow, function->jumped_from);
}

const struct flow_function *flow_find_addressing(struct flow *flow,
                                                 const struct flow_function *function)
{
    if (!flow_is_fragment(function))
        return NULL;
    if (!flow->referrers_read)
        read_referrers(flow);
    return referrer(flow, function->addressed_from);
}

bool flow_is_inside(const struct flow *flow, const struct flow_function *home,
                    struct flow_target target)
{
    const struct flow_function *function =
        target.import ? NULL : flow_find_function(&flow->image, target.address);
    return function && (function == home || function->start != target.address ||
                        !(function->called || function->pointed));
}

static const struct flow_function *whole_function(struct flow *flow, uint64_t address)
{
    const struct flow_function *function = flow_find_function(&flow->image, address);
    const struct flow_function *parent = function ? flow_find_jumping(flow, function) : NULL;
    return parent ? parent : function;
}

bool flow_is_same_function(struct flow *flow, uint64_t a, uint64_t b)
{
    const struct flow_function *function = whole_function(flow, a);
    return function && function == whole_function(flow, b);
}
