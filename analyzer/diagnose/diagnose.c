#include "diagnose_private.h"
#include "python.h"

#include <inttypes.h>
#include <string.h>

/* Innermost frames in which the cause of an abort is looked for. */
#define ABORT_DEPTH 40

/*
 * Who calls abort(): symbols between it and the culprit, the most telling first. Those of the
 * interpreter come behind these.
 */
static const struct c_api_abort library_aborts[] = {
    {"__assert_fail", "an assertion failed"},
    {"__assert_fail_base", "an assertion failed"},
    {"__stack_chk_fail", "a buffer on the stack was overrun (stack protector)"},
    {"__chk_fail", "a buffer was overrun (fortified C library function)"},
    {"malloc_printerr", "the C library found its heap corrupted"},
    {"_ZSt9terminatev", "C++ std::terminate()"},
    {"rust_panic", "a Rust panic"},
};
/* Those that only say that something was wrong. */
static const struct c_api_abort plain_aborts[] = {
    {"__libc_fatal", "the C library gave up (fatal error)"},
};

/* Signals whose default action writes a core (include/linux/signal.h, SIG_KERNEL_COREDUMP_MASK). */
static bool kills_with_core(int32_t number)
{
    return number == SIGNAL_QUIT || number == SIGNAL_ILL || number == SIGNAL_TRAP ||
           number == SIGNAL_ABRT || number == SIGNAL_FPE || number == SIGNAL_SEGV ||
           number == SIGNAL_BUS || number == SIGNAL_SYS || number == SIGNAL_XCPU ||
           number == SIGNAL_XFSZ;
}

static const struct target_thread *find_crashed(const struct target *target)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].crashed)
            return &target->threads[i];
    return NULL;
}

/* Whether a trap instruction was the last one; true when that is not known. */
static bool ran_trap_instruction(struct target *target, const struct target_thread *thread)
{
    return !thread || target->machine->ran_trap(target, target_pc(target, &thread->registers));
}

/*
 * The SIGTRAP of a debugger: a ptrace event (its number stands above the low byte), a single
 * step, a watchpoint, or a breakpoint, of which a debugger takes its int3 and the step back.
 */
static bool is_debugger_trap(struct target *target)
{
    const struct target_signal *signal = &target->process.signal;
    if (!signal->has_info || signal->code == CODE_TRAP_TRACE || signal->code == CODE_TRAP_HWBKPT)
        return true;
    if (signal->code <= 0)
        return false;
    return (signal->code & ~0xff) || !ran_trap_instruction(target, find_crashed(target));
}

/* Cores of processes that live on have no signal, or the one that stopped them. */
static bool is_crash(struct target *target)
{
    int32_t number = target->process.signal.number;
    return kills_with_core(number) && !(number == SIGNAL_TRAP && is_debugger_trap(target));
}

static bool is_sent(const struct target_signal *signal)
{
    return signal->has_info && signal->has_sender &&
           (signal->code == CODE_USER || signal->code == CODE_TKILL || signal->code == CODE_QUEUE);
}

/* Codes above 0 are the processor's; SI_KERNEL leaves the address 0 (arch/x86/kernel/traps.c). */
static bool has_fault_address(const struct target_signal *signal)
{
    return signal->has_info && signal->has_address && signal->code > 0 &&
           signal->code != CODE_KERNEL;
}

static const char *describe_arithmetic(int32_t code)
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

static const char *describe_instruction(int32_t code)
{
    switch (code) {
    case 5:
    case 6:
        return "privileged instruction";
    case 7:
        return "coprocessor error";
    default:
        return "illegal instruction";
    }
}

static bool is_native_symbol(const struct trace_location *location, const char *symbol)
{
    const char *name = location->symbol ? location->symbol : location->function;
    return location->kind == TRACE_NATIVE && name && !strcmp(name, symbol);
}

static const char *find_abort_among(const struct trace_thread *thread,
                                    const struct c_api_abort *aborts, size_t count)
{
    size_t depth = thread->frame_count < ABORT_DEPTH ? thread->frame_count : ABORT_DEPTH;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < depth; j++)
            if (is_native_symbol(thread->frames[j].location, aborts[i].symbol))
                return aborts[i].words;
    return NULL;
}

static const char *find_abort_cause(const struct trace_thread *thread)
{
    if (!thread)
        return NULL;
    size_t count;
    const struct c_api_abort *python = c_api_aborts(&count);
    const char *words = find_abort_among(thread, library_aborts, PSC_ARRAY_SIZE(library_aborts));
    if (!words)
        words = find_abort_among(thread, python, count);
    return words ? words : find_abort_among(thread, plain_aborts, PSC_ARRAY_SIZE(plain_aborts));
}

