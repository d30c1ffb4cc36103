/**
 * @file
 * What parse_cfi_common() and parse_cfi_entry() let through: compilers' call
 * frame information yes, anything that could lead an engine astray no.
 */
#include "native_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* gcc's CIE of C code: version 1, "zR", alignments 1 and -8, rip, pcrel sdata4, def_cfa rsp+8. */
static const uint8_t plain_common[] = {1,    'z',  'R', 0, 1,    0x78, 0x10, 1,
                                       0x1b, 0x0c, 7,   8, 0x90, 1,    0,    0};
static const uint8_t signal_common[] = {1, 'z', 'R', 'S', 0, 1, 0x78, 0x10, 1, 0x1b, 0, 0};
static const uint8_t cxx_common[] = {1, 'z', 'P', 'L', 'R',  0,    1,    0x78, 0x10, 7,    0x9b,
                                     1, 2,   3,   4,   0x1b, 0x1b, 0x0c, 7,    8,    0x90, 1};

static bool common_passes(const uint8_t *bytes, size_t size, struct cfi_common *ret)
{
    // A copy of exactly this size, for the sanitizer to see reads behind it.
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    bool passes = parse_cfi_common(target_machine_here(), copy, size, ret);
    free(copy);
    return passes;
}

static bool entry_passes(const uint8_t *bytes, size_t size, struct cfi_common *common)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size)
        memcpy(copy, bytes, size);
    bool passes = parse_cfi_entry(copy, size, common);
    free(copy);
    return passes;
}

static bool instructions_pass(const uint8_t *bytes, size_t size)
{
    uint8_t entry[128] = {0};
    struct cfi_common common = {.machine = target_machine_here(), .pointer_size = 4};
    memcpy(entry + 8, bytes, size);
    return entry_passes(entry, 8 + size, &common);
}

static void test_compilers_pass(void **state)
{
    (void)state;
    struct cfi_common common;
    assert_true(common_passes(plain_common, sizeof(plain_common), &common));
    assert_int_equal(common.pointer_size, 4);
    assert_true(common.augmented);
    assert_false(common.signal);
    assert_true(common_passes(cxx_common, sizeof(cxx_common), &common));
    assert_int_equal(common.pointer_size, 4);
    assert_true(common_passes(signal_common, sizeof(signal_common), &common));
    assert_true(common.signal);
}

static void test_every_cut_is_safe(void **state)
{
    (void)state;
    struct cfi_common common;
    for (size_t size = 0; size < 8; size++)
        assert_false(common_passes(plain_common, size, &common));
    for (size_t size = 0; size <= sizeof(cxx_common); size++)
        common_passes(cxx_common, size, &common);
}

static void test_every_byte_may_be_any(void **state)
{
    (void)state;
    struct cfi_common common;
    uint8_t bytes[sizeof(cxx_common)];
    for (size_t at = 0; at < sizeof(bytes); at++)
        for (unsigned value = 0; value < 256; value++) {
            memcpy(bytes, cxx_common, sizeof(bytes));
            bytes[at] = (uint8_t)value;
            common_passes(bytes, sizeof(bytes), &common);
        }
}

static void test_strange_common_is_refused(void **state)
{
    (void)state;
    struct cfi_common common;
    uint8_t bytes[sizeof(plain_common)];
    static const struct {
        size_t at;
        uint8_t value;
    } strange[] = {
        {0, 2},    // Version.
        {1, 'e'},  // Augmentation "eR": its data has no size.
        {2, 'Q'},  // An unknown letter.
        {6, 17},   // The return address is not in rip.
        {7, 200},  // Augmentation data that end outside.
        {7, 2},    // Augmentation data that nobody reads.
        {8, 0xff}, // FDE pointers left out.
        {8, 0x9b}, // FDE pointers that are indirect.
        {9, 0x3f}, // An unknown instruction.
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(strange); i++) {
        memcpy(bytes, plain_common, sizeof(bytes));
        bytes[strange[i].at] = strange[i].value;
        assert_false(common_passes(bytes, sizeof(bytes), &common));
    }
}

