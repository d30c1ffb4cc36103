/* What DWARF expressions compute on their stack, DWARF 5 section 2.5.1. */
#include "location_private.h"

#include <dwarf.h>
#include <string.h>

enum native_location location_push_slot(struct evaluator *evaluator, struct slot slot)
{
    if (evaluator->depth == LOCATION_STACK_SIZE)
        return NATIVE_LOCATION_UNSUPPORTED;
    evaluator->stack[evaluator->depth++] = slot;
    return NATIVE_LOCATION_FOUND;
}

enum native_location location_push(struct evaluator *evaluator, uint64_t value)
{
    return location_push_slot(evaluator, (struct slot){value, GENERIC_ENCODING, GENERIC_SIZE});
}

const uint8_t *location_find_vector(const struct evaluator *evaluator, uint64_t number,
                                    const struct target_vectors **ret)
{
    const struct target_vectors *kinds = evaluator->target->machine->vectors;
    for (size_t i = 0; i < TARGET_VECTOR_KINDS && evaluator->vectors; i++)
        if (number >= kinds[i].first && number - kinds[i].first < kinds[i].count) {
            *ret = &kinds[i];
            return evaluator->vectors + kinds[i].offset + 16 * (number - kinds[i].first);
        }
    return NULL;
}

enum native_location location_push_register(struct evaluator *evaluator, uint64_t number,
                                            uint64_t offset)
{
    if (number >= evaluator->target->machine->register_count || !(evaluator->known >> number & 1))
        return NATIVE_LOCATION_UNSAVED;
    return location_push(evaluator, evaluator->registers->value[number] + offset);
}

/* Where pc is exact all registers still have their values, whether the target has them or not. */
enum native_location location_why_unknown(const struct evaluator *evaluator, uint64_t number)
{
    unsigned count = evaluator->target->machine->register_count;
    bool standing = evaluator->known == (UINT64_C(1) << count) - 1;
    return standing && number >= count ? NATIVE_LOCATION_UNREADABLE : NATIVE_LOCATION_UNSAVED;
}

enum native_location location_push_any(struct evaluator *evaluator, uint64_t number)
{
    const struct target_vectors *kind;
    if (number < evaluator->target->machine->register_count)
        return location_push_register(evaluator, number, 0);
    const uint8_t *bytes = location_find_vector(evaluator, number, &kind);
    return bytes && kind->whole ? location_push(evaluator, load_u64(bytes))
                                : location_why_unknown(evaluator, number);
}

