#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interpreter_functions_have_their_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
