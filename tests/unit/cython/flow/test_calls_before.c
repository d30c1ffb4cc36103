/* What happened before a call decides what its error reports, or how near a line is. */
#include "machine_code.h"

/* ---- what was loaded before the call ---- */

#define LOADED_SIZE (REPORT_SIZE - 5)

/** A report whose line is in a register or on the stack: `load` moves it to %edx. */
static void add_loaded_report(struct code *code, const uint8_t *load, size_t size)
{
    ADD(code, 0x48, 0x8d, 0x3d); /* lea name(%rip),%rdi */
    add_relative(code, NAME_F_AT);
    add(code, load, size);
    ADD(code, 0x48, 0x8d, 0x0d); /* lea file(%rip),%rcx */
    add_relative(code, FILE_AT);
    ADD(code, 0xe8);
    add_relative(code, CODE_AT);
    add_return(code);
}

static const uint8_t from_rbx[] = {0x89, 0xda};               /* mov %ebx,%edx */
static const uint8_t from_stack[] = {0x8b, 0x54, 0x24, 0x08}; /* mov 8(%rsp),%edx */

/** test %rdi,%rdi; je behind `size` bytes: two ways. */
static void add_fork(struct code *code, uint8_t size)
{
    ADD(code, 0x48, 0x85, 0xff, 0x74, size);
}

static void add_line_in_rbx(struct code *code, uint8_t line)
{
    ADD(code, 0xbb, line, 0, 0, 0); /* mov $line,%ebx */
}

static void check_loaded(struct code *code, const uint8_t *load, size_t size, uint32_t line)
{
    uint64_t call = add_call(code);
    add_test(code, (uint8_t)(LOADED_SIZE + size));
    add_loaded_report(code, load, size);
    add_return(code);
    struct answer answer = ask(code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", line, true);
}

static void test_line_in_a_register(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    add_line_in_rbx(&code, 10);
    add_fork(&code, 2);
    add_call(&code); /* It keeps the register. */
    check_loaded(&code, from_rbx, sizeof(from_rbx), 10);
}

/** Ways that bring the same, and ways that do not: what is not certain is not told. */
static void test_lines_of_two_ways(void **state)
{
    (void)state;
    for (uint8_t other = 10; other < 12; other++) {
        struct code code = {.size = 0};
        add_fork(&code, 5 + 2);
        add_line_in_rbx(&code, 10);
        ADD(&code, 0xeb, 5); /* jmp behind the other */
        add_line_in_rbx(&code, other);
        check_loaded(&code, from_rbx, sizeof(from_rbx), other == 10 ? 10 : 0);
    }
}

/** The call is in a loop whose end brings another line. */
static void test_line_in_a_loop(void **state)
{
    (void)state;
    for (uint8_t other = 10; other < 12; other++) {
        struct code code = {.size = 0};
        add_line_in_rbx(&code, 10);
        uint64_t call = add_call(&code);
        uint8_t size = (uint8_t)(LOADED_SIZE + sizeof(from_rbx) + 3);
        add_test(&code, size);
        add_loaded_report(&code, from_rbx, sizeof(from_rbx));
        add_line_in_rbx(&code, other);
        ADD(&code, 0xeb, (uint8_t)(0 - 2 - 5 - size - 5 - 2)); /* jmp to the call */
        struct answer answer = ask(&code, call);
        assert_int_equal(answer.count, 1);
        check(&answer, 0, "pkg.mod.f", other == 10 ? 10 : 0, true);
    }
}

static void test_line_on_the_stack(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    ADD(&code, 0x48, 0x83, 0xec, 0x10);              /* sub $16,%rsp */
    ADD(&code, 0xc7, 0x44, 0x24, 0x08, 10, 0, 0, 0); /* movl $10,8(%rsp) */
    add_fork(&code, 3);
    ADD(&code, 0x50, 0x58, 0x90); /* push %rax; pop %rax; nop */
    check_loaded(&code, from_stack, sizeof(from_stack), 10);
}

/** A `switch` leads to where the line is set, and to where it is not. */
static void test_line_behind_a_switch(void **state)
{
    (void)state;
    for (uint8_t other = 10; other < 12; other++) {
        struct code code = {.size = 0};
        ADD(&code, 0xeb, 3 + 8); /* jmp over the table */
        ADD(&code, 0x90, 0x90, 0x90);
        uint64_t table = here(&code);
        size_t at = code.size;
        ADD(&code, 0, 0, 0, 0, 0, 0, 0, 0);
        ADD(&code, 0x48, 0x8d, 0x05); /* lea table(%rip),%rax */
        add_relative(&code, table);
        ADD(&code, 0x48, 0x63, 0x0c, 0xb8, 0x48, 0x01, 0xc1); /* movslq (%rax,%rdi,4),%rcx; add */
        ADD(&code, 0xff, 0xe1);                               /* jmp *%rcx */
        uint32_t first = (uint32_t)(here(&code) - table), second = first + 7;
        add_line_in_rbx(&code, 10);
        ADD(&code, 0xeb, 5);
        add_line_in_rbx(&code, other);
        memcpy(code.bytes + at, &first, sizeof(first));
        memcpy(code.bytes + at + 4, &second, sizeof(second));
        check_loaded(&code, from_rbx, sizeof(from_rbx), other == 10 ? 10 : 0);
    }
}

static void test_endless(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, REPORT_SIZE + 2);
    add_report(&code, NAME_F_AT, 10);
    ADD(&code, 0xeb, (uint8_t)(0 - REPORT_SIZE - 2)); /* jmp to the report */
    add_return(&code);
    struct answer answer = ask(&code, call);
    assert_int_equal(answer.count, 1);
    check(&answer, 0, "pkg.mod.f", 10, true);
}

