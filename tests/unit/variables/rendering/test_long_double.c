/* What `long double` is, on one machine and on another. */
#include "rendering.h"
#include "value_writer.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(enum target_long_double format, uint64_t high, uint64_t low,
                   const char *expected)
{
    struct target_machine machine = *target_machine_find(EM_X86_64);
    machine.long_double = format;
    struct target target = {.machine = &machine};
    struct c_writer writer = {.target = &target};
    struct text text = {0};
    uint8_t bytes[16];
    memcpy(bytes, &low, 8);
    memcpy(bytes + 8, &high, 8);
    assert_true(c_add_float(&writer, bytes, sizeof(bytes), &text));
    text_add_char(&text, '\0');
    assert_string_equal(text.data, expected);
    text_deinit(&text);
}

static void test_x87(void **state)
{
    (void)state;
    const uint64_t one = UINT64_C(1) << 63;
    expect(TARGET_LONG_DOUBLE_X87, 0, 0, "0");
    expect(TARGET_LONG_DOUBLE_X87, 0x8000, 0, "-0");
    expect(TARGET_LONG_DOUBLE_X87, 0x3fff, one, "1");
    expect(TARGET_LONG_DOUBLE_X87, 0xdead000000000000 | 0xbfff, one | one >> 1, "-1.5");
    expect(TARGET_LONG_DOUBLE_X87, 0, 1, "3.6451995318824746e-4951");
    expect(TARGET_LONG_DOUBLE_X87, 0x7fff, one, "inf");
    expect(TARGET_LONG_DOUBLE_X87, 0xffff, one | one >> 1, "-nan");
}

static void test_quad(void **state)
{
    (void)state;
    expect(TARGET_LONG_DOUBLE_QUAD, 0, 0, "0");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(1) << 63, 0, "-0");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(0x3fff) << 48, 0, "1");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(0xbfff8) << 44, 0, "-1.5");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(0x4000921fb54442d1), UINT64_C(0x8469898cc51701b8),
           "3.14159265358979324");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(0x7fff) << 48, 0, "inf");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(0xffff) << 48, 0, "-inf");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(0x7fff8) << 44, 0, "nan");
    expect(TARGET_LONG_DOUBLE_QUAD, UINT64_C(0x7fff) << 48, 1, "nan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_x87),
        cmocka_unit_test(test_quad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
