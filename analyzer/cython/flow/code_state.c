/* One way through the code: what registers, stack and flags hold, as far as it is known. */
#include "code_state.h"

static const struct value unknown = {VALUE_UNKNOWN, 0};

static struct value constant(uint64_t number)
{
    return (struct value){VALUE_CONSTANT, number};
}

void flow_state_init(struct flow_state *state, const struct flow_machine *machine, uint64_t pc)
{
    *state = (struct flow_state){.machine = machine, .pc = pc};
    state->registers[state->machine->stack_pointer] = (struct value){VALUE_STACK, 0};
    state->registers[state->machine->frame_pointer] = (struct value){VALUE_FRAME, 0};
}

static uint64_t hash_value(struct value value)
{
    return hash_u64(value.number * 8 + value.kind);
}

uint64_t flow_state_hash(const struct flow_state *state)
{
    uint64_t hash = hash_u64(state->pc);
    for (size_t i = 0; i < INSTRUCTION_REGISTER_LIMIT; i++)
        hash = hash_u64(hash ^ hash_value(state->registers[i]));
    hash ^= hash_value(state->left) + 3 * hash_value(state->right) + state->compared_width +
            ((uint64_t)state->compared_real << 8);
    uint64_t slots = 0;
    for (size_t i = 0; i < INSTRUCTION_REGISTER_LIMIT; i++)
        if (state->vectors[i].kind != VALUE_UNKNOWN)
            slots += hash_u64(hash_value(state->vectors[i]) ^ i);
    for (size_t i = 0; i < state->slot_count; i++)
        slots += hash_u64(hash_value(state->slots[i].at) ^ 5 * hash_value(state->slots[i].value));
    return hash_u64(hash ^ slots ^ state->taken) | 1;
}

/* ---- memory ---- */

static bool is_place(struct value value)
{
    return value.kind == VALUE_STACK || value.kind == VALUE_FRAME || value.kind == VALUE_SHARED;
}

/** Where a memory operand is, when it is on the stack. */
static struct value place_of(const struct flow_state *state, const struct operand *operand)
{
    if (operand->kind != OPERAND_BASED)
        return unknown;
    struct value place = state->registers[operand->register_number];
    if (!is_place(place))
        return unknown;
    place.number += (uint64_t)operand->number;
    return place;
}

static bool overlaps(const struct flow_slot *slot, struct value place, uint8_t width)
{
    return slot->at.kind == place.kind &&
           (place.number - slot->at.number < slot->width || slot->at.number - place.number < width);
}

static void store(struct flow_state *state, struct value place, uint8_t width, struct value value)
{
    if (!is_place(place))
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
    if (!state->keeps || place.kind == VALUE_SHARED || !is_place(place))
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
    if (!is_place(place) || (width != 4 && width != 8))
        return unknown;
    for (uint8_t i = 0; i < width; i++, place.number++) {
        int byte = load_byte(state, place);
        if (byte < 0)
            return unknown;
        value.number |= (uint64_t)byte << (8 * i);
    }
    return value;
}

