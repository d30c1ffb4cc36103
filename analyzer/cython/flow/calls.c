/* What kind of call an address stands behind. */
#include "flow.h"
#include "python.h"

#include <string.h>

/** Decoding this many instructions in a row takes as long as following one on a path. */
#define SWEPT_A_STEP 2

static enum flow_call_kind judge_call(struct flow *flow, struct code_target target)
{
    if (flow_never_returns(flow, target))
        return FLOW_CALL_NEVER_RETURNS;
    if (target.import)
        return c_api_is_symbol(target.import) && !(c_api_traits(target.import) & C_API_NO_ERROR) &&
                       !flow_is_cleanup(flow, target)
                   ? FLOW_CALL_MAY_FAIL
                   : FLOW_CALL_NO_ERROR;
    /* The call reports an error that has happened already. */
    if (flow_find_traceback_helper(flow, target.address))
        return FLOW_CALL_NO_ERROR;
    return flow_is_cleanup(flow, target) ? FLOW_CALL_CLEANUP : FLOW_CALL_MAY_FAIL;
}

enum flow_call_kind flow_find_call(struct flow *flow, uint64_t pc, struct code_target *ret_target)
{
    *ret_target = (struct code_target){0};
    const struct code_image *image = &flow->image;
    const struct code_function *function = code_find_function(image, pc - 1);
    struct code_range before =
        function ? code_of_function(image, function) : (struct code_range){0};
    struct code_reference call;
    if (!before.bytes || pc - before.address > before.size)
        return FLOW_CALL_NONE;
    before.size = (size_t)(pc - before.address);
    if (image->abi->read_call_before(&before, true, &call)) {
        struct code_target target = code_target_of(image, call.target);
        const struct code_function *callee =
            target.import ? NULL : code_find_function(image, target.address);
        if (target.import || (callee && callee->start == target.address)) {
            *ret_target = target;
            return judge_call(flow, target);
        }
    }
    if (!image->abi->read_call_before(&before, false, &call))
        return FLOW_CALL_NONE;
    if (call.kind == REFERENCE_CALL_POINTER)
        return FLOW_CALL_MAY_FAIL;
    *ret_target = code_slot_target(image, call.target);
    return judge_call(flow, *ret_target);
}

void flow_sweep(struct flow *flow, const struct code_function *function, uint64_t limit,
                flow_call_visit *visit, void *context)
{
    struct flow_state state;
    size_t swept = 0;
    flow_state_init(&state, flow->image.abi, function->start);
    for (uint64_t at = function->start; at < function->end && at - function->start < limit;) {
        if (swept++ % SWEPT_A_STEP == 0 && !flow_spend_steps(flow, 1))
            return;
        struct instruction instruction = *flow_decode(flow, at);
        if (instruction.verb == INSTRUCTION_BAD)
            return;
        at += instruction.size;
        switch (instruction.verb) {
        case INSTRUCTION_CALL:
            if (!visit(context, flow, &state, &instruction))
                return;
            flow_state_return(&state, (struct abstract_value){ABSTRACT_UNKNOWN, 0});
            break;
        case INSTRUCTION_JUMP:
        case INSTRUCTION_RETURN:
        case INSTRUCTION_STOP:
            flow_state_init(&state, flow->image.abi, at);
            break;
        default:
            flow_state_step(&state, &flow->image, &instruction);
            break;
        }
    }
}

/** Local functions of one module that are searched for a call of the function that calls them. */
#define CALLEE_LIMIT 256
/** Searching this many bytes for calls takes as long as following one instruction. */
#define BYTES_A_STEP 64

/** Whether some call or jump in a function leads to `start`; of each byte that may begin one. */
static bool reaches(struct flow *flow, const struct code_function *function, uint64_t start,
                    unsigned depth)
{
    const struct code_image *image = &flow->image;
    struct code_range code = code_of_function(image, function);
    struct code_reference reference;
    unsigned looked = 0;
    if (!flow_spend_steps(flow, 1 + (size_t)(function->end - function->start) / BYTES_A_STEP))
        return true;
    for (size_t at = 0; code.bytes && image->abi->find_reference(
                                          &code, at, REFERENCE_CALL | REFERENCE_JUMP, &reference);
         at = reference.offset + 1) {
        struct code_target target = code_target_of(image, reference.target);
        if (target.import)
            continue;
        if (target.address == start)
            return true;
        const struct code_function *callee =
            depth ? code_find_function(image, target.address) : NULL;
        if (callee && callee != function && callee->start == target.address &&
            (++looked > CALLEE_LIMIT || reaches(flow, callee, start, depth - 1)))
            return true;
    }
    return !code.bytes;
}

bool flow_calls_itself(struct flow *flow, uint64_t address)
{
    const struct code_function *function = code_find_function(&flow->image, address);
    /* The function is in several parts, and only this one is read: the others may call it. */
    return !function || code_find_jumping(&flow->image, function) ||
           reaches(flow, function, function->start, 1);
}
