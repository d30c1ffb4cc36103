/* Which fault was the first, where a handler of its signal has passed it on. */
#include "fault_private.h"
#include "signal_frame.h"

/* Signal frames on one stack that are looked at, from the outermost inwards. */
#define FRAME_LIMIT 64u
/* raise() itself, in glibc: raise, pthread_kill and what that calls. */
#define RAISE_FRAMES 3u
/* Codes of signals that the processor raises (include/uapi/asm-generic/siginfo.h). */
#define SIGNAL_CODE_MOST 15

/* What the signal frames of a thread are compared with. */
struct search {
    struct target *target;
    const struct target_thread *thread;
    struct disassembler *disassembler;
    bool sent; /* The signal that the process died of is of its own sending. */
};

static bool is_refused(const struct search *search, const struct signal_frame *frame)
{
    const struct target_mapping *mapping = target_find_mapping(search->target, frame->address);
    if (!mapping || !mapping->permissions_known)
        return true;
    if (frame->error & (PAGE_FAULT_KEY))
        return true;
    if (frame->error & PAGE_FAULT_FETCH)
        return !mapping->executable;
    return frame->error & PAGE_FAULT_WRITE ? !mapping->writable : !mapping->readable;
}

/* Only a file that is too short is no memory in spite of its mapping: SIGBUS. */
static bool is_file(const struct search *search, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(search->target, address);
    return mapping && mapping->file;
}

/* ---- has the instruction faulted? ---- */

static bool fits_page_fault(struct examination *examination, const struct search *search,
                            const struct signal_frame *frame)
{
    const struct fault *fault = examination->fault;
    enum trace_access access;
    psc_addr pc = target_pc(search->target, &frame->registers);
    if (!is_refused(search, frame) && !is_file(search, frame->address))
        return false;
    if (frame->error & PAGE_FAULT_FETCH)
        return pc == frame->address;
    if (!fault_decode(examination, pc))
        return false;
    const struct explained_instruction *instruction = &examination->instruction;
    if (!fault_find_operand(fault, instruction, frame->address, &access))
        return instruction->opaque && (instruction->memory_count || instruction->unknown);
    bool wrote = frame->error & PAGE_FAULT_WRITE;
    return access == TRACE_ACCESS_UNKNOWN || wrote == (access == TRACE_ACCESS_WRITE);
}

static bool is_real_instruction(const struct explained_instruction *instruction)
{
    return instruction->text[0] == 'f' || instruction->text[0] == 'w';
}

/* Whether the instruction that was interrupted can have raised the trap that the frame tells of. */
static bool fits_trap(struct examination *examination, const struct search *search,
                      const struct signal_frame *frame)
{
    const struct explained_instruction *instruction = &examination->instruction;
    psc_addr pc = target_pc(search->target, &frame->registers);
    if (frame->trap == SIGNAL_TRAP_PAGE_FAULT)
        return fits_page_fault(examination, search, frame);
    if (frame->trap == SIGNAL_TRAP_BREAKPOINT)
        return fault_decode(examination, pc - 1) && instruction->kind == EXPLAINED_TRAP;
    if (frame->trap == SIGNAL_TRAP_PROTECTION && !fault_is_canonical(pc))
        return true;
    bool decoded = fault_decode(examination, pc);
    uint64_t divisor;
    switch (frame->trap) {
    case SIGNAL_TRAP_PROTECTION:
        return decoded && fault_raises_protection(examination->fault, instruction);
    case SIGNAL_TRAP_DIVISION:
        return decoded && instruction->kind == EXPLAINED_DIVISION &&
               fault_read_operand(examination->fault, instruction, &divisor);
    case SIGNAL_TRAP_ILLEGAL:
        return !decoded || instruction->kind == EXPLAINED_UNDEFINED;
    case SIGNAL_TRAP_REAL:
        return decoded && is_real_instruction(instruction);
    case SIGNAL_TRAP_VECTOR:
        return decoded && instruction->uses_vectors;
    case SIGNAL_TRAP_ALIGNMENT:
        return decoded && instruction->memory_count;
    case SIGNAL_TRAP_PAGE_FAULT:
    case SIGNAL_TRAP_BREAKPOINT:
    case SIGNAL_TRAP_UNKNOWN:
        return false;
    }
    return false;
}

