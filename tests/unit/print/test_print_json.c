#include "trace_sample.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static struct text print_sample(const struct psc_trace *trace, bool all)
{
    struct psc_print_options options = {
        .size = sizeof(options), .format = PSC_FORMAT_JSON, .all = all};
    struct text text = {0};
    assert_int_equal(print_trace(trace, &options, sample_append, &text, NULL), PSC_OK);
    return text;
}

static json_t *load_sample(const struct psc_trace *trace, bool all)
{
    json_error_t error;
    struct text text = print_sample(trace, all);
    json_t *root = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s in:\n%s", error.text, text.data);
    text_deinit(&text);
    return root;
}

/* Equal to what the compact JSON text says. */
static void expect_json(json_t *value, const char *expected)
{
    char *found = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_non_null(found);
    assert_string_equal(found, expected);
    free(found);
}

static void test_target_and_crash(void **state)
{
    (void)state;
    struct sample sample;
    json_t *root = load_sample(sample_fill(&sample), false);
    expect_json(json_object_get(root, "schema"), "\"pystack-core/1\"");
    expect_json(json_object_get(root, "target"),
                "{\"kind\":\"core\",\"path\":\"core.1234\",\"pid\":1234,"
                "\"executable\":\"/usr/bin/python3\","
                "\"arguments\":[\"/usr/bin/python3\",\"train.py\",\"--epochs\",\"3\"],"
                "\"architecture\":\"x86_64\","
                "\"python\":{\"implementation\":\"CPython\",\"version\":\"3.11.2\","
                "\"debug\":false,\"free_threaded\":false,"
                "\"interpreters\":[{\"id\":0,\"gil_holder\":1234,\"own_gil\":true}]},"
                "\"modules\":[{\"path\":\"/usr/lib/libopenblas.so.0\",\"build_id\":\"00ff12\","
                "\"base\":\"0x7f0000000000\",\"file\":\"found\",\"debug_info\":false}]}");
    expect_json(json_object_get(root, "crash"),
                "{\"signal\":\"SIGSEGV\",\"signal_number\":11,\"code\":\"SEGV_MAPERR\","
                "\"fault_address\":\"0x0\",\"sender_pid\":null,\"thread\":1234,"
                "\"summary\":\"accessing 0x0 (a null pointer), not mapped\",\"message\":null,"
                "\"cause\":\"null-pointer\",\"access\":\"write\","
                "\"instruction\":\"mov %rax,0x18(%rbx)\",\"operands\":{\"rax\":\"0x1\","
                "\"rbx\":\"0xffffffffffffffe8\"},\"raised_again\":false,\"during\":null}");
    expect_json(json_object_get(root, "signature"), "null");
    expect_json(json_object_get(root, "warnings"),
                "[{\"code\":\"file-missing\",\"message\":\"/opt/x.so: not found\"}]");
    json_decref(root);
}

