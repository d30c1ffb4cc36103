#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "core_writer.h"
#include "extents.h"
#include "source_files.h"
#include "symbolize.h"

static void interpreter_functions_have_their_class(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum function_class expected;
    } cases[] = {
        {"_PyEval_EvalFrameDefault", FUNCTION_EVALUATOR},
        {"_PyEval_EvalFrameDefault.cold", FUNCTION_EVALUATOR},
        {"_PyEval_EvalFrameDefault.lto_priv.0", FUNCTION_EVALUATOR},
        {"_TAIL_CALL_LOAD_FAST.llvm.1234", FUNCTION_EVALUATOR_STEP},
        {"_PyEval_EvalFrame", FUNCTION_CALL},
        {"PyEval_EvalFrameEx", FUNCTION_CALL},
        {"_PyEval_Vector", FUNCTION_CALL},
        {"PyObject_CallFunctionObjArgs", FUNCTION_CALL},
        {"slot_tp_call", FUNCTION_CALL},
        {"PyObject_GetAttr", FUNCTION_DISPATCH},
        {"take_gil", FUNCTION_TAKE_GIL},
        {"gc_collect_main", FUNCTION_COLLECT},
        {"main", FUNCTION_MAIN},
        {"mainloop", FUNCTION_OTHER},
        {"builtin_sorted", FUNCTION_OTHER},
        {"list_sort_impl.constprop.0", FUNCTION_OTHER},
        {"time_sleep", FUNCTION_OTHER},
        {"type_calls", FUNCTION_OTHER},
        {"", FUNCTION_OTHER},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++)
        if (classify_interpreter_function(cases[i].name, false) != cases[i].expected)
            fail_msg("%s: %d", cases[i].name, classify_interpreter_function(cases[i].name, false));
    assert_int_equal(classify_interpreter_function("PyEval_EvalFrameEx", true), FUNCTION_EVALUATOR);
    assert_int_equal(classify_interpreter_function("PyEval_EvalFrameEx.cold", true),
                     FUNCTION_EVALUATOR);
    assert_int_equal(classify_interpreter_function("PyEval_EvalCodeEx", true), FUNCTION_CALL);
}

static void an_address_lies_in_one_extent(void **state)
{
    (void)state;
    struct native_frame frames[] = {
        {.sp = 0x1000, .cfa = 0x1100},
        {.sp = 0x1100, .cfa = 0x1108},
        {.sp = 0x1108, .cfa = 0x2000},
        {.sp = 0x2000, .cfa = 0},
    };
    struct native_stack stack = {.frames = frames, .count = 4};
    struct extents extents;
    assert_true(extents_init(&extents, &stack));
    assert_null(extents.order);
    assert_int_equal(extents_find(&extents, 0xfff), SIZE_MAX);
    assert_int_equal(extents_find(&extents, 0x1000), 0);
    assert_int_equal(extents_find(&extents, 0x1104), 1);
    assert_int_equal(extents_find(&extents, 0x1fff), 2);
    assert_int_equal(extents_find(&extents, 0x2000), SIZE_MAX);
    assert_int_equal(extents_next(&extents, 0x0), 0);
    assert_int_equal(extents_next(&extents, 0x1104), 2);
    assert_int_equal(extents_next(&extents, 0x2000), 4);
    extents_deinit(&extents);
}

static void a_handler_on_its_own_stack_is_found_too(void **state)
{
    (void)state;
    // A signal handler runs on an alternate stack that lies above the thread's.
    struct native_frame frames[] = {
        {.sp = 0x9000, .cfa = 0x9100},
        {.sp = 0x9100, .cfa = 0x9800},
        {.sp = 0x1000, .cfa = 0x1800},
        {.sp = 0x1800, .cfa = 0x2000},
    };
    struct native_stack stack = {.frames = frames, .count = 4};
    struct extents extents;
    assert_true(extents_init(&extents, &stack));
    assert_int_equal(extents_find(&extents, 0x1900), 3);
    assert_int_equal(extents_find(&extents, 0x9050), 0);
    assert_int_equal(extents_find(&extents, 0x9700), 1);
    assert_int_equal(extents_find(&extents, 0x8000), SIZE_MAX);
    extents_deinit(&extents);
}

static void source_lines_are_cut_clean(void **state)
{
    (void)state;
    char path[64] = "/tmp/psc-test-source-XXXXXX", core[64];
    static const char text[] = "first\n\t  second  \r\n\n\xc3\xa4 last";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 1, 11, 0, 0, 0);
    core_writer_write(&writer, core);
    struct target *target;
    assert_int_equal(core_open(core, NULL, NULL, &target, NULL), PSC_OK);
    struct sources *sources = sources_create(target, target->arena);
    assert_string_equal(sources_copy_line(sources, path, 1), "first");
    assert_string_equal(sources_copy_line(sources, path, 2), "second");
    assert_null(sources_copy_line(sources, path, 3));
    assert_string_equal(sources_copy_line(sources, path, 4), "\xc3\xa4 last");
    assert_null(sources_copy_line(sources, path, 5));
    assert_null(sources_copy_line(sources, path, 0));
    assert_null(sources_copy_line(sources, "<string>", 1));
    assert_null(sources_copy_line(sources, "/no/such/file.py", 1));
    size_t size;
    assert_non_null(sources_find_line(sources, path, 3, &size));
    assert_int_equal(size, 0);
    sources_destroy(sources);
    target_close(target);
    unlink(path);
    unlink(core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpreter_functions_have_their_class),
        cmocka_unit_test(an_address_lies_in_one_extent),
        cmocka_unit_test(a_handler_on_its_own_stack_is_found_too),
        cmocka_unit_test(source_lines_are_cut_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
