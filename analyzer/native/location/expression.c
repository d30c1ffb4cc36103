#include "expression.h"

#define STACK_SIZE 64u

struct machine {
    struct native *native;
    const struct target_registers *registers;
    psc_addr cfa;
    uint64_t stack[STACK_SIZE];
    unsigned depth;
    bool value;
};

static bool push(struct machine *machine, uint64_t value)
{
    if (machine->depth >= STACK_SIZE)
        return false;
    machine->stack[machine->depth++] = value;
    return true;
}

static bool push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
    return number < machine->native->machine->register_count &&
           push(machine, machine->registers->value[number] + offset);
}

static uint64_t shift_right_signed(uint64_t value, uint64_t by)
{
    uint64_t sign = value >> 63 ? UINT64_MAX : 0;
    if (by >= 64)
        return sign;
    return by ? value >> by | sign << (64 - by) : value;
}

/* Operations that take two and leave one. */
static bool combine(struct machine *machine, uint8_t operation)
{
    if (machine->depth < 2)
        return false;
    uint64_t right = machine->stack[--machine->depth];
    uint64_t *left = &machine->stack[machine->depth - 1];
    switch (operation) {
    case DW_OP_plus:
        *left += right;
        return true;
    case DW_OP_minus:
        *left -= right;
        return true;
    case DW_OP_mul:
        *left *= right;
        return true;
    case DW_OP_and:
        *left &= right;
        return true;
    case DW_OP_or:
        *left |= right;
        return true;
    case DW_OP_xor:
        *left ^= right;
        return true;
    case DW_OP_shl:
        *left = right < 64 ? *left << right : 0;
        return true;
    case DW_OP_shr:
        *left = right < 64 ? *left >> right : 0;
        return true;
    case DW_OP_shra:
        *left = shift_right_signed(*left, right);
        return true;
    case DW_OP_eq:
        *left = *left == right;
        return true;
    case DW_OP_ne:
        *left = *left != right;
        return true;
    case DW_OP_ge:
        *left = (int64_t)*left >= (int64_t)right;
        return true;
    case DW_OP_gt:
        *left = (int64_t)*left > (int64_t)right;
        return true;
    case DW_OP_le:
        *left = (int64_t)*left <= (int64_t)right;
        return true;
    case DW_OP_lt:
        *left = (int64_t)*left < (int64_t)right;
        return true;
    default:
        return false;
    }
}

/* Operations on the top of the stack alone. */
static bool run_unary(struct machine *machine, const Dwarf_Op *operation)
{
    if (!machine->depth)
        return false;
    uint64_t *top = &machine->stack[machine->depth - 1];
    uint64_t other;
    switch (operation->atom) {
    case DW_OP_plus_uconst:
        *top += operation->number;
        return true;
    case DW_OP_not:
        *top = ~*top;
        return true;
    case DW_OP_neg:
        *top = 0 - *top;
        return true;
    case DW_OP_dup:
        return push(machine, *top);
    case DW_OP_drop:
        machine->depth--;
        return true;
    case DW_OP_over:
        return machine->depth >= 2 && push(machine, top[-1]);
    case DW_OP_swap:
        if (machine->depth < 2)
            return false;
        other = *top;
        *top = top[-1];
        top[-1] = other;
        return true;
    case DW_OP_stack_value:
        machine->value = true;
        return true;
    default:
        return combine(machine, operation->atom);
    }
}

static bool run(struct machine *machine, const Dwarf_Op *operation)
{
    uint8_t atom = operation->atom;
    uint64_t constant;
    if (expression_get_constant(atom, operation->number, &constant))
        return push(machine, constant);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31)
        return push_register(machine, atom - DW_OP_breg0, operation->number);
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
        machine->value = true;
        return push_register(machine, atom - DW_OP_reg0, 0);
    }
    switch (atom) {
    case DW_OP_nop:
        return true;
    case DW_OP_call_frame_cfa:
        return push(machine, machine->cfa);
    case DW_OP_bregx:
        return push_register(machine, operation->number, operation->number2);
    case DW_OP_regx:
        machine->value = true;
        return push_register(machine, operation->number, 0);
    default:
        return run_unary(machine, operation);
    }
}

enum step_result expression_evaluate(struct native *native, const Dwarf_Op *operations,
                                     size_t count, const struct target_registers *registers,
                                     psc_addr cfa, uint64_t *ret, bool *ret_value)
{
    struct machine machine = {.native = native, .registers = registers, .cfa = cfa};
    if (count > EXPRESSION_LENGTH_LIMIT)
        return STEP_INVALID;
    for (size_t i = 0; i < count; i++) {
        if (operations[i].atom != DW_OP_deref) {
            if (!run(&machine, &operations[i]))
                return STEP_INVALID;
            continue;
        }
        if (!machine.depth)
            return STEP_INVALID;
        uint64_t *top = &machine.stack[machine.depth - 1];
        if (!native_read_word(native, *top, top)) {
            *ret = *top;
            return STEP_FAULT;
        }
    }
    if (!machine.depth)
        return STEP_INVALID;
    *ret = machine.stack[machine.depth - 1];
    *ret_value = machine.value;
    return STEP_OK;
}
