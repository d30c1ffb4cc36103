/* DWARF expressions and location descriptions, DWARF 5 sections 2.5 and 2.6, in one frame. */
#include "location_private.h"

#include <dwarf.h>
#include <string.h>

/* Steps of one expression with jumps in it. */
#define STEP_LIMIT 4096u

static enum native_location run(struct evaluator *evaluator,
                                const struct debug_expression *expression,
                                struct native_value *pieces);

/* ---- what depends on the frame ---- */

static struct evaluator of_frame(struct target *target, const struct native_evaluation *evaluation)
{
    const struct native_context *context = evaluation->context;
    return (struct evaluator){.target = target,
                              .registers = &context->registers,
                              .known = context->known,
                              .vectors = context->has_vectors ? context->vectors : NULL,
                              .cfa = context->cfa,
                              .evaluation = evaluation};
}

static enum native_location push_frame_base(struct evaluator *evaluator, uint64_t offset)
{
    const struct native_evaluation *evaluation = evaluator->evaluation;
    if (!evaluation || !evaluation->frame_base || evaluator->base)
        return NATIVE_LOCATION_UNSUPPORTED;
    struct evaluator base = of_frame(evaluator->target, evaluation);
    base.base = true;
    enum native_location found = run(&base, evaluation->frame_base, NULL);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (base.kind == RESULT_REGISTER)
        return location_push_register(evaluator, base.register_number, offset);
    if (base.kind == RESULT_LOST)
        return NATIVE_LOCATION_LOST;
    if (base.kind == RESULT_BYTES || !base.depth)
        return NATIVE_LOCATION_UNSUPPORTED;
    return location_push(evaluator, base.stack[base.depth - 1].value + offset);
}

static enum native_location push_entry_value(struct evaluator *evaluator,
                                             const struct debug_operation *operation)
{
    const struct native_evaluation *evaluation = evaluator->evaluation;
    uint64_t value;
    if (!evaluation || !evaluation->enter || !operation->inner || evaluator->base ||
        !evaluation->enter(evaluation->entry, operation->inner, &value))
        return NATIVE_LOCATION_LOST;
    const struct debug_operation *inner = &operation->inner->operations[0];
    if (operation->inner->count != 1 || inner->code != DW_OP_regval_type)
        return location_push(evaluator, value);
    return location_push_slot(evaluator,
                              (struct slot){location_extend(value, inner->encoding, inner->number2),
                                            inner->encoding, (uint8_t)inner->number2});
}

/* What the caller would have handed over. */
static enum native_location push_parameter(struct evaluator *evaluator,
                                           const struct debug_operation *operation)
{
    const struct native_evaluation *evaluation = evaluator->evaluation;
    const struct debug_expression parameter = {operation, 1};
    uint64_t value;
    if (!evaluation || !evaluation->enter || evaluator->base ||
        !evaluation->enter(evaluation->entry, &parameter, &value))
        return NATIVE_LOCATION_LOST;
    return location_push(evaluator, value);
}

static enum native_location run_rare(struct evaluator *evaluator,
                                     const struct debug_operation *operation)
{
    switch (operation->code) {
    case DW_OP_fbreg:
        return push_frame_base(evaluator, operation->number);
    case DW_OP_GNU_uninit:
        // What debuggers show, too: the place is right.
        return NATIVE_LOCATION_FOUND;
    case DW_OP_call_frame_cfa:
        // Of a rule it is what has been computed just before, whatever that is.
        if (!evaluator->cfa && evaluator->evaluation)
            return NATIVE_LOCATION_LOST;
        return location_push(evaluator, evaluator->cfa);
    case DW_OP_bregx:
        return location_push_register(evaluator, operation->number, operation->number2);
    case DW_OP_addr:
    case DW_OP_addrx:
    case DW_OP_constx:
        return location_push(evaluator, operation->number);
    case DW_OP_entry_value:
        return push_entry_value(evaluator, operation);
    case DW_OP_GNU_parameter_ref:
        return push_parameter(evaluator, operation);
    default:
        return location_compute(evaluator, operation);
    }
}

