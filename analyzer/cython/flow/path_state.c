/* One path through the code: where it begins, what calls do to it, and its hash. */
#include "path_state.h"

#include <stddef.h>
#include <string.h>

static const struct abstract_value unknown = {ABSTRACT_UNKNOWN, 0};

void flow_state_init(struct flow_state *state, const struct code_abi *abi, uint64_t pc)
{
    memset(state, 0, offsetof(struct flow_state, slots));
    state->abi = abi;
    state->pc = pc;
    state->registers[state->abi->stack_pointer] = (struct abstract_value){ABSTRACT_STACK, 0};
    state->registers[state->abi->frame_pointer] = (struct abstract_value){ABSTRACT_FRAME, 0};
}

void flow_state_copy(const struct flow_state *state, struct flow_state *ret)
{
    memcpy(ret, state,
           offsetof(struct flow_state, slots) + state->slot_count * sizeof(*state->slots));
}

static uint64_t hash_value(struct abstract_value value)
{
    return hash_u64(value.number * 8 + value.kind);
}

/** Of those that are known, each with its number: most are not, and cost nothing. */
static uint64_t hash_registers(const struct abstract_value *registers, uint8_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++)
        if (registers[i].kind != ABSTRACT_UNKNOWN)
            hash += hash_u64(hash_value(registers[i]) ^ i);
    return hash;
}

uint64_t flow_state_hash(const struct flow_state *state)
{
    uint64_t hash = hash_u64(state->pc);
    hash = hash_u64(hash ^ hash_registers(state->registers, state->abi->register_count));
    hash ^= hash_value(state->left) + 3 * hash_value(state->right) + state->compared_width +
            ((uint64_t)state->compared_real << 8);
    uint64_t slots = hash_registers(state->vectors, state->abi->register_count);
    for (size_t i = 0; i < state->slot_count; i++)
        slots += hash_u64(hash_value(state->slots[i].at) ^ 5 * hash_value(state->slots[i].value));
    return hash_u64(hash ^ slots ^ state->taken) | 1;
}

void flow_state_forget_flags(struct flow_state *state)
{
    state->left = state->right = unknown;
    state->compared_width = 0;
    state->compared_real = false;
}

void flow_state_return(struct flow_state *state, struct abstract_value result)
{
    for (size_t i = 0; i < state->abi->scratch_count; i++)
        state->registers[state->abi->scratch[i]] = unknown;
    for (size_t i = 0; i < state->abi->register_count; i++)
        state->vectors[i] = unknown;
    state->registers[state->abi->result] = result;
    flow_state_forget_flags(state);
}

void flow_state_set_result(struct flow_state *state, struct abstract_value result)
{
    state->registers[state->abi->result] = state->vectors[state->abi->result_vector] = result;
}

struct abstract_value flow_state_resolve(const struct flow_state *state, struct abstract_value from)
{
    return from.kind == ABSTRACT_ARGUMENT
               ? state->registers[from.number % state->abi->register_count]
               : from;
}

struct abstract_value flow_state_argument(const struct flow_state *state, unsigned index,
                                          uint8_t width)
{
    unsigned count = state->abi->argument_count;
    return index < count ? state->registers[state->abi->arguments[index]]
                         : flow_state_load(state, 8 * (uint64_t)(index - count), width);
}

struct abstract_value flow_entry_argument(const struct code_abi *abi, unsigned index)
{
    unsigned count = abi->argument_count;
    if (index < count)
        return (struct abstract_value){ABSTRACT_ARGUMENT, abi->arguments[index]};
    return (struct abstract_value){ABSTRACT_STACK,
                                   abi->call_pushes + 8 * (uint64_t)(index - count)};
}
