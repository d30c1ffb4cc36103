/* Ways of an error through hand-made machine code. */
#include "machine_code.h"

static void test_failed_call(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, REPORT_SIZE);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
    assert_true(answer.reports[0].outermost);
}

/** A generator's body exchanges the exception before it reports. */
static void test_call_before_the_report(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 2 + REPORT_SIZE);
    add_call(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** What stands in `finally` may fail too, with a line of its own. */
static void test_nothing_fails_besides(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 2 + 5 + 2 * REPORT_SIZE + 3);
    add_call(&code);
    add_test(&code, REPORT_SIZE + 3);
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** `finally` may find that a variable is None: that is no way of the error that is under way. */
static void test_another_failure(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 5 + 6 + 2 * REPORT_SIZE + 2 + 3);
    ADD(&code, 0x48, 0x85, 0xc9, 0x75, REPORT_SIZE + 6 + 3); /* test %rcx,%rcx; jne */
    ADD(&code, 0xff, 0x15);                                  /* call *slot(%rip) */
    add_relative(&code, FORMAT_AT);
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    add_call(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/**
 * Whether there is an exception, asked in `finally` of what cannot fail: the one that led there was
 * taken out of the thread's state, by the way that finds none in it too.
 */
static void test_question_in_finally(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 6 + 3 + 4 + 8 + 6 + 5 + 2 * REPORT_SIZE + 3);
    ADD(&code, 0xff, 0x15); /* call *slot(%rip) */
    add_relative(&code, THREAD_AT);
    ADD(&code, 0x48, 0x89, 0xc1);                   /* mov %rax,%rcx */
    ADD(&code, 0x48, 0x8b, 0x51, 0x70);             /* mov 0x70(%rcx),%rdx */
    ADD(&code, 0x48, 0xc7, 0x41, 0x70, 0, 0, 0, 0); /* movq $0,0x70(%rcx) */
    ADD(&code, 0xff, 0x15);                         /* call *slot(%rip) */
    add_relative(&code, OCCURRED_AT);
    ADD(&code, 0x48, 0x85, 0xc0, 0x74, REPORT_SIZE + 3); /* test %rax,%rax; je */
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** The same with the exception back in its place: it is still that of the call. */
static void test_question_behind_finally(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 6 + 3 + 4 + 8 + 4 + 6 + 5 + REPORT_SIZE + 3);
    ADD(&code, 0xff, 0x15); /* call *slot(%rip) */
    add_relative(&code, THREAD_AT);
    ADD(&code, 0x48, 0x89, 0xc1);                   /* mov %rax,%rcx */
    ADD(&code, 0x48, 0x8b, 0x51, 0x70);             /* mov 0x70(%rcx),%rdx */
    ADD(&code, 0x48, 0xc7, 0x41, 0x70, 0, 0, 0, 0); /* movq $0,0x70(%rcx) */
    ADD(&code, 0x48, 0x89, 0x51, 0x70);             /* mov %rdx,0x70(%rcx) */
    ADD(&code, 0xff, 0x15);                         /* call *slot(%rip) */
    add_relative(&code, OCCURRED_AT);
    ADD(&code, 0x48, 0x85, 0xc0, 0x74, REPORT_SIZE + 3); /* test %rax,%rax; je */
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** `except 0`: the function, which is its own caller here, returns 0 when it has failed. */
static void test_fails_with_zero(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    ADD(&code, 0xe8);
    add_relative(&code, CODE_AT + 0x100);
    uint64_t call = here(&code);
    ADD(&code, 0x85, 0xc0, 0x75, REPORT_SIZE + 3); /* test %eax,%eax; jne */
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** `if (size() > 0)` is no question about failure. */
static void test_above_zero(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    ADD(&code, 0x85, 0xc0, 0x7e, REPORT_SIZE + 3); /* test %eax,%eax; jle */
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    assert_false(answer.reports[0].direct);
}

/** gcc keeps `result < 0` as a number when two calls share the check. */
static void test_sign_as_number(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    ADD(&code, 0xc1, 0xe8, 0x1f);                  /* shr $31,%eax */
    ADD(&code, 0x84, 0xc0, 0x74, REPORT_SIZE + 3); /* test %al,%al; je */
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** `except`: the handler is not entered, whatever may fail there. */
static void test_exception_matches_nothing(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 6 + 4 + 2 * REPORT_SIZE + 6);
    ADD(&code, 0xff, 0x15); /* call *slot(%rip) */
    add_relative(&code, MATCHES_AT);
    ADD(&code, 0x85, 0xc0, 0x74, REPORT_SIZE + 3); /* test %eax,%eax; je */
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** The same by a stub of the linkage table, as several linkers write it. */
static void test_linkage_stubs(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[10];
        uint8_t size;
    } stubs[] = {
        {{0}, 0},
        {{0xf3, 0x0f, 0x1e, 0xfa}, 4},                          /* endbr64 */
        {{0xf3, 0x0f, 0x1e, 0xfa, 0xf2}, 5},                    /* and bnd */
        {{0x41, 0xbb, 7, 0, 0, 0}, 6},                          /* mov $7,%r11d */
        {{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 7, 0, 0, 0}, 10}, /* both */
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(stubs); i++) {
        struct code code = {.size = 0};
        uint64_t call = add_call(&code);
        add_test(&code, 5 + 4 + 2 * REPORT_SIZE + 6);
        ADD(&code, 0xe8); /* call stub */
        add_relative(&code, here(&code) + 4 + 4 + 2 * REPORT_SIZE + 9);
        ADD(&code, 0x85, 0xc0, 0x74, REPORT_SIZE + 3); /* test %eax,%eax; je */
        add_report(&code, NAME_F_AT, 20);
        add_return(&code);
        add_report(&code, NAME_F_AT, 10);
        add_return(&code);
        add_return(&code);
        add(&code, stubs[i].bytes, stubs[i].size);
        ADD(&code, 0xff, 0x25); /* jmp *slot(%rip) */
        add_relative(&code, MATCHES_AT);
        struct answer answer = ask(&code, call);
        assert_int_equal(answer.count, 1);
        check(&answer, 0, "pkg.mod.f", 10, true);
    }
}

/** CPython 3.8 has the result of each vectorcall handed on by a function that looks at it. */
static void test_result_that_is_handed_on(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    ADD(&code, 0x48, 0x89, 0xc6); /* mov %rax,%rsi */
    ADD(&code, 0xff, 0x15);       /* call *slot(%rip) */
    add_relative(&code, CHECK_AT);
    add_test(&code, REPORT_SIZE + 3);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** Free-threaded CPython lets go of objects by functions of its own, of any number of them. */
static void test_many_objects_are_let_go_of(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 8 * 6 + REPORT_SIZE);
    for (unsigned i = 0; i < 8; i++) {
        ADD(&code, 0xff, 0x15); /* call *slot(%rip) */
        add_relative(&code, MERGE_AT);
    }
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** A call that nothing is asked about: the next one's report is near, no more. */
static void test_estimate(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_call(&code);
    add_test(&code, REPORT_SIZE);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, false);
}

/** What -O0 makes of `if (!x)`: the condition as a number, a byte at first, that is tested then. */
static void test_condition_as_a_byte(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    ADD(&code, 0x48, 0x85, 0xc0);      /* test %rax,%rax */
    ADD(&code, 0x0f, 0x94, 0xc0);      /* sete %al */
    ADD(&code, 0x0f, 0xb6, 0xc0);      /* movzbl %al,%eax */
    ADD(&code, 0x48, 0x85, 0xc0);      /* test %rax,%rax */
    ADD(&code, 0x75, REPORT_SIZE + 3); /* jne to the second */
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    ADD(&code, 0x90, 0x90, 0x90, 0x90);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** The same of clang, by way of the stack: `!!` as two xor. */
static void test_condition_as_bits(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    ADD(&code, 0x48, 0x83, 0xf8, 0x00);             /* cmp $0,%rax */
    ADD(&code, 0x0f, 0x95, 0x44, 0x24, 0x08);       /* setne 8(%rsp) */
    ADD(&code, 0x8a, 0x44, 0x24, 0x08);             /* mov 8(%rsp),%al */
    ADD(&code, 0x34, 0xff, 0x34, 0xff, 0x34, 0xff); /* xor $0xff,%al, three times */
    ADD(&code, 0x24, 0x01);                         /* and $1,%al */
    ADD(&code, 0x0f, 0xb6, 0xc0, 0x48, 0x98);       /* movzbl %al,%eax; cltq */
    ADD(&code, 0x48, 0x83, 0xf8, 0x00);             /* cmp $0,%rax */
    ADD(&code, 0x75, REPORT_SIZE + 3);              /* jne to the second */
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

static void test_inlined(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 2 * REPORT_SIZE + 7);
    add_report(&code, NAME_G_AT, 5);
    ADD(&code, 0x31, 0xc0); /* xor %eax,%eax */
    add_test(&code, REPORT_SIZE);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 2);
    check(&answer, 0, "pkg.mod.g", 5, true);
    check(&answer, 1, "pkg.mod.f", 10, true);
    assert_false(answer.reports[0].outermost);
    assert_true(answer.reports[1].outermost);
}

/** The outer function goes on in `finally`: it takes the exception, by a call that may fail. */
static void test_inlined_in_finally(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 2 * REPORT_SIZE + 2);
    add_report(&code, NAME_G_AT, 5);
    add_call(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 2);
    check(&answer, 0, "pkg.mod.g", 5, true);
    check(&answer, 1, "pkg.mod.f", 10, true);
}

/** Behind it two lines may be reported. */
static void test_inlined_before_two_lines(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, 3 * REPORT_SIZE + 2 + 5 + 3);
    add_report(&code, NAME_G_AT, 5);
    add_call(&code);
    ADD(&code, 0x48, 0x85, 0xc9, 0x75, REPORT_SIZE + 3); /* test %rcx,%rcx; jne */
    add_report(&code, NAME_F_AT, 20);
    add_return(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 2);
    check(&answer, 0, "pkg.mod.g", 5, true);
    assert_false(answer.reports[1].direct);
}

/** What stands behind a call that does not return is not its way. */
static void test_no_return(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    ADD(&code, 0xe8);
    add_relative(&code, STOP_AT);
    uint64_t call = here(&code);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    assert_int_equal(ask(&code, call).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_call),
        cmocka_unit_test(test_call_before_the_report),
        cmocka_unit_test(test_nothing_fails_besides),
        cmocka_unit_test(test_another_failure),
        cmocka_unit_test(test_question_in_finally),
        cmocka_unit_test(test_question_behind_finally),
        cmocka_unit_test(test_fails_with_zero),
        cmocka_unit_test(test_above_zero),
        cmocka_unit_test(test_sign_as_number),
        cmocka_unit_test(test_exception_matches_nothing),
        cmocka_unit_test(test_linkage_stubs),
        cmocka_unit_test(test_result_that_is_handed_on),
        cmocka_unit_test(test_many_objects_are_let_go_of),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_condition_as_a_byte),
        cmocka_unit_test(test_condition_as_bits),
        cmocka_unit_test(test_inlined),
        cmocka_unit_test(test_inlined_in_finally),
        cmocka_unit_test(test_inlined_before_two_lines),
        cmocka_unit_test(test_no_return),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
