#include "jit_private.h"

#include <setjmp.h>

#include <cmocka.h>

static void a_descriptor_has_a_version(void **state)
{
    (void)state;
    uint8_t bytes[JIT_DESCRIPTOR_SIZE] = {1, [4] = 1, [8] = 0x70, [16] = 0x80, [23] = 0x7f};
    assert_int_equal(parse_jit_descriptor(bytes), 0x7f00000000000080);
    bytes[0] = 2;
    assert_int_equal(parse_jit_descriptor(bytes), 0);
}

static void an_entry_is_two_links_and_an_image(void **state)
{
    (void)state;
    const uint8_t bytes[JIT_ENTRY_SIZE] = {1, [8] = 2, [16] = 3, [24] = 4};
    struct jit_entry entry;
    parse_jit_entry(bytes, &entry);
    assert_int_equal(entry.next, 1);
    assert_int_equal(entry.address, 3);
    assert_int_equal(entry.size, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_has_a_version),
        cmocka_unit_test(an_entry_is_two_links_and_an_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
