#include "disassembler.h"

#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What is read without capstone is what is read with it: of real code, and of bytes at random. */

#define ADDRESS        0x7f1234560000u
#define LONGEST        15u
#define REAL_LIMIT     400000u
#define RANDOM_ROUNDS  400000u
#define SHORTENED_EACH 64u

struct comparison {
    struct disassembler *disassembler;
    size_t compared;
    size_t read;
};

static bool is_same_operand(const struct operand *a, const struct operand *b)
{
    return a->kind == b->kind && a->register_number == b->register_number && a->width == b->width &&
           a->high == b->high && a->number == b->number;
}

static bool is_same(const struct instruction *a, const struct instruction *b)
{
    return a->address == b->address && a->size == b->size && a->verb == b->verb &&
           a->condition == b->condition && a->change == b->change && a->written == b->written &&
           a->written_vectors == b->written_vectors && is_same_operand(&a->to, &b->to) &&
           is_same_operand(&a->from, &b->from);
}

static void print(const char *title, const struct instruction *told)
{
    const struct operand *operands[] = {&told->to, &told->from};
    printf("%s: size %u verb %u condition %u change %u", title, told->size, told->verb,
           told->condition, told->change);
    for (size_t i = 0; i < 2; i++)
        printf("; %u register %u width %u high %d number %#llx", operands[i]->kind,
               operands[i]->register_number, operands[i]->width, operands[i]->high,
               (unsigned long long)operands[i]->number);
    printf("\n");
}

static void compare(struct comparison *comparison, const uint8_t *bytes, size_t size)
{
    struct instruction quick = {.address = ADDRESS}, whole;
    comparison->compared++;
    if (!x86_decode_common(bytes, size, &quick))
        return;
    comparison->read++;
    assert_in_range(quick.size, 1, size);
    bool known = disassembler_decode_any(comparison->disassembler, bytes, size, ADDRESS, &whole);
    if (known && is_same(&quick, &whole))
        return;
    for (size_t i = 0; i < size; i++)
        printf("%02x ", bytes[i]);
    printf("\n");
    print("read", &quick);
    print("capstone", &whole);
    fail_msg("the two differ");
}

/** A dl_iterate_phdr(3) callback: each byte of code may begin an instruction. */
static int compare_code(struct dl_phdr_info *info, size_t size, void *context)
{
    struct comparison *comparison = context;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        // The vDSO's and this program's own code have nothing that libraries do not have.
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || !*info->dlpi_name)
            continue;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        const uint8_t *code = (const uint8_t *)(info->dlpi_addr + segment->p_vaddr);
        for (size_t at = 0; at < REAL_LIMIT && at + LONGEST <= segment->p_memsz; at++)
            compare(comparison, code + at, LONGEST);
    }
    return 0;
}

static void open_one(struct comparison *ret)
{
    *ret = (struct comparison){NULL, 0, 0};
    assert_int_equal(disassembler_open(EM_X86_64, &ret->disassembler), PSC_OK);
}

static void test_real_code(void **state)
{
    (void)state;
    struct comparison comparison;
    open_one(&comparison);
    dl_iterate_phdr(compare_code, &comparison);
    assert_true(comparison.compared > 200000);
    // It is worth something: most of what is in code is read.
    assert_true(comparison.read * 3 > comparison.compared);
    disassembler_close(comparison.disassembler);
}

/** Opcodes that are read, with all that may stand before and behind them; and cut ones. */
static void test_random_bytes(void **state)
{
    (void)state;
    struct comparison comparison;
    open_one(&comparison);
    srandom(7);
    for (size_t round = 0; round < RANDOM_ROUNDS; round++) {
        uint8_t bytes[LONGEST];
        for (size_t i = 0; i < LONGEST; i++)
            bytes[i] = (uint8_t)random();
        if (round & 1)
            bytes[0] = (uint8_t)(0x40 | (bytes[0] & 15));
        // Exactly as much as there is: a sanitizer sees what is read behind it.
        size_t size = round % SHORTENED_EACH ? LONGEST : 1 + bytes[LONGEST - 1] % LONGEST;
        uint8_t *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, bytes, size);
        compare(&comparison, copy, size);
        free(copy);
    }
    assert_true(comparison.read > RANDOM_ROUNDS / 10);
    disassembler_close(comparison.disassembler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_real_code),
        cmocka_unit_test(test_random_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
