/* Where a generator's function stands that it has left: the call before the number is stored. */
#include "machine_code.h"

#define START  (CODE_AT + 0x100u)
#define OFFSET 0x78u

/** movl $label,0x78(%rbx); ret. */
#define STORE_SIZE 8

static void add_store(struct code *code, uint8_t label)
{
    ADD(code, 0xc7, 0x43, OFFSET, label, 0, 0, 0, 0xc3);
}

/** test %rdi,%rdi; je behind `size` bytes: two ways. */
static void add_fork(struct code *code, uint8_t size)
{
    ADD(code, 0x48, 0x85, 0xff, 0x74, size);
}

/** The address behind the call; 0: there is none. */
static uint64_t find(const struct code *code, uint32_t label, uint64_t offset)
{
    uint8_t *file = malloc(FILE_SIZE);
    assert_non_null(file);
    machine_file_make(file, code->bytes, code->size);
    struct reports *reports = reports_create(file, FILE_SIZE);
    assert_non_null(reports);
    uint64_t call = reports_find_suspension(reports, START, label, offset);
    reports_destroy(reports);
    free(file);
    return call ? call + 1 : 0;
}

static void test_last_call(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    add_call(&code);
    uint64_t call = add_call(&code);
    add_test(&code, REPORT_SIZE + 3);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    add_store(&code, 2);
    assert_int_equal(find(&code, 2, OFFSET), call);
    assert_int_equal(find(&code, 1, OFFSET), 0);
    assert_int_equal(find(&code, 2, OFFSET + 8), 0);
}

/** The place is reached from the number that was stored before: no way from the entry is seen. */
static void test_behind_a_switch(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    ADD(&code, 0xff, 0xe0); /* jmp *%rax */
    uint64_t call = add_call(&code);
    add_store(&code, 2);
    assert_int_equal(find(&code, 2, OFFSET), call);
}

/** Objects are let go of between the two: up to CPython 3.8 by call *0x30(%rax). */
static void test_before_cleanup(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_fork(&code, 3);
    ADD(&code, 0xff, 0x50, 0x30);
    add_store(&code, 1);
    assert_int_equal(find(&code, 1, OFFSET), call);
}

/** What is not behind a call is no `yield from`. */
static void test_without_a_call(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    add_fork(&code, 2);
    add_call(&code);
    add_store(&code, 1);
    assert_int_equal(find(&code, 1, OFFSET), 0);
}

static void test_two_stores(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    add_call(&code);
    add_fork(&code, STORE_SIZE);
    add_store(&code, 1);
    add_call(&code);
    add_store(&code, 1);
    assert_int_equal(find(&code, 1, OFFSET), 0);
}

/** Two calls lead to one store: of one line they are one place. */
static void check_two_calls(uint8_t second_line, bool found)
{
    const uint8_t part = 2 + 5 + REPORT_SIZE + 3;
    struct code code = {.size = 0};
    ADD(&code, 0x48, 0x85, 0xff, 0x74, (uint8_t)(part + 2));
    uint64_t call = add_call(&code);
    add_test(&code, REPORT_SIZE + 3);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    ADD(&code, 0xeb, part); /* jmp to the store */
    uint64_t other = add_call(&code);
    add_test(&code, REPORT_SIZE + 3);
    add_report(&code, NAME_F_AT, second_line);
    add_return(&code);
    add_store(&code, 1);
    uint64_t answer = find(&code, 1, OFFSET);
    assert_true(found ? answer == call || answer == other : !answer);
}

static void test_two_calls(void **state)
{
    (void)state;
    check_two_calls(10, true);
    check_two_calls(11, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_last_call),      cmocka_unit_test(test_behind_a_switch),
        cmocka_unit_test(test_before_cleanup), cmocka_unit_test(test_without_a_call),
        cmocka_unit_test(test_two_stores),     cmocka_unit_test(test_two_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
