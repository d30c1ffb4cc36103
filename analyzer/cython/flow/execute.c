/* What one instruction does to registers, stack and flags, as far as they are known. */
#include "path_state.h"

static const struct abstract_value unknown = {ABSTRACT_UNKNOWN, 0};

static struct abstract_value constant(uint64_t number)
{
    return (struct abstract_value){ABSTRACT_CONSTANT, number};
}

/* ---- operands ---- */

/** Where a memory operand is, when it is on the stack. */
static struct abstract_value memory_address(const struct flow_state *state,
                                            const struct operand *operand)
{
    if (operand->kind != OPERAND_BASED)
        return unknown;
    struct abstract_value address = state->registers[operand->register_number];
    if (!flow_is_address(address))
        return unknown;
    address.number += (uint64_t)operand->number;
    return address;
}

static struct abstract_value load_absolute(const struct code_image *image, uint64_t address,
                                           uint8_t width)
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

static struct abstract_value get(const struct flow_state *state, const struct code_image *image,
                                 const struct operand *operand)
{
    struct abstract_value value;
    switch ((enum operand_kind)operand->kind) {
    case OPERAND_REGISTER:
        value = state->registers[operand->register_number];
        if (operand->high)
            return unknown;
        if (value.kind == ABSTRACT_BYTE)
            return operand->width == 1 ? constant(value.number) : unknown;
        if (value.kind == ABSTRACT_CONSTANT)
            value.number = flow_truncate(value.number, operand->width);
        else if (operand->width < 4)
            return unknown;
        return value;
    case OPERAND_VECTOR:
        value = state->vectors[operand->register_number % state->abi->register_count];
        if (value.kind == ABSTRACT_CONSTANT)
            value.number = flow_truncate(value.number, operand->width);
        return value;
    case OPERAND_IMMEDIATE:
        return constant(operand->width ? flow_truncate((uint64_t)operand->number, operand->width)
                                       : (uint64_t)operand->number);
    case OPERAND_ABSOLUTE:
        return load_absolute(image, (uint64_t)operand->number, operand->width);
    case OPERAND_BASED:
        return flow_state_load_at(state, memory_address(state, operand), operand->width);
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
                           struct abstract_value value)
{
    if (operand->kind == OPERAND_BASED && operand->width == 8 &&
        state->registers[operand->register_number].kind == ABSTRACT_THREAD)
        state->taken = value.kind == ABSTRACT_CONSTANT && value.number == 0;
}

static void put(struct flow_state *state, const struct operand *operand,
                struct abstract_value value)
{
    if (operand->kind == OPERAND_BASED) {
        note_exception(state, operand, value);
        flow_state_store_at(state, memory_address(state, operand), operand->width, value);
    } else if (operand->kind == OPERAND_VECTOR) {
        state->vectors[operand->register_number % state->abi->register_count] = value;
    } else if (operand->kind == OPERAND_REGISTER) {
        struct abstract_value *slot = &state->registers[operand->register_number];
        /* Parts of a register leave the rest as it was; writes of four bytes clear the rest. */
        if (operand->width >= 4)
            *slot = value;
        else if (value.kind != ABSTRACT_CONSTANT || operand->high)
            *slot = unknown;
        else if (slot->kind == ABSTRACT_CONSTANT)
            slot->number = (slot->number & ~flow_truncate(UINT64_MAX, operand->width)) |
                           flow_truncate(value.number, operand->width);
        else
            *slot = operand->width == 1
                        ? (struct abstract_value){ABSTRACT_BYTE, flow_truncate(value.number, 1)}
                        : unknown;
    }
}

/* ---- flags ---- */

static void compare(struct flow_state *state, struct abstract_value left,
                    struct abstract_value right, uint8_t width)
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
    struct abstract_value value = get(state, image, to);
    compare(state, value, constant(0 - number), to->width);
    if (value.kind == ABSTRACT_CONSTANT) {
        value.number = flow_truncate(value.number + number, to->width);
        /* The carry of an addition differs from that of a comparison; code that Cython generates
         * does not test it. */
    } else if (flow_is_address(value) && to->width == 8) {
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
    struct abstract_value left = get(state, image, &instruction->to);
    struct abstract_value right = get(state, image, &instruction->from);
    bool same = instruction->to.kind == OPERAND_REGISTER &&
                instruction->from.kind == OPERAND_REGISTER &&
                instruction->to.register_number == instruction->from.register_number;
    uint8_t width = instruction->to.width;
    if (same)
        compare(state, left, constant(0), width);
    else if (left.kind == ABSTRACT_CONSTANT && right.kind == ABSTRACT_CONSTANT)
        compare(state, constant(left.number & right.number), constant(0), width);
    else
        flow_state_forget_flags(state);
}

static struct abstract_value shifted(struct abstract_value value, uint64_t count, uint8_t width)
{
    const uint64_t bits = UINT64_C(8) * width;
    if (value.kind == ABSTRACT_ERROR && count == bits - 1)
        return constant(1);
    if (value.kind == ABSTRACT_SUCCESS && count == bits - 1)
        return constant(0);
    if (value.kind != ABSTRACT_CONSTANT || count >= bits)
        return unknown;
    return constant(flow_truncate(value.number, width) >> count);
}

static void step_bits(struct flow_state *state, const struct code_image *image,
                      const struct instruction *instruction)
{
    const struct operand *to = &instruction->to;
    uint64_t bits = (uint64_t)instruction->from.number;
    struct abstract_value value = get(state, image, to);
    if (value.kind == ABSTRACT_CONSTANT)
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
    struct abstract_value before = get(state, image, &instruction->to);
    struct abstract_value after =
        shifted(before, (uint64_t)instruction->from.number & 63, instruction->to.width);
    put(state, &instruction->to, after);
    flow_state_forget_flags(state);
    /* The sign of what a failed call returned: a branch on it tests for the failure. */
    state->tested |= before.kind == ABSTRACT_ERROR && after.kind == ABSTRACT_CONSTANT;
}

static struct abstract_value sign_extended(struct abstract_value value, uint8_t from, uint8_t to)
{
    if (value.kind == ABSTRACT_CONSTANT)
        return constant(flow_truncate((uint64_t)flow_sign_extend(value.number, from), to));
    /* The low half of an argument stays that argument: whoever asks for it reads the same four
     * bytes. */
    bool known = value.kind == ABSTRACT_ERROR || value.kind == ABSTRACT_SUCCESS ||
                 value.kind == ABSTRACT_ARGUMENT;
    return known && from == 4 ? value : unknown;
}

static struct abstract_value effective_address(const struct flow_state *state,
                                               const struct operand *operand)
{
    if (operand->kind == OPERAND_ABSOLUTE)
        return constant((uint64_t)operand->number);
    if (operand->kind != OPERAND_BASED)
        return unknown;
    struct abstract_value value = state->registers[operand->register_number];
    if (!flow_is_address(value) && value.kind != ABSTRACT_CONSTANT)
        return unknown;
    value.number += (uint64_t)operand->number;
    return value;
}

static void step_other(struct flow_state *state, const struct instruction *instruction)
{
    for (unsigned i = 0; i < state->abi->register_count; i++)
        if (instruction->written >> i & 1)
            state->registers[i] = unknown;
    for (unsigned i = 0; i < state->abi->register_count; i++)
        if (instruction->written_vectors >> i & 1)
            state->vectors[i] = unknown;
    if (instruction->to.kind == OPERAND_BASED)
        flow_state_store_at(state, memory_address(state, &instruction->to), instruction->to.width,
                            unknown);
}

static void push(struct flow_state *state, struct abstract_value value)
{
    struct abstract_value *top = &state->registers[state->abi->stack_pointer];
    top->number -= 8;
    flow_state_store_at(state, *top, 8, value);
}

static struct abstract_value pop(struct flow_state *state)
{
    struct abstract_value *top = &state->registers[state->abi->stack_pointer];
    struct abstract_value value = flow_state_load_at(state, *top, 8);
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
    struct abstract_value from = get(state, image, &instruction->from);
    struct abstract_value to = get(state, image, &instruction->to);
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
        put(state, to, effective_address(state, from));
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
