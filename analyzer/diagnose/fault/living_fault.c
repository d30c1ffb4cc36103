/* A fault that a thread has not died of: its handler runs, or goes back to the instruction. */
#include "fault_private.h"
#include "signal_frame.h"

/* mmap_min_addr of Linux: nothing is mapped below it. */
#define NEVER_MAPPED 0x10000

/* The most that a frame takes, with all vector registers, and the red zone above it. */
#define FRAME_BELOW ((psc_addr)16 * 1024)
#define FRAME_ALIGN 16u

/* The frame of a handler that has returned to the same instruction is left below the stack. */
static bool has_faulted_before(const struct fault *fault, psc_addr address)
{
    struct target *target = fault->target;
    struct signal_frame frame;
    psc_addr sp = target_sp(target, fault->registers) & ~(psc_addr)(FRAME_ALIGN - 1);
    for (psc_addr below = FRAME_ALIGN; below < FRAME_BELOW && below < sp; below += FRAME_ALIGN)
        if (signal_frame_read(target, sp - below, &frame) && frame.trap == SIGNAL_TRAP_PAGE_FAULT &&
            frame.address == address &&
            target_pc(target, &frame.registers) == target_pc(target, fault->registers))
            return true;
    return false;
}

/*
 * What is mapped may have changed since it was listed; what can be read is mapped. A core of a
 * process that went on has only the memory that was looked at, and a heap that grew meanwhile is
 * not in its list: there only what is never mapped is certain. In a living process what was there
 * may be gone when it is looked for. A main thread's stack grows.
 */
static bool may_be_there(const struct fault *fault, const struct target_signal *signal)
{
    uint8_t byte;
    if (!signal->has_address || signal->number != SIGNAL_SEGV)
        return false;
    if (fault->target->kind == TARGET_CORE && signal->code == CODE_SEGV_MAPERR)
        return signal->address >= NEVER_MAPPED;
    if (target_read_u8(fault->target, signal->address, &byte) == PSC_OK ||
        fault_is_stack_overflow(fault, signal->address))
        return true;
    return fault->target->kind == TARGET_PROCESS && signal->address >= NEVER_MAPPED &&
           !has_faulted_before(fault, signal->address);
}

static enum psc_status stands_at_fault(struct target *target, const struct target_thread *thread,
                                       struct target_signal *ret, bool *ret_stands)
{
    const struct fault fault = {
        .target = target, .thread = thread, .registers = &thread->registers};
    struct examination examination = {.fault = &fault};
    enum psc_status status =
        disassembler_open(target->machine->elf_machine, &examination.disassembler);
    if (status == PSC_ERR_MEMORY)
        return status;
    *ret_stands = fault_is_certain(&examination, ret) && !may_be_there(&fault, ret);
    disassembler_close(examination.disassembler);
    return PSC_OK;
}

enum psc_status fault_find_living(struct target *target, const struct target_thread *thread,
                                  const struct native_stack *stack, struct first_fault *ret)
{
    enum psc_status status = fault_find_below(target, thread, stack, ret);
    bool sent = ret->found && ret->signal.has_sender;
    if (status != PSC_OK || (ret->found && !sent) || thread->registers.in_system_call) {
        ret->found = ret->found && !sent;
        return status;
    }
    *ret = (struct first_fault){0};
    status = stands_at_fault(target, thread, &ret->signal, &ret->found);
    ret->registers = thread->registers;
    ret->thread = thread;
    return status;
}
