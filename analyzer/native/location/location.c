/* DWARF location descriptions, DWARF 5 section 2.6, evaluated in one frame. */
#include "location.h"

#include "expression.h"

#include <string.h>

/* Steps of one expression with jumps in it. */
#define STEP_LIMIT 4096u

static enum native_location run(struct machine *machine, const struct debug_expression *expression,
                                struct native_value *pieces);

/* ---- what depends on the frame ---- */

static enum native_location push_frame_base(struct machine *machine, uint64_t offset)
{
    const struct native_evaluation *evaluation = machine->evaluation;
    struct machine base = {.target = machine->target, .evaluation = evaluation, .base = true};
    if (!evaluation->frame_base || machine->base)
        return NATIVE_LOCATION_UNSUPPORTED;
    enum native_location found = run(&base, evaluation->frame_base, NULL);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (base.kind == RESULT_REGISTER)
        return location_push_register(machine, base.register_number, offset);
    if (base.kind == RESULT_LOST)
        return NATIVE_LOCATION_LOST;
    if (base.kind == RESULT_BYTES || !base.depth)
        return NATIVE_LOCATION_UNSUPPORTED;
    return location_push(machine, base.stack[base.depth - 1].value + offset);
}

static enum native_location push_entry_value(struct machine *machine,
                                             const struct debug_operation *operation)
{
    const struct native_evaluation *evaluation = machine->evaluation;
    uint64_t value;
    if (!evaluation->enter || !operation->inner || machine->base ||
        !evaluation->enter(evaluation->entry, operation->inner, &value))
        return NATIVE_LOCATION_LOST;
    const struct debug_operation *inner = &operation->inner->operations[0];
    if (operation->inner->count != 1 || inner->code != DW_OP_regval_type)
        return location_push(machine, value);
    return location_push_slot(machine,
                              (struct slot){location_extend(value, inner->encoding, inner->number2),
                                            inner->encoding, (uint8_t)inner->number2});
}

/* What the caller would have handed over. */
static enum native_location push_parameter(struct machine *machine,
                                           const struct debug_operation *operation)
{
    const struct native_evaluation *evaluation = machine->evaluation;
    const struct debug_expression parameter = {operation, 1};
    uint64_t value;
    if (!evaluation->enter || machine->base ||
        !evaluation->enter(evaluation->entry, &parameter, &value))
        return NATIVE_LOCATION_LOST;
    return location_push(machine, value);
}

static enum native_location run_rare(struct machine *machine,
                                     const struct debug_operation *operation)
{
    switch (operation->code) {
    case DW_OP_fbreg:
        return push_frame_base(machine, operation->number);
    case DW_OP_GNU_uninit:
        // What debuggers show, too: the place is right.
        return NATIVE_LOCATION_FOUND;
    case DW_OP_call_frame_cfa:
        if (!machine->evaluation->context->cfa)
            return NATIVE_LOCATION_LOST;
        return location_push(machine, machine->evaluation->context->cfa);
    case DW_OP_bregx:
        return location_push_register(machine, operation->number, operation->number2);
    case DW_OP_addr:
    case DW_OP_addrx:
    case DW_OP_constx:
        return location_push(machine, operation->number);
    case DW_OP_entry_value:
        return push_entry_value(machine, operation);
    case DW_OP_GNU_parameter_ref:
        return push_parameter(machine, operation);
    default:
        return location_compute(machine, operation);
    }
}

/* Operations that say what the result is; false for the others. */
static bool set_result(struct machine *machine, const struct debug_operation *operation)
{
    uint8_t code = operation->code;
    if ((code >= DW_OP_reg0 && code <= DW_OP_reg31) || code == DW_OP_regx) {
        machine->kind = RESULT_REGISTER;
        machine->register_number =
            code == DW_OP_regx ? operation->number : (uint64_t)code - DW_OP_reg0;
    } else if (code == DW_OP_stack_value) {
        machine->kind = RESULT_VALUE;
    } else if (code == DW_OP_implicit_value) {
        machine->kind = RESULT_BYTES;
        machine->bytes = operation;
    } else if (code == DW_OP_implicit_pointer) {
        // To something that is nowhere.
        machine->kind = RESULT_LOST;
    } else {
        return false;
    }
    return true;
}

