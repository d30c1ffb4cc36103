#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "live_private.h"
#include "x86_64_registers.h"

#include <string.h>

static bool parse(const char *text, struct target_registers *ret)
{
    uint8_t bytes[TARGET_USER_REGISTERS_LIMIT];
    psc_addr pointer;
    bool waits = parse_waiting(text, strlen(text), bytes);
    parse_user_registers(target_machine_here(), bytes, ret, &pointer);
    assert_int_equal(pointer, 0);
    return waits;
}

/* fs/proc/base.c, proc_pid_syscall(). */
static void what_the_kernel_says(void **state)
{
    (void)state;
    struct target_registers registers;
    assert_true(
        parse("58 0x11 0x22 0x33 0x44 0x55 0x66 0x7f14c4b9e278 0x7f14c4f5c3b8\n", &registers));
    assert_true(registers.in_system_call);
    assert_int_equal(registers.system_call, 58);
    assert_int_equal(registers.value[X86_RDI], 0x11);
    assert_int_equal(registers.value[X86_RSI], 0x22);
    assert_int_equal(registers.value[X86_RDX], 0x33);
    assert_int_equal(registers.value[10], 0x44);
    assert_int_equal(registers.value[X86_R8], 0x55);
    assert_int_equal(registers.value[9], 0x66);
    assert_int_equal(registers.value[X86_RSP], 0x7f14c4b9e278);
    assert_int_equal(registers.value[X86_RIP], 0x7f14c4f5c3b8);
    assert_int_equal(registers.value[X86_RBP], 0);
    // A fault: in no system call.
    assert_true(parse("-1 0x7ffd0000 0x401000\n", &registers));
    assert_false(registers.in_system_call);
    assert_int_equal(registers.value[X86_RSP], 0x7ffd0000);
    assert_int_equal(registers.value[X86_RIP], 0x401000);
}

static void anything_else(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "running\n",  "",       "\n",  "58", "58 0x1 0x2 0x3 0x4 0x5 0x6 0x7",
        "58 0x1 0x2", "-1 0x1", "58 x"};
    struct target_registers registers;
    char long_text[400];
    for (size_t i = 0; i < PSC_ARRAY_SIZE(texts); i++)
        assert_false(parse(texts[i], &registers));
    memset(long_text, '1', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    uint8_t bytes[TARGET_USER_REGISTERS_LIMIT];
    assert_false(parse_waiting(long_text, sizeof(long_text) - 1, bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_kernel_says),
        cmocka_unit_test(anything_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
