#include "diagnose.h"
#include "x86_64_registers.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STACK_START 0x7ffffff00000
#define STACK_END   0x7ffffffff000

/* A dead process with one thread, made by hand. */
struct dead {
    struct target target;
    struct target_thread thread;
    struct target_mapping mappings[5];
    struct target_file file;
    struct psc_trace trace;
    struct trace_thread trace_thread;
    struct trace_frame frames[3];
    struct trace_location locations[3];
};

/* Memory of nops, with an int3 at 0x400500. */
static enum psc_status read_code(struct target *target, psc_addr address, void *buffer, size_t size)
{
    (void)target;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)buffer)[i] = address + i == 0x400500 ? 0xcc : 0x90;
    return PSC_OK;
}

static const struct target_ops dead_ops = {.read = read_code};

static void dead_init(struct dead *dead, int signal, int code)
{
    *dead = (struct dead){
        .thread = {.tid = 77, .crashed = true},
        .file = {.path = "/usr/lib/libx.so"},
    };
    dead->mappings[0] = (struct target_mapping){.start = 0x400000,
                                                .end = 0x401000,
                                                .file = &dead->file,
                                                .permissions_known = true,
                                                .readable = true,
                                                .executable = true};
    dead->mappings[1] = (struct target_mapping){.start = 0x401000,
                                                .end = 0x402000,
                                                .file = &dead->file,
                                                .permissions_known = true,
                                                .readable = true};
    dead->mappings[2] = (struct target_mapping){.start = 0x500000,
                                                .end = 0x600000,
                                                .permissions_known = true,
                                                .readable = true,
                                                .writable = true};
    dead->mappings[3] = (struct target_mapping){
        .start = STACK_START - 0x1000, .end = STACK_START, .permissions_known = true};
    dead->mappings[4] = (struct target_mapping){.start = STACK_START,
                                                .end = STACK_END,
                                                .permissions_known = true,
                                                .readable = true,
                                                .writable = true};
    dead->thread.registers.value[X86_RSP] = STACK_END - 0x800;
    dead->thread.registers.value[X86_RIP] = 0x400100;
    dead->target.ops = &dead_ops;
    dead->target.machine = target_machine_here();
    dead->target.threads = &dead->thread;
    dead->target.thread_count = 1;
    dead->target.mappings = dead->mappings;
    dead->target.mapping_count = 5;
    dead->target.process.pid = 70;
    dead->target.process.signal =
        (struct target_signal){.number = signal, .code = code, .has_info = true};
    dead->trace_thread = (struct trace_thread){
        .tid = 77, .state = TRACE_STATE_CRASHED, .frames = dead->frames, .frame_count = 3};
    for (size_t i = 0; i < 3; i++) {
        dead->locations[i] = (struct trace_location){.kind = TRACE_NATIVE};
        dead->frames[i].location = &dead->locations[i];
    }
    dead->trace.arena = arena_create();
    assert_non_null(dead->trace.arena);
    dead->trace.threads = &dead->trace_thread;
    dead->trace.thread_count = 1;
}

static const struct trace_crash *dead_diagnose(struct dead *dead)
{
    const struct diagnose_input input = {
        .target = &dead->target, .first = &(struct first_fault){0}, .trace = &dead->trace};
    assert_int_equal(diagnose_crash(&input), PSC_OK);
    return dead->trace.crash;
}

static void expect_summary(struct dead *dead, const char *summary)
{
    const struct trace_crash *crash = dead_diagnose(dead);
    assert_non_null(crash);
    if (summary) {
        assert_non_null(crash->summary);
        assert_string_equal(crash->summary, summary);
    } else {
        assert_null(crash->summary);
    }
    arena_destroy(dead->trace.arena);
}

static void expect_fault(int signal, int code, psc_addr address, psc_addr stack_pointer,
                         const char *summary)
{
    struct dead dead;
    dead_init(&dead, signal, code);
    dead.target.process.signal.has_address = true;
    dead.target.process.signal.address = address;
    if (stack_pointer)
        dead.thread.registers.value[X86_RSP] = stack_pointer;
    expect_summary(&dead, summary);
}

