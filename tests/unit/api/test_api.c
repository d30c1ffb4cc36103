/* The public calls that need no target: structs of other versions, what is read of a trace. */
#include "trace_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- structs of other versions ---- */

#define EXPECT_DEFAULT(type, initializer)                           \
    do {                                                            \
        static const struct type initialized = initializer;         \
        static struct type zeroed;                                  \
        zeroed.size = sizeof(zeroed);                               \
        assert_memory_equal(&initialized, &zeroed, sizeof(zeroed)); \
    } while (0)

static void test_initializers_are_zeros_behind_the_size(void **state)
{
    (void)state;
    EXPECT_DEFAULT(psc_open_options, PSC_OPEN_OPTIONS_INIT);
    EXPECT_DEFAULT(psc_capture_options, PSC_CAPTURE_OPTIONS_INIT);
    EXPECT_DEFAULT(psc_print_options, PSC_PRINT_OPTIONS_INIT);
    EXPECT_DEFAULT(psc_target_info, PSC_TARGET_INFO_INIT);
    EXPECT_DEFAULT(psc_python_info, PSC_PYTHON_INFO_INIT);
    EXPECT_DEFAULT(psc_crash_info, PSC_CRASH_INFO_INIT);
    EXPECT_DEFAULT(psc_operand, PSC_OPERAND_INIT);
    EXPECT_DEFAULT(psc_thread_info, PSC_THREAD_INFO_INIT);
    EXPECT_DEFAULT(psc_frame_info, PSC_FRAME_INFO_INIT);
    EXPECT_DEFAULT(psc_local, PSC_LOCAL_INIT);
    EXPECT_DEFAULT(psc_recursion, PSC_RECURSION_INIT);
    EXPECT_DEFAULT(psc_wait, PSC_WAIT_INIT);
    EXPECT_DEFAULT(psc_exit, PSC_EXIT_INIT);
    EXPECT_DEFAULT(psc_value_limits, PSC_VALUE_LIMITS_INIT);
    // But for the sizes of what its arrays hold, for which zeros mean those of version 0.1.
    struct psc_debugger debugger = PSC_DEBUGGER_INIT;
    const struct psc_debugger zeros = {.size = sizeof(zeros)};
    assert_int_equal(debugger.mapping_size, sizeof(struct psc_debugger_mapping));
    assert_int_equal(debugger.thread_size, sizeof(struct psc_debugger_thread));
    debugger.mapping_size = debugger.thread_size = 0;
    assert_memory_equal(&debugger, &zeros, sizeof(zeros));
}

static enum psc_status print_with(const void *options, struct text *ret, struct psc_error *err)
{
    struct sample sample;
    *ret = (struct text){0};
    *err = (struct psc_error){0};
    return psc_print(sample_fill(&sample), options, sample_append, ret, err);
}

/* As a header of another version has it. */
struct newer_print_options {
    struct psc_print_options known;
    uint32_t unknown;
};

static void test_a_newer_struct(void **state)
{
    (void)state;
    struct psc_error err;
    struct text by_default, text;
    struct newer_print_options newer = {.known = PSC_PRINT_OPTIONS_INIT};
    newer.known.size = sizeof(newer);
    assert_int_equal(print_with(NULL, &by_default, &err), PSC_OK);
    assert_int_equal(print_with(&newer, &text, &err), PSC_OK);
    assert_string_equal(text.data, by_default.data);
    text_deinit(&text);
    text_deinit(&by_default);

    newer.unknown = 1;
    assert_int_equal(print_with(&newer, &text, &err), PSC_ERR_ARGUMENT);
    assert_int_equal(err.status, PSC_ERR_ARGUMENT);
    assert_string_equal(err.message,
                        "this library, version " PSC_VERSION ", is older than the header that the "
                        "program was compiled with: struct psc_print_options has 64 bytes there "
                        "and 56 here, and something is set that is not known here; use a library "
                        "as new as the header");
    assert_int_equal(text.size, 0);
}