/* ---- as which signal? ---- */

static int32_t signal_of_trap(const struct search *search, const struct signal_frame *frame)
{
    switch (frame->trap) {
    case SIGNAL_TRAP_DIVISION:
    case SIGNAL_TRAP_REAL:
    case SIGNAL_TRAP_VECTOR:
        return SIGNAL_FPE;
    case SIGNAL_TRAP_ILLEGAL:
        return SIGNAL_ILL;
    case SIGNAL_TRAP_BREAKPOINT:
        return SIGNAL_TRAP;
    case SIGNAL_TRAP_ALIGNMENT:
        return SIGNAL_BUS;
    case SIGNAL_TRAP_PAGE_FAULT:
        return !is_refused(search, frame) ? SIGNAL_BUS : SIGNAL_SEGV;
    case SIGNAL_TRAP_PROTECTION:
    case SIGNAL_TRAP_UNKNOWN:
        break;
    }
    return SIGNAL_SEGV;
}

/* arch/x86/kernel/traps.c, arch/x86/mm/fault.c: what the kernel says of each. */
static int32_t code_of_trap(const struct search *search, const struct signal_frame *frame,
                            int32_t number)
{
    switch (frame->trap) {
    case SIGNAL_TRAP_DIVISION:
        return CODE_FPE_INTDIV;
    case SIGNAL_TRAP_ILLEGAL:
        return CODE_ILL_ILLOPN;
    case SIGNAL_TRAP_ALIGNMENT:
        return CODE_BUS_ADRALN;
    case SIGNAL_TRAP_PAGE_FAULT:
        if (number == SIGNAL_BUS)
            return CODE_BUS_ADRERR;
        if (frame->error & PAGE_FAULT_KEY)
            return CODE_SEGV_PKUERR;
        return target_find_mapping(search->target, frame->address) ? CODE_SEGV_ACCERR
                                                                   : CODE_SEGV_MAPERR;
    case SIGNAL_TRAP_REAL:
    case SIGNAL_TRAP_VECTOR:
        return CODE_FPE_FLTUNK;
    case SIGNAL_TRAP_PROTECTION:
    case SIGNAL_TRAP_BREAKPOINT:
    case SIGNAL_TRAP_UNKNOWN:
        break;
    }
    return CODE_KERNEL;
}

/* siginfo is there only for handlers that asked for it, which nothing tells: it has to fit. */
static bool is_info_of_fault(const struct search *search, const struct signal_frame *frame)
{
    const struct target_signal *info = &frame->info;
    int32_t number = signal_of_trap(search, frame);
    bool fits = info->number == number ||
                (frame->trap == SIGNAL_TRAP_PAGE_FAULT && info->number == SIGNAL_BUS &&
                 is_file(search, frame->address)) ||
                (frame->trap == SIGNAL_TRAP_PROTECTION && info->number == SIGNAL_BUS);
    if (!info->has_info || !fits || info->code <= 0 ||
        (info->code > SIGNAL_CODE_MOST && info->code != CODE_KERNEL))
        return false;
    psc_addr address = frame->trap == SIGNAL_TRAP_PAGE_FAULT ? frame->address
                       : info->code == CODE_KERNEL           ? 0
                                                   : target_pc(search->target, &frame->registers);
    return info->address == address;
}