static void test_unmapped_addresses(void **state)
{
    (void)state;
    expect_fault(SIGSEGV, SEGV_MAPERR, 0, 0, "accessing 0x0 (a null pointer), not mapped");
    expect_fault(SIGSEGV, SEGV_MAPERR, 0x18, 0, "accessing 0x18 (near a null pointer), not mapped");
    expect_fault(SIGSEGV, SEGV_MAPERR, UINT64_MAX - 7, 0,
                 "accessing 0xfffffffffffffff8 (near a null pointer), not mapped");
    expect_fault(SIGSEGV, SEGV_MAPERR, 0x10000, 0, "accessing 0x10000, not mapped");
    expect_fault(SIGSEGV, SEGV_MAPERR, 0xdeadbeef, 0, "accessing 0xdeadbeef, not mapped");
}

static void test_mapped_addresses(void **state)
{
    (void)state;
    expect_fault(SIGSEGV, SEGV_ACCERR, 0x400010, 0,
                 "accessing 0x400010, mapped as read-only code: /usr/lib/libx.so");
    expect_fault(SIGSEGV, SEGV_ACCERR, 0x401010, 0,
                 "accessing 0x401010, mapped read-only: /usr/lib/libx.so");
    expect_fault(SIGSEGV, SEGV_ACCERR, 0x500010, 0,
                 "accessing 0x500010, mapped, but access was refused");
    expect_fault(SIGSEGV, SEGV_ACCERR, STACK_START - 8, 0,
                 "accessing 0x7fffffeffff8, mapped without any access");
    expect_fault(SIGBUS, BUS_ADRERR, 0x401010, 0,
                 "accessing 0x401010, mapped, but behind the end of its file: /usr/lib/libx.so");
    expect_fault(SIGBUS, BUS_ADRALN, 0x500001, 0, "accessing 0x500001");
}

static void test_execution(void **state)
{
    (void)state;
    struct dead dead;
    dead_init(&dead, SIGSEGV, SEGV_MAPERR);
    dead.target.process.signal.has_address = true;
    dead.thread.registers.value[X86_RIP] = 0;
    expect_summary(&dead, "executing 0x0 (a null pointer), not mapped");
    dead_init(&dead, SIGSEGV, SEGV_ACCERR);
    dead.target.process.signal.has_address = true;
    dead.target.process.signal.address = dead.thread.registers.value[X86_RIP] = 0x500010;
    expect_summary(&dead, "executing 0x500010, mapped without execution");
}

static void test_stack_overflow(void **state)
{
    (void)state;
    /* In the guard page, with the stack pointer there as well or still above it. */
    expect_fault(SIGSEGV, SEGV_ACCERR, STACK_START - 8, STACK_START - 8,
                 "accessing 0x7fffffeffff8, just below the stack of the thread: stack overflow");
    expect_fault(SIGSEGV, SEGV_ACCERR, STACK_START - 8, STACK_START + 0x20,
                 "accessing 0x7fffffeffff8, just below the stack of the thread: stack overflow");
    /* Below a main thread's stack nothing is mapped. */
    expect_fault(SIGSEGV, SEGV_MAPERR, STACK_START - 0x1008, STACK_START - 0x1000,
                 "accessing 0x7fffffefeff8, just below the stack of the thread: stack overflow");
    /* Near the stack pointer, but within the stack: no overflow. */
    expect_fault(SIGSEGV, SEGV_ACCERR, STACK_START + 8, STACK_START + 8,
                 "accessing 0x7ffffff00008, mapped, but access was refused");
    /* Near a stack pointer that is lost itself. */
    expect_fault(SIGSEGV, SEGV_MAPERR, 0x10, 0x20,
                 "accessing 0x10 (near a null pointer), not mapped");
}

static void test_general_protection_has_no_address(void **state)
{
    (void)state;
    struct dead dead;
    dead_init(&dead, SIGSEGV, SI_KERNEL);
    dead.target.process.signal.has_address = true;
    const struct trace_crash *crash = dead_diagnose(&dead);
    assert_string_equal(crash->code, "SI_KERNEL");
    assert_false(crash->has_address);
    assert_string_equal(crash->summary, "general protection fault");
    arena_destroy(dead.trace.arena);
}

static void expect_sent(int signal, int code, int32_t pid, const char *summary)
{
    struct dead dead;
    dead_init(&dead, signal, code);
    dead.target.process.signal.has_sender = true;
    dead.target.process.signal.sender_pid = pid;
    const struct trace_crash *crash = dead_diagnose(&dead);
    assert_true(crash->has_sender);
    assert_int_equal(crash->sender_pid, pid);
    assert_false(crash->has_address);
    expect_summary(&dead, summary);
}

