/* What the rules of the versions say of states, waits and names. */
#include "layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_generator_states(void **state)
{
    static const struct {
        enum py_generator_states states;
        int8_t number;
        enum py_generator_state expected;
    } cases[] = {
        {PY_GENERATORS_FRAME, -2, PY_GENERATOR_CREATED},
        {PY_GENERATORS_SUSPENDED, -1, PY_GENERATOR_SUSPENDED},
        {PY_GENERATORS_SUSPENDED, -3, PY_GENERATOR_UNKNOWN},
        {PY_GENERATORS_AWAITING, -3, PY_GENERATOR_CREATED},
        {PY_GENERATORS_AWAITING, -1, PY_GENERATOR_AWAITING},
        {PY_GENERATORS_AWAITING, 0, PY_GENERATOR_RUNNING},
        {PY_GENERATORS_AWAITING, 1, PY_GENERATOR_ENDED},
        {PY_GENERATORS_COUNTED, 0, PY_GENERATOR_CREATED},
        {PY_GENERATORS_COUNTED, 3, PY_GENERATOR_AWAITING},
        {PY_GENERATORS_COUNTED, 4, PY_GENERATOR_RUNNING},
        {PY_GENERATORS_COUNTED, -1, PY_GENERATOR_UNKNOWN},
        {PY_GENERATORS_RUNNING, 0, PY_GENERATOR_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++)
        assert_int_equal(layout_parse_generator_state(cases[i].states, cases[i].number),
                         cases[i].expected);
}

static void test_executing(void **state)
{
    (void)state;
    assert_true(layout_is_executing(layout_find_rules(0x03090000), 1));
    assert_false(layout_is_executing(layout_find_rules(0x03090000), 0));
    assert_true(layout_is_executing(layout_find_rules(0x030a0000), 0));
    assert_false(layout_is_executing(layout_find_rules(0x030a0000), 1));
}

static void test_waits_for_the_gil(void **state)
{
    (void)state;
    assert_true(layout_is_gil_wait("pthread_cond_timedwait@@GLIBC_2.3.2", false));
    assert_true(layout_is_gil_wait("__pthread_cond_clockwait", false));
    assert_true(layout_is_gil_wait("PyThread_acquire_lock", true));
    assert_false(layout_is_gil_wait("PyThread_acquire_lock", false));
    assert_false(layout_is_gil_wait("sem_wait", false));
    assert_true(layout_is_gil_wait("do_futex_sem_wait", true));
    assert_false(layout_is_gil_wait("read", true));
}

/* Each version has a row, and each row all that is asked of it. */
static void test_rows_are_whole(void **state)
{
    const struct py_rules *rules;
    size_t count = 0;
    (void)state;
    for (; (rules = layout_get_rules(count)); count++) {
        char version[24];
        layout_format_short_version(layout_version_of(rules), version, sizeof(version));
        assert_string_equal(version, rules->name);
        assert_ptr_equal(layout_find_rules(layout_version_of(rules) | 0x02f0), rules);
        assert_non_null(rules->spelling);
        assert_in_range(rules->deque_block, 62, 64);
    }
    assert_in_range(count, 11, 99);
    assert_null(layout_find_rules(0x03050000));
}

static void test_other_projects(void **state)
{
    struct py_layout layout;
    (void)state;
    assert_true(layout_has_greenlet_struct("1.1.3"));
    assert_false(layout_has_greenlet_struct("3.1.1"));
    assert_false(layout_has_greenlet_struct("10.0"));
    assert_int_equal(layout_from_table(layout_find_rules(0x03060000), 16, 0, &layout), PSC_OK);
    assert_int_equal(layout_of_greenlets(&layout, false).top_frame, 40);
    assert_int_equal(layout_from_table(layout_find_rules(0x030c0000), 16, 0, &layout), PSC_OK);
    assert_int_equal(layout_of_greenlets(&layout, false).top_frame, 48);
    assert_int_equal(layout_of_greenlets(&layout, true).top_frame, 56);
    assert_string_equal(layout_get_numpy_number(12)->name, "float64");
    assert_null(layout_get_numpy_number(24));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_generator_states),  cmocka_unit_test(test_executing),
        cmocka_unit_test(test_waits_for_the_gil), cmocka_unit_test(test_rows_are_whole),
        cmocka_unit_test(test_other_projects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