static void test_an_older_struct(void **state)
{
    (void)state;
    struct psc_error err;
    struct text text, json;
    // Only size and format were there: what follows in memory is not read.
    const uint32_t older[] = {8, PSC_FORMAT_JSON, 1, 1, 1};
    assert_int_equal(print_with(older, &text, &err), PSC_OK);
    struct psc_print_options options = PSC_PRINT_OPTIONS_INIT;
    options.format = PSC_FORMAT_JSON;
    assert_int_equal(print_with(&options, &json, &err), PSC_OK);
    assert_string_equal(text.data, json.data);
    text_deinit(&text);
    text_deinit(&json);

    assert_int_equal(print_with(&(struct psc_print_options){0}, &text, &err), PSC_ERR_ARGUMENT);
    assert_string_equal(
        err.message, "struct psc_print_options: its size is 0; begin with PSC_PRINT_OPTIONS_INIT");
}

static void test_what_is_filled_fits_the_caller(void **state)
{
    (void)state;
    struct sample sample;
    const struct psc_trace *trace = sample_fill(&sample);
    struct psc_thread_info info = PSC_THREAD_INFO_INIT;
    // A caller that knows the first two members keeps what is behind them.
    info.size = offsetof(struct psc_thread_info, state);
    info.state = 0xabcd;
    assert_int_equal(psc_trace_get_thread(trace, 0, &info, NULL), PSC_OK);
    assert_int_equal(info.size, offsetof(struct psc_thread_info, state));
    assert_int_equal(info.thread_id, 1234);
    assert_int_equal(info.state, 0xabcd);

    struct {
        struct psc_local known;
        uint32_t unknown;
    } newer = {.known = PSC_LOCAL_INIT, .unknown = 7};
    const struct trace_locals *locals[7];
    sample_add_values(&sample, locals);
    newer.known.size = sizeof(newer);
    assert_int_equal(psc_trace_get_local(trace, 0, 2, 0, &newer.known, NULL), PSC_OK);
    assert_string_equal(newer.known.name, "self");
    assert_int_equal(newer.unknown, 0);

    struct psc_error err;
    info.size = 0;
    assert_int_equal(psc_trace_get_thread(trace, 0, &info, &err), PSC_ERR_ARGUMENT);
    assert_string_equal(err.message,
                        "struct psc_thread_info: its size is 0; begin with PSC_THREAD_INFO_INIT");
}

/* ---- versions and names ---- */

static void test_version_and_status_names(void **state)
{
    (void)state;
    char version[32];
    snprintf(version, sizeof(version), "%d.%d.%d", PSC_VERSION_MAJOR, PSC_VERSION_MINOR,
             PSC_VERSION_PATCH);
    assert_string_equal(version, PSC_VERSION);
    assert_string_equal(psc_version(), PSC_VERSION);
    assert_string_equal(psc_status_name(PSC_OK), "PSC_OK");
    for (int status = PSC_OK; status <= PSC_ERR_INTERRUPTED; status++)
        assert_non_null(psc_status_name((enum psc_status)status));
    assert_null(psc_status_name((enum psc_status)(PSC_ERR_INTERRUPTED + 1)));
}

/* ---- a trace ---- */

