/* Tables as CPython's compiler wrote them (code.co_lnotab, co_linetable), and damaged ones. */
#include "line_table.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

/*
 * python3.9: compile("a=1\n\n\nb=2\n" + "\n"*200 + "c=3\nd=4\n", "x", "exec").co_lnotab
 * is 04 03 04 7f 00 4a 04 01 : c stands 201 lines below b, more than one signed byte holds.
 */
static void test_lnotab_steps_over_long_jumps(void **state)
{
    static const uint8_t table[] = {4, 3, 4, 127, 0, 74, 4, 1};
    static const struct {
        int32_t lasti;
        uint32_t line;
    } expected[] = {{-1, 1},  {0, 1},    {3, 1},    {4, 4},   {7, 4},
                    {8, 205}, {11, 205}, {12, 206}, {99, 206}};
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(expected); i++)
        assert_int_equal(parse_lnotab(table, sizeof(table), 1, expected[i].lasti, true),
                         expected[i].line);
}

static void test_lnotab_goes_back_only_when_signed(void **state)
{
    static const uint8_t table[] = {8, 1, 6, 0xff};
    (void)state;
    assert_int_equal(parse_lnotab(table, sizeof(table), 10, 13, true), 11);
    assert_int_equal(parse_lnotab(table, sizeof(table), 10, 14, true), 10);
    assert_int_equal(parse_lnotab(table, sizeof(table), 10, 14, false), 266);
}

static void test_lnotab_ignores_half_a_pair(void **state)
{
    static const uint8_t table[] = {2, 1, 2};
    (void)state;
    assert_int_equal(parse_lnotab(table, sizeof(table), 5, 100, true), 6);
    assert_int_equal(parse_lnotab(NULL, 0, 5, 100, true), 5);
    assert_int_equal(parse_lnotab(NULL, 0, -5, 100, true), 0);
}

/* The forms that CPython 3.10 describes in Objects/lnotab_notes.txt. */
static void test_linetable_310_ranges(void **state)
{
    /* 8 bytes on +1, 4 without a line, 0 bytes on +100, 6 on -98. */
    static const uint8_t table[] = {8, 1, 4, 0x80, 0, 100, 6, (uint8_t)-98};
    static const struct {
        int32_t lasti;
        uint32_t line;
    } expected[] = {{-1, 20}, {0, 21}, {7, 21}, {8, 0}, {11, 0}, {12, 23}, {17, 23}, {18, 0}};
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(expected); i++)
        assert_int_equal(parse_linetable_310(table, sizeof(table), 20, expected[i].lasti),
                         expected[i].line);
}

static void check_position(const uint8_t *table, size_t size, int32_t lasti,
                           struct py_position expected)
{
    struct py_position found;
    parse_locations_311(table, size, 10, lasti, &found);
    assert_int_equal(found.line, expected.line);
    assert_int_equal(found.end_line, expected.end_line);
    assert_int_equal(found.column, expected.column);
    assert_int_equal(found.end_column, expected.end_column);
}

#define HEAD(code, units) (uint8_t)(0x80 | (code) << 3 | ((units)-1))

/* One entry of each code of CPython 3.11's Objects/locations.md. */
static void test_locations_of_every_code(void **state)
{
    static const uint8_t table[] = {
        HEAD(15, 1),                                     /* 0: none */
        HEAD(3, 2),  0x57,                               /* 2: columns 29-36 */
        HEAD(12, 1), 200,  201,                          /* 6: two lines on */
        HEAD(13, 8), 0x07,                               /* 8: three lines back, no columns */
        HEAD(14, 1), 0x42, 0x02, 0x02, 0x01, 0x41, 0x01, /* 24: 65 lines on, to 2 below, 0-64 */
        HEAD(14, 1), 0x00, 0x00, 0x00, 0x00,             /* 26: no columns in the long form */
    };
    (void)state;
    check_position(table, sizeof(table), -1, (struct py_position){10, 0, -1, -1});
    check_position(table, sizeof(table), 0, (struct py_position){0, 0, -1, -1});
    check_position(table, sizeof(table), 2, (struct py_position){10, 10, 29, 36});
    check_position(table, sizeof(table), 5, (struct py_position){10, 10, 29, 36});
    check_position(table, sizeof(table), 6, (struct py_position){12, 12, 200, 201});
    check_position(table, sizeof(table), 23, (struct py_position){9, 9, -1, -1});
    check_position(table, sizeof(table), 24, (struct py_position){74, 76, 0, 64});
    check_position(table, sizeof(table), 26, (struct py_position){74, 74, -1, -1});
    check_position(table, sizeof(table), 28, (struct py_position){0, 0, -1, -1});
}

static void test_locations_cut_or_foreign_are_none(void **state)
{
    static const uint8_t cut[] = {HEAD(14, 1), 0x42};
    static const uint8_t foreign[] = {0x28, 0x01};
    static const uint8_t endless[] = {HEAD(13, 1), 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x01};
    struct py_position none = {0, 0, -1, -1};
    (void)state;
    check_position(cut, sizeof(cut), 0, none);
    check_position(foreign, sizeof(foreign), 0, none);
    check_position(endless, sizeof(endless), 0, none);
    check_position(NULL, 0, 0, none);
}

static void test_lines_outside_the_numbers_are_none(void **state)
{
    /* 13: a signed varint of -11 leads from line 10 to -1. */
    static const uint8_t below[] = {HEAD(13, 1), 0x17};
    struct py_position none = {0, 0, -1, -1};
    (void)state;
    check_position(below, sizeof(below), 0, none);
}

/*
 * python3.12: co_exceptiontable of "with a: h(); with b: k()", whose ranges dis.dis() shows: 26 to
 * 50 at depth 1, 52 to 72 at depth 2, 74 to 88 at depth 1.
 */
static void test_handlers_keep_values(void **state)
{
    static const uint8_t table[] = {141, 13, 65, 12, 3,   154, 11, 65, 0,  5,  165,
                                    8,   65, 12, 3,  193, 0,   5,  65, 9,  9,  193,
                                    5,   7,  65, 12, 3,   193, 12, 5,  65, 31, 7};
    static const struct {
        int32_t lasti;
        uint32_t depth;
    } expected[] = {{-1, 0}, {0, 0},  {24, 0}, {26, 1}, {50, 1}, {52, 2},
                    {72, 2}, {74, 1}, {88, 1}, {90, 0}, {134, 4}};
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(expected); i++)
        assert_int_equal(parse_handler_depth(table, sizeof(table), expected[i].lasti),
                         expected[i].depth);
    assert_int_equal(parse_handler_depth(table, 3, 26), 0);
    assert_int_equal(parse_handler_depth(NULL, 0, 26), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lnotab_steps_over_long_jumps),
        cmocka_unit_test(test_lnotab_goes_back_only_when_signed),
        cmocka_unit_test(test_lnotab_ignores_half_a_pair),
        cmocka_unit_test(test_linetable_310_ranges),
        cmocka_unit_test(test_locations_of_every_code),
        cmocka_unit_test(test_locations_cut_or_foreign_are_none),
        cmocka_unit_test(test_handlers_keep_values),
        cmocka_unit_test(test_lines_outside_the_numbers_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