static void test_senders(void **state)
{
    (void)state;
    expect_sent(SIGSEGV, SI_USER, 5, "sent by pid 5");
    expect_sent(SIGSEGV, SI_USER, 70, "sent by itself");
    expect_sent(SIGSEGV, SI_TKILL, 70, "sent by itself");
    expect_sent(SIGQUIT, SI_QUEUE, 5, "sent by pid 5");
    expect_sent(SIGQUIT, SI_USER, 0, "sent from outside its pid namespace");
    expect_sent(SIGABRT, SI_TKILL, 70, "sent by itself");
    expect_sent(SIGABRT, SI_USER, 70, "sent by itself");
    expect_sent(SIGABRT, SI_USER, 5, "sent by pid 5");
}

static void test_abort_causes(void **state)
{
    (void)state;
    struct dead dead;
    dead_init(&dead, SIGABRT, SI_TKILL);
    dead.locations[0].symbol = "abort";
    dead.locations[1].symbol = "malloc_printerr";
    expect_summary(&dead, "abort() called: the C library found its heap corrupted");
    dead_init(&dead, SIGABRT, SI_TKILL);
    dead.locations[2].function = "Py_FatalError";
    expect_summary(&dead, "abort() called: Python gave up (Py_FatalError)");
    /* A Python function of that name is none. */
    dead_init(&dead, SIGABRT, SI_TKILL);
    dead.locations[2].kind = TRACE_PYTHON;
    dead.locations[2].function = "Py_FatalError";
    expect_summary(&dead, NULL);
}

static void test_other_hardware_signals(void **state)
{
    (void)state;
    expect_fault(SIGFPE, FPE_INTDIV, 0x400100, 0,
                 "integer division by zero, or its result does not fit at 0x400100");
    expect_fault(SIGFPE, FPE_FLTOVF, 0x400100, 0, "floating-point overflow at 0x400100");
    expect_fault(SIGILL, ILL_ILLOPN, 0x400100, 0, "illegal instruction at 0x400100");
    expect_fault(SIGILL, ILL_PRVOPC, 0x400100, 0, "privileged instruction at 0x400100");
    struct dead dead;
    dead_init(&dead, SIGTRAP, SI_KERNEL);
    dead.thread.registers.value[X86_RIP] = 0x400501;
    expect_summary(&dead, "breakpoint instruction");
    dead_init(&dead, SIGSYS, 1);
    expect_summary(&dead, "system call refused by seccomp");
}

static void test_without_siginfo(void **state)
{
    (void)state;
    struct dead dead;
    dead_init(&dead, SIGSEGV, 0);
    dead.target.process.signal.has_info = false;
    const struct trace_crash *crash = dead_diagnose(&dead);
    assert_string_equal(crash->signal, "SIGSEGV");
    assert_int_equal(crash->signal_number, SIGSEGV);
    assert_int_equal(crash->tid, 77);
    assert_null(crash->code);
    assert_null(crash->summary);
    arena_destroy(dead.trace.arena);
}

/* What a debugger leaves in the core of a process that lives on. */
static void test_no_crash(void **state)
{
    (void)state;
    static const struct {
        int signal;
        int code;
        bool has_info;
    } cases[] = {
        {0, 0, false},
        {SIGSTOP, 0, true},
        {SIGINT, SI_USER, true},
        {SIGTRAP, 0, false},
        {SIGTRAP, SIGTRAP | 4 << 8, true},
        {SIGTRAP, SI_KERNEL, true},
        {SIGTRAP, TRAP_TRACE, true},
        {SIGTRAP, TRAP_HWBKPT, true},
        {SIGCHLD, 1, true},
        {SIGTERM, SI_USER, true},
        {34, SI_QUEUE, true},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++) {
        struct dead dead;
        dead_init(&dead, cases[i].signal, cases[i].code);
        dead.target.process.signal.has_info = cases[i].has_info;
        const struct trace_crash *crash = dead_diagnose(&dead);
        assert_true(crash && crash->cause == TRACE_CAUSE_SNAPSHOT && !crash->signal_number);
        assert_int_equal(dead.trace_thread.state & TRACE_STATE_CRASHED, 0);
        arena_destroy(dead.trace.arena);
    }
}

