/* Arguments of calls, by the instructions around them. */
#include "abort_private.h"
#include "followed_machine.h"

#include <stdlib.h>

/* Bytes of a function that is looked at: CPython's evaluator has 60 KB. */
#define FUNCTION_LIMIT ((uint64_t)256 * 1024)

/* The instructions of a function, in order. */
struct function_code {
    struct instruction *items;
    size_t count;
    size_t capacity;
};

static void function_code_deinit(struct function_code *code)
{
    free(code->items);
}

/* All of the function's instructions; false when its end is not known, or one is none. */
static bool decode_function(const struct abort_stack *stack, const struct module_symbol *function,
                            struct function_code *ret)
{
    uint64_t size = function->size;
    if (!stack->disassembler || !size || size > FUNCTION_LIMIT)
        return false;
    uint8_t *bytes PSC_CLEANUP(cleanup_free) = malloc((size_t)size);
    if (!bytes ||
        target_read(stack->input->target, function->address, bytes, (size_t)size) != PSC_OK)
        return false;
    for (uint64_t at = 0; at < size;) {
        struct instruction instruction;
        if (!disassembler_decode(stack->disassembler, bytes + at, (size_t)(size - at),
                                 function->address + at, &instruction) ||
            !array_reserve(&ret->items, &ret->capacity, ret->count + 1, sizeof(*ret->items)))
            return false;
        ret->items[ret->count++] = instruction;
        at += instruction.size;
    }
    return true;
}

static size_t find_call(const struct function_code *code, psc_addr pc)
{
    for (size_t i = 0; i < code->count; i++)
        if (code->items[i].address + code->items[i].size == pc &&
            code->items[i].verb == INSTRUCTION_CALL)
            return i;
    return code->count;
}

static bool is_jump_target(const struct function_code *code, psc_addr address)
{
    for (size_t i = 0; i < code->count; i++) {
        const struct instruction *one = &code->items[i];
        const struct operand *to = one->verb == INSTRUCTION_OTHER ? &one->from : &one->to;
        if ((one->verb == INSTRUCTION_JUMP || one->verb == INSTRUCTION_BRANCH ||
             one->verb == INSTRUCTION_OTHER) &&
            to->kind == OPERAND_IMMEDIATE && (psc_addr)to->number == address)
            return true;
    }
    return false;
}

static bool writes(const struct instruction *one, unsigned number)
{
    switch (one->verb) {
    case INSTRUCTION_COMPARE:
    case INSTRUCTION_COMPARE_REAL:
    case INSTRUCTION_TEST:
    case INSTRUCTION_PUSH:
    case INSTRUCTION_NOP:
    case INSTRUCTION_HINT:
        return false;
    default:
        return one->written >> number & 1 || operand_is_register(&one->to, number);
    }
}

static bool leaves(const struct instruction *one)
{
    return one->verb == INSTRUCTION_JUMP || one->verb == INSTRUCTION_RETURN ||
           one->verb == INSTRUCTION_STOP || one->verb == INSTRUCTION_CALL ||
           one->verb == INSTRUCTION_BAD;
}

/* Backwards from the call to what wrote the register, as long as there is one way only. */
static bool find_constant(const struct function_code *code, size_t call, unsigned number,
                          uint64_t *ret)
{
    for (size_t i = call; i > 0; i--) {
        const struct instruction *one = &code->items[i - 1];
        if (is_jump_target(code, code->items[i].address) || leaves(one))
            return false;
        if (!writes(one, number))
            continue;
        *ret = (uint64_t)one->from.number;
        if (!operand_is_register(&one->to, number) || one->to.width < 4)
            return false;
        return (one->verb == INSTRUCTION_ADDRESS && one->from.kind == OPERAND_ABSOLUTE) ||
               (one->verb == INSTRUCTION_MOVE && one->from.kind == OPERAND_IMMEDIATE);
    }
    return false;
}

bool call_site_read_argument(const struct abort_stack *stack, psc_addr pc, unsigned argument,
                             uint64_t *ret)
{
    struct function_code code PSC_CLEANUP(function_code_deinit) = {0};
    const struct followed_machine *machine =
        followed_machine_find(stack->input->target->machine->elf_machine);
    struct module *module = modules_find(stack->input->modules, pc - 1);
    struct module_symbol function;
    if (!machine || !module || !module_find_symbol(module, pc - 1, &function) ||
        !decode_function(stack, &function, &code))
        return false;
    size_t call = find_call(&code, pc);
    return call < code.count && find_constant(&code, call, machine->arguments[argument], ret);
}

/* The register that calls preserve to which the function copies its argument first; 0: none. */
static unsigned find_copy(const struct function_code *code, size_t call, unsigned argument,
                          uint32_t saved, size_t *ret_index)
{
    for (size_t i = 0; i < call; i++) {
        const struct instruction *one = &code->items[i];
        if (one->verb == INSTRUCTION_MOVE && one->to.kind == OPERAND_REGISTER &&
            one->to.width == 8 && operand_is_register(&one->from, argument) &&
            one->from.width == 8 && saved >> one->to.register_number & 1) {
            *ret_index = i;
            return one->to.register_number;
        }
        if (writes(one, argument) || leaves(one) || one->verb == INSTRUCTION_BRANCH)
            break;
    }
    *ret_index = 0;
    return 0;
}

bool call_site_read_entry(const struct abort_stack *stack, size_t frame, unsigned argument,
                          uint64_t *ret)
{
    const struct target *target = stack->input->target;
    struct function_code code PSC_CLEANUP(function_code_deinit) = {0};
    const struct followed_machine *machine = followed_machine_find(target->machine->elf_machine);
    const struct abort_frame *at = &stack->frames[frame];
    if (!machine || !at->symbol.name || !decode_function(stack, &at->symbol, &code))
        return false;
    size_t call = find_call(&code, at->pc), copy;
    if (call == code.count)
        return false;
    unsigned number = find_copy(&code, call, machine->arguments[argument], machine->saved, &copy);
    for (size_t i = copy + 1; number && i < call; i++)
        if (writes(&code.items[i], number))
            return false;
    struct native_context context;
    native_get_context(target, stack->input->stack, stack->input->first + frame, &context);
    *ret = context.registers.value[number];
    return number && context.known >> number & 1;
}
