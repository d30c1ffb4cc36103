/*
 * Faults of which the kernel tells no address (arch/x86/kernel/traps.c, exc_general_protection;
 * kernel/signal.c, force_sigsegv): only the instruction tells them apart.
 */
#include "fault_private.h"

#include <inttypes.h>

static bool is_misaligned(const struct fault *fault,
                          const struct explained_instruction *instruction, psc_addr *ret)
{
    return instruction->alignment > 1 && instruction->memory_count &&
           fault_operand_address(fault, &instruction->memory[0], ret) &&
           *ret % instruction->alignment;
}

bool fault_raises_protection(const struct fault *fault,
                             const struct explained_instruction *instruction)
{
    const struct memory_operand *operand;
    psc_addr address;
    return instruction->kind == EXPLAINED_PRIVILEGED ||
           fault_find_non_canonical(fault, instruction, &operand, &address) ||
           is_misaligned(fault, instruction, &address);
}

static void set_access(struct examination *examination, const struct memory_operand *operand)
{
    examination->accused = operand;
    if (!operand)
        examination->crash->access = TRACE_ACCESS_EXECUTE;
    else if (operand->access & MEMORY_ACCESS_WRITE)
        examination->crash->access = TRACE_ACCESS_WRITE;
    else if (operand->access & MEMORY_ACCESS_READ)
        examination->crash->access = TRACE_ACCESS_READ;
}

static void add_register(struct examination *examination, int number)
{
    text_add_string(examination->summary,
                    disassembler_register_name(examination->disassembler, (unsigned)number));
}

/* " (rbx)": the register that makes it so, or both where neither does alone. */
static void add_holder(struct examination *examination, const struct memory_operand *operand)
{
    const uint64_t *value = examination->fault->registers->value;
    if (operand->base < 0 && operand->index < 0)
        return;
    bool base = operand->base >= 0 && !fault_is_canonical(value[operand->base]);
    bool index = operand->index >= 0 && !fault_is_canonical(value[operand->index]);
    if (!base && !index) {
        base = operand->base >= 0;
        index = operand->index >= 0;
    }
    text_add_string(examination->summary, " (");
    if (base)
        add_register(examination, operand->base);
    if (base && index)
        text_add_string(examination->summary, " and ");
    if (index)
        add_register(examination, operand->index);
    text_add_string(examination->summary, ")");
}

static void describe_non_canonical(struct examination *examination,
                                   const struct memory_operand *operand, psc_addr address)
{
    const struct operand *goal = &examination->instruction.operand;
    set_access(examination, operand);
    fault_add_access(examination, address);
    text_add_string(examination->summary, ", a non-canonical address");
    if (operand)
        add_holder(examination, operand);
    else if (examination->instruction.kind == EXPLAINED_RETURN)
        text_add_string(examination->summary, " (the return address on the stack)");
    else if (goal->kind == OPERAND_REGISTER)
        text_printf(examination->summary, " (%s)",
                    disassembler_register_name(examination->disassembler, goal->register_number));
    examination->crash->cause = TRACE_CAUSE_WILD_POINTER;
    fault_describe_pointer(examination, address);
}

/*
 * Where the frame of a handler had no room on a stack that overflowed, the kernel kills with
 * SIGSEGV of its own: the address is the one that the instruction uses.
 */
static bool describe_overflow(struct examination *examination)
{
    const struct explained_instruction *instruction = &examination->instruction;
    psc_addr address;
    for (uint8_t i = 0; i < instruction->memory_count; i++) {
        if (!fault_operand_address(examination->fault, &instruction->memory[i], &address) ||
            !fault_is_stack_overflow(examination->fault, address))
            continue;
        set_access(examination, &instruction->memory[i]);
        examination->crash->has_address = true;
        examination->crash->address = address;
        fault_add_access(examination, address);
        text_add_string(examination->summary,
                        ", just below the stack of the thread: stack overflow");
        examination->crash->cause = TRACE_CAUSE_STACK_OVERFLOW;
        return true;
    }
    return false;
}

/*
 * What a signal frame takes (arch/x86/kernel/fpu/signal.c): 1.5 KB with AVX, 3.5 KB with AVX-512.
 * Where less is left, the kernel can not write one.
 */
#define SIGNAL_FRAME_SIZE 4096u

/* The same where the thread was just sent a signal, whatever it was doing. */
static bool has_no_room(const struct fault *fault)
{
    psc_addr sp = target_sp(fault->target, fault->registers);
    const struct target_mapping *stack = target_find_mapping(fault->target, sp);
    return stack && stack->writable && !stack->file && sp - stack->start < SIGNAL_FRAME_SIZE;
}

static void describe_decoded(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    const struct explained_instruction *instruction = &examination->instruction;
    const struct memory_operand *operand;
    struct text *summary = examination->summary;
    psc_addr address;
    if (instruction->kind == EXPLAINED_PRIVILEGED) {
        text_add_string(summary, "privileged instruction");
        examination->crash->cause = TRACE_CAUSE_ILLEGAL_INSTRUCTION;
    } else if (fault_find_non_canonical(fault, instruction, &operand, &address)) {
        describe_non_canonical(examination, operand, address);
    } else if (describe_overflow(examination)) {
        return;
    } else if (is_misaligned(fault, instruction, &address)) {
        set_access(examination, &instruction->memory[0]);
        fault_add_access(examination, address);
        text_printf(summary, ", which is not aligned to %u bytes", instruction->alignment);
        examination->crash->cause = TRACE_CAUSE_OTHER;
    } else if (has_no_room(fault)) {
        text_add_string(summary, "no room for a signal handler on the stack of the thread: stack "
                                 "overflow");
        examination->crash->cause = TRACE_CAUSE_STACK_OVERFLOW;
        examination->decoded = false;
    } else {
        text_add_string(summary, "general protection fault");
    }
}

void fault_describe_protection(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    psc_addr pc = fault->registers ? target_pc(fault->target, fault->registers) : 0;
    if (fault->registers && !fault_is_canonical(pc)) {
        // Some processors stop at the goal of a call, not at the call.
        examination->crash->access = TRACE_ACCESS_EXECUTE;
        examination->crash->cause = TRACE_CAUSE_WILD_POINTER;
        fault_add_access(examination, pc);
        text_add_string(examination->summary, ", a non-canonical address");
        fault_describe_pointer(examination, pc);
    } else if (fault->registers && fault_decode(examination, pc)) {
        describe_decoded(examination);
    } else {
        text_add_string(examination->summary,
                        fault->signal.number == SIGNAL_BUS
                            ? "a non-canonical address on the stack"
                            : "general protection: a non-canonical address, a misaligned vector "
                              "access or a privileged instruction");
    }
}
