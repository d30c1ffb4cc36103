/* Calls that are listed, and pointers and functions that are looked for near others. */
#include "code.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES  4000
#define ITEMS  600
#define LISTED 256

/** The same numbers in each run. */
static uint32_t next_number(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/** Each byte of 0xe8 that four others follow, in bytes that are full of them. */
static void check_calls(const struct code_range *range, size_t limit)
{
    struct code_call calls[LISTED];
    struct code_reference wanted;
    size_t count, from = 0, at = 0;
    do {
        count = abi_x86_64.list_calls(range, &from, calls, limit);
        for (size_t i = 0; i < count; i++) {
            assert_true(abi_x86_64.find_reference(range, at, REFERENCE_CALL, &wanted));
            assert_int_equal(calls[i].address, range->address + wanted.offset);
            assert_int_equal(calls[i].target, wanted.target);
            at = wanted.offset + 1;
        }
    } while (count == limit);
    assert_false(abi_x86_64.find_reference(range, at, REFERENCE_CALL, &wanted));
}

static void test_calls(void **state)
{
    (void)state;
    static const size_t limits[] = {1, 31, 32, 33, 65, LISTED};
    uint8_t *bytes = malloc(BYTES);
    assert_non_null(bytes);
    uint32_t number = 1;
    for (uint32_t rarity = 1; rarity < 100; rarity = rarity * 3 + 1) {
        for (size_t i = 0; i < BYTES; i++)
            bytes[i] = next_number(&number) % rarity == 0 ? 0xe8 : (uint8_t)next_number(&number);
        for (size_t i = 0; i < PSC_ARRAY_SIZE(limits); i++)
            for (size_t size = 0; size < 80; size++) {
                /* From each place in a block on, and up to the very end of the memory. */
                check_calls(&(struct code_range){bytes + BYTES - size, size, 0x1000}, limits[i]);
                check_calls(&(struct code_range){bytes + size, BYTES - size, 0x1000}, limits[i]);
            }
    }
    free(bytes);
}

/** What is found near another pointer is what is found in the whole list: some are there twice. */
static void test_pointers(void **state)
{
    (void)state;
    struct code_pointer pointers[ITEMS];
    struct code_image image = {.pointers = pointers, .pointer_count = ITEMS};
    uint64_t address = 0x2000;
    uint32_t number = 2;
    for (size_t i = 0; i < ITEMS; i++) {
        pointers[i] = (struct code_pointer){.address = address, .value = i + 1};
        /* Many at one place, then one by one, then far from each other. */
        address += i < 100 ? i % 25 == 0 : i < 300 ? next_number(&number) % 3 : 8 * (i % 5);
    }
    assert_true(code_index_init(&image.by_address, pointers, sizeof(*pointers), ITEMS));
    for (size_t i = 0; i < ITEMS; i++)
        for (uint64_t offset = 0; offset < 80; offset++)
            assert_ptr_equal(code_pointer_behind(&image, &pointers[i], offset),
                             code_find_pointer(&image, pointers[i].address + offset));
    assert_ptr_equal(code_pointer_behind(&image, &pointers[1], UINT64_MAX),
                     code_find_pointer(&image, pointers[1].address - 1));
    code_index_deinit(&image.by_address);
}

static void test_functions(void **state)
{
    (void)state;
    struct code_function functions[ITEMS];
    struct code_image image = {.functions = functions, .function_count = ITEMS};
    assert_null(code_function_from(&image, 0x2000));
    uint64_t start = 0x2000;
    for (size_t i = 0; i < ITEMS; i++) {
        functions[i] = (struct code_function){.start = start, .end = start + 3};
        start += i < 100 ? i % 25 == 0 : i < 300 ? i % 2 : 8 * (i % 5);
    }
    assert_true(code_index_init(&image.by_start, functions, sizeof(*functions), ITEMS));
    for (uint64_t address = 0x1ff0; address < start + 16; address++) {
        struct code_function *function = code_find_function(&image, address);
        assert_ptr_equal(code_function_from(&image, address),
                         function && function->start == address ? function : NULL);
    }
    code_index_deinit(&image.by_start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_pointers),
        cmocka_unit_test(test_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
