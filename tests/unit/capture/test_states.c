/* Idle and terminated threads, by registers alone. */
#include "capture_private.h"

#include "target_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ORIG_RAX = 15, USER_REGS = 27, FUTEX = 202, WRITE = 1, READ = 0 };

static struct target_thread make_thread(uint64_t orig_rax)
{
    uint64_t words[USER_REGS] = {0};
    struct target_thread thread = {.tid = 1};
    words[ORIG_RAX] = orig_rax;
    parse_user_registers(target_machine_here(), (const uint8_t *)words, &thread.registers,
                         &thread.thread_pointer);
    return thread;
}

static void check(uint64_t orig_rax, uint32_t known, uint32_t expected)
{
    struct target_thread thread = make_thread(orig_rax);
    assert_int_equal(states_of_registers(target_machine_here(), &thread, known), expected);
}

static void test_waiting_in_the_kernel_is_idle(void **state)
{
    (void)state;
    check(FUTEX, 0, TRACE_STATE_IDLE);
    check(FUTEX, TRACE_STATE_MAIN, TRACE_STATE_IDLE);
    check(READ, 0, TRACE_STATE_IDLE);
    check(WRITE, 0, 0);
    check(UINT64_MAX, 0, 0);
    check(UINT64_C(1) << 32 | FUTEX, 0, 0);
}

static void test_who_has_work_is_not_idle(void **state)
{
    (void)state;
    check(FUTEX, TRACE_STATE_WAITS_FOR_GIL, 0);
    check(FUTEX, TRACE_STATE_HOLDS_GIL, 0);
    check(FUTEX, TRACE_STATE_CRASHED, 0);
    check(FUTEX, TRACE_STATE_COLLECTING | TRACE_STATE_MAIN, 0);
}

static void test_registers_that_nobody_filled_say_nothing(void **state)
{
    struct target_thread thread = {.tid = 1};
    (void)state;
    assert_int_equal(states_of_registers(target_machine_here(), &thread, 0), 0);
    assert_int_equal(states_of_registers(target_machine_here(), NULL, 0), TRACE_STATE_TERMINATED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting_in_the_kernel_is_idle),
        cmocka_unit_test(test_who_has_work_is_not_idle),
        cmocka_unit_test(test_registers_that_nobody_filled_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