/* Operations that say what the result is; false for the others. */
static bool set_result(struct evaluator *evaluator, const struct debug_operation *operation)
{
    uint8_t code = operation->code;
    if ((code >= DW_OP_reg0 && code <= DW_OP_reg31) || code == DW_OP_regx) {
        evaluator->kind = RESULT_REGISTER;
        evaluator->register_number =
            code == DW_OP_regx ? operation->number : (uint64_t)code - DW_OP_reg0;
    } else if (code == DW_OP_stack_value) {
        evaluator->kind = RESULT_VALUE;
    } else if (code == DW_OP_implicit_value) {
        evaluator->kind = RESULT_BYTES;
        evaluator->bytes = operation;
    } else if (code == DW_OP_implicit_pointer) {
        // To something that is nowhere.
        evaluator->kind = RESULT_LOST;
    } else {
        return false;
    }
    return true;
}

/* DW_OP_lit0 to lit31, const1u to consts (DWARF 5, 2.5.1.1): they push a number of their own. */
static bool get_constant(uint8_t code, uint64_t operand, uint64_t *ret)
{
    if (code >= DW_OP_lit0 && code <= DW_OP_lit31)
        *ret = (uint64_t)code - DW_OP_lit0;
    else if (code >= DW_OP_const1u && code <= DW_OP_consts)
        *ret = operand; // libdw has extended the sign.
    else
        return false;
    return true;
}

