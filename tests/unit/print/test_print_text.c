#include "print_sample.h"

#define HEADER                                                                   \
    "core.1234: /usr/bin/python3 train.py --epochs 3\n"                          \
    "  died of SIGSEGV in thread 1234 \"MainThread\": "                          \
    "accessing 0x0 (a null pointer), not mapped: mov %rax,0x18(%rbx), rax=0x1, " \
    "rbx=0xffffffffffffffe8\n"                                                   \
    "  Python 3.11.2 · x86_64 · 4 threads · GIL held by 1234\n"

static void test_whole_report(void **state)
{
    (void)state;
    struct sample sample;
    expect_text(sample_fill(&sample), &(struct psc_print_options){0},
                HEADER
                "\n"
                "Thread 1234 \"MainThread\" · crashed · holds the GIL\n"
                "  #0  Cython  axpy[double]                     implicit/cpu/_als.pyx:18\n"
                "                  y[i] += a * x[i]\n"
                "  #1  Python  AlternatingLeastSquares.fit      implicit/cpu/als.py:166\n"
                "                  solver(self.item_factors)\n"
                "  #2  C       cblas_dgemm                      libopenblas.so.0+0x1a2b3c"
                " (guessed: frame pointer)\n"
                "  #3  C++     std::vector<int>::front() const  stl_vector.h:7 (inlined)\n"
                "  --  gap: 0x7f0000001000: page not in the core\n"
                "  #4  C       ??                               0x1234 (guessed: stack scan)\n"
                "\n"
                "Threads 1240, 1241 \"worker-0\" … · 2 threads · waiting for the GIL\n"
                "  #0  C       cblas_dgemm                  libopenblas.so.0+0x1a2b3c\n"
                "  #1  Python  AlternatingLeastSquares.fit  implicit/cpu/als.py:166\n"
                "                  solver(self.item_factors)\n"
                "\n"
                "Thread 1242 \"worker-1\" · no Python state\n"
                "  #0  C       cblas_dgemm  libopenblas.so.0+0x1a2b3c\n"
                "  --  gap: 0x7f0000001000: page not in the core\n");
}

static void test_exceptions_and_locals(void **state)
{
    (void)state;
    struct sample sample;
    const struct trace_locals *locals[7];
    struct psc_trace *trace = sample_fill(&sample);
    sample_add_values(&sample, locals);
    expect_part(trace, &(struct psc_print_options){0},
                "GIL held by 1234 · exception raised: KeyError: 'rank'\n");
    expect_part(trace, &(struct psc_print_options){0},
                "  exception raised: KeyError: 'rank' · from AlternatingLeastSquares.fit "
                "implicit/cpu/als.py:166\n"
                "    while handling pkg.Error\n"
                "    caused by OSError: a\\nb\n"
                "  exception being handled: StopIteration\n"
                "  #0  Cython");
    expect_part(trace, &(struct psc_print_options){0},
                "                  solver(self.item_factors)\n"
                "                  \u00b7 self = <pkg.Model object at 0x1>\n"
                "                  \u00b7 name = 'x'\n");
    // What is not known takes one line.
    static const struct trace_local gone[] = {{.name = "a", .value = "<optimised out>"},
                                              {.name = "b", .value = "3"},
                                              {.name = "c", .value = "<not saved>"},
                                              {.name = "d", .value = "<optimised out>"}};
    const struct trace_locals some = {gone, 4};
    locals[0] = &some;
    expect_part(trace, &(struct psc_print_options){0},
                "                  y[i] += a * x[i]\n"
                "                  \u00b7 b = 3\n"
                "                  \u00b7 a, d: optimised out\n"
                "                  \u00b7 c: not saved\n"
                "  #1");
}

static void test_threads_with_other_exceptions_are_not_alike(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    for (size_t i = 1; i < 3; i++) {
        trace->threads[i].exceptions = &sample_exceptions[3];
        trace->threads[i].exception_count = 1;
    }
    expect_part(trace, &(struct psc_print_options){0}, "Threads 1240, 1241 ");
    trace->threads[2].exceptions = sample_exceptions;
    expect_part(trace, &(struct psc_print_options){0}, "Thread 1240 ");
}

static void test_estimates_are_marked(void **state)
{
    (void)state;
    struct sample sample;
    struct trace_location near = sample_axpy;
    struct psc_trace *trace = sample_fill(&sample);
    near.line_source = TRACE_LINE_ESTIMATE;
    trace->threads[0].frames[0].location = &near;
    expect_part(trace, &(struct psc_print_options){0},
                "implicit/cpu/_als.pyx:~18\n"
                "                  ~ y[i] += a * x[i]\n");
}