static void test_instructions(void **state)
{
    (void)state;
    static const uint8_t ordinary[] = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6,
                                       0x0a, 0x02, 99, 0x0c, 7, 8,    0x0b, 0};
    static const uint8_t register_17[] = {0x09, 16, 17};
    static const uint8_t register_5[] = {0x09, 16, 5};
    static const uint8_t restore_without_remember[] = {0x0b};
    static const uint8_t long_number[] = {0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                          0x80, 0x80, 0x80, 0x80, 0x80, 0};
    static const uint8_t block_outside[] = {0x0f, 5, 0x77, 8};
    static const uint8_t huge_register[] = {0x07, 0xff, 0xff, 0x7f};
    static const uint8_t cut_advance[] = {0x04, 1, 2};
    assert_true(instructions_pass(ordinary, sizeof(ordinary)));
    assert_true(instructions_pass(register_5, sizeof(register_5)));
    assert_false(instructions_pass(register_17, sizeof(register_17)));
    assert_false(instructions_pass(restore_without_remember, sizeof(restore_without_remember)));
    assert_false(instructions_pass(long_number, sizeof(long_number)));
    assert_false(instructions_pass(block_outside, sizeof(block_outside)));
    assert_false(instructions_pass(huge_register, sizeof(huge_register)));
    assert_false(instructions_pass(cut_advance, sizeof(cut_advance)));
    uint8_t remember[100];
    memset(remember, 0x0a, sizeof(remember));
    assert_false(instructions_pass(remember, sizeof(remember)));
}

static void test_expressions(void **state)
{
    (void)state;
    // The PLT's rule: rsp + 8 + ((rip & 15) >= 11) << 3.
    static const uint8_t plt[] = {0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
                                  0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
    static const uint8_t saved[] = {0x10, 3, 3, 0x77, 0xa8, 0x01};
    static const uint8_t division[] = {0x0f, 3, 0x31, 0x30, 0x1b};
    static const uint8_t jump[] = {0x0f, 3, 0x2f, 0xfd, 0xff};
    static const uint8_t cut[] = {0x0f, 2, 0x0c, 1};
    assert_true(instructions_pass(plt, sizeof(plt)));
    assert_true(instructions_pass(saved, sizeof(saved)));
    assert_false(instructions_pass(division, sizeof(division)));
    assert_false(instructions_pass(jump, sizeof(jump)));
    assert_false(instructions_pass(cut, sizeof(cut)));
}

static void test_value_offsets_are_told(void **state)
{
    (void)state;
    static const uint8_t entry[] = {0, 0, 0, 0, 0, 0, 0, 0, 0x14, 7, 0};
    struct cfi_common common = {.machine = target_machine_here(), .pointer_size = 4};
    assert_true(entry_passes(entry, sizeof(entry), &common));
    assert_true(common.value_offsets);
    assert_true(common.stack_pointer_rule);
}

static void test_rules_for_rsp_are_told(void **state)
{
    (void)state;
    static const uint8_t of_rsp[][4] = {{0x87, 1}, {0x09, 7, 8}, {0x05, 7, 1}, {0x10, 7, 1, 0x30}};
    static const uint8_t of_others[][4] = {{0x86, 1}, {0x09, 6, 7}, {0x0c, 7, 8}, {0x0d, 7}};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(of_rsp); i++) {
        uint8_t entry[12] = {0};
        struct cfi_common common = {.machine = target_machine_here(), .pointer_size = 4};
        memcpy(entry + 8, of_rsp[i], 4);
        assert_true(entry_passes(entry, sizeof(entry), &common));
        assert_true(common.stack_pointer_rule);
        common = (struct cfi_common){.machine = target_machine_here(), .pointer_size = 4};
        memcpy(entry + 8, of_others[i], 4);
        assert_true(entry_passes(entry, sizeof(entry), &common));
        assert_false(common.stack_pointer_rule);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compilers_pass),
        cmocka_unit_test(test_every_cut_is_safe),
        cmocka_unit_test(test_every_byte_may_be_any),
        cmocka_unit_test(test_strange_common_is_refused),
        cmocka_unit_test(test_instructions),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_value_offsets_are_told),
        cmocka_unit_test(test_rules_for_rsp_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