static void test_threads_and_frames(void **state)
{
    (void)state;
    struct sample sample;
    json_t *root = load_sample(sample_fill(&sample), false);
    json_t *threads = json_object_get(root, "threads");
    assert_int_equal(json_array_size(threads), 4);
    json_t *thread = json_array_get(threads, 0);
    json_t *frames = json_object_get(thread, "frames");
    assert_int_equal(json_array_size(frames), 6);
    expect_json(json_array_get(frames, 0),
                "{\"kind\":\"cython\",\"function\":\"axpy[double]\",\"name\":\"axpy\","
                "\"file\":\"implicit/cpu/_als.pyx\",\"line\":18,\"line_source\":\"c-file\","
                "\"column\":null,\"end_line\":null,\"end_column\":null,\"module\":null,"
                "\"offset\":null,\"build_id\":null,"
                "\"symbol\":\"__pyx_fuse_1__pyx_f_8implicit_axpy\",\"inlined\":false,"
                "\"pc\":\"0x401000\",\"sp\":\"0x1\",\"hidden\":false,\"trust\":\"context\","
                "\"interpreter\":null}");
    expect_json(json_array_get(frames, 1),
                "{\"kind\":\"python\",\"function\":\"AlternatingLeastSquares.fit\","
                "\"name\":\"fit\",\"file\":\"implicit/cpu/als.py\",\"line\":166,"
                "\"line_source\":\"code\",\"column\":9,\"end_line\":166,\"end_column\":30,"
                "\"module\":null,\"offset\":null,\"build_id\":null,\"symbol\":null,"
                "\"inlined\":false,\"pc\":null,\"sp\":null,\"hidden\":false,\"trust\":null,"
                "\"interpreter\":0}");
    expect_json(json_array_get(frames, 2),
                "{\"kind\":\"native\",\"function\":\"cblas_dgemm\",\"name\":null,\"file\":null,"
                "\"line\":null,\"line_source\":null,\"column\":null,\"end_line\":null,"
                "\"end_column\":null,\"module\":\"/usr/lib/libopenblas.so.0\","
                "\"offset\":\"0x1a2b3c\",\"build_id\":\"00ff12\",\"symbol\":\"cblas_dgemm\","
                "\"inlined\":false,\"pc\":\"0x7f00001a2b3d\",\"sp\":\"0x1\",\"hidden\":false,"
                "\"trust\":\"frame-pointer\",\"interpreter\":null}");
    expect_json(json_object_get(json_array_get(frames, 4), "kind"), "\"gap\"");
    expect_json(json_object_get(json_array_get(frames, 4), "function"),
                "\"0x7f0000001000: page not in the core\"");
    expect_json(json_object_get(json_array_get(frames, 5), "function"), "null");

    json_object_del(thread, "frames");
    expect_json(thread, "{\"tid\":1234,\"python_thread_id\":139637976732212,"
                        "\"name\":\"MainThread\",\"interpreter\":0,"
                        "\"state\":[\"crashed\",\"main\",\"holds-gil\"],\"exception\":null,"
                        "\"recursion\":null,\"waits_for\":null}");
    thread = json_array_get(threads, 3);
    json_object_del(thread, "frames");
    expect_json(thread, "{\"tid\":1242,\"python_thread_id\":null,\"name\":\"worker-1\","
                        "\"interpreter\":null,\"state\":[\"no-python\"],\"exception\":null,"
                        "\"recursion\":null,\"waits_for\":null}");
    json_decref(root);
}

/* The longest first; counted among the frames that are listed. */
static void test_recursions(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    const struct trace_recursion recursions[] = {
        {.first = 0, .last = 0, .frames = 1, .times = 12},
        {.first = 2, .last = 3, .frames = 2, .times = 7},
        {.first = 4, .last = 4, .frames = 1, .times = 13},
    };
    trace->threads[0].recursions = recursions;
    trace->threads[0].recursion_count = 1;
    json_t *root = load_sample(trace, false);
    json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
    expect_json(json_object_get(thread, "recursion"), "{\"frames\":1,\"times\":12,\"first\":0}");
    assert_null(json_object_get(thread, "other_recursions"));
    json_decref(root);
    trace->threads[0].recursion_count = 3;
    for (int all = 0; all < 2; all++) {
        root = load_sample(trace, all);
        thread = json_array_get(json_object_get(root, "threads"), 0);
        // The frame before it is hidden.
        expect_json(json_object_get(thread, "recursion"),
                    all ? "{\"frames\":2,\"times\":7,\"first\":2}"
                        : "{\"frames\":2,\"times\":7,\"first\":1}");
        expect_json(json_object_get(thread, "other_recursions"),
                    all ? "[{\"frames\":1,\"times\":12,\"first\":0},"
                          "{\"frames\":1,\"times\":13,\"first\":4}]"
                        : "[{\"frames\":1,\"times\":12,\"first\":0},"
                          "{\"frames\":1,\"times\":13,\"first\":3}]");
        json_decref(root);
    }
}

