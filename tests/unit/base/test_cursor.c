#include "base.h"

#include <setjmp.h>

#include <cmocka.h>

static struct byte_cursor over(const char *bytes, size_t size)
{
    return cursor_over(bytes, size);
}

static void test_numbers(void **state)
{
    (void)state;
    struct byte_cursor cursor = over("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f"
                                     "\xff\xfe\xfd",
                                     18);
    assert_int_equal(cursor_u8(&cursor), 1);
    assert_int_equal(cursor_u16(&cursor), 0x0302);
    assert_int_equal(cursor_u32(&cursor), 0x07060504);
    assert_int_equal(cursor_u64(&cursor), UINT64_C(0x0f0e0d0c0b0a0908));
    assert_int_equal(cursor_unsigned(&cursor, 3), 0xfdfeff);
    assert_int_equal(cursor_left(&cursor), 0);
    assert_false(cursor.failed);
    assert_int_equal(cursor_u8(&cursor), 0);
    assert_true(cursor.failed);
}

static void test_past_the_end_all_is_zero(void **state)
{
    (void)state;
    struct byte_cursor cursor = over("abc", 3);
    assert_int_equal(cursor_u32(&cursor), 0);
    assert_true(cursor.failed);
    assert_int_equal(cursor_u8(&cursor), 0);
    cursor = over("abc", 3);
    assert_null(cursor_take(&cursor, UINT64_MAX));
    assert_int_equal(cursor_left(&cursor), 0);
    cursor = over("12345678", 8);
    assert_int_equal(cursor_unsigned(&cursor, 9), 0);
    assert_true(cursor.failed);
    cursor = over(NULL, 0);
    assert_null(cursor_string(&cursor));
    assert_true(cursor.failed);
}

static void expect_leb128(const char *bytes, size_t size, uint64_t is_unsigned, int64_t is_signed)
{
    struct byte_cursor cursor = over(bytes, size);
    assert_int_equal(cursor_uleb(&cursor), is_unsigned);
    assert_false(cursor.failed);
    assert_int_equal(cursor_left(&cursor), 0);
    cursor = over(bytes, size);
    assert_int_equal(cursor_sleb(&cursor), is_signed);
    assert_false(cursor.failed);
}

/* DWARF 5, 7.6, figures 22 and 23, and the longest. */
static void test_leb128(void **state)
{
    (void)state;
    expect_leb128("\x02", 1, 2, 2);
    expect_leb128("\x7f", 1, 127, -1);
    expect_leb128("\x80\x01", 2, 128, 128);
    expect_leb128("\x81\x01", 2, 129, 129);
    expect_leb128("\xff\x00", 2, 127, 127);
    expect_leb128("\x80\x7f", 2, 16256, -128);
    expect_leb128("\xb9\x64", 2, 12857, -3527);
    expect_leb128("\x80\x80\x80\x00", 4, 0, 0);
    expect_leb128("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX, -1);
    expect_leb128("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", 10, UINT64_C(1) << 63, INT64_MIN);
}

static void test_leb128_without_an_end_is_refused(void **state)
{
    (void)state;
    struct byte_cursor cursor = over("\x80\x80", 2);
    assert_int_equal(cursor_uleb(&cursor), 0);
    assert_true(cursor.failed);
    cursor = over("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11);
    assert_int_equal(cursor_sleb(&cursor), 0);
    assert_true(cursor.failed);
    assert_int_equal(cursor_left(&cursor), 0);
}

static void test_strings(void **state)
{
    (void)state;
    struct byte_cursor cursor = over("one\0\0two", 8);
    assert_string_equal(cursor_string(&cursor), "one");
    assert_string_equal(cursor_string(&cursor), "");
    assert_null(cursor_string(&cursor));
    assert_true(cursor.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_past_the_end_all_is_zero),
        cmocka_unit_test(test_leb128),  cmocka_unit_test(test_leb128_without_an_end_is_refused),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
