/*
 * What a function of the module returns when it has failed: what RAX holds at the return behind
 * the place where it sets or reports an error. Of integers that is -1 nearly always, but 0 for
 * `except 0` and for some of Cython's helpers (__Pyx_TypeTest).
 */
#include "machine_explore.h"

#include <stdlib.h>

/** Calls on the way from the function's entry to an error, and from there to its return. */
#define FAILURE_CALL_LIMIT 4

static bool sets_error(const struct machine *machine, struct machine_target target)
{
    if (!target.import)
        return machine_find_anchor(machine, target.address);
    return strncmp(target.import, "PyErr_Set", 9) == 0 ||
           strncmp(target.import, "PyErr_Format", 12) == 0;
}

static enum machine_verdict failure_call(struct machine_exploration *exploration,
                                         struct machine_state *state, struct machine_target target)
{
    (void)state;
    if (sets_error(exploration->machine, target))
        return MACHINE_FOUND;
    return machine_is_clean(exploration->machine, target) ? MACHINE_PASS_FREE
                                                          : MACHINE_PASS_COUNTED;
}

static enum machine_verdict leaving_call(struct machine_exploration *exploration,
                                         struct machine_state *state, struct machine_target target)
{
    (void)state;
    return sets_error(exploration->machine, target) ||
                   machine_is_clean(exploration->machine, target)
               ? MACHINE_PASS_FREE
               : MACHINE_PASS_COUNTED;
}

/** The state at the call that sets an error; NULL when no way leads to one. */
static struct machine_state *search_error(struct machine *machine, uint64_t start)
{
    struct machine_exploration exploration = {.on_call = failure_call,
                                              .call_limit = FAILURE_CALL_LIMIT};
    struct machine_state state;
    struct machine_state *found = NULL;
    machine_state_init(&state, start);
    if (machine_exploration_init(&exploration, machine, &state))
        found = machine_explore(&exploration);
    machine_exploration_deinit(&exploration);
    return found;
}

/** What is in RAX where the function is left after the call at which `state` stands. */
static struct value search_result(struct machine *machine, struct machine_state *state)
{
    struct machine_exploration exploration = {.on_call = leaving_call,
                                              .error = true,
                                              .stop_at_return = true,
                                              .call_limit = FAILURE_CALL_LIMIT};
    struct machine_instruction call = *machine_decode(machine->decoder, &machine->image, state->pc);
    struct machine_state *found = NULL;
    struct value result = {VALUE_UNKNOWN, 0};
    if (call.verb != MACHINE_CALL)
        return result;
    machine_state_return(state, result);
    state->pc = call.address + call.size;
    state->calls = 0;
    state->steps = 0;
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
    const struct machine_function *callee =
        target.import ? NULL : machine_find_function(&machine->image, target.address);
    /* Through a pointer: a method, an `except 0` of which nothing else is known. */
    if (!target.import && !target.address)
        failure.number = MACHINE_FAILS_EITHER;
    if (!callee || callee->start != target.address || machine_find_anchor(machine, target.address))
        return failure;
    struct machine_state *found = search_error(machine, target.address);
    struct value result = found ? search_result(machine, found) : (struct value){VALUE_UNKNOWN, 0};
    free(found);
    if (result.kind == VALUE_CONSTANT && result.number == 0)
        failure.number = MACHINE_FAILS_ZERO;
    return failure;
}