static void test_signal_names(void **state)
{
    (void)state;
    for (int number = 1; number < 32; number++) {
        char name[32];
        /* glibc calls SIGIO "POLL". */
        snprintf(name, sizeof(name), "SIG%s", number == SIGIO ? "IO" : sigabbrev_np(number));
        assert_string_equal(diagnose_signal_name(number), name);
    }
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
        char name[32];
        snprintf(name, sizeof(name), number == SIGRTMIN ? "SIGRTMIN" : "SIGRTMIN+%d",
                 number - SIGRTMIN);
        assert_string_equal(diagnose_signal_name(number), name);
    }
    static const int nameless[] = {-1, 0, 32, 33, 65, 1 << 30};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(nameless); i++)
        assert_null(diagnose_signal_name(nameless[i]));
}

static void test_signal_codes(void **state)
{
    (void)state;
    static const struct {
        int signal;
        int code;
        const char *name;
    } codes[] = {
#define CODE(signal, code) {signal, code, #code}
        CODE(SIGSEGV, SEGV_MAPERR),  CODE(SIGSEGV, SEGV_ACCERR),  CODE(SIGSEGV, SEGV_BNDERR),
        CODE(SIGSEGV, SEGV_PKUERR),  CODE(SIGSEGV, SEGV_ACCADI),  CODE(SIGSEGV, SEGV_ADIDERR),
        CODE(SIGSEGV, SEGV_ADIPERR), CODE(SIGSEGV, SEGV_MTEAERR), CODE(SIGSEGV, SEGV_MTESERR),
        CODE(SIGBUS, BUS_ADRALN),    CODE(SIGBUS, BUS_ADRERR),    CODE(SIGBUS, BUS_OBJERR),
        CODE(SIGBUS, BUS_MCEERR_AR), CODE(SIGBUS, BUS_MCEERR_AO), CODE(SIGFPE, FPE_INTDIV),
        CODE(SIGFPE, FPE_INTOVF),    CODE(SIGFPE, FPE_FLTDIV),    CODE(SIGFPE, FPE_FLTOVF),
        CODE(SIGFPE, FPE_FLTUND),    CODE(SIGFPE, FPE_FLTRES),    CODE(SIGFPE, FPE_FLTINV),
        CODE(SIGFPE, FPE_FLTSUB),    CODE(SIGFPE, FPE_FLTUNK),    CODE(SIGFPE, FPE_CONDTRAP),
        CODE(SIGILL, ILL_ILLOPC),    CODE(SIGILL, ILL_ILLOPN),    CODE(SIGILL, ILL_ILLADR),
        CODE(SIGILL, ILL_ILLTRP),    CODE(SIGILL, ILL_PRVOPC),    CODE(SIGILL, ILL_PRVREG),
        CODE(SIGILL, ILL_COPROC),    CODE(SIGILL, ILL_BADSTK),    CODE(SIGILL, ILL_BADIADDR),
        CODE(SIGTRAP, TRAP_BRKPT),   CODE(SIGTRAP, TRAP_TRACE),   CODE(SIGTRAP, TRAP_BRANCH),
        CODE(SIGTRAP, TRAP_HWBKPT),  CODE(SIGTRAP, TRAP_UNK),     CODE(SIGQUIT, SI_USER),
        CODE(SIGSEGV, SI_KERNEL),    CODE(SIGABRT, SI_TKILL),     CODE(SIGABRT, SI_QUEUE),
        CODE(SIGABRT, SI_TIMER),     CODE(SIGABRT, SI_MESGQ),     CODE(SIGABRT, SI_ASYNCIO),
        CODE(SIGABRT, SI_SIGIO),     CODE(SIGABRT, SI_ASYNCNL),
#undef CODE
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(codes); i++)
        assert_string_equal(diagnose_signal_code(codes[i].signal, codes[i].code), codes[i].name);
    assert_null(diagnose_signal_code(SIGABRT, 1));
    assert_null(diagnose_signal_code(SIGSEGV, 77));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unmapped_addresses),
        cmocka_unit_test(test_mapped_addresses),
        cmocka_unit_test(test_execution),
        cmocka_unit_test(test_stack_overflow),
        cmocka_unit_test(test_general_protection_has_no_address),
        cmocka_unit_test(test_senders),
        cmocka_unit_test(test_abort_causes),
        cmocka_unit_test(test_other_hardware_signals),
        cmocka_unit_test(test_without_siginfo),
        cmocka_unit_test(test_no_crash),
        cmocka_unit_test(test_signal_names),
        cmocka_unit_test(test_signal_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