static struct target_signal make_signal(const struct search *search,
                                        const struct signal_frame *frame)
{
    if (is_info_of_fault(search, frame))
        return frame->info;
    struct target_signal signal = {.number = signal_of_trap(search, frame), .has_info = true};
    const struct target_signal *last = &search->target->process.signal;
    // The first page of a file that is too short looks the same as any other mapping.
    if (frame->trap == SIGNAL_TRAP_PAGE_FAULT && last->number == SIGNAL_BUS &&
        is_file(search, frame->address))
        signal.number = SIGNAL_BUS;
    signal.code = code_of_trap(search, frame, signal.number);
    signal.has_address = signal.code != CODE_KERNEL;
    signal.address = frame->trap == SIGNAL_TRAP_PAGE_FAULT
                         ? frame->address
                         : target_pc(search->target, &frame->registers);
    return signal;
}

/* ---- or has the thread sent it? ---- */

static bool is_own_pid(const struct target *target, uint64_t pid)
{
    return pid == (uint64_t)target->process.pid ||
           (target->process.inner_pid && pid == (uint64_t)target->process.inner_pid);
}

static bool is_sent_by_itself(const struct target *target)
{
    const struct target_signal *signal = &target->process.signal;
    return signal->has_sender && signal->sender_pid > 0 &&
           is_own_pid(target, (uint64_t)signal->sender_pid);
}

/*
 * The signal that the process died of was sent by the system call that the frame interrupted:
 * tgkill(pid, tid, number) or kill(pid, number), whose arguments are still in the registers.
 */
static bool has_sent(const struct search *search, const uint64_t arguments[3], int32_t *ret_code)
{
    const struct target_process *process = &search->target->process;
    uint64_t number = (uint64_t)process->signal.number;
    bool renamed = process->inner_pid && process->inner_pid != process->pid;
    bool own = arguments[2] == number && (renamed || arguments[1] == (uint64_t)search->thread->tid);
    *ret_code = own ? CODE_TKILL : CODE_USER;
    return number && is_own_pid(search->target, arguments[0]) && (own || arguments[1] == number);
}

/* A handler that asked for siginfo has that of another process, or of kill(). */
static bool is_info_of_sender(const struct search *search, const struct target_signal *info)
{
    return info->has_info && info->number == search->target->process.signal.number &&
           info->has_sender && info->sender_pid > 0 &&
           (info->code == CODE_USER || info->code == CODE_TKILL || info->code == CODE_QUEUE);
}

static struct target_signal make_sent(const struct search *search, int32_t code)
{
    const struct target_process *process = &search->target->process;
    return (struct target_signal){.number = process->signal.number,
                                  .code = code,
                                  .has_info = true,
                                  .has_sender = true,
                                  .sender_pid = process->pid,
                                  .sender_uid = process->signal.sender_uid};
}

/* ---- the search ---- */

/* @return whether the frame is of the first signal; fills `ret` then. */
static bool take_frame(const struct search *search, const struct signal_frame *frame,
                       struct first_fault *ret)
{
    const struct fault fault = {
        .target = search->target, .thread = search->thread, .registers = &frame->registers};
    struct examination examination = {.fault = &fault, .disassembler = search->disassembler};
    psc_addr pc = target_pc(search->target, &frame->registers);
    int32_t code;
    ret->registers = frame->registers;
    if (fits_trap(&examination, search, frame)) {
        ret->signal = make_signal(search, frame);
        ret->has_error = frame->trap == SIGNAL_TRAP_PAGE_FAULT;
        ret->error = frame->error;
        return true;
    }
    if (fault_decode(&examination, pc - frame->call_size) &&
        examination.instruction.size == frame->call_size &&
        examination.instruction.kind == EXPLAINED_SYSTEM_CALL &&
        has_sent(search, frame->arguments, &code)) {
        ret->signal = make_sent(search, code);
        return true;
    }
    ret->signal = frame->info;
    return search->sent && is_info_of_sender(search, &frame->info);
}

/*
 * A handler that raises its own signal, which is blocked while it runs, returns first: the thread
 * then dies at the instruction that faulted, of a signal that it has sent.
 */
