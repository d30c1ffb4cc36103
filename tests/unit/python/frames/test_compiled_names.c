#include "python.h"

#include <setjmp.h>

#include <cmocka.h>

static void names_are_those_of_the_last_part(void **state)
{
    (void)state;
    assert_true(python_is_compiled_name("impl___main__$$$function__2_deeper", "deeper"));
    assert_true(python_is_compiled_name("impl_pkg$mod$$$function__12___init__", "__init__"));
    assert_true(
        python_is_compiled_name("impl_m$$$function__5_main$$$function__1_lambda", "<lambda>"));
    assert_true(python_is_compiled_name("impl_m$$$function__5_main.constprop.0", "main"));
    assert_true(python_is_compiled_name("m$$$function__3_gen$$$genobj__1_gen_context", "gen"));
    assert_true(python_is_compiled_name("m$$$genexpr__1_genexpr_context", "<genexpr>"));
    assert_true(python_is_compiled_name("m$$$function__1_c$$$coroutine__1_c_context.part.0", "c"));
    assert_true(python_is_compiled_name("module_code___main__", "<module>"));
}

static void others_are_not(void **state)
{
    (void)state;
    /* The function that makes the generator has no frame. */
    assert_false(python_is_compiled_name("impl_m$$$function__3_gen", "other"));
    assert_false(python_is_compiled_name("m$$$function__3_gen$$$genobj__1_gen", "gen"));
    assert_false(python_is_compiled_name("m$$$function__2_deeper", "deeper"));
    assert_false(python_is_compiled_name("impl_m$$$function__2_deeper", "deep"));
    assert_false(python_is_compiled_name("impl_m$$$function__2_deep", "deeper"));
    assert_false(python_is_compiled_name("module_code_m", "m"));
    const char *const cut[] = {"",
                               "$$$",
                               "impl_$$$function",
                               "impl_$$$function__",
                               "impl_$$$function__1",
                               "m$$$genobj__1_context",
                               "module_code"};
    for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++) {
        assert_false(python_is_compiled_name(cut[i], "<module>"));
        assert_false(python_is_compiled_name(cut[i], "<"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_the_last_part),
        cmocka_unit_test(others_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
