/* What stands between a kind prefix and the end of a C name of Cython's. */
#include "symbol.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void check_path(const char *text, enum cython_numbering numbering, int32_t number,
                       const char *const *expected)
{
    struct cython_path path;
    size_t count = 0;
    parse_cython_path(slice_of(text), numbering, NULL, &path);
    for (; expected[count]; count++) {
        assert_true(count < path.count);
        assert_true(slice_equals(path.components[count].name, expected[count]));
    }
    assert_int_equal(path.count, count);
    assert_int_equal(path.number, number);
}

static void path_is_split(void **state)
{
    (void)state;
    check_path("3pkg_3sub_5_kern_fit", CYTHON_UNNUMBERED, -1,
               (const char *const[]){"pkg", "sub", "_kern", NULL});
    check_path("3pkg_5_kern_6Solver_7solve", CYTHON_NUMBERED_WRAPPER, 7,
               (const char *const[]){"pkg", "_kern", "Solver", NULL});
    check_path("", CYTHON_UNNUMBERED, -1, (const char *const[]){NULL});
    check_path("9short", CYTHON_UNNUMBERED, -1, (const char *const[]){NULL});
}

static void check_specialization(const char *text, const char *expected, const char *left)
{
    struct slice rest = slice_of(text), found;
    bool is = parse_cython_specialization(&rest, &found);
    assert_int_equal(is, expected != NULL);
    if (expected)
        assert_true(slice_equals(found, expected));
    assert_true(slice_equals(rest, left));
}

static void specialization_is_taken_off(void **state)
{
    (void)state;
    check_specialization("1_0__pyx_pw_f", "1_0", "__pyx_pw_f");
    check_specialization("0__pyx_pw_f", "0", "__pyx_pw_f");
    check_specialization("__pyx_pw_f", NULL, "__pyx_pw_f");
    check_specialization("", NULL, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_is_split),
        cmocka_unit_test(specialization_is_taken_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