static enum native_location run_one(struct machine *machine,
                                    const struct debug_operation *operation)
{
    uint8_t code = operation->code;
    uint64_t constant;
    if (set_result(machine, operation))
        return NATIVE_LOCATION_FOUND;
    if (expression_get_constant(code, operation->number, &constant))
        return location_push(machine, constant);
    if (code >= DW_OP_breg0 && code <= DW_OP_breg31)
        return location_push_register(machine, (uint64_t)code - DW_OP_breg0, operation->number);
    return run_rare(machine, operation);
}

/* ---- pieces ---- */

static void put_bytes(struct native_value *value, const void *bytes, size_t size, size_t wanted)
{
    size_t copied = size < wanted ? size : wanted;
    if (copied)
        memcpy(value->bytes + value->size, bytes, copied);
    memset(value->known + value->size, 1, copied);
    memset(value->bytes + value->size + copied, 0, wanted - copied);
    memset(value->known + value->size + copied, 0, wanted - copied);
    value->size += wanted;
}

static enum native_location put_register(struct machine *machine, size_t size,
                                         struct native_value *value)
{
    const struct native_context *context = machine->evaluation->context;
    uint64_t number = machine->register_number;
    const struct target_vectors *kind;
    const uint8_t *vector = location_find_vector(machine, number, &kind);
    if (number < machine->target->machine->register_count && context->known >> number & 1) {
        put_bytes(value, &context->registers.value[number], 8, size);
    } else if (vector) {
        put_bytes(value, vector, kind->size, size);
    } else {
        value->unsaved = true;
        put_bytes(value, NULL, 0, size);
        if (location_why_unknown(machine, number) == NATIVE_LOCATION_UNREADABLE)
            return NATIVE_LOCATION_UNREADABLE;
    }
    return NATIVE_LOCATION_FOUND;
}

/* Appends what the machine came to, as `size` bytes. */
static enum native_location put_result(struct machine *machine, uint64_t size,
                                       struct native_value *value)
{
    size_t top = machine->depth - 1;
    uint64_t number;
    uint8_t buffer[NATIVE_VALUE_LIMIT];
    if (size > NATIVE_VALUE_LIMIT - value->size)
        return NATIVE_LOCATION_UNSUPPORTED;
    switch (machine->kind) {
    case RESULT_REGISTER:
        return put_register(machine, size, value);
    case RESULT_VALUE:
        if (!machine->depth)
            return NATIVE_LOCATION_UNSUPPORTED;
        number = machine->stack[top].value;
        put_bytes(value, &number, sizeof(number), size);
        return NATIVE_LOCATION_FOUND;
    case RESULT_BYTES:
        if (!machine->bytes->bytes)
            return NATIVE_LOCATION_UNSUPPORTED;
        put_bytes(value, machine->bytes->bytes, machine->bytes->number, size);
        return NATIVE_LOCATION_FOUND;
    case RESULT_ADDRESS:
        // An empty piece: that part is nowhere.
        if (!machine->depth) {
            put_bytes(value, NULL, 0, size);
            return NATIVE_LOCATION_FOUND;
        }
        if (target_read(machine->target, machine->stack[top].value, buffer, size) != PSC_OK)
            return NATIVE_LOCATION_UNREADABLE;
        put_bytes(value, buffer, size, size);
        return NATIVE_LOCATION_FOUND;
    case RESULT_LOST:
        put_bytes(value, NULL, 0, size);
        return NATIVE_LOCATION_FOUND;
    }
    return NATIVE_LOCATION_UNSUPPORTED;
}

/* Of a register that is not known a piece is not known either; the others may well be. */
static enum native_location take_piece(struct machine *machine, uint64_t piece_size, bool lost,
                                       struct native_value *pieces)
{
    if (!pieces)
        return NATIVE_LOCATION_UNSUPPORTED;
    if (lost)
        machine->kind = RESULT_LOST;
    enum native_location found = put_result(machine, piece_size, pieces);
    machine->depth = 0;
    machine->kind = RESULT_ADDRESS;
    return found;
}

