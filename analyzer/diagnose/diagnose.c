#include "abort.h"
#include "diagnose_private.h"
#include "fault.h"
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

/* raise() sends the signal in the same way: abort() is called where the stack says so. */
static bool describe_abort(const struct trace_thread *thread, struct text *ret)
{
    static const struct c_api_abort itself[] = {{"abort", "abort() called"}};
    const char *cause = find_abort_cause(thread);
    if (!cause && (!thread || !find_abort_among(thread, itself, PSC_ARRAY_SIZE(itself))))
        return false;
    text_add_string(ret, "abort() called");
    if (cause)
        text_printf(ret, ": %s", cause);
    return true;
}

/* Signals that neither the processor nor another process sends. */
static void describe_limit(const struct fault *fault, struct text *ret)
{
    const struct target_signal *signal = &fault->signal;
    if (signal->number == SIGNAL_SYS)
        diagnose_describe_system_call(fault->target, signal, fault->registers, ret);
    else if (signal->number == SIGNAL_XCPU)
        text_add_string(ret, "limit of processor time exceeded");
    else if (signal->number == SIGNAL_XFSZ)
        text_add_string(ret, "limit of file size exceeded");
}

static const struct trace_thread *find_trace_thread(const struct psc_trace *trace, int32_t tid)
{
    for (size_t i = 0; i < trace->thread_count; i++)
        if (trace->threads[i].tid == tid)
            return &trace->threads[i];
    return NULL;
}

/* What was first: the signal that the process died of, or the one that its handler passed on. */
static struct fault choose_fault(struct target *target, const struct first_fault *first)
{
    const struct target_thread *thread = find_crashed(target);
    if (first->found)
        return (struct fault){.target = target,
                              .thread = first->thread,
                              .registers = &first->registers,
                              .signal = first->signal,
                              .has_error = first->has_error,
                              .error = first->error};
    return (struct fault){.target = target,
                          .thread = thread,
                          .registers = thread ? &thread->registers : NULL,
                          .signal = target->process.signal};
}

static enum psc_status describe_crash(const struct fault *fault, const struct psc_trace *trace,
                                      struct trace_crash *crash, bool unknown_sender,
                                      struct text *ret)
{
    struct target *target = fault->target;
    const struct target_signal *signal = &fault->signal;
    const struct trace_thread *frames = crash->tid ? find_trace_thread(trace, crash->tid) : NULL;
    if (unknown_sender) {
        text_add_string(ret, "sent to it; by whom is not known");
        crash->cause = TRACE_CAUSE_SENT;
        return PSC_OK;
    }
    if (signal->number == SIGNAL_ABRT && describe_abort(frames, ret))
        return PSC_OK;
    if (is_sent(signal) && signal->sender_pid == target->process.pid && !trace->python &&
        diagnose_is_bootloader(target))
        text_add_string(ret, "raised again after its child process died of it");
    else if (is_sent(signal))
        diagnose_describe_sender(target, signal, fault->registers, ret);
    else if (signal->has_info)
        describe_limit(fault, ret);
    if (ret->size || !signal->has_info)
        return PSC_OK;
    return fault_describe(fault, trace->arena, crash, ret);
}

/* fault_describe() with the words in the arena. */
static enum psc_status describe_fault(const struct fault *fault, struct arena *arena,
                                      struct trace_crash *crash)
{
    struct text summary = {0};
    enum psc_status status = fault_describe(fault, arena, crash, &summary);
    bool failed = summary.failed;
    if (summary.size && !failed)
        crash->summary = arena_strndup(arena, summary.data, summary.size);
    text_deinit(&summary);
    return failed ? PSC_ERR_MEMORY : status;
}

/* The signal that the process died of is of the handler itself, in which the processor refused. */
static bool is_fault_of_handler(const struct target *target, const struct first_fault *first)
{
    const struct target_signal *signal = &target->process.signal;
    return first->found && first->handler_frames && signal->has_info && signal->code > 0 &&
           !first->thread->registers.in_system_call;
}

static struct trace_crash begin_crash(const struct fault *fault)
{
    const struct target_signal *signal = &fault->signal;
    struct trace_crash crash = {.signal_number = signal->number,
                                .signal = diagnose_signal_name(signal->number),
                                .tid = fault->thread ? fault->thread->tid : 0};
    if (signal->has_info)
        crash.code = diagnose_signal_code(signal->number, signal->code);
    crash.has_address = has_fault_address(signal);
    crash.address = crash.has_address ? signal->address : 0;
    crash.has_sender = is_sent(signal);
    crash.sender_pid = crash.has_sender ? signal->sender_pid : 0;
    return crash;
}

/* Where the frame of a stack is in the report: its own function, of those that are inlined there.
 */
static const struct trace_location *find_location(const struct trace_thread *thread, psc_addr pc)
{
    const struct trace_location *location = NULL;
    for (size_t i = 0; thread && i < thread->frame_count; i++) {
        if (thread->frames[i].has_pc && thread->frames[i].pc == pc)
            location = thread->frames[i].location;
        else if (location)
            break;
    }
    return location;
}

/* The function whose buffer was overrun, and what that says of the frames around it. */
static void describe_overrun(const struct diagnose_input *input, const struct trace_thread *thread,
                             const struct abort_finding *finding, struct text *ret)
{
    const struct trace_location *location =
        find_location(thread, input->stack->frames[finding->overrun].pc);
    if (!location || !(location->function || location->has_offset))
        return;
    if (location->function)
        text_printf(ret, " in %s", location->function);
    else
        text_printf(ret, " in %s+0x%" PRIx64, location->module ? location->module->name : "",
                    location->offset);
    if (finding->cause == TRACE_CAUSE_STACK_SMASHING)
        target_warn(input->target, "stack-overrun",
                    "thread %d: the stack was overwritten in the function that was overrun: the "
                    "frames of its callers may be wrong",
                    thread->tid);
}

