/* What a path has stored on the stack and in memory that a parallel block shares. */
#include "path_state.h"

static const struct value unknown = {VALUE_UNKNOWN, 0};

static struct value constant(uint64_t number)
{
    return (struct value){VALUE_CONSTANT, number};
}

static bool overlaps(const struct flow_slot *slot, struct value place, uint8_t width)
{
    return slot->at.kind == place.kind &&
           (place.number - slot->at.number < slot->width || slot->at.number - place.number < width);
}

void flow_state_store_at(struct flow_state *state, struct value place, uint8_t width,
                         struct value value)
{
    if (!flow_is_place(place))
        return;
    for (size_t i = 0; i < state->slot_count;) {
        if (overlaps(&state->slots[i], place, width ? width : 64))
            state->slots[i] = state->slots[--state->slot_count];
        else
            i++;
    }
    if (value.kind == VALUE_UNKNOWN && !state->keeps)
        return;
    if (state->slot_count < FLOW_SLOT_LIMIT && width)
        state->slots[state->slot_count++] = (struct flow_slot){place, width, value};
    else
        state->keeps = false;
}

/** What memory holds that nothing was written to since the start. */
static struct value kept(const struct flow_state *state, struct value place, uint8_t width)
{
    if (!state->keeps || place.kind == VALUE_SHARED || !flow_is_place(place))
        return unknown;
    for (size_t i = 0; i < state->slot_count; i++)
        if (overlaps(&state->slots[i], place, width))
            return unknown;
    place.kind = place.kind == VALUE_STACK ? VALUE_KEPT_STACK : VALUE_KEPT_FRAME;
    return place;
}

/** One byte of a place whose contents are a known number; -1: it is not. */
static int load_byte(const struct flow_state *state, struct value place)
{
    for (size_t i = 0; i < state->slot_count; i++) {
        const struct flow_slot *slot = &state->slots[i];
        uint64_t at = place.number - slot->at.number;
        if (slot->at.kind == place.kind && slot->value.kind == VALUE_CONSTANT && at < slot->width &&
            at < 8)
            return (int)(slot->value.number >> (8 * at) & 0xff);
    }
    return -1;
}

/** Compilers write and copy two numbers that lie side by side, line and C line, at once. */
static struct value load_parts(const struct flow_state *state, struct value place, uint8_t width)
{
    struct value value = constant(0);
    if (!flow_is_place(place) || (width != 4 && width != 8))
        return unknown;
    for (uint8_t i = 0; i < width; i++, place.number++) {
        int byte = load_byte(state, place);
        if (byte < 0)
            return unknown;
        value.number |= (uint64_t)byte << (8 * i);
    }
    return value;
}

struct value flow_state_load_at(const struct flow_state *state, struct value place, uint8_t width)
{
    for (size_t i = 0; flow_is_place(place) && i < state->slot_count; i++) {
        const struct flow_slot *slot = &state->slots[i];
        if (slot->at.kind != place.kind || slot->at.number != place.number || slot->width < width)
            continue;
        struct value value = slot->value;
        if (value.kind == VALUE_CONSTANT)
            value.number = flow_truncate(value.number, width);
        else if (width < 4)
            return unknown;
        return value;
    }
    struct value value = load_parts(state, place, width);
    return value.kind == VALUE_UNKNOWN ? kept(state, place, width) : value;
}

struct value flow_state_load(const struct flow_state *state, uint64_t offset, uint8_t width)
{
    struct value place = state->registers[state->abi->stack_pointer];
    place.number += offset;
    return flow_state_load_at(state, place, width);
}