static struct value load(const struct flow_state *state, struct value place, uint8_t width)
{
    for (size_t i = 0; is_place(place) && i < state->slot_count; i++) {
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

/* ---- operands ---- */

static struct value load_absolute(const struct flow_image *image, uint64_t address, uint8_t width)
{
    const struct flow_pointer *pointer = width == 8 ? flow_find_pointer(image, address) : NULL;
    if (pointer)
        return pointer->value ? constant(pointer->value) : unknown;
    size_t have;
    const uint8_t *bytes =
        width == 4 || width == 8 ? flow_constant_bytes(image, address, &have) : NULL;
    if (!bytes || have < width)
        return unknown;
    return constant(width == 4 ? load_u32(bytes) : load_u64(bytes));
}

static struct value get(const struct flow_state *state, const struct flow_image *image,
                        const struct operand *operand)
{
    struct value value;
    switch ((enum operand_kind)operand->kind) {
    case OPERAND_REGISTER:
        value = state->registers[operand->register_number];
        if (operand->high)
            return unknown;
        if (value.kind == VALUE_BYTE)
            return operand->width == 1 ? constant(value.number) : unknown;
        if (value.kind == VALUE_CONSTANT)
            value.number = flow_truncate(value.number, operand->width);
        else if (operand->width < 4)
            return unknown;
        return value;
    case OPERAND_VECTOR:
        value = state->vectors[operand->register_number % INSTRUCTION_REGISTER_LIMIT];
        if (value.kind == VALUE_CONSTANT)
            value.number = flow_truncate(value.number, operand->width);
        return value;
    case OPERAND_IMMEDIATE:
        return constant(operand->width ? flow_truncate((uint64_t)operand->number, operand->width)
                                       : (uint64_t)operand->number);
    case OPERAND_ABSOLUTE:
        return load_absolute(image, (uint64_t)operand->number, operand->width);
    case OPERAND_BASED:
        return load(state, place_of(state, operand), operand->width);
    case OPERAND_NONE:
    case OPERAND_SOMEWHERE:
        return unknown;
    }
    return unknown;
}

/**
 * Cython takes and sets the exception in the thread's state itself: current_exception, before
 * CPython 3.12 curexc_type and two others.
 */
static void note_exception(struct flow_state *state, const struct operand *operand,
                           struct value value)
{
    if (operand->kind == OPERAND_BASED && operand->width == 8 &&
        state->registers[operand->register_number].kind == VALUE_THREAD)
        state->taken = value.kind == VALUE_CONSTANT && value.number == 0;
}

static void put(struct flow_state *state, const struct operand *operand, struct value value)
{
    if (operand->kind == OPERAND_BASED) {
        note_exception(state, operand, value);
        store(state, place_of(state, operand), operand->width, value);
    } else if (operand->kind == OPERAND_VECTOR) {
        state->vectors[operand->register_number % INSTRUCTION_REGISTER_LIMIT] = value;
    } else if (operand->kind == OPERAND_REGISTER) {
        struct value *slot = &state->registers[operand->register_number];
        /* Parts of a register leave the rest as it was; writes of four bytes clear the rest. */
        if (operand->width >= 4)
            *slot = value;
        else if (value.kind != VALUE_CONSTANT || operand->high)
            *slot = unknown;
        else if (slot->kind == VALUE_CONSTANT)
            slot->number = (slot->number & ~flow_truncate(UINT64_MAX, operand->width)) |
                           flow_truncate(value.number, operand->width);
        else
            *slot = operand->width == 1 ? (struct value){VALUE_BYTE, flow_truncate(value.number, 1)}
                                        : unknown;
    }
}

/* ---- flags ---- */

static void compare(struct flow_state *state, struct value left, struct value right, uint8_t width)
{
    state->left = left;
    state->right = right;
    state->compared_width = width;
    state->compared_real = false;
}

static void forget_flags(struct flow_state *state)
{
    compare(state, unknown, unknown, 0);
}

/* ---- instructions ---- */

static void step_add(struct flow_state *state, const struct flow_image *image,
                     const struct instruction *instruction)
{
    const struct operand *to = &instruction->to;
    uint64_t number = (uint64_t)instruction->from.number;
    struct value value = get(state, image, to);
    compare(state, value, constant(0 - number), to->width);
    if (value.kind == VALUE_CONSTANT) {
        value.number = flow_truncate(value.number + number, to->width);
        /* Of an addition the carry is not that of the comparison; no line hangs on it. */
    } else if (is_place(value) && to->width == 8) {
        value.number += number;
        forget_flags(state);
    } else {
        value = unknown;
    }
    put(state, to, value);
}

static void step_test(struct flow_state *state, const struct flow_image *image,
                      const struct instruction *instruction)
{
    struct value left = get(state, image, &instruction->to);
    struct value right = get(state, image, &instruction->from);
    bool same = instruction->to.kind == OPERAND_REGISTER &&
                instruction->from.kind == OPERAND_REGISTER &&
                instruction->to.register_number == instruction->from.register_number;
    uint8_t width = instruction->to.width;
    if (same)
        compare(state, left, constant(0), width);
    else if (left.kind == VALUE_CONSTANT && right.kind == VALUE_CONSTANT)
        compare(state, constant(left.number & right.number), constant(0), width);
    else
        forget_flags(state);
}

static struct value shifted(struct value value, uint64_t count, uint8_t width)
{
    if (value.kind == VALUE_ERROR && count == 8u * width - 1)
        return constant(1);
    if (value.kind == VALUE_SUCCESS && count == 8u * width - 1)
        return constant(0);
    if (value.kind != VALUE_CONSTANT || count >= 8u * width)
        return unknown;
    return constant(flow_truncate(value.number, width) >> count);
}

static void step_bits(struct flow_state *state, const struct flow_image *image,
                      const struct instruction *instruction)
{
    const struct operand *to = &instruction->to;
    uint64_t bits = (uint64_t)instruction->from.number;
    struct value value = get(state, image, to);
    if (value.kind == VALUE_CONSTANT)
        value.number = flow_truncate(instruction->verb == INSTRUCTION_AND ? value.number & bits
                                                                          : value.number ^ bits,
                                     to->width);
    else
        value = unknown;
    put(state, to, value);
    compare(state, value, constant(0), to->width);
}

static void step_shift(struct flow_state *state, const struct flow_image *image,
                       const struct instruction *instruction)
{
    struct value before = get(state, image, &instruction->to);
    struct value after =
        shifted(before, (uint64_t)instruction->from.number & 63, instruction->to.width);
    put(state, &instruction->to, after);
    forget_flags(state);
    /* The sign of what failed: a branch on it is one on the failure. */
    state->tested |= before.kind == VALUE_ERROR && after.kind == VALUE_CONSTANT;
}

static struct value sign_extended(struct value value, uint8_t from, uint8_t to)
{
    if (value.kind == VALUE_CONSTANT)
        return constant(flow_truncate((uint64_t)flow_sign_extend(value.number, from), to));
    /* Of an argument, who asks for it takes the same four bytes. */
    bool known =
        value.kind == VALUE_ERROR || value.kind == VALUE_SUCCESS || value.kind == VALUE_ARGUMENT;
    return known && from == 4 ? value : unknown;
}

static struct value address_of(const struct flow_state *state, const struct operand *operand)
{
    if (operand->kind == OPERAND_ABSOLUTE)
        return constant((uint64_t)operand->number);
    if (operand->kind != OPERAND_BASED)
        return unknown;
    struct value value = state->registers[operand->register_number];
    if (!is_place(value) && value.kind != VALUE_CONSTANT)
        return unknown;
    value.number += (uint64_t)operand->number;
    return value;
}

static void step_other(struct flow_state *state, const struct instruction *instruction)
{
    for (unsigned i = 0; i < INSTRUCTION_REGISTER_LIMIT; i++)
        if (instruction->written >> i & 1)
            state->registers[i] = unknown;
    for (unsigned i = 0; i < INSTRUCTION_REGISTER_LIMIT; i++)
        if (instruction->written_vectors >> i & 1)
            state->vectors[i] = unknown;
    if (instruction->to.kind == OPERAND_BASED)
        store(state, place_of(state, &instruction->to), instruction->to.width, unknown);
}

static void push(struct flow_state *state, struct value value)
{
    struct value *top = &state->registers[state->machine->stack_pointer];
    top->number -= 8;
    store(state, *top, 8, value);
}

static struct value pop(struct flow_state *state)
{
    struct value *top = &state->registers[state->machine->stack_pointer];
    struct value value = load(state, *top, 8);
    top->number += 8;
    return value;
}

static void step_conditional(struct flow_state *state, const struct flow_image *image,
                             const struct instruction *instruction)
{
    bool taken = false;
    bool known = flow_state_decide(state, instruction->condition, &taken);
    if (instruction->verb == INSTRUCTION_SET) {
        put(state, &instruction->to, known ? constant(taken) : unknown);
        return;
    }
    struct value from = get(state, image, &instruction->from);
    struct value to = get(state, image, &instruction->to);
    bool same = from.kind == to.kind && from.number == to.number;
    put(state, &instruction->to, known ? (taken ? from : to) : same ? to : unknown);
}

void flow_state_step(struct flow_state *state, const struct flow_image *image,
                     const struct instruction *instruction)
{
    const struct operand *to = &instruction->to, *from = &instruction->from;
    state->pc = instruction->address + instruction->size;
    switch ((enum instruction_verb)instruction->verb) {
    case INSTRUCTION_MOVE:
        put(state, to, get(state, image, from));
        break;
    case INSTRUCTION_MOVE_SIGNED:
        put(state, to, sign_extended(get(state, image, from), from->width, to->width));
        break;
    case INSTRUCTION_ADDRESS:
        put(state, to, address_of(state, from));
        break;
    case INSTRUCTION_ADD:
        step_add(state, image, instruction);
        return;
    case INSTRUCTION_SHIFT_RIGHT:
        step_shift(state, image, instruction);
        return;
    case INSTRUCTION_AND:
    case INSTRUCTION_XOR:
        step_bits(state, image, instruction);
        return;
    case INSTRUCTION_COMPARE:
        compare(state, get(state, image, to), get(state, image, from), to->width);
        return;
    case INSTRUCTION_COMPARE_REAL:
        compare(state, get(state, image, to), get(state, image, from), to->width);
        state->compared_real = true;
        return;
    case INSTRUCTION_TEST:
        step_test(state, image, instruction);
        return;
    case INSTRUCTION_SET:
    case INSTRUCTION_CONDITIONAL_MOVE:
        step_conditional(state, image, instruction);
        return;
    case INSTRUCTION_PUSH:
        push(state, get(state, image, to));
        break;
    case INSTRUCTION_POP:
        put(state, to, pop(state));
        break;
    case INSTRUCTION_LEAVE:
        state->registers[state->machine->stack_pointer] =
            state->registers[state->machine->frame_pointer];
        state->registers[state->machine->frame_pointer] = pop(state);
        break;
    case INSTRUCTION_OTHER:
        step_other(state, instruction);
        break;
    case INSTRUCTION_BAD:
    case INSTRUCTION_NOP:
    case INSTRUCTION_HINT:
    case INSTRUCTION_BRANCH:
    case INSTRUCTION_JUMP:
    case INSTRUCTION_CALL:
    case INSTRUCTION_RETURN:
    case INSTRUCTION_STOP:
        break;
    }
    if (instruction->change)
        forget_flags(state);
}

struct value flow_state_load(const struct flow_state *state, uint64_t offset, uint8_t width)
{
    struct value place = state->registers[state->machine->stack_pointer];
    place.number += offset;
    return load(state, place, width);
}

struct value flow_state_load_at(const struct flow_state *state, struct value place, uint8_t width)
{
    return load(state, place, width);
}

void flow_state_store_at(struct flow_state *state, struct value place, uint8_t width,
                         struct value value)
{
    store(state, place, width, value);
}

void flow_state_return(struct flow_state *state, struct value result)
{
    for (size_t i = 0; i < state->machine->scratch_count; i++)
        state->registers[state->machine->scratch[i]] = unknown;
    for (size_t i = 0; i < INSTRUCTION_REGISTER_LIMIT; i++)
        state->vectors[i] = unknown;
    state->registers[state->machine->result] = result;
    forget_flags(state);
}

void flow_state_set_result(struct flow_state *state, struct value result)
{
    state->registers[state->machine->result] = state->vectors[state->machine->result_vector] =
        result;
}

struct value flow_state_resolve(const struct flow_state *state, struct value from)
{
    return from.kind == VALUE_ARGUMENT ? state->registers[from.number % INSTRUCTION_REGISTER_LIMIT]
                                       : from;
}

struct value flow_state_argument(const struct flow_state *state, unsigned index, uint8_t width)
{
    unsigned count = state->machine->argument_count;
    return index < count ? state->registers[state->machine->arguments[index]]
                         : flow_state_load(state, 8 * (uint64_t)(index - count), width);
}

struct value flow_entry_argument(const struct flow_machine *machine, unsigned index)
{
    unsigned count = machine->argument_count;
    if (index < count)
        return (struct value){VALUE_ARGUMENT, machine->arguments[index]};
    return (struct value){VALUE_STACK, machine->call_pushes + 8 * (uint64_t)(index - count)};
}
