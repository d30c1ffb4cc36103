#include "base.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_escaped(const char *input, const char *expected)
{
    struct text text = {0};
    text_add_string(&text, "");
    text_add_escaped(&text, input);
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    assert_int_equal(text.size, strlen(expected));
    text_deinit(&text);
}

static void test_escapes_controls(void **state)
{
    (void)state;
    expect_escaped("", "");
    expect_escaped("plain \"text\" \\", "plain \"text\" \\");
    expect_escaped("a\nb\tc\rd", "a\\nb\\tc\\x0dd");
    expect_escaped("\x1b[31m\x07\x7f", "\\x1b[31m\\x07\\x7f");
    expect_escaped("\xc2\x9b\xc2\x80\xc2\xa0", "\\x9b\\x80\xc2\xa0");
    expect_escaped("\u061c\u200e\u200f\u2028\u2029", "\\u061c\\u200e\\u200f\\u2028\\u2029");
    expect_escaped("\u202a\u202e\u2066\u2069", "\\u202a\\u202e\\u2066\\u2069");
    expect_escaped("\u202f\u2065\u206a", "\u202f\u2065\u206a");
}

static void test_keeps_other_scripts(void **state)
{
    (void)state;
    expect_escaped("λόγος 日本 \U0001f40d", "λόγος 日本 \U0001f40d");
}

static void test_escapes_bytes_that_are_no_text(void **state)
{
    (void)state;
    expect_escaped("a\xff"
                   "b",
                   "a\\xffb");
    expect_escaped("\xc3", "\\xc3");
    expect_escaped("\xe6\x97", "\\xe6\\x97");
    expect_escaped("\xc0\x80", "\\xc0\\x80");
    expect_escaped("\xed\xa0\x80", "\\xed\\xa0\\x80");
    expect_escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
}

/* Every code point: what is written is read back, and nothing shorter is accepted. */
static void test_utf8_round_trip(void **state)
{
    (void)state;
    struct text text = {0};
    for (uint32_t code_point = 1; code_point <= 0x10ffff; code_point++) {
        bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
        uint32_t decoded = 0;
        text_clear(&text);
        text_add_code_point(&text, code_point);
        assert_int_equal(utf8_decode(text.data, text.size, &decoded), text.size);
        assert_int_equal(decoded, surrogate ? 0xfffd : code_point);
        if (text.size > 1)
            assert_int_equal(utf8_decode(text.data, text.size - 1, &decoded), 0);
    }
    text_clear(&text);
    text_add_code_point(&text, 0x110000);
    assert_string_equal(text.data, "\ufffd");
    text_deinit(&text);
}

static void test_numbers(void **state)
{
    (void)state;
    struct text text = {0}, printed = {0};
    const uint64_t numbers[] = {0, 1, 9, 10, 4294967295, 4294967296, UINT64_MAX - 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        text_clear(&text);
        text_clear(&printed);
        text_add_number(&text, numbers[i]);
        text_printf(&printed, "%" PRIu64, numbers[i]);
        assert_string_equal(text.data, printed.data);
    }
    text_deinit(&text);
    text_deinit(&printed);
}

/* Unicode 15, table 3-7: the well-formed byte sequences. */
static bool is_well_formed(const uint8_t b[3])
{
    if (b[0] < 0x80)
        return true;
    if (b[0] >= 0xc2 && b[0] <= 0xdf)
        return b[1] >= 0x80 && b[1] <= 0xbf;
    uint8_t low = b[0] == 0xe0 ? 0xa0 : 0x80;
    uint8_t high = b[0] == 0xed ? 0x9f : 0xbf;
    return (b[0] & 0xf0) == 0xe0 && b[1] >= low && b[1] <= high && b[2] >= 0x80 && b[2] <= 0xbf;
}

static void test_utf8_accepts_only_well_formed(void **state)
{
    (void)state;
    for (unsigned first = 0; first < 0xf0; first++) {
        for (unsigned rest = 0; rest < 0x10000; rest++) {
            uint8_t bytes[3] = {(uint8_t)first, (uint8_t)(rest >> 8), (uint8_t)rest};
            uint32_t code_point;
            size_t used = utf8_decode((const char *)bytes, 3, &code_point);
            if ((used != 0) != is_well_formed(bytes))
                fail_msg("%02x %02x %02x: %zu", bytes[0], bytes[1], bytes[2], used);
        }
    }
    uint32_t code_point;
    assert_int_equal(utf8_decode("\xf0\x8f\xbf\xbf", 4, &code_point), 0);
    assert_int_equal(utf8_decode("\xf0\x90\x80\x80", 4, &code_point), 4);
    assert_int_equal(utf8_decode("\xf5\x80\x80\x80", 4, &code_point), 0);
}

static void test_printf_of_any_length(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 254, 255, 256, 257, 5000};
    struct text text = {0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(sizes); i++) {
        char *long_word = malloc(sizes[i] + 1);
        assert_non_null(long_word);
        memset(long_word, 'x', sizes[i]);
        long_word[sizes[i]] = '\0';
        text_clear(&text);
        text_printf(&text, "<%s>", long_word);
        assert_int_equal(text.size, sizes[i] + 2);
        assert_int_equal(strlen(text.data), text.size);
        assert_int_equal(text.data[text.size - 1], '>');
        free(long_word);
    }
    text_deinit(&text);
    assert_null(text.data);
}

static void test_impossible_size_is_remembered(void **state)
{
    (void)state;
    struct text text = {0};
    text_add(&text, "abc", 3);
    text_add(&text, "abc", SIZE_MAX / 2);
    assert_true(text.failed);
    assert_string_equal(text.data, "abc");
    text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes_controls),
        cmocka_unit_test(test_keeps_other_scripts),
        cmocka_unit_test(test_escapes_bytes_that_are_no_text),
        cmocka_unit_test(test_utf8_round_trip),
        cmocka_unit_test(test_utf8_accepts_only_well_formed),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_printf_of_any_length),
        cmocka_unit_test(test_impossible_size_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
