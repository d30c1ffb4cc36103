#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "merge_private.h"

static void an_address_lies_in_one_extent(void **state)
{
    (void)state;
    struct native_frame frames[] = {
        {.sp = 0x1000, .cfa = 0x1100},
        {.sp = 0x1100, .cfa = 0x1108},
        {.sp = 0x1108, .cfa = 0x2000},
        {.sp = 0x2000, .cfa = 0},
    };
    struct native_stack stack = {.frames = frames, .count = 4};
    struct extents extents;
    assert_true(extents_init(&extents, &stack));
    assert_null(extents.order);
    assert_int_equal(extents_find(&extents, 0xfff), SIZE_MAX);
    assert_int_equal(extents_find(&extents, 0x1000), 0);
    assert_int_equal(extents_find(&extents, 0x1104), 1);
    assert_int_equal(extents_find(&extents, 0x1fff), 2);
    assert_int_equal(extents_find(&extents, 0x2000), SIZE_MAX);
    assert_int_equal(extents_next(&extents, 0x0), 0);
    assert_int_equal(extents_next(&extents, 0x1104), 2);
    assert_int_equal(extents_next(&extents, 0x2000), 4);
    extents_deinit(&extents);
}

static void a_handler_on_its_own_stack_is_found_too(void **state)
{
    (void)state;
    // A signal handler runs on an alternate stack that lies above the thread's.
    struct native_frame frames[] = {
        {.sp = 0x9000, .cfa = 0x9100},
        {.sp = 0x9100, .cfa = 0x9800},
        {.sp = 0x1000, .cfa = 0x1800},
        {.sp = 0x1800, .cfa = 0x2000},
    };
    struct native_stack stack = {.frames = frames, .count = 4};
    struct extents extents;
    assert_true(extents_init(&extents, &stack));
    assert_int_equal(extents_find(&extents, 0x1900), 3);
    assert_int_equal(extents_find(&extents, 0x9050), 0);
    assert_int_equal(extents_find(&extents, 0x9700), 1);
    assert_int_equal(extents_find(&extents, 0x8000), SIZE_MAX);
    extents_deinit(&extents);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_lies_in_one_extent),
        cmocka_unit_test(a_handler_on_its_own_stack_is_found_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
