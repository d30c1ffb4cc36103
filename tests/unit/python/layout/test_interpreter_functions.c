#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "layout.h"

static void interpreter_functions_have_their_class(void **state)
{
    (void)state;
    const struct py_rules *old = layout_find_rules(0x02070000);
    const struct py_rules *new = layout_find_rules(0x030b0000);
    static const struct {
        const char *name;
        enum python_function expected;
    } cases[] = {
        {"_PyEval_EvalFrameDefault", PYTHON_FUNCTION_EVALUATOR},
        {"_PyEval_EvalFrameDefault.cold", PYTHON_FUNCTION_EVALUATOR},
        {"_PyEval_EvalFrameDefault.lto_priv.0", PYTHON_FUNCTION_EVALUATOR},
        {"_TAIL_CALL_LOAD_FAST.llvm.1234", PYTHON_FUNCTION_EVALUATOR_STEP},
        {"_PyEval_EvalFrame", PYTHON_FUNCTION_CALL},
        {"PyEval_EvalFrameEx", PYTHON_FUNCTION_CALL},
        {"_PyEval_Vector", PYTHON_FUNCTION_CALL},
        {"PyObject_CallFunctionObjArgs", PYTHON_FUNCTION_CALL},
        {"slot_tp_call", PYTHON_FUNCTION_CALL},
        {"PyObject_GetAttr", PYTHON_FUNCTION_DISPATCH},
        {"take_gil", PYTHON_FUNCTION_TAKE_GIL},
        {"gc_collect_main", PYTHON_FUNCTION_COLLECT},
        {"main", PYTHON_FUNCTION_MAIN},
        {"mainloop", PYTHON_FUNCTION_OTHER},
        {"builtin_sorted", PYTHON_FUNCTION_OTHER},
        {"list_sort_impl.constprop.0", PYTHON_FUNCTION_OTHER},
        {"time_sleep", PYTHON_FUNCTION_OTHER},
        {"type_calls", PYTHON_FUNCTION_OTHER},
        {"", PYTHON_FUNCTION_OTHER},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++)
        if (layout_classify_function(new, cases[i].name) != cases[i].expected)
            fail_msg("%s: %d", cases[i].name, layout_classify_function(new, cases[i].name));
    assert_int_equal(layout_classify_function(old, "PyEval_EvalFrameEx"),
                     PYTHON_FUNCTION_EVALUATOR);
    assert_int_equal(layout_classify_function(old, "PyEval_EvalFrameEx.cold"),
                     PYTHON_FUNCTION_EVALUATOR);
    assert_int_equal(layout_classify_function(old, "PyEval_EvalCodeEx"), PYTHON_FUNCTION_CALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpreter_functions_have_their_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