static void test_exceptions_and_locals(void **state)
{
    (void)state;
    struct sample sample;
    const struct trace_locals *locals[7];
    struct psc_trace *trace = sample_fill(&sample);
    sample_add_values(&sample, locals);
    json_t *root = load_sample(trace, false);
    json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
    expect_json(json_object_get(thread, "exception"),
                "{\"type\":\"KeyError\",\"message\":\"'rank'\",\"traceback\":["
                "{\"function\":\"AlternatingLeastSquares.fit\",\"name\":\"fit\","
                "\"file\":\"implicit/cpu/als.py\",\"line\":166}],\"traceback_cut\":false,"
                "\"state\":\"raised\",\"chain\":["
                "{\"type\":\"pkg.Error\",\"message\":\"\",\"traceback\":[],"
                "\"traceback_cut\":true,\"link\":\"context\"},"
                "{\"type\":\"OSError\",\"message\":\"a\\nb\",\"traceback\":[],"
                "\"traceback_cut\":false,\"link\":\"cause\"}]}");
    expect_json(json_object_get(thread, "other_exceptions"),
                "[{\"type\":\"StopIteration\",\"message\":null,\"traceback\":[],"
                "\"traceback_cut\":false,\"state\":\"handled\",\"chain\":[]}]");
    json_t *frames = json_object_get(thread, "frames");
    expect_json(json_object_get(json_array_get(frames, 1), "locals"),
                "{\"self\":\"<pkg.Model object at 0x1>\",\"name\":\"'x'\"}");
    assert_null(json_object_get(json_array_get(frames, 0), "locals"));
    json_decref(root);
}

/* Names of damaged debug information: what is not UTF-8 is one character, however it differs. */
static void test_names_that_are_written_alike(void **state)
{
    (void)state;
    static const struct trace_local items[] = {
        {"n\x85", "1", true},         {"n\xff", "2", true}, {"n\xef\xbf\xbd", "3", false},
        {"n\xff\xff", "4", false},    {"n", "5", false},    {"\xff", "6", false},
        {"\xed\xa0\x80", "7", false}, {"", "8", true},      {"n\xc3\xbc", "9", false}};
    const struct trace_locals list = {items, 9};
    const struct trace_locals *locals[7] = {&list};
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    sample.threads[0].locals = locals;
    json_t *root = load_sample(trace, true);
    json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
    json_t *frame = json_array_get(json_object_get(thread, "frames"), 0);
    expect_json(json_object_get(frame, "locals"),
                "{\"n\xef\xbf\xbd\":\"1\",\"n\xef\xbf\xbd\xef\xbf\xbd\":\"4\",\"n\":\"5\","
                "\"\xef\xbf\xbd\":\"6\",\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\":\"7\","
                "\"\":\"8\",\"n\xc3\xbc\":\"9\"}");
    expect_json(json_object_get(frame, "arguments"), "[\"n\xef\xbf\xbd\",\"\"]");
    json_decref(root);
}

static void test_hidden_frames_only_with_all(void **state)
{
    (void)state;
    struct sample sample;
    json_t *root = load_sample(sample_fill(&sample), true);
    json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
    json_t *frames = json_object_get(thread, "frames");
    assert_int_equal(json_array_size(frames), 7);
    expect_json(json_object_get(json_array_get(frames, 1), "hidden"), "true");
    expect_json(json_object_get(json_array_get(frames, 1), "function"),
                "\"_PyEval_EvalFrameDefault\"");
    json_decref(root);
}

/* Nothing is known, and the bytes are no text: the widest case the schema must take. */
static struct psc_trace *fill_odd(struct sample *sample, struct trace_location *odd)
{
    struct psc_trace *trace = sample_fill(sample);
    *odd = (struct trace_location){
        .kind = TRACE_NATIVE,
        .function = "a\xff\xc3(\"\\\n\x01 日本 \U0001f40d",
        .file = "\xed\xa0\x80",
        .offset = UINT64_MAX,
        .has_offset = true,
        .line_source = TRACE_LINE_CODE,
    };
    sample->crashed[0].location = odd;
    trace->threads[3].tid = 0;
    trace->threads[0].interpreter_id = -1;
    trace->threads[0].name = NULL;
    trace->threads[0].python_thread_id = UINT64_MAX;
    trace->threads[0].state = 0x7f;
    trace->threads[1].frame_count = 0;
    trace->crash = NULL;
    trace->python = NULL;
    trace->path = trace->executable = trace->architecture = NULL;
    trace->pid = 0;
    trace->argument_count = 0;
    trace->module_count = 0;
    trace->warnings.count = 0;
    return trace;
}