static void test_target_python_and_crash(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    struct psc_target_info target = PSC_TARGET_INFO_INIT;
    assert_int_equal(psc_trace_get_target(trace, &target, NULL), PSC_OK);
    assert_int_equal(target.kind, PSC_TARGET_CORE);
    assert_int_equal(target.pid, 1234);
    assert_string_equal(target.path, "core.1234");
    assert_string_equal(target.executable, "/usr/bin/python3");
    assert_string_equal(target.architecture, "x86_64");
    assert_int_equal(target.argument_count, 4);
    assert_string_equal(psc_trace_argument(trace, 3), "3");
    assert_null(psc_trace_argument(trace, 4));

    struct psc_python_info python = PSC_PYTHON_INFO_INIT;
    assert_int_equal(psc_trace_get_python(trace, &python, NULL), PSC_OK);
    assert_string_equal(python.implementation, "CPython");
    assert_string_equal(python.version, "3.11.2");
    assert_true(python.gil_known && python.gil_holder == 1234 && !python.debug);

    struct psc_crash_info crash = PSC_CRASH_INFO_INIT;
    assert_int_equal(psc_trace_get_crash(trace, &crash, NULL), PSC_OK);
    assert_int_equal(crash.signal_number, 11);
    assert_string_equal(crash.signal, "SIGSEGV");
    assert_string_equal(crash.code, "SEGV_MAPERR");
    assert_string_equal(crash.summary, "accessing 0x0 (a null pointer), not mapped");
    assert_true(crash.has_fault_address && !crash.fault_address && !crash.has_sender);
    assert_int_equal(crash.thread_id, 1234);
    assert_null(crash.message);
    assert_string_equal(crash.cause, "null-pointer");
    assert_string_equal(crash.access, "write");
    assert_string_equal(crash.instruction, "mov %rax,0x18(%rbx)");
    assert_true(crash.operand_count == 2 && !crash.raised_again);
    struct psc_operand operand = PSC_OPERAND_INIT;
    assert_int_equal(psc_trace_get_operand(trace, 1, &operand, NULL), PSC_OK);
    assert_string_equal(operand.name, "rbx");
    assert_true(operand.value == 0xffffffffffffffe8);
    assert_int_equal(psc_trace_get_operand(trace, 2, &operand, NULL), PSC_ERR_ARGUMENT);
    assert_true(!crash.object && !crash.handler_fault);
    struct trace_crash more = *trace->crash;
    more.object = "deallocating a list object at 0x10, reference count 0";
    more.handler_fault = "SIGBUS: reading from 0x20";
    trace->crash = &more;
    assert_int_equal(psc_trace_get_crash(trace, &crash, NULL), PSC_OK);
    assert_string_equal(crash.object, more.object);
    assert_string_equal(crash.handler_fault, more.handler_fault);

    struct psc_error err;
    trace->python = NULL;
    trace->python_problem = "Python 9.9 is not known";
    trace->crash = NULL;
    assert_int_equal(psc_trace_get_python(trace, &python, &err), PSC_ERR_NOT_FOUND);
    assert_string_equal(err.message, "Python 9.9 is not known");
    assert_int_equal(psc_trace_get_crash(trace, &crash, &err), PSC_ERR_NOT_FOUND);
}

static void test_threads(void **state)
{
    (void)state;
    struct sample sample;
    const struct trace_locals *locals[7];
    struct psc_trace *trace = sample_fill(&sample);
    sample_add_values(&sample, locals);
    sample.threads[0].state |= TRACE_STATE_WITHOUT_GIL;
    assert_int_equal(psc_trace_thread_count(trace), 4);
    struct psc_thread_info info = PSC_THREAD_INFO_INIT;
    assert_int_equal(psc_trace_get_thread(trace, 0, &info, NULL), PSC_OK);
    assert_int_equal(info.thread_id, 1234);
    assert_int_equal(info.state, PSC_THREAD_CRASHED | PSC_THREAD_HOLDS_GIL | PSC_THREAD_MAIN);
    assert_true(info.has_python && info.python_thread_id == 0x7f0000001234);
    assert_int_equal(info.interpreter_id, 0);
    assert_string_equal(info.name, "MainThread");
    assert_string_equal(info.exception_type, "KeyError");
    assert_string_equal(info.exception_message, "'rank'");
    assert_true(info.exception_raised);
    assert_int_equal(psc_trace_get_thread(trace, 3, &info, NULL), PSC_OK);
    assert_int_equal(info.state, PSC_THREAD_NO_PYTHON);
    assert_true(!info.has_python && info.interpreter_id == -1 && !info.exception_type);
}

