/* Moments of numpy, also of units and counts that no array has. */
#include "numpy_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void expect(int32_t unit, int32_t count, int64_t number, const char *expected)
{
    const struct numpy_time time = {unit, count};
    struct text text = {0};
    numpy_add_moment(&time, number, &text);
    if (expected)
        assert_string_equal(text.data, expected);
    assert_true(text.size > 0);
    text_deinit(&text);
}

static void test_moments(void **state)
{
    (void)state;
    expect(0, 1, 54, "2024");
    expect(1, 1, -1, "1969-12");
    expect(2, 1, 1, "1970-01-08");
    expect(4, 1, 19723, "2024-01-01");
    expect(4, 1, -1, "1969-12-31");
    expect(7, 1, -1, "1969-12-31T23:59:59");
    expect(8, 10, 123, "1970-01-01T00:00:01.230");
    expect(13, 1, 1, "1970-01-01T00:00:00.000000000000000001");
    expect(4, 1, INT64_MIN, "NaT");
}

static void test_what_is_damaged(void **state)
{
    static const int64_t numbers[] = {INT64_MAX, INT64_MIN + 1, 0, -1};
    (void)state;
    expect(14, 1, 5, "5"); // Generic.
    expect(-1, 1, -5, "-5");
    expect(INT32_MAX, 1, 7, "7");
    for (int32_t unit = 0; unit <= 13; unit++)
        for (size_t i = 0; i < PSC_ARRAY_SIZE(numbers); i++) {
            expect(unit, INT32_MAX, numbers[i], NULL);
            expect(unit, INT32_MIN, numbers[i], NULL);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments),
                                       cmocka_unit_test(test_what_is_damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
