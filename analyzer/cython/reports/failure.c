/*
 * What a function of the module returns when it has failed: what the result register holds at the
 * return behind the place where it sets or reports an error. Of integers that is -1 nearly always,
 * but 0 for `except 0` and for some of Cython's helpers (__Pyx_TypeTest).
 */
#include "python.h"
#include "reports_private.h"

#include <stdlib.h>
#include <string.h>

/** Calls on the path from the function's entry to an error, and from there to its return. */
#define FAILURE_CALL_LIMIT 4

/** All that is looked at to find one. */
#define FAILURE_STEP_LIMIT 2000
/** A helper that only hands an exception to sys.unraisablehook is small. */
#define UNRAISABLE_SIZE_LIMIT 2048
/** As many of its bytes are looked through in the time of an instruction that is followed. */
#define BYTES_A_STEP 64

enum outcome {
    OUTCOME_UNKNOWN,
    OUTCOME_FAILS,
    OUTCOME_CANNOT_FAIL /**< Its errors go to sys.unraisablehook: `noexcept`. */
};

/** What is found of a function. */
struct failure {
    enum outcome outcome;
    bool calls_python; /**< It may hand on a failure of what it calls. */
};

static bool sets_error(const struct flow *flow, struct code_target target)
{
    if (!target.import)
        return flow_find_traceback_helper(flow, target.address);
    return c_api_traits(target.import) & C_API_SETS_ERROR;
}

static bool is_unraisable_import(const char *import)
{
    return import && c_api_traits(import) & C_API_UNRAISABLE;
}

bool reports_is_unraisable(struct flow *flow, struct code_target target)
{
    const struct code_image *image = &flow->image;
    const struct code_function *function =
        target.import ? NULL : code_find_function(image, target.address);
    struct code_range code = function ? code_of_function(image, function) : (struct code_range){0};
    struct code_reference call;
    if (!code.bytes || function->end - function->start > UNRAISABLE_SIZE_LIMIT)
        return is_unraisable_import(target.import);
    if (!flow_spend_steps(flow, 1 + (size_t)(function->end - function->start) / BYTES_A_STEP))
        return false;
    for (size_t at = 0;
         image->abi->find_reference(&code, at, REFERENCE_CALL | REFERENCE_CALL_SLOT, &call);
         at = call.offset + 1)
        if (is_unraisable_import(code_reference_target(image, &call).import))
            return true;
    return false;
}

static enum flow_verdict failure_call(struct flow_exploration *exploration,
                                      struct flow_state *state, struct code_target target)
{
    (void)state;
    struct failure *failure = exploration->context;
    if (sets_error(exploration->flow, target))
        return FLOW_FOUND;
    if (flow_is_cleanup(exploration->flow, target))
        return FLOW_PASS_FREE;
    failure->calls_python |= !target.import || c_api_is_symbol(target.import);
    if (!reports_is_unraisable(exploration->flow, target))
        return FLOW_PASS_COUNTED;
    failure->outcome = OUTCOME_CANNOT_FAIL;
    return FLOW_END_PATH;
}

/** The path out of the function, behind an error. */
static enum flow_verdict leaving_call(struct flow_exploration *exploration,
                                      struct flow_state *state, struct code_target target)
{
    (void)state;
    enum outcome *outcome = exploration->context;
    if (sets_error(exploration->flow, target) || flow_is_cleanup(exploration->flow, target))
        return FLOW_PASS_FREE;
    if (!reports_is_unraisable(exploration->flow, target))
        return FLOW_PASS_COUNTED;
    *outcome = OUTCOME_CANNOT_FAIL;
    return FLOW_FOUND;
}

/** The state at the call that sets an error; NULL when no path leads to one. */
static struct flow_state *search_error(struct flow *flow, uint64_t start, struct failure *ret)
{
    struct flow_exploration exploration = {.on_call = failure_call,
                                           .context = ret,
                                           .call_limit = FAILURE_CALL_LIMIT,
                                           .step_limit = FAILURE_STEP_LIMIT};
    struct flow_state state;
    struct flow_state *found = NULL;
    flow_state_init(&state, flow->image.abi, start);
    found = flow_explore_once(&exploration, flow, &state);
    return found;
}

/** What is in the result register where the function is left after the call at which `state`
 * stands. */
static struct abstract_value search_result(struct flow *flow, struct flow_state *state,
                                           enum outcome *ret)
{
    struct flow_exploration exploration = {.on_call = leaving_call,
                                           .context = ret,
                                           .error = true,
                                           .stop_at_return = true,
                                           .call_limit = FAILURE_CALL_LIMIT};
    struct instruction call = *flow_decode(flow, state->pc);
    struct flow_state *found = NULL;
    struct abstract_value result = {ABSTRACT_UNKNOWN, 0};
    if (call.verb != INSTRUCTION_CALL)
        return result;
    flow_state_return(state, result);
    state->pc = call.address + call.size;
    state->calls = 0;
    state->steps = 0;
    *ret = OUTCOME_FAILS;
    found = flow_explore_once(&exploration, flow, state);
    if (found)
        result = found->registers[found->abi->result];
    free(found);
    return result;
}

static struct known_failure find_failure(struct flow *flow, uint64_t start)
{
    struct known_failure known = {.start = start, .result = {ABSTRACT_ERROR, ERROR_IS_MINUS_ONE}};
    struct abstract_value result = {ABSTRACT_UNKNOWN, 0};
    struct failure found_of = {OUTCOME_UNKNOWN, false};
    struct flow_state *found = search_error(flow, start, &found_of);
    known.raises = found || found_of.calls_python;
    if (found)
        result = search_result(flow, found, &found_of.outcome);
    free(found);
    if (found_of.outcome == OUTCOME_CANNOT_FAIL)
        known.result = (struct abstract_value){ABSTRACT_UNKNOWN, 0};
    else if (result.kind == ABSTRACT_CONSTANT && result.number == 0)
        known.result.number = ERROR_IS_ZERO;
    return known;
}

struct abstract_value reports_find_error_return(struct flow *flow, struct code_target target,
                                                bool *ret_raises)
{
    struct abstract_value failure = {ABSTRACT_ERROR, ERROR_IS_MINUS_ONE};
    const struct code_function *callee =
        target.import ? NULL : code_find_function(&flow->image, target.address);
    /* Through a pointer: a method, an `except 0` of which nothing else is known. */
    *ret_raises = !target.import || c_api_is_symbol(target.import);
    if (!target.import && !target.address)
        failure.number = ERROR_IS_EITHER;
    if (!callee || callee->start != target.address ||
        flow_find_traceback_helper(flow, target.address))
        return failure;
    const struct known_failure *before = hash_table_find(&flow->failures, target.address);
    const struct known_failure found = before ? *before : find_failure(flow, target.address);
    struct known_failure *known = before ? NULL : hash_table_add(&flow->failures, target.address);
    if (known)
        *known = found;
    *ret_raises = found.raises;
    return found.result;
}