static void test_odd_bytes_and_unknown_values(void **state)
{
    (void)state;
    struct sample sample;
    struct trace_location odd;
    struct psc_trace *trace = fill_odd(&sample, &odd);
    struct text text = print_sample(trace, false);
    for (size_t i = 0; i < text.size; i++)
        assert_true(text.data[i] == '\n' || (text.data[i] >= 0x20 && text.data[i] < 0x7f));
    text_deinit(&text);

    json_t *root = load_sample(trace, false);
    json_t *thread = json_array_get(json_object_get(root, "threads"), 0);
    json_t *frame = json_array_get(json_object_get(thread, "frames"), 0);
    assert_string_equal(json_string_value(json_object_get(frame, "function")),
                        "a\ufffd\ufffd(\"\\\n\x01 日本 \U0001f40d");
    assert_string_equal(json_string_value(json_object_get(frame, "file")), "\ufffd\ufffd\ufffd");
    expect_json(json_object_get(frame, "offset"), "\"0xffffffffffffffff\"");
    expect_json(json_object_get(frame, "line_source"), "null");
    expect_json(json_object_get(thread, "interpreter"), "null");
    expect_json(json_object_get(thread, "python_thread_id"), "null");
    expect_json(json_object_get(root, "crash"), "null");
    json_decref(root);
}

/* The schema takes what a later version adds; made strict, it shows what is not described. */
static const char validator[] =
    "import sys, json\n"
    "try:\n"
    "    import jsonschema\n"
    "except ImportError:\n"
    "    sys.exit(77)\n"
    "def close(node):\n"
    "    for one in node.values() if isinstance(node, dict) else node if isinstance(node, list) "
    "else []:\n"
    "        close(one)\n"
    "    if isinstance(node, dict) and 'properties' in node:\n"
    "        node['additionalProperties'] = False\n"
    "schema = json.load(open(sys.argv[1]))\n"
    "check = jsonschema.Draft202012Validator\n"
    "check.check_schema(schema)\n"
    "report = json.load(open(sys.argv[2]))\n"
    "strict = json.loads(json.dumps(schema))\n"
    "close(strict)\n"
    "check(schema).validate(report)\n"
    "check(strict).validate(report)\n"
    "report['threads'][0]['frames'][0]['surprise'] = 1\n"
    "check(schema).validate(report)\n"
    "assert not check(strict).is_valid(report), 'a strict schema refuses unknown members'\n";

/* The exit status of python3 with the validator; 127 when there is no python3. */
static int run_validator(const char *python, const char *report)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        execlp(python, python, "-c", validator, PSC_SOURCE_DIR "/schema/pystack-core-1.schema.json",
               report, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void expect_valid(const struct psc_trace *trace, bool all)
{
    static const char *const pythons[] = {"python3", "/usr/bin/python3"};
    char path[] = "/tmp/psc-report-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    struct text text = print_sample(trace, all);
    assert_int_equal(write(fd, text.data, text.size), text.size);
    close(fd);
    text_deinit(&text);
    int code = 77;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(pythons) && (code == 77 || code == 127); i++)
        code = run_validator(pythons[i], path);
    unlink(path);
    if (code == 77 || code == 127) {
        print_message("SKIPPED: no python3 with jsonschema to validate with\n");
        skip();
    }
    assert_int_equal(code, 0);
}

static void test_schema_takes_the_sample(void **state)
{
    (void)state;
    struct sample sample;
    expect_valid(sample_fill(&sample), true);
}

