#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "live_private.h"

#include <errno.h>
#include <string.h>

/* The refusal makes one sentence that names the process and holds the word. */
static void expect(const struct refusal *refusal, enum psc_status status, const char *word)
{
    struct psc_error err = {0};
    assert_int_equal(describe_refusal(refusal, &err), status);
    if (!strstr(err.message, word))
        fail_msg("'%s' is not in: %s", word, err.message);
    assert_null(strchr(err.message, '\n'));
    assert_true(strlen(err.message) < sizeof(err.message) - 1);
    if (status != PSC_ERR_MEMORY)
        assert_ptr_equal(strstr(err.message, "process 42 "), err.message);
}

/* A process of the same user, which an unprivileged one may not trace. */
static struct refusal usual(void)
{
    return (struct refusal){.pid = 42,
                            .error = EPERM,
                            .name = "python3",
                            .state = 'S',
                            .parent = 7,
                            .user = 1000,
                            .own_user = 1000};
}

static void what_is_not_there(void **state)
{
    (void)state;
    struct refusal refusal = usual();
    refusal.error = ENOMEM;
    expect(&refusal, PSC_ERR_MEMORY, "out of memory");
    refusal = usual();
    refusal.state = 'Z';
    expect(&refusal, PSC_ERR_NOT_FOUND, "zombie");
    expect(&refusal, PSC_ERR_NOT_FOUND, "process 7");
    refusal.state = 0;
    expect(&refusal, PSC_ERR_NOT_FOUND, "has ended");
    refusal = usual();
    refusal.error = ESRCH;
    expect(&refusal, PSC_ERR_NOT_FOUND, "has ended, or has begun another program");
    refusal.tracer.pid = 8; // It may be this one.
    expect(&refusal, PSC_ERR_NOT_FOUND, "has ended, or has begun another program");
    refusal = usual();
    refusal.error = EIO;
    expect(&refusal, PSC_ERR_IO, strerror(EIO));
}

static void scopes_of_yama(void **state)
{
    (void)state;
    struct refusal refusal = usual();
    expect(&refusal, PSC_ERR_IO, "sudo pystack-core --pid 42");
    expect(&refusal, PSC_ERR_IO, "--cap-add=SYS_PTRACE");
    refusal.ptrace_scope = '0';
    expect(&refusal, PSC_ERR_IO, "--cap-add=SYS_PTRACE");
    refusal.ptrace_scope = '1';
    expect(&refusal, PSC_ERR_IO, "sudo sysctl kernel.yama.ptrace_scope=0");
    expect(&refusal, PSC_ERR_IO, "--cap-add=SYS_PTRACE");
    refusal.ptrace_scope = '2';
    expect(&refusal, PSC_ERR_IO, "ptrace_scope is 2");
    expect(&refusal, PSC_ERR_IO, "--cap-add=SYS_PTRACE");
    refusal.ptrace_scope = '3';
    expect(&refusal, PSC_ERR_IO, "kill -ABRT 42");
}

static void users_and_rights(void **state)
{
    (void)state;
    struct refusal refusal = usual();
    refusal.user = 0;
    refusal.ptrace_scope = '1'; // Is not what it fails by.
    expect(&refusal, PSC_ERR_IO, "belongs to user 0");
    refusal = usual();
    refusal.undumpable = true;
    expect(&refusal, PSC_ERR_IO, "prctl");
    refusal = usual();
    refusal.own_user = 0;
    expect(&refusal, PSC_ERR_IO, "--cap-add=SYS_PTRACE");
    refusal.user = 0;
    expect(&refusal, PSC_ERR_IO, "root has no CAP_SYS_PTRACE");
    refusal.own_right = true;
    expect(&refusal, PSC_ERR_IO, "security module or a user namespace");
    refusal.ptrace_scope = '3'; // Of which even root is refused.
    expect(&refusal, PSC_ERR_IO, "kill -ABRT 42");
}

static void tracers_and_filters(void **state)
{
    (void)state;
    struct refusal refusal = usual();
    refusal.tracer.pid = 99;
    refusal.memory_opens = true;
    expect(&refusal, PSC_ERR_IO, "traced by 99, ");
    strcpy(refusal.tracer.name, "gdb");
    expect(&refusal, PSC_ERR_IO, "is traced by 99 (gdb), ");
    refusal.own_user = 0;
    refusal.own_right = refusal.tracer_gone = true;
    expect(&refusal, PSC_ERR_IO, "was traced by 99 (gdb) when this tried to stop it");
    refusal = usual();
    refusal.tracer.pid = 99;
    // Whoever may not trace it at all is not helped when that one detaches.
    refusal.memory_opens = false;
    refusal.user = 5;
    expect(&refusal, PSC_ERR_IO, "belongs to user 5");
    refusal = usual();
    refusal.own_filter = refusal.memory_opens = true;
    expect(&refusal, PSC_ERR_IO, "seccomp filter forbids ptrace");
    refusal.own_right = true;
    expect(&refusal, PSC_ERR_IO, "seccomp=unconfined");
    // One that the kernel does not name here: with or without the right to trace.
    refusal.own_filter = false;
    expect(&refusal, PSC_ERR_IO, "not visible here (outside of this pid namespace)");
    refusal.own_right = false;
    expect(&refusal, PSC_ERR_IO, "not visible here (outside of this pid namespace)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_there),
        cmocka_unit_test(scopes_of_yama),
        cmocka_unit_test(users_and_rights),
        cmocka_unit_test(tracers_and_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
