/* Ways of an error through hand-made machine code. */
#include "machine_file.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>

/** Code that is being written, at CODE_AT + 0x100. */
struct code {
    uint8_t bytes[CODE_SIZE];
    size_t size;
};

static uint64_t here(const struct code *code)
{
    return CODE_AT + 0x100 + code->size;
}

static void add(struct code *code, const void *bytes, size_t size)
{
    memcpy(code->bytes + code->size, bytes, size);
    code->size += size;
}

#define ADD(code, ...) \
    add(code, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/** The four bytes that lead from behind them to an address. */
static void add_relative(struct code *code, uint64_t to)
{
    uint32_t distance = (uint32_t)(to - (here(code) + 4));
    add(code, &distance, sizeof(distance));
}

/** What follows the call stands at the address that is returned. */
static uint64_t add_call(struct code *code)
{
    ADD(code, 0xff, 0xd0); /* call *%rax */
    return here(code);
}

#define REPORT_SIZE 24

static void add_report(struct code *code, uint64_t name, uint8_t line)
{
    ADD(code, 0x48, 0x8d, 0x3d); /* lea name(%rip),%rdi */
    add_relative(code, name);
    ADD(code, 0xba, line, 0, 0, 0); /* mov $line,%edx */
    ADD(code, 0x48, 0x8d, 0x0d);    /* lea file(%rip),%rcx */
    add_relative(code, FILE_AT);
    ADD(code, 0xe8);
    add_relative(code, CODE_AT);
}

/** test %rax,%rax; jne behind `size` bytes. */
static void add_test(struct code *code, uint8_t size)
{
    ADD(code, 0x48, 0x85, 0xc0, 0x75, size);
}

static void add_return(struct code *code)
{
    ADD(code, 0x31, 0xc0, 0xc3); /* xor %eax,%eax; ret */
}

struct answer {
    struct machine_report reports[MACHINE_CHAIN_LIMIT];
    char names[MACHINE_CHAIN_LIMIT][16];
    size_t count;
};

/** The reports of the call that ends at `address`, of some code or in the body of a parallel block.
 */
static struct answer ask_with(const struct code *code, const struct code *body, uint64_t address)
{
    struct answer answer = {.count = 0};
    uint8_t *file = malloc(FILE_SIZE);
    assert_non_null(file);
    machine_file_make(file, code ? code->bytes : body->bytes, code ? code->size : 0);
    if (body) {
        machine_file_put_beginning(file);
        machine_file_put_body(file, body->bytes, body->size);
    }
    struct machine *machine = machine_create(file, FILE_SIZE);
    assert_non_null(machine);
    answer.count = machine_find_reports(machine, address - 1, answer.reports, MACHINE_CHAIN_LIMIT);
    for (size_t i = 0; i < answer.count; i++)
        if (answer.reports[i].name)
            strcpy(answer.names[i], answer.reports[i].name);
    machine_destroy(machine);
    free(file);
    return answer;
}

static struct answer ask(const struct code *code, uint64_t address)
{
    return ask_with(code, NULL, address);
}

static void check(const struct answer *answer, size_t index, const char *name, uint32_t line,
                  bool direct)
{
    assert_true(index < answer->count);
    assert_string_equal(answer->names[index], name);
    assert_int_equal(answer->reports[index].line, line);
    assert_int_equal(answer->reports[index].direct, direct);
}

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
    struct machine *machine = machine_create(file, FILE_SIZE);
    assert_non_null(machine);
    size_t count = machine_find_calls_before(machine, address - 1, ret, limit);
    machine_destroy(machine);
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

static struct machine *make(const struct code *code, uint8_t *file)
{
    machine_file_make(file, code->bytes, code->size);
    struct machine *machine = machine_create(file, FILE_SIZE);
    assert_non_null(machine);
    return machine;
}

/** A slot's function has its type's name, whatever it reports; but a method of it may be it. */
static void test_slot(void **state)
{
    (void)state;
    static uint8_t file[FILE_SIZE];
    struct code code = {.size = 0};
    uint64_t call = add_call(&code);
    add_test(&code, REPORT_SIZE);
    add_report(&code, NAME_F_AT, 10);
    add_return(&code);
    struct machine *machine = make(&code, file);
    const struct machine_entry *entry = machine_find_entry(machine, CODE_AT + 0x100);
    assert_non_null(entry);
    assert_int_equal(entry->kind, MACHINE_SLOT);
    assert_string_equal(entry->type, "pkg.mod.Cls");
    struct arena *arena = arena_create();
    struct cython_code levels[4];
    size_t count = cython_machine_find(machine, "pkg.mod", call - 1, arena, levels, 4);
    assert_int_equal(count, 2);
    assert_string_equal(levels[0].function, "f");
    assert_int_equal(levels[0].line, 10);
    assert_string_equal(levels[1].function, "Cls.__repr__");
    assert_int_equal(levels[1].kind, CYTHON_SLOT);
    arena_destroy(arena);
    machine_destroy(machine);
}

static void add_load(struct code *code, uint8_t which, uint64_t to)
{
    ADD(code, 0x48, 0x8d, which);
    add_relative(code, to);
}

static void take_export(void *context, struct machine_entry entry)
{
    *(struct machine_entry *)context = entry;
}

/** __Pyx_ExportFunction("g", function, "int (int)") */
static void test_export(void **state)
{
    (void)state;
    static uint8_t file[FILE_SIZE];
    struct code code = {.size = 0};
    add_load(&code, 0x15, CALL_AT);
    add_load(&code, 0x35, CODE_AT + 0x100);
    add_load(&code, 0x3d, PLAIN_AT);
    add_call(&code);
    struct machine_entry found = {.name = NULL};
    struct machine *machine = make(&code, file);
    machine_each_export(&machine->image, &found, take_export);
    assert_null(found.name); /* The call is none of an address. */
    machine_destroy(machine);
    code.size -= 2;
    ADD(&code, 0xe8);
    add_relative(&code, CODE_AT);
    machine = make(&code, file);
    machine_each_export(&machine->image, &found, take_export);
    assert_string_equal(found.name, "g");
    assert_int_equal(found.function, CODE_AT + 0x100);
    assert_int_equal(found.kind, MACHINE_EXPORT);
    machine_destroy(machine);
}

static void check_traceback(const char *name, const char *module, const char *file,
                            const char *expected)
{
    struct arena *arena = arena_create();
    assert_string_equal(cython_traceback_function(name, module, file, arena), expected);
    arena_destroy(arena);
}

/** A function of another module's .pxd was inlined. */
static void test_name_of_another_module(void **state)
{
    (void)state;
    check_traceback("pkg.mod.Cls.f", "pkg.mod", "pkg/mod.pyx", "Cls.f");
    check_traceback("pkg.other.Cls.f", "pkg.mod", "pkg/buffer.pxd", "Cls.f");
    check_traceback("pkg.other.f", "pkg.mod", "src/pkg/buffer.pxd", "f");
    check_traceback("numpy.f", "pkg.mod", "/usr/lib/numpy/__init__.pxd", "f");
    check_traceback("strange.other.f", "pkg.mod", "pkg/buffer.pxd", "strange.other.f");
    check_traceback("pkg.f", "pkg.mod", "pkg/buffer.pxd", "pkg.f");
    check_traceback("other.f", "pkg.mod", "other.pxd", "f");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_call),
        cmocka_unit_test(test_call_before_the_report),
        cmocka_unit_test(test_nothing_fails_besides),
        cmocka_unit_test(test_fails_with_zero),
        cmocka_unit_test(test_above_zero),
        cmocka_unit_test(test_sign_as_number),
        cmocka_unit_test(test_exception_matches_nothing),
        cmocka_unit_test(test_result_that_is_handed_on),
        cmocka_unit_test(test_estimate),
        cmocka_unit_test(test_condition_as_a_byte),
        cmocka_unit_test(test_condition_as_bits),
        cmocka_unit_test(test_inlined),
        cmocka_unit_test(test_no_return),
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
        cmocka_unit_test(test_slot),
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_name_of_another_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
