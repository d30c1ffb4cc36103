#include "system_calls.h"
#include "x86_64_registers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#define TEXT_AT 0x400000
#define LONG_AT 0x500000

/* "/etc/passwd" at one place, a path without an end at the other. */
static enum psc_status read_text(struct target *target, psc_addr address, void *buffer, size_t size)
{
    static const char text[] = "/etc/passwd";
    (void)target;
    for (size_t i = 0; i < size; i++) {
        psc_addr at = address + i;
        if (at >= TEXT_AT && at < TEXT_AT + sizeof(text))
            ((char *)buffer)[i] = text[at - TEXT_AT];
        else if (at >= LONG_AT && at < LONG_AT + 4096)
            ((char *)buffer)[i] = 'x';
        else
            return PSC_ERR_FAULT;
    }
    return PSC_OK;
}

static const struct target_ops text_ops = {.read = read_text};

static void check(uint32_t number, const uint64_t arguments[SYSTEM_CALL_ARGUMENTS],
                  const char *expected)
{
    struct target target = {.ops = &text_ops, .machine = target_machine_here()};
    struct text text = {0};
    system_call_add_text(&target, number, arguments, &text);
    assert_string_equal(text.data, expected);
    text_deinit(&text);
}

static void test_names(void **state)
{
    (void)state;
    const struct target_machine *machine = target_machine_here();
    assert_string_equal(system_call_name(machine, SYS_read), "read");
    assert_string_equal(system_call_name(machine, SYS_openat), "openat");
    assert_string_equal(system_call_name(machine, SYS_exit_group), "exit_group");
    assert_string_equal(system_call_name(machine, SYS_process_mrelease), "process_mrelease");
    assert_null(system_call_name(machine, 400));
    assert_null(system_call_name(machine, UINT32_MAX));
}

static void test_arguments(void **state)
{
    (void)state;
    check(SYS_openat, (uint64_t[]){(uint32_t)-100, TEXT_AT, 0x80000, 0644, 0, 0},
          "openat(AT_FDCWD, \"/etc/passwd\", 0x80000, 0644)");
    check(SYS_open, (uint64_t[]){0x600000, 1, 0, 0, 0, 0}, "open(0x600000, 0x1, 00)");
    check(SYS_lseek, (uint64_t[]){3, (uint64_t)-7, 2, 0, 0, 0}, "lseek(3, -7, 2)");
    check(SYS_kill, (uint64_t[]){0xffffffff, 9, 0, 0, 0, 0}, "kill(-1, 9)");
    check(SYS_write, (uint64_t[]){1, 0, 12, 0, 0, 0}, "write(1, NULL, 12)");
    check(SYS_getpid, (uint64_t[]){1, 2, 3, 4, 5, 6}, "getpid()");
    check(SYS_security, (uint64_t[]){1, 2, 3, 4, 5, 6}, "security");
    check(999, (uint64_t[]){1, 2, 3, 4, 5, 6}, "system call 999");
}

static void test_long_path(void **state)
{
    (void)state;
    char expected[256] = "chdir(\"";
    memset(expected + strlen(expected), 'x', 127);
    strcat(expected, "\"...)");
    check(SYS_chdir, (uint64_t[]){LONG_AT, 0, 0, 0, 0, 0}, expected);
}

static void test_registers(void **state)
{
    (void)state;
    struct target_registers registers = {0};
    static const uint8_t order[] = {X86_RDI, X86_RSI, X86_RDX, X86_R10, X86_R8, X86_R9};
    for (uint64_t i = 0; i < SYSTEM_CALL_ARGUMENTS; i++)
        registers.value[order[i]] = i + 1;
    uint64_t arguments[SYSTEM_CALL_ARGUMENTS];
    assert_true(system_call_get_arguments(target_machine_here(), &registers, arguments));
    for (uint64_t i = 0; i < SYSTEM_CALL_ARGUMENTS; i++)
        assert_int_equal(arguments[i], i + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_long_path), cmocka_unit_test(test_registers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
