/**
 * @file
 * Private to the tests of machine code: a function is written byte by byte into the file of
 * machine_file.h, and asked what its errors report.
 */
#ifndef PSC_MACHINE_CODE_H
#define PSC_MACHINE_CODE_H

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

static inline uint64_t here(const struct code *code)
{
    return CODE_AT + 0x100 + code->size;
}

static inline void add(struct code *code, const void *bytes, size_t size)
{
    memcpy(code->bytes + code->size, bytes, size);
    code->size += size;
}

#define ADD(code, ...) \
    add(code, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/** The four bytes that lead from behind them to an address. */
static inline void add_relative(struct code *code, uint64_t to)
{
    uint32_t distance = (uint32_t)(to - (here(code) + 4));
    add(code, &distance, sizeof(distance));
}

/** What follows the call stands at the address that is returned. */
static inline uint64_t add_call(struct code *code)
{
    ADD(code, 0xff, 0xd0); /* call *%rax */
    return here(code);
}

#define REPORT_SIZE 24

static inline void add_report(struct code *code, uint64_t name, uint8_t line)
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
static inline void add_test(struct code *code, uint8_t size)
{
    ADD(code, 0x48, 0x85, 0xc0, 0x75, size);
}

static inline void add_return(struct code *code)
{
    ADD(code, 0x31, 0xc0, 0xc3); /* xor %eax,%eax; ret */
}

struct answer {
    struct error_report reports[REPORTS_CHAIN_LIMIT];
    char names[REPORTS_CHAIN_LIMIT][16];
    size_t count;
};

/** The reports of the call that ends at `address`, of some code or in the body of a parallel block.
 */
static inline struct answer ask_with(const struct code *code, const struct code *body,
                                     uint64_t address)
{
    struct answer answer = {.count = 0};
    uint8_t *file = malloc(FILE_SIZE);
    assert_non_null(file);
    machine_file_make(file, code ? code->bytes : body->bytes, code ? code->size : 0);
    if (body) {
        machine_file_put_beginning(file);
        machine_file_put_body(file, body->bytes, body->size);
    }
    struct reports *reports = reports_create(file, FILE_SIZE);
    assert_non_null(reports);
    answer.count = reports_find(reports, address - 1, answer.reports, REPORTS_CHAIN_LIMIT);
    for (size_t i = 0; i < answer.count; i++)
        if (answer.reports[i].name)
            strcpy(answer.names[i], answer.reports[i].name);
    reports_destroy(reports);
    free(file);
    return answer;
}

static inline struct answer ask(const struct code *code, uint64_t address)
{
    return ask_with(code, NULL, address);
}

static inline void check(const struct answer *answer, size_t index, const char *name, uint32_t line,
                         bool direct)
{
    assert_true(index < answer->count);
    assert_string_equal(answer->names[index], name);
    assert_int_equal(answer->reports[index].line, line);
    assert_int_equal(answer->reports[index].direct, direct);
}

#endif