/* abort() sends the signal to its own thread. */
static enum psc_status read_abort(const struct diagnose_input *input, const struct fault *fault,
                                  struct abort_finding *ret)
{
    const struct abort_input request = {.target = input->target,
                                        .modules = input->modules,
                                        .thread = fault->thread,
                                        .stack = input->stack,
                                        .first =
                                            input->first->found ? input->first->handler_frames : 0,
                                        .arena = input->trace->arena};
    *ret = (struct abort_finding){0};
    if (fault->signal.number != SIGNAL_ABRT || !fault->thread || !input->stack || !input->modules)
        return PSC_OK;
    return abort_read(&request, ret);
}

/* Of what is not a fault of the processor. */
static enum trace_cause find_cause(const struct fault *fault)
{
    const struct target_signal *signal = &fault->signal;
    if (signal->number == SIGNAL_SYS && signal->code == CODE_SYS_SECCOMP)
        return TRACE_CAUSE_SECCOMP;
    if (is_sent(signal))
        return signal->sender_pid == fault->target->process.pid ? TRACE_CAUSE_OTHER
                                                                : TRACE_CAUSE_SENT;
    return TRACE_CAUSE_UNKNOWN;
}

/* A core file that was written of a process which went on. */
static enum psc_status describe_snapshot(const struct diagnose_input *input)
{
    struct psc_trace *trace = input->trace;
    trace->crash = NULL;
    for (size_t i = 0; i < trace->thread_count; i++)
        trace->threads[i].state &= ~(uint32_t)TRACE_STATE_CRASHED;
    if (input->target->kind != TARGET_CORE || !input->target->thread_count)
        return PSC_OK;
    struct trace_crash *crash = arena_alloc(trace->arena, sizeof(*crash));
    if (!crash)
        return PSC_ERR_MEMORY;
    crash->cause = TRACE_CAUSE_SNAPSHOT;
    crash->summary = "a snapshot, taken from a running process";
    trace->crash = crash;
    return PSC_OK;
}

static enum psc_status tell_fault_of_handler(struct target *target,
                                             const struct target_thread *thread,
                                             struct arena *arena, struct trace_crash *crash)
{
    const struct fault fault = {.target = target,
                                .thread = thread,
                                .registers = &thread->registers,
                                .signal = target->process.signal};
    struct trace_crash second = begin_crash(&fault);
    enum psc_status status = describe_fault(&fault, arena, &second);
    if (second.summary)
        crash->handler_fault = arena_printf(
            arena, "%s: %s", diagnose_signal_name(fault.signal.number), second.summary);
    return status;
}

enum psc_status diagnose_find_first(struct target *target, const struct target_thread *thread,
                                    const struct native_stack *stack, struct first_fault *ret)
{
    return fault_find_first(target, thread, stack, ret);
}

enum psc_status diagnose_thread_fault(struct target *target, const struct target_thread *thread,
                                      const struct native_stack *stack, struct arena *arena,
                                      const struct trace_crash **ret)
{
    struct first_fault first;
    *ret = NULL;
    enum psc_status status = fault_find_living(target, thread, stack, &first);
    if (status != PSC_OK || !first.found)
        return status;
    struct trace_crash *crash = arena_alloc(arena, sizeof(*crash));
    if (!crash)
        return PSC_ERR_MEMORY;
    const struct fault fault = choose_fault(target, &first);
    *crash = begin_crash(&fault);
    crash->raised_again = first.handler_frames != 0;
    *ret = crash;
    return describe_fault(&fault, arena, crash);
}

enum psc_status diagnose_crash(const struct diagnose_input *input)
{
    struct psc_trace *trace = input->trace;
    const struct first_fault *first = input->first;
    if (!is_crash(input->target))
        return describe_snapshot(input);
    struct trace_crash *crash = arena_alloc(trace->arena, sizeof(*crash));
    if (!crash)
        return PSC_ERR_MEMORY;
    const struct fault fault = choose_fault(input->target, first);
    *crash = begin_crash(&fault);
    bool again = is_fault_of_handler(input->target, first);
    crash->raised_again = first->found && !again;

    struct abort_finding finding;
    struct text summary = {0};
    enum psc_status status = read_abort(input, &fault, &finding);
    if (status != PSC_OK)
        return status;
    if (finding.words) {
        crash->cause = finding.cause;
        crash->message = finding.message;
        text_printf(&summary, "abort() called: %s", finding.words);
        if (finding.overrun)
            describe_overrun(input, find_trace_thread(trace, crash->tid), &finding, &summary);
    } else {
        status = describe_crash(&fault, trace, crash, first->unknown_sender, &summary);
    }
    if (status == PSC_OK && again)
        status = tell_fault_of_handler(input->target, first->thread, trace->arena, crash);
    if (!crash->cause)
        crash->cause = find_cause(&fault);
    if (status == PSC_OK && crash->tid)
        status =
            diagnose_during(find_trace_thread(trace, crash->tid), trace->arena, &crash->during);
    if (status == PSC_OK)
        status = diagnose_object(input, &fault, &crash->object);
    if (status == PSC_OK)
        status = diagnose_damage(input, &fault, &crash->damage);
    bool failed = summary.failed;
    if (summary.size && !failed)
        crash->summary = arena_strndup(trace->arena, summary.data, summary.size);
    text_deinit(&summary);
    trace->crash = crash;
    if (status != PSC_OK)
        return status;
    return failed || arena_is_exhausted(trace->arena) ? PSC_ERR_MEMORY : PSC_OK;
}
