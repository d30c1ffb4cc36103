/* What one instruction does to registers, stack and flags, as far as they are known. */
#include "path_state.h"

static const struct value unknown = {VALUE_UNKNOWN, 0};

static struct value constant(uint64_t number)
{
    return (struct value){VALUE_CONSTANT, number};
}

/* ---- operands ---- */

/** Where a memory operand is, when it is on the stack. */
static struct value place_of(const struct flow_state *state, const struct operand *operand)
{
    if (operand->kind != OPERAND_BASED)
        return unknown;
    struct value place = state->registers[operand->register_number];
    if (!flow_is_place(place))
        return unknown;
    place.number += (uint64_t)operand->number;
    return place;
}

static struct value load_absolute(const struct code_image *image, uint64_t address, uint8_t width)
{
    const struct code_pointer *pointer = width == 8 ? code_find_pointer(image, address) : NULL;
    if (pointer)
        return pointer->value ? constant(pointer->value) : unknown;
    size_t have;
    const uint8_t *bytes =
        width == 4 || width == 8 ? code_constant_bytes(image, address, &have) : NULL;
    if (!bytes || have < width)
        return unknown;
    return constant(width == 4 ? load_u32(bytes) : load_u64(bytes));
}

static struct value get(const struct flow_state *state, const struct code_image *image,
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
        return flow_state_load_at(state, place_of(state, operand), operand->width);
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
        flow_state_store_at(state, place_of(state, operand), operand->width, value);
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

/* ---- instructions ---- */

static void step_add(struct flow_state *state, const struct code_image *image,
                     const struct instruction *instruction)
{
    const struct operand *to = &instruction->to;
    uint64_t number = (uint64_t)instruction->from.number;
    struct value value = get(state, image, to);
    compare(state, value, constant(0 - number), to->width);
    if (value.kind == VALUE_CONSTANT) {
        value.number = flow_truncate(value.number + number, to->width);
        /* Of an addition the carry is not that of the comparison; no line hangs on it. */
    } else if (flow_is_place(value) && to->width == 8) {
        value.number += number;
        flow_state_forget_flags(state);
    } else {
        value = unknown;
    }
    put(state, to, value);
}

static void step_test(struct flow_state *state, const struct code_image *image,
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
        flow_state_forget_flags(state);
}

static struct value shifted(struct value value, uint64_t count, uint8_t width)
{
    const uint64_t bits = UINT64_C(8) * width;
    if (value.kind == VALUE_ERROR && count == bits - 1)
        return constant(1);
    if (value.kind == VALUE_SUCCESS && count == bits - 1)
        return constant(0);
    if (value.kind != VALUE_CONSTANT || count >= bits)
        return unknown;
    return constant(flow_truncate(value.number, width) >> count);
}

static void step_bits(struct flow_state *state, const struct code_image *image,
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

static void step_shift(struct flow_state *state, const struct code_image *image,
                       const struct instruction *instruction)
{
    struct value before = get(state, image, &instruction->to);
    struct value after =
        shifted(before, (uint64_t)instruction->from.number & 63, instruction->to.width);
    put(state, &instruction->to, after);
    flow_state_forget_flags(state);
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
    if (!flow_is_place(value) && value.kind != VALUE_CONSTANT)
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
        flow_state_store_at(state, place_of(state, &instruction->to), instruction->to.width,
                            unknown);
}

static void push(struct flow_state *state, struct value value)
{
    struct value *top = &state->registers[state->abi->stack_pointer];
    top->number -= 8;
    flow_state_store_at(state, *top, 8, value);
}

static struct value pop(struct flow_state *state)
{
    struct value *top = &state->registers[state->abi->stack_pointer];
    struct value value = flow_state_load_at(state, *top, 8);
    top->number += 8;
    return value;
}

static void step_conditional(struct flow_state *state, const struct code_image *image,
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

void flow_state_step(struct flow_state *state, const struct code_image *image,
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
        state->registers[state->abi->stack_pointer] = state->registers[state->abi->frame_pointer];
        state->registers[state->abi->frame_pointer] = pop(state);
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
        flow_state_forget_flags(state);
}