static bool take_registers(const struct search *search, struct first_fault *ret)
{
    const struct target_signal *last = &search->target->process.signal;
    const struct fault fault = {.target = search->target,
                                .thread = search->thread,
                                .registers = &search->thread->registers,
                                .signal = *last};
    struct examination examination = {.fault = &fault, .disassembler = search->disassembler};
    psc_addr pc = target_pc(search->target, fault.registers);
    if (fault.registers->in_system_call)
        return false;
    bool fits = fault_is_certain(&examination, &ret->signal) && ret->signal.number == last->number;
    if (!fits && last->number == SIGNAL_TRAP) {
        ret->signal =
            (struct target_signal){.number = SIGNAL_TRAP, .code = CODE_KERNEL, .has_info = true};
        fits = fault_decode(&examination, pc - 1) && examination.instruction.kind == EXPLAINED_TRAP;
    }
    ret->registers = *fault.registers;
    return fits;
}

/*
 * faulthandler is called for faults only, and its last deed is to raise what it was called for
 * (CPython, Modules/faulthandler.c): its own frame is gone then. It blocks no signal while it runs,
 * which tells it from handlers of other signals.
 */
static bool take_passed_on(const struct search *search, const struct native_stack *stack,
                           struct first_fault *ret)
{
    struct signal_frame frame;
    const struct target_registers *registers = &search->thread->registers;
    size_t at = 0;
    int32_t code;
    while (at < stack->count && !stack->frames[at].signal)
        at++;
    if (at == stack->count || at > RAISE_FRAMES || !search->sent || !registers->in_system_call ||
        !search->thread->has_blocked ||
        !signal_frame_read(search->target, stack->frames[at].sp, &frame) ||
        frame.blocked != search->thread->blocked)
        return false;
    signal_frame_take_arguments(search->target, registers, &frame);
    if (!has_sent(search, frame.arguments, &code) || code != CODE_TKILL)
        return false;
    ret->registers = frame.registers;
    ret->signal = (struct target_signal){.number = search->target->process.signal.number};
    ret->unknown_sender = true;
    ret->handler_frames = at + 1;
    return true;
}

static void search_frames(const struct search *search, const struct native_stack *stack,
                          struct first_fault *ret)
{
    struct signal_frame frame;
    size_t left = FRAME_LIMIT;
    for (size_t i = stack->count; i-- > 0 && left && !ret->found;) {
        if (!stack->frames[i].signal)
            continue;
        left--;
        if (!signal_frame_read(search->target, stack->frames[i].sp, &frame) ||
            !take_frame(search, &frame, ret))
            continue;
        ret->found = true;
        ret->handler_frames = i + 1;
    }
}

enum psc_status fault_find_below(struct target *target, const struct target_thread *thread,
                                 const struct native_stack *stack, struct first_fault *ret)
{
    struct search search = {.target = target, .thread = thread};
    bool has_frame = false;
    *ret = (struct first_fault){0};
    for (size_t i = 0; i < stack->count && !has_frame; i++)
        has_frame = stack->frames[i].signal;
    search.sent = thread->crashed && is_sent_by_itself(target);
    if (!has_frame && !search.sent)
        return PSC_OK;
    enum psc_status status = disassembler_open(target->machine->elf_machine, &search.disassembler);
    if (status != PSC_OK)
        return status == PSC_ERR_UNSUPPORTED ? PSC_OK : status;
    search_frames(&search, stack, ret);
    if (!ret->found && search.sent)
        ret->found = take_registers(&search, ret) || take_passed_on(&search, stack, ret);
    ret->thread = ret->found ? thread : NULL;
    disassembler_close(search.disassembler);
    return PSC_OK;
}

enum psc_status fault_find_first(struct target *target, const struct target_thread *thread,
                                 const struct native_stack *stack, struct first_fault *ret)
{
    // Who is killed by somebody else while a handler runs has not died of what it handles.
    *ret = (struct first_fault){0};
    return target->process.signal.has_sender && !is_sent_by_itself(target)
               ? PSC_OK
               : fault_find_below(target, thread, stack, ret);
}