static void test_outermost_first_keeps_the_numbers(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    trace->thread_count = 1;
    expect_part(trace, &(struct psc_print_options){.outermost_first = 1},
                "Thread 1234 \"MainThread\" · crashed · holds the GIL\n"
                "  #4  C       ??                               0x1234 (guessed: stack scan)\n"
                "  --  gap: 0x7f0000001000: page not in the core\n"
                "  #3  C++     std::vector<int>::front() const  stl_vector.h:7 (inlined)\n"
                "  #2  C       cblas_dgemm");
}

static void test_hidden_frames_only_with_all(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    expect_part(trace, &(struct psc_print_options){.all = 1},
                "  #1  C       _PyEval_EvalFrameDefault         libopenblas.so.0+0x10 (hidden)\n");
    trace->threads[0].frames[0].hidden = true;
    trace->threads[0].frame_count = 2;
    expect_part(trace, &(struct psc_print_options){0},
                "  --  only frames that are hidden (2; --all shows them)\n");
    trace->threads[0].frame_count = 0;
    expect_part(trace, &(struct psc_print_options){0}, "GIL\n  --  no frames\n");
}

static void test_grouping(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    expect_part(trace, &(struct psc_print_options){.no_group = 1},
                "\nThread 1241 \"worker-1\" · waiting for the GIL\n");
    /* Another state, another trust or another frame keep threads apart. */
    trace->threads[2].state = 0;
    expect_part(trace, &(struct psc_print_options){0}, "\nThread 1241 \"worker-1\"\n");
    sample_fill(&sample);
    trace->threads[2].frames[0].trust = TRACE_TRUST_SCAN;
    expect_part(trace, &(struct psc_print_options){0}, "\nThread 1241 \"worker-1\" · waiting");
    sample_fill(&sample);
    trace->threads[2].name = "worker-0";
    expect_part(trace, &(struct psc_print_options){0}, "\nThreads 1240, 1241 \"worker-0\" · 2 thr");
}

static void test_crashed_thread_is_never_grouped(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    trace->threads[1].state = trace->threads[2].state = TRACE_STATE_CRASHED;
    expect_part(trace, &(struct psc_print_options){0}, "\nThread 1241 \"worker-1\" · crashed\n");
}

static void test_header_without_crash_or_python(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    trace->crash = NULL;
    trace->python = NULL;
    trace->argument_count = 0;
    trace->thread_count = 1;
    expect_part(trace, &(struct psc_print_options){0},
                "core.1234: /usr/bin/python3\n"
                "  a snapshot, taken from a running process\n"
                "  no Python interpreter found · x86_64 · 1 thread\n"
                "\nThread 1234");
    trace->unwanted_threads = 3;
    expect_part(trace, &(struct psc_print_options){0},
                "core.1234: /usr/bin/python3\n"
                "  a snapshot, taken from a running process\n"
                "  no Python interpreter found · x86_64 · 1 of 4 threads\n");
}

static void test_header_variants(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    sample.python = (struct trace_python){
        .implementation = "CPython", .version = "3.13.0", .debug = true, .gil_known = true};
    expect_part(trace, &(struct psc_print_options){0},
                "\n  Python 3.13.0 debug build · x86_64 · 4 threads · GIL free\n");
    sample.python.free_threaded = true;
    sample.python.gil_known = false;
    sample.python.without_gil = true;
    expect_part(trace, &(struct psc_print_options){0},
                "\n  Python 3.13.0 debug build free-threaded · x86_64 · 4 threads · no GIL\n");
    sample.python.implementation = "PyPy";
    expect_part(trace, &(struct psc_print_options){0}, "\n  PyPy 3.13.0");
    sample.arguments[1] = "-c";
    sample.arguments[2] = "import os\nos.abort()";
    expect_part(trace, &(struct psc_print_options){0}, "-c 'import os\\nos.abort()' 3\n");
    sample.crash.message = "Fatal Python error: x";
    expect_part(trace, &(struct psc_print_options){0}, "\n  message: Fatal Python error: x\n");
}

static void test_names_cannot_drive_a_terminal(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    struct trace_location evil = sample_fit;
    evil.function = "a\033[31mb\xff";
    evil.file = "x\ny\xc2\x9b.py";
    evil.source = "\xe2\x80\xae";
    trace->threads[0].name = "\033]0;t\007";
    trace->threads[0].frames[2].location = &evil;
    sample.arguments[1] = "\033c";
    trace->path = "core\r";
    char *text = print_sample(trace, &(struct psc_print_options){.all = 1});
    for (const char *byte = text; *byte; byte++)
        assert_true(*byte == '\n' || (unsigned char)*byte >= 0x20);
    assert_null(strstr(text, "\xc2\x9b"));
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_non_null(strstr(text, "a\\x1b[31mb\\xff"));
    assert_non_null(strstr(text, "x\\ny\\x9b.py:166"));
    free(text);
}