static void test_frames_and_locals(void **state)
{
    (void)state;
    struct sample sample;
    const struct trace_locals *locals[7];
    struct psc_trace *trace = sample_fill(&sample);
    sample_add_values(&sample, locals);
    assert_int_equal(psc_trace_frame_count(trace, 0), 7);
    struct psc_frame_info info = PSC_FRAME_INFO_INIT;
    assert_int_equal(psc_trace_get_frame(trace, 0, 0, &info, NULL), PSC_OK);
    assert_int_equal(info.kind, PSC_FRAME_CYTHON);
    assert_string_equal(info.function, "axpy[double]");
    assert_string_equal(info.symbol, "__pyx_fuse_1__pyx_f_8implicit_axpy");
    assert_int_equal(info.line_source, PSC_LINE_C_FILE);
    assert_int_equal(info.trust, PSC_TRUST_CONTEXT);
    assert_int_equal(info.flags, PSC_FRAME_HAS_PC);
    assert_true(info.pc == 0x401000 && info.sp == 1 && !info.python_frame);
    assert_int_equal(psc_trace_get_frame(trace, 0, 1, &info, NULL), PSC_OK);
    assert_int_equal(info.flags, PSC_FRAME_HAS_PC | PSC_FRAME_HIDDEN | PSC_FRAME_HAS_OFFSET);
    assert_string_equal(info.module, "/usr/lib/libopenblas.so.0");
    assert_string_equal(info.build_id, "00ff12");
    assert_int_equal(info.offset, 0x10);
    assert_int_equal(psc_trace_get_frame(trace, 0, 2, &info, NULL), PSC_OK);
    assert_int_equal(info.kind, PSC_FRAME_PYTHON);
    assert_string_equal(info.language, "Python");
    assert_string_equal(info.name, "fit");
    assert_string_equal(info.file, "implicit/cpu/als.py");
    assert_string_equal(info.source, "solver(self.item_factors)");
    assert_true(info.line == 166 && info.column == 9 && info.end_line == 166);
    assert_true(info.end_column == 30 && info.flags == 0 && info.python_frame == 0x100);
    assert_int_equal(info.local_count, 3);
    assert_int_equal(psc_trace_get_frame(trace, 0, 4, &info, NULL), PSC_OK);
    assert_true(info.flags & PSC_FRAME_INLINED);
    assert_int_equal(psc_trace_get_frame(trace, 0, 5, &info, NULL), PSC_OK);
    assert_int_equal(info.kind, PSC_FRAME_GAP);
    assert_string_equal(info.function, "0x7f0000001000: page not in the core");

    struct psc_local local = PSC_LOCAL_INIT;
    assert_int_equal(psc_trace_get_local(trace, 0, 2, 1, &local, NULL), PSC_OK);
    assert_string_equal(local.name, "name");
    assert_string_equal(local.value, "'x'");
}

static void test_out_of_range(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_error err;
    struct psc_trace *trace = sample_fill(&sample);
    struct psc_thread_info thread = PSC_THREAD_INFO_INIT;
    struct psc_frame_info frame = PSC_FRAME_INFO_INIT;
    struct psc_local local = PSC_LOCAL_INIT;
    assert_int_equal(psc_trace_get_thread(trace, 4, &thread, &err), PSC_ERR_ARGUMENT);
    assert_string_equal(err.message, "there is no thread at index 4; the trace has 4");
    assert_int_equal(psc_trace_get_frame(trace, 0, 7, &frame, &err), PSC_ERR_ARGUMENT);
    assert_string_equal(err.message, "there is no frame 7; the thread has 7");
    assert_int_equal(psc_trace_get_frame(trace, 9, 0, &frame, &err), PSC_ERR_ARGUMENT);
    assert_int_equal(psc_trace_get_local(trace, 0, 0, 0, &local, &err), PSC_ERR_ARGUMENT);
    assert_string_equal(err.message, "there is no local 0; the frame has 0");
    assert_int_equal(psc_trace_get_frame(trace, 0, 0, NULL, &err), PSC_ERR_ARGUMENT);
    assert_string_equal(err.message, "psc_trace_get_frame: ret is NULL");
    assert_int_equal(psc_trace_get_crash(NULL, NULL, &err), PSC_ERR_ARGUMENT);
    assert_string_equal(err.message, "psc_trace_get_crash: trace is NULL");
    assert_int_equal(psc_trace_frame_count(trace, 4), 0);
    assert_int_equal(psc_trace_thread_count(NULL), 0);
    assert_int_equal(psc_trace_warning_count(trace), 1);
    assert_string_equal(psc_trace_warning(trace, 0), "/opt/x.so: not found");
    assert_string_equal(psc_trace_warning_code(trace, 0), "file-missing");
    assert_null(psc_trace_warning_code(trace, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initializers_are_zeros_behind_the_size),
        cmocka_unit_test(test_a_newer_struct),
        cmocka_unit_test(test_an_older_struct),
        cmocka_unit_test(test_what_is_filled_fits_the_caller),
        cmocka_unit_test(test_version_and_status_names),
        cmocka_unit_test(test_target_python_and_crash),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_frames_and_locals),
        cmocka_unit_test(test_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