/*
 * Runs all operations. With `pieces` those of the expression are put together there; whole
 * results stay in the machine.
 */
static enum native_location run(struct machine *machine, const struct debug_expression *expression,
                                struct native_value *pieces)
{
    bool lost = false; // What belongs to the piece that is being computed is nowhere.
    enum native_location why = NATIVE_LOCATION_LOST;
    size_t steps = 0;
    for (size_t i = 0; i < expression->count; steps++) {
        const struct debug_operation *operation = &expression->operations[i++];
        if (steps == STEP_LIMIT)
            return NATIVE_LOCATION_UNSUPPORTED;
        if (operation->code == DW_OP_piece) {
            if (lost && why == NATIVE_LOCATION_UNSAVED && pieces)
                pieces->unsaved = true;
            enum native_location put = take_piece(machine, operation->number, lost, pieces);
            if (put != NATIVE_LOCATION_FOUND)
                return put;
            lost = false;
            continue;
        }
        if (lost)
            continue;
        if (operation->code == DW_OP_bra || operation->code == DW_OP_skip) {
            if (operation->code == DW_OP_bra && !machine->depth)
                return NATIVE_LOCATION_UNSUPPORTED;
            if (operation->code == DW_OP_skip || machine->stack[--machine->depth].value)
                i = operation->number;
            continue;
        }
        enum native_location found = run_one(machine, operation);
        lost = found == NATIVE_LOCATION_LOST || found == NATIVE_LOCATION_UNSAVED;
        why = found;
        if (found != NATIVE_LOCATION_FOUND && !lost)
            return found;
    }
    return lost ? why : NATIVE_LOCATION_FOUND;
}

static bool has_pieces(const struct debug_expression *expression)
{
    for (size_t i = 0; i < expression->count; i++)
        if (expression->operations[i].code == DW_OP_piece)
            return true;
    return false;
}

static bool knows_any(const struct native_value *value)
{
    for (size_t i = 0; i < value->size; i++)
        if (value->known[i])
            return true;
    return false;
}

enum native_location native_locate(struct target *target,
                                   const struct native_evaluation *evaluation,
                                   const struct debug_expression *expression, uint64_t size,
                                   struct native_value *ret)
{
    struct machine machine = {.target = target, .evaluation = evaluation};
    ret->in_memory = false;
    ret->unsaved = false;
    ret->size = 0;
    bool pieces = has_pieces(expression);
    enum native_location found = run(&machine, expression, pieces ? ret : NULL);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (!pieces && machine.kind == RESULT_ADDRESS) {
        if (!machine.depth)
            return NATIVE_LOCATION_LOST;
        ret->in_memory = true;
        ret->address = machine.stack[machine.depth - 1].value;
        return NATIVE_LOCATION_FOUND;
    }
    if (!pieces)
        found = put_result(&machine, size, ret);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (knows_any(ret))
        return NATIVE_LOCATION_FOUND;
    return ret->unsaved ? NATIVE_LOCATION_UNSAVED : NATIVE_LOCATION_LOST;
}

enum native_location native_evaluate(struct target *target,
                                     const struct native_evaluation *evaluation,
                                     const struct debug_expression *expression, uint64_t *ret)
{
    struct machine machine = {.target = target, .evaluation = evaluation};
    enum native_location found = run(&machine, expression, NULL);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (machine.kind == RESULT_REGISTER) {
        machine.depth = 0;
        found = location_push_any(&machine, machine.register_number);
    } else if (machine.kind == RESULT_LOST) {
        return NATIVE_LOCATION_LOST;
    } else if (machine.kind == RESULT_BYTES || !machine.depth) {
        return NATIVE_LOCATION_UNSUPPORTED;
    }
    if (found == NATIVE_LOCATION_FOUND)
        *ret = machine.stack[machine.depth - 1].value;
    return found;
}