static void test_columns_count_characters(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    struct trace_location wide = sample_fit;
    struct trace_location greek = sample_fit;
    wide.function = "日本";
    greek.function = "λόγος";
    sample.crashed[0].location = &wide;
    sample.crashed[2].location = &greek;
    trace->thread_count = 1;
    trace->threads[0].frame_count = 3;
    expect_part(trace, &(struct psc_print_options){0}, "  #0  Python  日本   implicit/");
    expect_part(trace, &(struct psc_print_options){0}, "  #1  Python  λόγος  implicit/");
}

static void test_thread_without_native_thread(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    trace->threads[3].tid = 0;
    trace->threads[3].has_python = true;
    trace->threads[3].interpreter_id = 2;
    trace->threads[3].frames[1].interpreter_id = 2;
    trace->threads[3].state = 0;
    expect_part(trace, &(struct psc_print_options){0},
                "\nThread with Python id 0x7f0000001242 \"worker-1\" · interpreter 2\n");
    trace->threads[3].state = TRACE_STATE_TERMINATED;
    expect_part(trace, &(struct psc_print_options){0},
                "\nThread with Python id 0x7f0000001242 \"worker-1\" · no native thread · "
                "terminated · interpreter 2\n");
}

/* Which interpreter runs which frames, and who holds which GIL. */
static void test_several_interpreters(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    sample.python.interpreter_count = 3;
    trace->threads[2].interpreter_id = 7;
    trace->threads[2].gil_interpreter_id = 7;
    trace->threads[2].state = TRACE_STATE_HOLDS_GIL;
    trace->threads[2].frames[0] =
        (struct trace_frame){.location = &sample_fit, .interpreter_id = 7};
    const struct psc_print_options options = {.no_group = 1};
    expect_part(trace, &options,
                " · 3 interpreters · GILs held by 1234 (interpreter 0), 1241 (interpreter 7)\n");
    expect_part(trace, &options,
                "\nThread 1234 \"MainThread\" · crashed · holds the GIL of "
                "interpreter 0\n");
    expect_part(trace, &options,
                "\nThread 1241 \"worker-1\" · holds the GIL of interpreter 7\n"
                "  #0  Python  AlternatingLeastSquares.fit  implicit/cpu/als.py:166 "
                "(interpreter 7)\n"
                "                  solver(self.item_factors)\n"
                "  #1  Python  AlternatingLeastSquares.fit  implicit/cpu/als.py:166 "
                "(interpreter 0)\n");
    sample.python.interpreter_count = 2;
    expect_part(trace, &options, " · 2 interpreters · GIL held by 1234\n");
}

static void test_explanation(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    text_add_string(&trace->explain, "python: _PyRuntime\nunwind: \033 cfi\n");
    expect_part(trace, &(struct psc_print_options){.explain = 1},
                HEADER "\n  python: _PyRuntime\n  unwind: \\x1b cfi\n\nThread 1234");
    expect_part(trace, &(struct psc_print_options){0}, HEADER "\nThread 1234");
    text_deinit(&trace->explain);
}

static void test_color_only_when_asked(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    char *plain = print_sample(trace, &(struct psc_print_options){.all = 1});
    char *colored = print_sample(trace, &(struct psc_print_options){.all = 1, .color = 1});
    assert_null(strchr(plain, '\033'));
    assert_non_null(strchr(colored, '\033'));
    /* Without its escapes the coloured text is the plain one. */
    char *to = colored;
    for (const char *from = colored; *from; from++) {
        if (*from == '\033')
            from = strchr(from, 'm');
        else
            *to++ = *from;
    }
    *to = '\0';
    assert_string_equal(plain, colored);
    free(plain);
    free(colored);
}

static void test_report_that_is_cut(void **state)
{
    (void)state;
    struct sample sample;
    const struct psc_trace *trace = sample_fill(&sample);
    const struct psc_print_options head = {.size_limit = 1}, frames = {.size_limit = 700};
    expect_part(trace, &head, "\n  --  the report is cut: it would have more than 0 MB");
    expect_part(trace, &frames, ": the report would be too long\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_report),
        cmocka_unit_test(test_exceptions_and_locals),
        cmocka_unit_test(test_threads_with_other_exceptions_are_not_alike),
        cmocka_unit_test(test_estimates_are_marked),
        cmocka_unit_test(test_outermost_first_keeps_the_numbers),
        cmocka_unit_test(test_hidden_frames_only_with_all),
        cmocka_unit_test(test_grouping),
        cmocka_unit_test(test_crashed_thread_is_never_grouped),
        cmocka_unit_test(test_header_without_crash_or_python),
        cmocka_unit_test(test_header_variants),
        cmocka_unit_test(test_names_cannot_drive_a_terminal),
        cmocka_unit_test(test_columns_count_characters),
        cmocka_unit_test(test_thread_without_native_thread),
        cmocka_unit_test(test_several_interpreters),
        cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_color_only_when_asked),
        cmocka_unit_test(test_report_that_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
