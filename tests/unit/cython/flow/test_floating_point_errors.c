/* Failures that a floating-point number tells. */
#include "machine_code.h"

/** What a comparison with a `double` or `float` of these bytes behind the code makes of a call. */
static struct answer ask_real(struct code *code, uint64_t call, const void *number, size_t size)
{
    const size_t to_second = REPORT_SIZE + 3, to_end = 8 + 2 * to_second;
    if (size == 8)
        ADD(code, 0x66);
    ADD(code, 0x0f, 0x2e, 0x05); /* ucomisd or ucomiss number(%rip),%xmm0 */
    add_relative(code, here(code) + to_end);
    ADD(code, 0x7a, (uint8_t)(to_second + 2), 0x75, (uint8_t)to_second); /* jp; jne */
    add_report(code, NAME_F_AT, 10);
    add_return(code);
    add_report(code, NAME_F_AT, 20);
    add_return(code);
    add(code, number, size);
    return ask(code, call);
}

/** `except -1` of a double: nobody asks for the exception then. */
static void test_failed_double(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    const double number = -1;
    uint64_t call = add_call(&code);
    struct answer answer = ask_real(&code, call, &number, sizeof(number));
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

static void test_failed_float(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    const float number = -1;
    uint64_t call = add_call(&code);
    struct answer answer = ask_real(&code, call, &number, sizeof(number));
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** -O0 takes it by way of a general register and the stack. */
static void test_failed_double_on_the_stack(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    const double number = -1;
    uint64_t call = add_call(&code);
    ADD(&code, 0x66, 0x48, 0x0f, 0x7e, 0xc0);       /* movq %xmm0,%rax */
    ADD(&code, 0x48, 0x89, 0x44, 0x24, 0x08);       /* mov %rax,8(%rsp) */
    ADD(&code, 0x66, 0x0f, 0x57, 0xc0);             /* xorpd %xmm0,%xmm0 */
    ADD(&code, 0xf2, 0x0f, 0x10, 0x4c, 0x24, 0x08); /* movsd 8(%rsp),%xmm1 */
    ADD(&code, 0x66, 0x0f, 0x28, 0xc1);             /* movapd %xmm1,%xmm0 */
    struct answer answer = ask_real(&code, call, &number, sizeof(number));
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/** Of other numbers the comparison may be one that the user wrote. */
static void test_double_that_is_compared(void **state)
{
    (void)state;
    const double numbers[] = {0, 1, -2};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(numbers); i++) {
        struct code code = {.size = 0};
        uint64_t call = add_call(&code);
        struct answer answer = ask_real(&code, call, &numbers[i], sizeof(numbers[i]));
        assert_int_equal(answer.count, 1);
        assert_false(answer.reports[0].direct);
    }
}

/** What was computed from it is no sign of a failure. */
static void test_double_that_is_changed(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    const double number = -1;
    uint64_t call = add_call(&code);
    ADD(&code, 0xf2, 0x0f, 0x58, 0xc1); /* addsd %xmm1,%xmm0 */
    struct answer answer = ask_real(&code, call, &number, sizeof(number));
    assert_int_equal(answer.count, 1);
    assert_false(answer.reports[0].direct);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_double),
        cmocka_unit_test(test_failed_float),
        cmocka_unit_test(test_failed_double_on_the_stack),
        cmocka_unit_test(test_double_that_is_compared),
        cmocka_unit_test(test_double_that_is_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