static enum native_location run_one(struct evaluator *evaluator,
                                    const struct debug_operation *operation)
{
    const struct debug_operation_kind *kind = debug_find_operation(operation->code);
    uint8_t code = operation->code;
    uint64_t constant;
    if (!kind->known || evaluator->depth < kind->takes)
        return NATIVE_LOCATION_UNSUPPORTED;
    if (set_result(evaluator, operation))
        return NATIVE_LOCATION_FOUND;
    if (get_constant(code, operation->number, &constant))
        return location_push(evaluator, constant);
    if (code >= DW_OP_breg0 && code <= DW_OP_breg31)
        return location_push_register(evaluator, (uint64_t)code - DW_OP_breg0, operation->number);
    return run_rare(evaluator, operation);
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

static enum native_location put_register(struct evaluator *evaluator, size_t size,
                                         struct native_value *value)
{
    uint64_t number = evaluator->register_number;
    const struct target_vectors *kind;
    const uint8_t *vector = location_find_vector(evaluator, number, &kind);
    if (number < evaluator->target->machine->register_count && evaluator->known >> number & 1) {
        put_bytes(value, &evaluator->registers->value[number], 8, size);
    } else if (vector) {
        put_bytes(value, vector, kind->size, size);
    } else {
        value->unsaved = true;
        put_bytes(value, NULL, 0, size);
        if (location_why_unknown(evaluator, number) == NATIVE_LOCATION_UNREADABLE)
            return NATIVE_LOCATION_UNREADABLE;
    }
    return NATIVE_LOCATION_FOUND;
}

/* Appends what the evaluator came to, as `size` bytes. */
static enum native_location put_result(struct evaluator *evaluator, uint64_t size,
                                       struct native_value *value)
{
    size_t top = evaluator->depth - 1;
    uint64_t number;
    uint8_t buffer[NATIVE_VALUE_LIMIT];
    if (size > NATIVE_VALUE_LIMIT - value->size)
        return NATIVE_LOCATION_UNSUPPORTED;
    switch (evaluator->kind) {
    case RESULT_REGISTER:
        return put_register(evaluator, size, value);
    case RESULT_VALUE:
        if (!evaluator->depth)
            return NATIVE_LOCATION_UNSUPPORTED;
        number = evaluator->stack[top].value;
        put_bytes(value, &number, sizeof(number), size);
        return NATIVE_LOCATION_FOUND;
    case RESULT_BYTES:
        if (!evaluator->bytes->bytes)
            return NATIVE_LOCATION_UNSUPPORTED;
        put_bytes(value, evaluator->bytes->bytes, evaluator->bytes->number, size);
        return NATIVE_LOCATION_FOUND;
    case RESULT_ADDRESS:
        // An empty piece: that part is nowhere.
        if (!evaluator->depth) {
            put_bytes(value, NULL, 0, size);
            return NATIVE_LOCATION_FOUND;
        }
        if (target_read(evaluator->target, evaluator->stack[top].value, buffer, size) != PSC_OK)
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
static enum native_location take_piece(struct evaluator *evaluator, uint64_t piece_size, bool lost,
                                       struct native_value *pieces)
{
    if (!pieces)
        return NATIVE_LOCATION_UNSUPPORTED;
    if (lost)
        evaluator->kind = RESULT_LOST;
    enum native_location found = put_result(evaluator, piece_size, pieces);
    evaluator->depth = 0;
    evaluator->kind = RESULT_ADDRESS;
    return found;
}

/*
 * Runs all operations. With `pieces` those of the expression are put together there; whole
 * results stay in the evaluator.
 */
static enum native_location run(struct evaluator *evaluator,
                                const struct debug_expression *expression,
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
            enum native_location put = take_piece(evaluator, operation->number, lost, pieces);
            if (put != NATIVE_LOCATION_FOUND)
                return put;
            lost = false;
            continue;
        }
        if (lost)
            continue;
        if (operation->code == DW_OP_bra || operation->code == DW_OP_skip) {
            if (operation->code == DW_OP_bra && !evaluator->depth)
                return NATIVE_LOCATION_UNSUPPORTED;
            if (operation->code == DW_OP_skip || evaluator->stack[--evaluator->depth].value)
                i = operation->number;
            continue;
        }
        enum native_location found = run_one(evaluator, operation);
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
    struct evaluator evaluator = of_frame(target, evaluation);
    ret->in_memory = false;
    ret->unsaved = false;
    ret->size = 0;
    bool pieces = has_pieces(expression);
    enum native_location found = run(&evaluator, expression, pieces ? ret : NULL);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (!pieces && evaluator.kind == RESULT_ADDRESS) {
        if (!evaluator.depth)
            return NATIVE_LOCATION_LOST;
        ret->in_memory = true;
        ret->address = evaluator.stack[evaluator.depth - 1].value;
        return NATIVE_LOCATION_FOUND;
    }
    if (!pieces)
        found = put_result(&evaluator, size, ret);
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
    struct evaluator evaluator = of_frame(target, evaluation);
    enum native_location found = run(&evaluator, expression, NULL);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (evaluator.kind == RESULT_REGISTER) {
        evaluator.depth = 0;
        found = location_push_any(&evaluator, evaluator.register_number);
    } else if (evaluator.kind == RESULT_LOST) {
        return NATIVE_LOCATION_LOST;
    } else if (evaluator.kind == RESULT_BYTES || !evaluator.depth) {
        return NATIVE_LOCATION_UNSUPPORTED;
    }
    if (found == NATIVE_LOCATION_FOUND)
        *ret = evaluator.stack[evaluator.depth - 1].value;
    return found;
}

enum native_location location_apply(const struct location_frame *frame,
                                    const struct debug_expression *expression, uint64_t *ret,
                                    bool *ret_value)
{
    struct evaluator evaluator = {.target = frame->target,
                                  .registers = frame->registers,
                                  .known = UINT64_MAX,
                                  .cfa = frame->cfa};
    enum native_location found = run(&evaluator, expression, NULL);
    *ret = evaluator.fault;
    *ret_value = evaluator.kind != RESULT_ADDRESS;
    if (found == NATIVE_LOCATION_FOUND && evaluator.kind == RESULT_REGISTER)
        found = location_push_register(&evaluator, evaluator.register_number, 0);
    if (found != NATIVE_LOCATION_FOUND)
        return found;
    if (!evaluator.depth || evaluator.kind == RESULT_BYTES || evaluator.kind == RESULT_LOST)
        return NATIVE_LOCATION_UNSUPPORTED;
    *ret = evaluator.stack[evaluator.depth - 1].value;
    return NATIVE_LOCATION_FOUND;
}