/* abort() sends the signal to its own thread; so does raise(). */
static bool describe_abort(const struct target *target, const struct trace_thread *thread,
                           struct text *ret)
{
    const struct target_signal *signal = &target->process.signal;
    bool own =
        is_sent(signal) && signal->code == CODE_TKILL && signal->sender_pid == target->process.pid;
    const char *cause = find_abort_cause(thread);
    if (!own && !cause)
        return false;
    text_add_string(ret, "abort() called");
    if (cause)
        text_printf(ret, ": %s", cause);
    return true;
}

static void describe_sender(const struct target *target, struct text *ret)
{
    const struct target_signal *signal = &target->process.signal;
    if (signal->sender_pid == target->process.pid)
        text_add_string(ret, "sent by itself");
    else if (signal->sender_pid > 0)
        text_printf(ret, "sent by pid %d", signal->sender_pid);
    else
        text_add_string(ret, "sent from outside its pid namespace");
}

static void describe_hardware(struct target *target, const struct target_thread *thread,
                              struct text *ret)
{
    const struct target_signal *signal = &target->process.signal;
    bool has_address = has_fault_address(signal);
    switch ((enum diagnose_signal)signal->number) {
    case SIGNAL_SEGV:
        if (signal->code == CODE_SEGV_CPERR)
            text_add_string(ret, "return to an address that is not on the shadow stack");
        else if (has_address)
            diagnose_describe_fault(target, thread, signal, ret);
        else if (signal->code == CODE_KERNEL)
            text_add_string(ret, "general protection: a non-canonical address, a misaligned "
                                 "vector access or a privileged instruction");
        return;
    case SIGNAL_BUS:
        if (has_address)
            diagnose_describe_fault(target, thread, signal, ret);
        else if (signal->code == CODE_KERNEL)
            text_add_string(ret, "a non-canonical address on the stack");
        return;
    case SIGNAL_FPE:
        text_add_string(ret, describe_arithmetic(signal->code));
        break;
    case SIGNAL_ILL:
        text_add_string(ret, describe_instruction(signal->code));
        break;
    case SIGNAL_TRAP:
        text_add_string(ret, "breakpoint instruction");
        break;
    case SIGNAL_SYS:
        text_add_string(ret, signal->code == CODE_SYS_SECCOMP ? "system call refused by seccomp"
                                                              : "bad system call");
        return;
    case SIGNAL_XCPU:
        text_add_string(ret, "limit of processor time exceeded");
        return;
    case SIGNAL_XFSZ:
        text_add_string(ret, "limit of file size exceeded");
        return;
    case SIGNAL_QUIT:
    case SIGNAL_ABRT:
        return;
    }
    if (has_address && (signal->number == SIGNAL_FPE || signal->number == SIGNAL_ILL))
        text_printf(ret, " at 0x%" PRIx64, signal->address);
}

static const struct trace_thread *find_trace_thread(const struct psc_trace *trace, int32_t tid)
{
    for (size_t i = 0; i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid)
            return &trace->threads[i];
    return NULL;
}

static void describe_crash(struct target *target, const struct psc_trace *trace,
                           const struct target_thread *thread, struct text *ret)
{
    const struct target_signal *signal = &target->process.signal;
    const struct trace_thread *frames = thread ? find_trace_thread(trace, thread->tid) : NULL;
    if (signal->number == SIGNAL_ABRT && describe_abort(target, frames, ret))
        return;
    if (is_sent(signal) && signal->sender_pid == target->process.pid && !trace->python &&
        diagnose_is_bootloader(target))
        text_add_string(ret, "raised again after its child process died of it");
    else if (is_sent(signal))
        describe_sender(target, ret);
    else if (signal->has_info)
        describe_hardware(target, thread, ret);
}

enum psc_status diagnose_crash(struct target *target, struct psc_trace *trace)
{
    const struct target_signal *signal = &target->process.signal;
    if (!is_crash(target)) {
        trace->crash = NULL;
        for (size_t i = 0; i < trace->thread_count; i++)
            trace->threads[i].state &= ~(uint32_t)TRACE_STATE_CRASHED;
        return PSC_OK;
    }
    struct trace_crash *crash = arena_alloc(trace->arena, sizeof(*crash));
    if (!crash)
        return PSC_ERR_MEMORY;
    const struct target_thread *thread = find_crashed(target);
    crash->signal_number = signal->number;
    crash->signal = diagnose_signal_name(signal->number);
    crash->tid = thread ? thread->tid : 0;
    if (signal->has_info)
        crash->code = diagnose_signal_code(signal->number, signal->code);
    crash->has_address = has_fault_address(signal);
    crash->address = crash->has_address ? signal->address : 0;
    crash->has_sender = is_sent(signal);
    crash->sender_pid = crash->has_sender ? signal->sender_pid : 0;

    struct text summary = {0};
    describe_crash(target, trace, thread, &summary);
    bool failed = summary.failed;
    if (summary.size && !failed)
        crash->summary = arena_strndup(trace->arena, summary.data, summary.size);
    text_deinit(&summary);
    trace->crash = crash;
    return failed || arena_is_exhausted(trace->arena) ? PSC_ERR_MEMORY : PSC_OK;
}