static uint64_t cut(uint64_t value, uint64_t size)
{
    return size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

static bool is_signed(uint8_t encoding)
{
    return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

static bool is_whole(uint8_t encoding, uint64_t size)
{
    return size && size <= 8 &&
           (is_signed(encoding) || encoding == DW_ATE_unsigned ||
            encoding == DW_ATE_unsigned_char || encoding == DW_ATE_boolean ||
            encoding == DW_ATE_address || encoding == DW_ATE_UTF);
}

/* To 64 bits, with the sign of the type. */
uint64_t location_extend(uint64_t value, uint8_t encoding, uint64_t size)
{
    if (!size)
        return value;
    value = cut(value, size);
    if (is_signed(encoding) && size < 8 && value >> (8 * size - 1))
        value |= ~((UINT64_C(1) << 8 * size) - 1);
    return value;
}

static enum native_location read_memory(struct evaluator *evaluator, uint64_t address,
                                        uint64_t size, uint64_t *ret)
{
    uint8_t bytes[8] = {0};
    if (!size || size > sizeof(bytes))
        return NATIVE_LOCATION_UNSUPPORTED;
    if (target_read(evaluator->target, address, bytes, size) != PSC_OK) {
        evaluator->fault = address;
        return NATIVE_LOCATION_UNREADABLE;
    }
    *ret = load_u64(bytes);
    return NATIVE_LOCATION_FOUND;
}

/* ---- arithmetic ---- */

static uint64_t shift_right_signed(uint64_t value, uint64_t by)
{
    uint64_t sign = value >> 63 ? UINT64_MAX : 0;
    if (by >= 64)
        return sign;
    return by ? value >> by | sign << (64 - by) : value;
}

static bool is_signed_slot(const struct slot *slot)
{
    return slot->encoding == GENERIC_ENCODING || is_signed(slot->encoding);
}

static bool divide(struct slot *left, uint64_t right, bool modulo)
{
    int64_t by = (int64_t)right;
    int64_t value = (int64_t)left->value;
    if (!by || (value == INT64_MIN && by == -1))
        return false;
    bool with_sign = is_signed_slot(left) && !(modulo && left->encoding == GENERIC_ENCODING);
    if (modulo)
        left->value = with_sign ? (uint64_t)(value % by) : left->value % right;
    else
        left->value = with_sign ? (uint64_t)(value / by) : left->value / right;
    return true;
}

static bool compare(const struct slot *left, uint64_t right, uint8_t code)
{
    bool below = is_signed_slot(left) ? (int64_t)left->value < (int64_t)right : left->value < right;
    bool equal = left->value == right;
    switch (code) {
    case DW_OP_eq:
        return equal;
    case DW_OP_ne:
        return !equal;
    case DW_OP_lt:
        return below;
    case DW_OP_le:
        return below || equal;
    case DW_OP_gt:
        return !below && !equal;
    default:
        return !below;
    }
}

/* Operations that take two and leave one, of the type of the first. */
static enum native_location combine(struct evaluator *evaluator, uint8_t code)
{
    const struct slot *top = &evaluator->stack[--evaluator->depth];
    struct slot *left = &evaluator->stack[evaluator->depth - 1];
    uint64_t right = top->value;
    if (left->encoding == DW_ATE_float || top->encoding == DW_ATE_float)
        return location_combine_floats(left, top, code) ? NATIVE_LOCATION_FOUND
                                                        : NATIVE_LOCATION_UNSUPPORTED;
    switch (code) {
    case DW_OP_plus:
        left->value += right;
        break;
    case DW_OP_minus:
        left->value -= right;
        break;
    case DW_OP_mul:
        left->value *= right;
        break;
    case DW_OP_div:
    case DW_OP_mod:
        if (!divide(left, right, code == DW_OP_mod))
            return NATIVE_LOCATION_UNSUPPORTED;
        break;
    case DW_OP_and:
        left->value &= right;
        break;
    case DW_OP_or:
        left->value |= right;
        break;
    case DW_OP_xor:
        left->value ^= right;
        break;
    case DW_OP_shl:
        left->value = right < 64 ? left->value << right : 0;
        break;
    case DW_OP_shr:
        left->value = right < 64 ? cut(left->value, left->size) >> right : 0;
        break;
    case DW_OP_shra:
        left->value = shift_right_signed(left->value, right);
        break;
    case DW_OP_eq:
    case DW_OP_ne:
    case DW_OP_ge:
    case DW_OP_gt:
    case DW_OP_le:
    case DW_OP_lt:
        *left = (struct slot){compare(left, right, code), GENERIC_ENCODING, GENERIC_SIZE};
        return NATIVE_LOCATION_FOUND;
    default:
        return NATIVE_LOCATION_UNSUPPORTED;
    }
    left->value = location_extend(left->value, left->encoding, left->size);
    return NATIVE_LOCATION_FOUND;
}

static bool takes_two(uint8_t code)
{
    switch (code) {
    case DW_OP_plus_uconst:
    case DW_OP_not:
    case DW_OP_neg:
    case DW_OP_abs:
    case DW_OP_deref:
    case DW_OP_deref_size:
        return false;
    default:
        return true;
    }
}

/* Operations on the top of the stack alone. */
static enum native_location change_top(struct evaluator *evaluator,
                                       const struct debug_operation *operation)
{
    struct slot *top = &evaluator->stack[evaluator->depth - 1];
    bool unary = operation->code == DW_OP_neg || operation->code == DW_OP_abs;
    if (top->encoding == DW_ATE_float && unary)
        return location_change_float(top, operation->code) ? NATIVE_LOCATION_FOUND
                                                           : NATIVE_LOCATION_UNSUPPORTED;
    if (top->encoding == DW_ATE_float && !takes_two(operation->code))
        return NATIVE_LOCATION_UNSUPPORTED;
    switch (operation->code) {
    case DW_OP_plus_uconst:
        top->value += operation->number;
        break;
    case DW_OP_not:
        top->value = ~top->value;
        break;
    case DW_OP_neg:
        top->value = 0 - top->value;
        break;
    case DW_OP_abs:
        if (is_signed_slot(top) && top->value >> 63)
            top->value = 0 - top->value;
        break;
    case DW_OP_deref:
    case DW_OP_deref_size:
        *top = (struct slot){top->value, GENERIC_ENCODING, GENERIC_SIZE};
        return read_memory(evaluator, top->value,
                           operation->code == DW_OP_deref ? GENERIC_SIZE : operation->number,
                           &top->value);
    default:
        return combine(evaluator, operation->code);
    }
    top->value = location_extend(top->value, top->encoding, top->size);
    return NATIVE_LOCATION_FOUND;
}

/* Operations that move what is on the stack. */
static enum native_location arrange(struct evaluator *evaluator,
                                    const struct debug_operation *operation)
{
    size_t depth = evaluator->depth;
    struct slot *stack = evaluator->stack;
    struct slot top = stack[depth - 1];
    switch (operation->code) {
    case DW_OP_dup:
        return location_push_slot(evaluator, top);
    case DW_OP_drop:
        evaluator->depth--;
        return NATIVE_LOCATION_FOUND;
    case DW_OP_over:
        return location_push_slot(evaluator, stack[depth - 2]);
    case DW_OP_pick:
        return operation->number < depth
                   ? location_push_slot(evaluator, stack[depth - 1 - operation->number])
                   : NATIVE_LOCATION_UNSUPPORTED;
    case DW_OP_swap:
        stack[depth - 1] = stack[depth - 2];
        stack[depth - 2] = top;
        return NATIVE_LOCATION_FOUND;
    case DW_OP_rot:
        stack[depth - 1] = stack[depth - 2];
        stack[depth - 2] = stack[depth - 3];
        stack[depth - 3] = top;
        return NATIVE_LOCATION_FOUND;
    default:
        return change_top(evaluator, operation);
    }
}

/* ---- typed operations ---- */

/* Reinterpreting keeps the bytes. */
static bool may_become(const struct slot *slot, const struct debug_operation *operation)
{
    return operation->code != DW_OP_reinterpret || slot->size == operation->number2;
}

static enum native_location run_typed(struct evaluator *evaluator,
                                      const struct debug_operation *operation)
{
    enum native_location found = NATIVE_LOCATION_FOUND;
    uint8_t bytes[8] = {0};
    uint64_t size = operation->number2;
    bool single_or_double = operation->encoding == DW_ATE_float && (size == 4 || size == 8);
    if (!is_whole(operation->encoding, size) && !single_or_double)
        return NATIVE_LOCATION_UNSUPPORTED;
    if (operation->code == DW_OP_const_type) {
        if (!operation->bytes || operation->number > sizeof(bytes))
            return NATIVE_LOCATION_UNSUPPORTED;
        memcpy(bytes, operation->bytes, operation->number);
        found = location_push(evaluator, load_u64(bytes));
    } else if (operation->code == DW_OP_regval_type) {
        found = location_push_any(evaluator, operation->number);
    }
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    struct slot *top = &evaluator->stack[evaluator->depth - 1];
    if (!may_become(top, operation))
        return NATIVE_LOCATION_UNSUPPORTED;
    if (operation->code == DW_OP_convert &&
        (top->encoding == DW_ATE_float || operation->encoding == DW_ATE_float))
        return location_convert_float(top, operation->encoding, size) ? NATIVE_LOCATION_FOUND
                                                                      : NATIVE_LOCATION_UNSUPPORTED;
    if (operation->code == DW_OP_deref_type)
        found = read_memory(evaluator, top->value, operation->number, &top->value);
    top->value = location_extend(top->value, operation->encoding, size);
    top->encoding = operation->encoding;
    top->size = (uint8_t)size;
    return found;
}

enum native_location location_compute(struct evaluator *evaluator,
                                      const struct debug_operation *operation)
{
    switch (operation->code) {
    case DW_OP_nop:
        return NATIVE_LOCATION_FOUND;
    case DW_OP_const_type:
    case DW_OP_regval_type:
    case DW_OP_deref_type:
    case DW_OP_convert:
    case DW_OP_reinterpret:
        return run_typed(evaluator, operation);
    default:
        return arrange(evaluator, operation);
    }
}
