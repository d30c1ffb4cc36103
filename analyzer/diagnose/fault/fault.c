#include "fault_private.h"

#include <inttypes.h>

static const char *arithmetic_words(int32_t code)
{
    switch (code) {
    case 1:
        return "integer division by zero, or its result does not fit";
    case 2:
        return "integer overflow";
    case 3:
        return "floating-point division by zero";
    case 4:
        return "floating-point overflow";
    case 5:
        return "floating-point underflow";
    case 6:
        return "inexact floating-point result";
    case 7:
        return "invalid floating-point operation";
    default:
        return "arithmetic error";
    }
}

/* The processor has one fault for both: the divisor tells. */
static const char *division_words(const struct examination *examination)
{
    uint64_t divisor;
    if (!examination->decoded || examination->instruction.kind != EXPLAINED_DIVISION ||
        !fault_read_operand(examination->fault, &examination->instruction, &divisor))
        return arithmetic_words(CODE_FPE_INTDIV);
    return divisor ? "an integer division whose result does not fit" : "integer division by zero";
}

static void describe_arithmetic(struct examination *examination)
{
    int32_t code = examination->fault->signal.code;
    text_add_string(examination->summary,
                    code == CODE_FPE_INTDIV ? division_words(examination) : arithmetic_words(code));
    examination->crash->cause = code == CODE_FPE_INTDIV || code == CODE_FPE_FLTDIV
                                    ? TRACE_CAUSE_DIVISION
                                    : TRACE_CAUSE_OTHER;
}

static void describe_illegal(struct examination *examination)
{
    struct text *summary = examination->summary;
    int32_t code = examination->fault->signal.code;
    examination->crash->cause = TRACE_CAUSE_ILLEGAL_INSTRUCTION;
    if (code == 5 || code == 6)
        text_add_string(summary, "privileged instruction");
    else if (code == 7)
        text_add_string(summary, "coprocessor error");
    else if (examination->decoded && examination->instruction.kind == EXPLAINED_UNDEFINED)
        text_add_string(summary, "an instruction that stops the program: compilers put it where "
                                 "code must not come");
    else
        text_add_string(summary, "illegal instruction");
}

static void add_code_address(struct examination *examination)
{
    const struct target_signal *signal = &examination->fault->signal;
    if (signal->has_address)
        text_printf(examination->summary, " at 0x%" PRIx64, signal->address);
}

/* SIGFPE and SIGILL: where the signal says, which is where the registers say too. */
static void decode_at_pc(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    if (fault->registers)
        fault_decode(examination, target_pc(fault->target, fault->registers));
}

/* A breakpoint's code is behind the thread, by one byte for the common one. */
static void describe_trap(struct examination *examination)
{
    const struct fault *fault = examination->fault;
    text_add_string(examination->summary, "breakpoint instruction");
    examination->crash->cause = TRACE_CAUSE_OTHER;
    if (!fault->registers ||
        !fault_decode(examination, target_pc(fault->target, fault->registers) - 1))
        return;
    examination->decoded =
        examination->instruction.size == 1 && examination->instruction.kind == EXPLAINED_TRAP;
}

static void describe_segment(struct examination *examination)
{
    const struct target_signal *signal = &examination->fault->signal;
    if (signal->number == SIGNAL_SEGV && signal->code == CODE_SEGV_CPERR) {
        text_add_string(examination->summary,
                        "return to an address that is not on the shadow stack");
        examination->crash->cause = TRACE_CAUSE_OTHER;
    } else if (examination->crash->has_address) {
        fault_describe_memory(examination);
    } else if (signal->code == CODE_KERNEL) {
        fault_describe_protection(examination);
    }
}

static void describe(struct examination *examination)
{
    switch (examination->fault->signal.number) {
    case SIGNAL_SEGV:
    case SIGNAL_BUS:
        describe_segment(examination);
        return;
    case SIGNAL_FPE:
        decode_at_pc(examination);
        describe_arithmetic(examination);
        add_code_address(examination);
        return;
    case SIGNAL_ILL:
        decode_at_pc(examination);
        describe_illegal(examination);
        add_code_address(examination);
        return;
    case SIGNAL_TRAP:
        describe_trap(examination);
        return;
    default:
        return;
    }
}

enum psc_status fault_describe(const struct fault *fault, struct arena *arena,
                               struct trace_crash *crash, struct text *summary)
{
    struct examination examination = {
        .fault = fault, .arena = arena, .crash = crash, .summary = summary};
    enum psc_status status =
        disassembler_open(fault->target->machine->elf_machine, &examination.disassembler);
    if (status == PSC_ERR_MEMORY)
        return status;
    describe(&examination);
    status = examination.decoded ? fault_tell_instruction(&examination) : PSC_OK;
    disassembler_close(examination.disassembler);
    return status;
}

/* The only memory operand that is written out, if it is a register and a displacement. */
static bool find_member(const struct examination *examination, uint8_t *ret_base,
                        int64_t *ret_displacement)
{
    const struct memory_operand *found = NULL;
    for (size_t i = 0; i < examination->instruction.memory_count; i++) {
        const struct memory_operand *operand = &examination->instruction.memory[i];
        if (operand->implied)
            continue;
        if (found || operand->base < 0 || operand->index >= 0 ||
            operand->segment != MEMORY_SEGMENT_FLAT)
            return false;
        found = operand;
    }
    if (!found)
        return false;
    *ret_base = (uint8_t)found->base;
    *ret_displacement = found->displacement;
    return true;
}

bool fault_find_member(const struct fault *fault, struct arena *arena, uint8_t *ret_base,
                       int64_t *ret_displacement)
{
    struct trace_crash crash = {.has_address =
                                    fault->signal.has_info && fault->signal.has_address &&
                                    fault->signal.code > 0 && fault->signal.code != CODE_KERNEL};
    struct text summary PSC_CLEANUP(text_deinit) = {0};
    struct examination examination = {
        .fault = fault, .arena = arena, .crash = &crash, .summary = &summary};
    if (!fault->registers ||
        disassembler_open(fault->target->machine->elf_machine, &examination.disassembler) != PSC_OK)
        return false;
    describe(&examination);
    bool found = examination.decoded && find_member(&examination, ret_base, ret_displacement);
    disassembler_close(examination.disassembler);
    return found;
}
