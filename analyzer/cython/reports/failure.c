/*
 * What a function of the module returns when it has failed: what RAX holds at the return behind
 * the place where it sets or reports an error. Of integers that is -1 nearly always, but 0 for
 * `except 0` and for some of Cython's helpers (__Pyx_TypeTest).
 */
#include "explore.h"

#include <stdlib.h>

/** Calls on the way from the function's entry to an error, and from there to its return. */
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

static bool sets_error(const struct machine *machine, struct machine_target target)
{
    if (!target.import)
        return machine_find_anchor(machine, target.address);
    return strncmp(target.import, "PyErr_Set", 9) == 0 ||
           strncmp(target.import, "PyErr_Format", 12) == 0;
}

static bool is_unraisable_import(const char *import)
{
    return import && strcmp(import, "PyErr_WriteUnraisable") == 0;
}

bool machine_gives_up_error(struct machine *machine, struct machine_target target)
{
    const struct machine_image *image = &machine->image;
    const struct machine_function *function =
        target.import ? NULL : machine_find_function(image, target.address);
    size_t have;
    const uint8_t *code = function ? machine_bytes(image, function->start, &have) : NULL;
    if (!code || function->end - function->start > UNRAISABLE_SIZE_LIMIT)
        return is_unraisable_import(target.import);
    size_t size = (size_t)(function->end - function->start);
    if (!machine_spend_steps(machine, 1 + size / BYTES_A_STEP))
        return false;
    for (size_t i = 0; i + 6 <= size && i + 6 <= have; i++) {
        uint64_t next = function->start + i;
        struct machine_target inner = {0};
        if (code[i] == 0xe8) /* call */
            inner = machine_target_of(
                image, next + 5 + (uint64_t)(int64_t)(int32_t)load_u32(code + i + 1));
        else if (code[i] == 0xff && code[i + 1] == 0x15) /* call *slot(%rip) */
            inner = machine_slot_target(
                image, next + 6 + (uint64_t)(int64_t)(int32_t)load_u32(code + i + 2));
        if (is_unraisable_import(inner.import))
            return true;
    }
    return false;
}

static enum machine_verdict failure_call(struct machine_exploration *exploration,
                                         struct machine_state *state, struct machine_target target)
{
    (void)state;
    enum outcome *outcome = exploration->context;
    if (sets_error(exploration->machine, target))
        return MACHINE_FOUND;
    if (machine_is_clean(exploration->machine, target))
        return MACHINE_PASS_FREE;
    if (!machine_gives_up_error(exploration->machine, target))
        return MACHINE_PASS_COUNTED;
    *outcome = OUTCOME_CANNOT_FAIL;
    return MACHINE_END_WAY;
}

/** The way out of the function, behind an error. */
static enum machine_verdict leaving_call(struct machine_exploration *exploration,
                                         struct machine_state *state, struct machine_target target)
{
    (void)state;
    enum outcome *outcome = exploration->context;
    if (sets_error(exploration->machine, target) || machine_is_clean(exploration->machine, target))
        return MACHINE_PASS_FREE;
    if (!machine_gives_up_error(exploration->machine, target))
        return MACHINE_PASS_COUNTED;
    *outcome = OUTCOME_CANNOT_FAIL;
    return MACHINE_FOUND;
}

/** The state at the call that sets an error; NULL when no way leads to one. */
static struct machine_state *search_error(struct machine *machine, uint64_t start,
                                          enum outcome *ret)
{
    struct machine_exploration exploration = {.on_call = failure_call,
                                              .context = ret,
                                              .call_limit = FAILURE_CALL_LIMIT,
                                              .step_limit = FAILURE_STEP_LIMIT};
    struct machine_state state;
    struct machine_state *found = NULL;
    machine_state_init(&state, start);
    if (machine_exploration_init(&exploration, machine, &state))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    return found;
}

/** What is in RAX where the function is left after the call at which `state` stands. */
static struct value search_result(struct machine *machine, struct machine_state *state,
                                  enum outcome *ret)
{
    struct machine_exploration exploration = {.on_call = leaving_call,
                                              .context = ret,
                                              .error = true,
                                              .stop_at_return = true,
                                              .call_limit = FAILURE_CALL_LIMIT};
    struct instruction call = *machine_decode(machine->decoder, &machine->image, state->pc);
    struct machine_state *found = NULL;
    struct value result = {VALUE_UNKNOWN, 0};
    if (call.verb != INSTRUCTION_CALL)
        return result;
    machine_state_return(state, result);
    state->pc = call.address + call.size;
    state->calls = 0;
    state->steps = 0;
    *ret = OUTCOME_FAILS;
    if (machine_exploration_init(&exploration, machine, state))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    if (found)
        result = found->registers[MACHINE_RAX];
    free(found);
    return result;
}

struct value machine_find_failure(struct machine *machine, struct machine_target target)
{
    struct value failure = {VALUE_ERROR, MACHINE_FAILS_MINUS_ONE};
    struct value result = {VALUE_UNKNOWN, 0};
    enum outcome outcome = OUTCOME_UNKNOWN;
    const struct machine_function *callee =
        target.import ? NULL : machine_find_function(&machine->image, target.address);
    /* Through a pointer: a method, an `except 0` of which nothing else is known. */
    if (!target.import && !target.address)
        failure.number = MACHINE_FAILS_EITHER;
    if (!callee || callee->start != target.address || machine_find_anchor(machine, target.address))
        return failure;
    struct machine_state *found = search_error(machine, target.address, &outcome);
    if (found)
        result = search_result(machine, found, &outcome);
    free(found);
    if (outcome == OUTCOME_CANNOT_FAIL)
        return (struct value){VALUE_UNKNOWN, 0};
    if (result.kind == VALUE_CONSTANT && result.number == 0)
        failure.number = MACHINE_FAILS_ZERO;
    return failure;
}