/* ---- parallel blocks ---- */

/** In it a call fails, then the line goes to `offset` of what is shared; `line` as 8 bytes. */
static void add_body(struct code *code, uint8_t line, uint8_t offset)
{
    uint32_t matches = MATCHES_AT - (BODY_AT + 32);
    ADD(code, 0x53);                               /* push %rbx */
    ADD(code, 0x48, 0x89, 0xfb);                   /* mov %rdi,%rbx */
    ADD(code, 0xff, 0xd0);                         /* call *%rax */
    ADD(code, 0x48, 0x85, 0xc0);                   /* test %rax,%rax */
    ADD(code, 0x75, 0x16);                         /* jne to the end */
    ADD(code, 0xb8, line, 0, 0, 0);                /* mov $line,%eax */
    ADD(code, 0xf0, 0x48, 0x83, 0x0c, 0x24, 0x00); /* lock orq $0,(%rsp) */
    ADD(code, 0x48, 0x89, 0x43, offset);           /* mov %rax,offset(%rbx) */
    ADD(code, 0xff, 0x15);                         /* call *PyErr_ExceptionMatches(%rip) */
    add(code, &matches, sizeof(matches));
    ADD(code, 0x90, 0x5b, 0xc3); /* nop; pop %rbx; ret */
}

static void test_parallel_block(void **state)
{
    (void)state;
    struct code body = {.size = 0};
    add_body(&body, 77, 0x10);
    struct answer answer = ask_with(NULL, &body, BODY_AT + 6);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.reports[0].line, 77);
    assert_true(answer.reports[0].kept && answer.reports[0].direct);
    assert_null(answer.reports[0].name);
}

/** What is stored elsewhere is not what the function reports. */
static void test_parallel_block_elsewhere(void **state)
{
    (void)state;
    struct code body = {.size = 0};
    add_body(&body, 77, 0x18);
    struct answer answer = ask_with(NULL, &body, BODY_AT + 6);
    assert_int_equal(answer.count, 0);
}

/* ---- what came before ---- */

static size_t find_before(const struct code *code, uint64_t address, uint64_t *ret, size_t limit)
{
    uint8_t *file = malloc(FILE_SIZE);
    assert_non_null(file);
    machine_file_make(file, code->bytes, code->size);
    struct reports *reports = reports_create(file, FILE_SIZE);
    assert_non_null(reports);
    size_t count = flow_find_calls_before(&reports->flow, address - 1, ret, limit);
    reports_destroy(reports);
    free(file);
    return count;
}

/** Those that no way goes around, the last one first. */
static void test_calls_before(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t found[2];
    add_call(&code);
    uint64_t second = add_call(&code);
    uint64_t third = add_call(&code);
    add_test(&code, 2);
    add_call(&code); /* One goes around it. */
    add_test(&code, 5);
    ADD(&code, 0xe8); /* What does not return is on no way on. */
    add_relative(&code, STOP_AT);
    uint64_t last = add_call(&code);
    add_test(&code, 0xf9); /* A loop. */
    add_return(&code);
    assert_int_equal(find_before(&code, last, found, 2), 2);
    assert_int_equal(found[0], third - 1);
    assert_int_equal(found[1], second - 1);
}

static void test_nothing_before(void **state)
{
    (void)state;
    struct code code = {.size = 0};
    uint64_t found[2];
    ADD(&code, 0xeb, 0x02); /* jmp over the call */
    add_call(&code);
    uint64_t call = add_call(&code);
    assert_int_equal(find_before(&code, call, found, 2), 0);
    assert_int_equal(find_before(&code, call - 2, found, 2), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_in_a_register),
        cmocka_unit_test(test_lines_of_two_ways),
        cmocka_unit_test(test_line_in_a_loop),
        cmocka_unit_test(test_line_on_the_stack),
        cmocka_unit_test(test_line_behind_a_switch),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_parallel_block),
        cmocka_unit_test(test_parallel_block_elsewhere),
        cmocka_unit_test(test_calls_before),
        cmocka_unit_test(test_nothing_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
