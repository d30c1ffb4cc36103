/* Whether the instruction that a thread stands at must fault: by its operands and what is mapped.
 */
#include "fault_private.h"

static bool allows(const struct target_mapping *mapping, enum trace_access access)
{
    if (!mapping->permissions_known)
        return true;
    if (access == TRACE_ACCESS_EXECUTE)
        return mapping->executable;
    // What is both is a write.
    return access == TRACE_ACCESS_WRITE ? mapping->writable : mapping->readable;
}

/* A mapping's file ends before its pages do: nothing can be read there. */
static bool is_behind_file(const struct fault *fault, const struct target_mapping *mapping,
                           psc_addr address)
{
    uint8_t byte;
    return fault->signal.number == SIGNAL_BUS && mapping->file &&
           target_read_u8(fault->target, address, &byte) != PSC_OK;
}

/* @return whether the access is refused there; fills code and address. */
static bool is_refused(const struct fault *fault, psc_addr address, enum trace_access access,
                       struct target_signal *ret)
{
    const struct target_mapping *mapping = target_find_mapping(fault->target, address);
    *ret = (struct target_signal){.number = SIGNAL_SEGV,
                                  .code = mapping ? CODE_SEGV_ACCERR : CODE_SEGV_MAPERR,
                                  .has_info = true,
                                  .has_address = true,
                                  .address = address};
    if (mapping && is_behind_file(fault, mapping, address)) {
        ret->number = SIGNAL_BUS;
        ret->code = CODE_BUS_ADRERR;
        return true;
    }
    return !mapping || (access != TRACE_ACCESS_UNKNOWN && !allows(mapping, access));
}

/* The first operand of which a byte is refused. */
static bool find_refused(const struct fault *fault, const struct explained_instruction *instruction,
                         struct target_signal *ret)
{
    psc_addr address;
    for (uint8_t i = 0; i < instruction->memory_count && !instruction->opaque; i++) {
        const struct memory_operand *operand = &instruction->memory[i];
        enum trace_access access = operand->access & MEMORY_ACCESS_WRITE  ? TRACE_ACCESS_WRITE
                                   : operand->access & MEMORY_ACCESS_READ ? TRACE_ACCESS_READ
                                                                          : TRACE_ACCESS_UNKNOWN;
        if (!fault_operand_address(fault, operand, &address) || !fault_is_canonical(address))
            continue;
        if (operand->repeated && !fault->registers->value[operand->counter])
            continue;
        if (is_refused(fault, address, access, ret))
            return true;
        psc_addr last = address + (operand->width ? operand->width - 1u : 0);
        if (is_refused(fault, last, access, ret)) {
            ret->address = last & ~(psc_addr)(PAGE_SIZE_LEAST - 1);
            return true;
        }
    }
    return false;
}

static struct target_signal signal_of(int32_t number, int32_t code, psc_addr address)
{
    return (struct target_signal){.number = number,
                                  .code = code,
                                  .has_info = true,
                                  .has_address = code != CODE_KERNEL,
                                  .address = code == CODE_KERNEL ? 0 : address};
}

static bool divides_badly(const struct fault *fault,
                          const struct explained_instruction *instruction)
{
    uint64_t divisor;
    return instruction->kind == EXPLAINED_DIVISION &&
           fault_read_operand(fault, instruction, &divisor) && !divisor;
}

bool fault_is_certain(struct examination *examination, struct target_signal *ret)
{
    const struct fault *fault = examination->fault;
    const struct explained_instruction *instruction = &examination->instruction;
    psc_addr pc = target_pc(fault->target, fault->registers);
    *ret = signal_of(SIGNAL_SEGV, CODE_KERNEL, 0);
    if (!fault_is_canonical(pc))
        return true;
    if (is_refused(fault, pc, TRACE_ACCESS_EXECUTE, ret))
        return true;
    if (!fault_decode(examination, pc))
        return false;
    *ret = signal_of(SIGNAL_FPE, CODE_FPE_INTDIV, pc);
    if (divides_badly(fault, instruction))
        return true;
    *ret = signal_of(SIGNAL_ILL, CODE_ILL_ILLOPN, pc);
    if (instruction->kind == EXPLAINED_UNDEFINED)
        return true;
    *ret = signal_of(SIGNAL_SEGV, CODE_KERNEL, 0);
    if (fault_raises_protection(fault, instruction))
        return true;
    return find_refused(fault, instruction, ret);
}
