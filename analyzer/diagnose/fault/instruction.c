/* The instruction of a fault, with what its operands were. */
#include "fault_private.h"

/* The longest instruction of x86-64 (Intel SDM, volume 2, 2.3.11); others have fewer bytes. */
#define INSTRUCTION_SIZE_LIMIT ((size_t)15)

bool fault_decode(struct examination *examination, psc_addr at)
{
    uint8_t bytes[INSTRUCTION_SIZE_LIMIT];
    examination->decoded = false;
    if (!examination->disassembler)
        return false;
    size_t size = target_read_some(examination->fault->target, at, bytes, sizeof(bytes));
    examination->at = at;
    examination->decoded = size && disassembler_explain(examination->disassembler, bytes, size, at,
                                                        &examination->instruction);
    return examination->decoded;
}

bool fault_operand_address(const struct fault *fault, const struct memory_operand *operand,
                           psc_addr *ret)
{
    const struct target_registers *registers = fault->registers;
    psc_addr address = (psc_addr)operand->displacement;
    if (!registers || operand->segment == MEMORY_SEGMENT_OTHER)
        return false;
    if (operand->base >= 0)
        address += registers->value[operand->base];
    if (operand->index >= 0)
        address += registers->value[operand->index] * operand->scale;
    if (operand->narrow)
        address = (uint32_t)address;
    if (operand->segment == MEMORY_SEGMENT_THREAD) {
        if (!fault->thread || !fault->thread->thread_pointer)
            return false;
        address += fault->thread->thread_pointer;
    }
    *ret = address;
    return true;
}

static uint64_t operand_size(const struct fault *fault, const struct memory_operand *operand)
{
    uint64_t width = operand->width ? operand->width : 1;
    uint64_t count = operand->repeated ? fault->registers->value[operand->counter] : 1;
    return count && count <= UINT64_MAX / width ? count * width : width;
}

static enum trace_access access_of(const struct memory_operand *operand)
{
    if (operand->access & MEMORY_ACCESS_WRITE)
        return TRACE_ACCESS_WRITE;
    return operand->access & MEMORY_ACCESS_READ ? TRACE_ACCESS_READ : TRACE_ACCESS_UNKNOWN;
}

const struct memory_operand *fault_find_operand(const struct fault *fault,
                                                const struct explained_instruction *instruction,
                                                psc_addr address, enum trace_access *ret_access)
{
    const struct memory_operand *found = NULL;
    psc_addr start;
    *ret_access = TRACE_ACCESS_UNKNOWN;
    for (uint8_t i = 0; i < instruction->memory_count; i++) {
        const struct memory_operand *operand = &instruction->memory[i];
        if (!fault_operand_address(fault, operand, &start) ||
            address - start >= operand_size(fault, operand))
            continue;
        enum trace_access access = access_of(operand);
        *ret_access = found && *ret_access != access ? TRACE_ACCESS_UNKNOWN : access;
        found = found ? found : operand;
    }
    if (instruction->opaque)
        *ret_access = TRACE_ACCESS_UNKNOWN;
    return found;
}

static bool read_number(const struct fault *fault, psc_addr address, unsigned width, uint64_t *ret)
{
    uint8_t bytes[8] = {0};
    if (width > sizeof(bytes) ||
        target_read(fault->target, address, bytes, width ? width : 8) != PSC_OK)
        return false;
    *ret = load_u64(bytes);
    return true;
}

bool fault_read_operand(const struct fault *fault, const struct explained_instruction *instruction,
                        uint64_t *ret)
{
    const struct operand *operand = &instruction->operand;
    psc_addr address;
    if (!fault->registers)
        return false;
    if (operand->kind == OPERAND_REGISTER) {
        uint64_t value =
            fault->registers->value[operand->register_number] >> (operand->high ? 8 : 0);
        *ret = operand->width >= 8 ? value : value & ((UINT64_C(1) << operand->width * 8) - 1);
        return true;
    }
    if (operand->kind != OPERAND_NONE || !instruction->memory_count)
        return false;
    return fault_operand_address(fault, &instruction->memory[0], &address) &&
           read_number(fault, address, instruction->memory[0].width, ret);
}

/* Where a call, a jump or a return leads. */
static bool read_destination(const struct fault *fault,
                             const struct explained_instruction *instruction, psc_addr *ret)
{
    psc_addr address;
    if (instruction->kind == EXPLAINED_RETURN)
        return instruction->memory_count &&
               fault_operand_address(fault, &instruction->memory[0], &address) &&
               read_number(fault, address, 8, ret);
    return (instruction->kind == EXPLAINED_CALL || instruction->kind == EXPLAINED_JUMP) &&
           fault_read_operand(fault, instruction, ret);
}

bool fault_find_non_canonical(const struct fault *fault,
                              const struct explained_instruction *instruction,
                              const struct memory_operand **ret_operand, psc_addr *ret)
{
    for (uint8_t i = 0; i < instruction->memory_count; i++) {
        *ret_operand = &instruction->memory[i];
        if (fault_operand_address(fault, *ret_operand, ret) && !fault_is_canonical(*ret))
            return true;
    }
    *ret_operand = NULL;
    return read_destination(fault, instruction, ret) && !fault_is_canonical(*ret);
}

enum psc_status fault_tell_instruction(struct examination *examination)
{
    const struct explained_instruction *instruction = &examination->instruction;
    const struct memory_operand *accused = examination->accused;
    struct trace_crash *crash = examination->crash;
    bool implied = accused && accused->implied;
    size_t count = implied ? instruction->register_count : instruction->named_count;
    struct trace_operand *operands = arena_array(examination->arena, count + 1, sizeof(*operands));
    if (instruction->unknown)
        return PSC_OK;
    crash->instruction = arena_strdup(examination->arena, instruction->text);
    if (!operands || !crash->instruction)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < count && examination->fault->registers; i++) {
        unsigned number = instruction->registers[i];
        operands[crash->operand_count++] = (struct trace_operand){
            .name = disassembler_register_name(examination->disassembler, number),
            .value = examination->fault->registers->value[number]};
    }
    crash->operands = operands;
    return PSC_OK;
}