static void test_signature(void **state)
{
    (void)state;
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    static const char *const parts[] = {"SIGSEGV", "axpy"};
    static const struct trace_signature signature = {
        .version = 1,
        .hash = "0123456789012345678901234567890123456789",
        .exact = "abcdefabcdefabcdefabcdefabcdefabcdefabcd",
        .title = "SIGSEGV in axpy",
        .parts = parts,
        .part_count = 2,
    };
    trace->signature = &signature;
    json_t *root = load_sample(trace, false);
    expect_json(json_object_get(root, "signature"),
                "{\"version\":1,\"hash\":\"0123456789012345678901234567890123456789\","
                "\"exact\":\"abcdefabcdefabcdefabcdefabcdefabcdefabcd\","
                "\"title\":\"SIGSEGV in axpy\",\"parts\":[\"SIGSEGV\",\"axpy\"]}");
    json_decref(root);
    expect_valid(trace, false);
}

static void test_schema_takes_unknown_values(void **state)
{
    (void)state;
    struct sample sample;
    struct trace_location odd;
    expect_valid(fill_odd(&sample, &odd), false);
}

static int count_bytes(void *context, const char *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)context += size;
    return 0;
}

static double time_frames(const struct psc_trace *trace)
{
    struct psc_print_options options = {.size = sizeof(options), .format = PSC_FORMAT_JSON};
    size_t bytes = 0;
    clock_t start = clock();
    assert_int_equal(print_trace(trace, &options, count_bytes, &bytes, NULL), PSC_OK);
    assert_true(bytes > trace->threads[0].frame_count * 200);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static void test_many_frames(void **state)
{
    (void)state;
    enum { DEPTH = 100000 };
    struct sample sample;
    struct psc_trace *trace = sample_fill(&sample);
    struct trace_frame *frames = calloc(DEPTH, sizeof(*frames));
    struct trace_location *places = calloc(DEPTH, sizeof(*places));
    assert_true(frames && places);
    for (size_t i = 0; i < DEPTH; i++) {
        places[i] = sample_fit;
        frames[i].location = i % 2 ? &sample_fit : &sample_axpy;
    }
    trace->threads[0].frames = frames;
    trace->threads[0].frame_count = DEPTH;
    double shared = time_frames(trace);
    for (size_t i = 0; i < DEPTH; i++)
        frames[i].location = &places[i];
    double different = time_frames(trace);
    print_message("100,000 frames as JSON: %.3f s in two places, %.3f s all different\n", shared,
                  different);
    assert_true(shared < 5 && different < 10);
    free(frames);
    free(places);
}

/* What is left is a report of that form, which says that it was cut, and where. */
static void test_report_that_is_cut(void **state)
{
    (void)state;
    struct sample sample;
    const struct psc_trace *trace = sample_fill(&sample);
    struct text whole = print_sample(trace, false);
    bool cut_frames = false;
    for (size_t limit = 1; limit <= whole.size; limit += 37) {
        struct psc_print_options options = {
            .size = sizeof(options), .format = PSC_FORMAT_JSON, .size_limit = limit};
        struct text text = {0};
        json_error_t error;
        assert_int_equal(print_trace(trace, &options, sample_append, &text, NULL), PSC_OK);
        json_t *root = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &error);
        if (!root)
            fail_msg("%s in:\n%s", error.text, text.data);
        json_t *warnings = json_object_get(root, "warnings");
        json_t *last = json_array_get(warnings, json_array_size(warnings) - 1);
        if (json_array_size(json_object_get(root, "threads")) < trace->thread_count) {
            expect_json(json_object_get(last, "code"), "\"report-cut\"");
            assert_true(text.size >= limit);
        }
        cut_frames |= strstr(text.data, "more frames: the report would be too long") != NULL;
        json_decref(root);
        text_deinit(&text);
    }
    assert_true(cut_frames);
    text_deinit(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_target_and_crash),
        cmocka_unit_test(test_threads_and_frames),
        cmocka_unit_test(test_recursions),
        cmocka_unit_test(test_exceptions_and_locals),
        cmocka_unit_test(test_names_that_are_written_alike),
        cmocka_unit_test(test_hidden_frames_only_with_all),
        cmocka_unit_test(test_odd_bytes_and_unknown_values),
        cmocka_unit_test(test_schema_takes_the_sample),
        cmocka_unit_test(test_signature),
        cmocka_unit_test(test_schema_takes_unknown_values),
        cmocka_unit_test(test_many_frames),
        cmocka_unit_test(test_report_that_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
