/* What a path has stored on the stack and in memory that a parallel block shares. */
#include "path_state.h"

static const struct abstract_value unknown = {ABSTRACT_UNKNOWN, 0};

static struct abstract_value constant(uint64_t number)
{
    return (struct abstract_value){ABSTRACT_CONSTANT, number};
}

static bool overlaps(const struct flow_slot *slot, struct abstract_value address, uint8_t width)
{
    return slot->at.kind == address.kind && (address.number - slot->at.number < slot->width ||
                                             slot->at.number - address.number < width);
}

void flow_state_store_at(struct flow_state *state, struct abstract_value address, uint8_t width,
                         struct abstract_value value)
{
    if (!flow_is_address(address))
        return;
    for (size_t i = 0; i < state->slot_count;) {
        if (overlaps(&state->slots[i], address, width ? width : 64))
            state->slots[i] = state->slots[--state->slot_count];
        else
            i++;
    }
    if (value.kind == ABSTRACT_UNKNOWN && !state->keeps)
        return;
    if (state->slot_count < FLOW_SLOT_LIMIT && width)
        state->slots[state->slot_count++] = (struct flow_slot){address, width, value};
    else
        state->keeps = false;
}

/** The contents of memory that nothing has written to since the start. */
static struct abstract_value kept(const struct flow_state *state, struct abstract_value address,
                                  uint8_t width)
{
    if (!state->keeps || address.kind == ABSTRACT_SHARED || !flow_is_address(address))
        return unknown;
    for (size_t i = 0; i < state->slot_count; i++)
        if (overlaps(&state->slots[i], address, width))
            return unknown;
    address.kind = address.kind == ABSTRACT_STACK ? ABSTRACT_KEPT_STACK : ABSTRACT_KEPT_FRAME;
    return address;
}

/** One byte of memory whose contents are a known number; -1: they are not. */
static int load_byte(const struct flow_state *state, struct abstract_value address)
{
    for (size_t i = 0; i < state->slot_count; i++) {
        const struct flow_slot *slot = &state->slots[i];
        uint64_t at = address.number - slot->at.number;
        if (slot->at.kind == address.kind && slot->value.kind == ABSTRACT_CONSTANT &&
            at < slot->width && at < 8)
            return (int)(slot->value.number >> (8 * at) & 0xff);
    }
    return -1;
}

/** Compilers write and copy two numbers that lie side by side, line and C line, at once. */
static struct abstract_value load_parts(const struct flow_state *state,
                                        struct abstract_value address, uint8_t width)
{
    struct abstract_value value = constant(0);
    if (!flow_is_address(address) || (width != 4 && width != 8))
        return unknown;
    for (uint8_t i = 0; i < width; i++, address.number++) {
        int byte = load_byte(state, address);
        if (byte < 0)
            return unknown;
        value.number |= (uint64_t)byte << (8 * i);
    }
    return value;
}

struct abstract_value flow_state_load_at(const struct flow_state *state,
                                         struct abstract_value address, uint8_t width)
{
    for (size_t i = 0; flow_is_address(address) && i < state->slot_count; i++) {
        const struct flow_slot *slot = &state->slots[i];
        if (slot->at.kind != address.kind || slot->at.number != address.number ||
            slot->width < width)
            continue;
        struct abstract_value value = slot->value;
        if (value.kind == ABSTRACT_CONSTANT)
            value.number = flow_truncate(value.number, width);
        else if (width < 4)
            return unknown;
        return value;
    }
    struct abstract_value value = load_parts(state, address, width);
    return value.kind == ABSTRACT_UNKNOWN ? kept(state, address, width) : value;
}

struct abstract_value flow_state_load(const struct flow_state *state, uint64_t offset,
                                      uint8_t width)
{
    struct abstract_value address = state->registers[state->abi->stack_pointer];
    address.number += offset;
    return flow_state_load_at(state, address, width);
}
