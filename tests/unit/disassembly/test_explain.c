#include "disassembly.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP };
#define R MEMORY_ACCESS_READ
#define W MEMORY_ACCESS_WRITE

/* What objdump (binutils 2.40) makes of the bytes, and what the instruction does to memory. */
static const struct {
    const char *bytes;
    size_t size;
    const char *text;
    enum explained_kind kind;
    struct {
        int base;
        int64_t displacement;
        unsigned width;
        unsigned access;
    } memory[2];
} known[] = {
#define BYTES(string) string, sizeof(string) - 1
    {BYTES("\x48\x89\x43\x18"), "mov %rax,0x18(%rbx)", EXPLAINED_PLAIN, {{RBX, 0x18, 8, W}}},
    {BYTES("\x48\x8b\x10"), "mov (%rax),%rdx", EXPLAINED_PLAIN, {{RAX, 0, 8, R}}},
    {BYTES("\xc7\x00\x05\x00\x00\x00"), "movl $0x5,(%rax)", EXPLAINED_PLAIN, {{RAX, 0, 4, W}}},
    {BYTES("\x48\xc7\x44\xcb\x08\x00\x00\x00\x00"),
     "movq $0x0,0x8(%rbx,%rcx,8)",
     EXPLAINED_PLAIN,
     {{RBX, 8, 8, W}}},
    {BYTES("\x48\x01\x01"), "add %rax,(%rcx)", EXPLAINED_PLAIN, {{RCX, 0, 8, R | W}}},
    {BYTES("\xf0\x48\x0f\xb1\x11"),
     "lock cmpxchg %rdx,(%rcx)",
     EXPLAINED_PLAIN,
     {{RCX, 0, 8, R | W}}},
    {BYTES("\xf6\x80\xa8\x00\x00\x00\x01"),
     "testb $0x1,0xa8(%rax)",
     EXPLAINED_PLAIN,
     {{RAX, 0xa8, 1, R}}},
    {BYTES("\x55"), "push %rbp", EXPLAINED_PLAIN, {{RSP, -8, 8, W}}},
    {BYTES("\x8f\x44\x24\x08"),
     "pop 0x8(%rsp)",
     EXPLAINED_PLAIN,
     {{RSP, 16, 8, W}, {RSP, 0, 8, R}}},
    {BYTES("\xff\xd0"), "call *%rax", EXPLAINED_CALL, {{RSP, -8, 8, W}}},
    {BYTES("\xff\x50\x30"),
     "call *0x30(%rax)",
     EXPLAINED_CALL,
     {{RAX, 0x30, 8, R}, {RSP, -8, 8, W}}},
    {BYTES("\xc3"), "ret", EXPLAINED_RETURN, {{RSP, 0, 8, R}}},
    {BYTES("\xf3\xa4"),
     "rep movsb %ds:(%rsi),%es:(%rdi)",
     EXPLAINED_PLAIN,
     {{RDI, 0, 1, W}, {RSI, 0, 1, R}}},
    {BYTES("\xf3\x48\xab"), "rep stos %rax,%es:(%rdi)", EXPLAINED_PLAIN, {{RDI, 0, 8, W}}},
    {BYTES("\x48\xf7\xfe"), "idiv %rsi", EXPLAINED_DIVISION, {{0}}},
    {BYTES("\xf4"), "hlt", EXPLAINED_PRIVILEGED, {{0}}},
    {BYTES("\xcc"), "int3", EXPLAINED_TRAP, {{0}}},
    {BYTES("\x0f\x0b"), "ud2", EXPLAINED_UNDEFINED, {{0}}},
    {BYTES("\x0f\x05"), "syscall", EXPLAINED_SYSTEM_CALL, {{0}}},
    {BYTES("\x0f\x11\x47\x10"), "movups %xmm0,0x10(%rdi)", EXPLAINED_PLAIN, {{RDI, 0x10, 16, W}}},
    {BYTES("\x0f\x28\x08"), "movaps (%rax),%xmm1", EXPLAINED_PLAIN, {{RAX, 0, 16, R}}},
    {BYTES("\xc5\xfe\x7f\x07"), "vmovdqu %ymm0,(%rdi)", EXPLAINED_PLAIN, {{RDI, 0, 32, W}}},
    {BYTES("\xc5\xfe\x6f\x06"), "vmovdqu (%rsi),%ymm0", EXPLAINED_PLAIN, {{RSI, 0, 32, R}}},
    {BYTES("\xdd\x58\x08"), "fstpl 0x8(%rax)", EXPLAINED_PLAIN, {{RAX, 8, 8, W}}},
    {BYTES("\x48\x8d\x58\x08"), "lea 0x8(%rax),%rbx", EXPLAINED_PLAIN, {{0}}},
};

static struct disassembler *opened(void)
{
    struct disassembler *disassembler = NULL;
    assert_int_equal(disassembler_open(EM_X86_64, &disassembler), PSC_OK);
    return disassembler;
}

static void test_texts_and_memory(void **state)
{
    (void)state;
    struct disassembler *disassembler = opened();
    for (size_t i = 0; i < PSC_ARRAY_SIZE(known); i++) {
        struct explained_instruction told;
        assert_true(disassembler_explain(disassembler, (const uint8_t *)known[i].bytes,
                                         known[i].size, 0x1000, &told));
        assert_string_equal(told.text, known[i].text);
        assert_int_equal(told.kind, known[i].kind);
        assert_int_equal(told.size, known[i].size);
        assert_false(told.opaque);
        for (size_t j = 0; j < 2 && known[i].memory[j].access; j++) {
            assert_true(j < told.memory_count);
            assert_int_equal(told.memory[j].base, known[i].memory[j].base);
            assert_int_equal(told.memory[j].displacement, known[i].memory[j].displacement);
            assert_int_equal(told.memory[j].width, known[i].memory[j].width);
            assert_int_equal(told.memory[j].access, known[i].memory[j].access);
        }
    }
    disassembler_close(disassembler);
}

static void test_registers_that_are_read(void **state)
{
    (void)state;
    struct disassembler *disassembler = opened();
    struct explained_instruction told;
    // mov %rax,0x18(%rbx); mov (%rax),%rdx; ret
    assert_true(
        disassembler_explain(disassembler, (const uint8_t *)"\x48\x89\x43\x18", 4, 0, &told));
    assert_int_equal(told.named_count, 2);
    assert_string_equal(disassembler_register_name(disassembler, told.registers[0]), "rbx");
    assert_string_equal(disassembler_register_name(disassembler, told.registers[1]), "rax");
    assert_true(disassembler_explain(disassembler, (const uint8_t *)"\x48\x8b\x10", 3, 0, &told));
    assert_int_equal(told.named_count, 1);
    assert_true(disassembler_explain(disassembler, (const uint8_t *)"\xc3", 1, 0, &told));
    assert_int_equal(told.named_count, 0);
    assert_int_equal(told.register_count, 1);
    assert_null(disassembler_register_name(disassembler, 99));
    disassembler_close(disassembler);
}

static void test_what_is_not_told(void **state)
{
    (void)state;
    struct disassembler *disassembler = opened();
    struct explained_instruction told;
    // vgatherdps %ymm0,(%rax,%ymm1,4),%ymm2; bt %rax,(%rcx); nothing
    assert_true(disassembler_explain(disassembler, (const uint8_t *)"\xc4\xe2\x7d\x92\x14\x88", 6,
                                     0, &told));
    assert_true(told.opaque);
    assert_true(
        disassembler_explain(disassembler, (const uint8_t *)"\x48\x0f\xa3\x01", 4, 0, &told));
    assert_true(told.opaque);
    assert_false(disassembler_explain(disassembler, (const uint8_t *)"\x06", 1, 0, &told));
    assert_false(disassembler_explain(disassembler, (const uint8_t *)"\x48", 1, 0, &told));
    // movaps has to be aligned, movups and vaddps not.
    assert_true(disassembler_explain(disassembler, (const uint8_t *)"\x0f\x28\x08", 3, 0, &told));
    assert_int_equal(told.alignment, 16);
    assert_true(disassembler_explain(disassembler, (const uint8_t *)"\x0f\x10\x08", 3, 0, &told));
    assert_int_equal(told.alignment, 1);
    assert_true(
        disassembler_explain(disassembler, (const uint8_t *)"\xc5\xf0\x58\x00", 4, 0, &told));
    assert_int_equal(told.alignment, 1);
    disassembler_close(disassembler);
}

/* AVX-512's, as glibc's string functions have them; objdump's text stands beside each. */
static void test_newer_than_the_disassembler(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        int base, index, scale;
        int64_t displacement;
        unsigned width, access;
    } newer[] = {
        // vpcmpeqb (%rdi),%ymm16,%k0, as the immediate form has it
        {BYTES("\x62\xf3\x7d\x20\x3f\x07\x00"), RDI, -1, 1, 0, 32, R},
        // vpcmpeqb 0x20(%rdi),%ymm16,%k0
        {BYTES("\x62\xf1\x7d\x20\x74\x47\x01"), RDI, -1, 1, 32, 32, R},
        // vpcmpeqb 0x1234(%rsi,%rcx,4),%zmm17,%k1
        {BYTES("\x62\xf1\x75\x40\x74\x8c\x8e\x34\x12\x00\x00"), RSI, RCX, 4, 0x1234, 64, R},
        // vpcmpneqb (%rax),%ymm16,%k0
        {BYTES("\x62\xf3\x7d\x20\x3f\x00\x04"), RAX, -1, 1, 0, 32, R},
        // vptestnmb (%rdi),%zmm16,%k0
        {BYTES("\x62\xf2\x7e\x40\x26\x07"), RDI, -1, 1, 0, 64, R},
        // vpminub 0x40(%r13),%ymm16,%ymm17
        {BYTES("\x62\xc1\x7d\x20\xda\x4d\x02"), 13, -1, 1, 64, 32, R},
        // vmovdqu8 -0x40(%rsi,%rdx,1),%zmm18
        {BYTES("\x62\xe1\x7f\x48\x6f\x54\x16\xff"), RSI, RDX, 1, -64, 64, R},
    };
    struct disassembler *disassembler = opened();
    struct explained_instruction told;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(newer); i++) {
        assert_true(disassembler_explain(disassembler, (const uint8_t *)newer[i].bytes,
                                         newer[i].size, 0x1000, &told));
        assert_false(told.opaque);
        if (!told.unknown) // A later disassembler knows it.
            continue;
        assert_int_equal(told.size, newer[i].size);
        assert_int_equal(told.memory_count, 1);
        assert_int_equal(told.memory[0].base, newer[i].base);
        assert_int_equal(told.memory[0].index, newer[i].index);
        assert_int_equal(told.memory[0].scale, newer[i].scale);
        assert_int_equal(told.memory[0].displacement, newer[i].displacement);
        assert_int_equal(told.memory[0].width, newer[i].width);
        assert_int_equal(told.memory[0].access, newer[i].access);
    }
    // vmovdqu8 (%rsi),%xmm18{%k1}; and one that is cut off
    assert_true(disassembler_explain(disassembler, (const uint8_t *)"\x62\xe1\x7f\x09\x6f\x16", 6,
                                     0, &told));
    assert_true(told.opaque);
    assert_false(disassembler_explain(disassembler, (const uint8_t *)"\x62\xf1\x7d", 3, 0, &told));
    disassembler_close(disassembler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_and_memory),
        cmocka_unit_test(test_registers_that_are_read),
        cmocka_unit_test(test_what_is_not_told),
        cmocka_unit_test(test_newer_than_the_disassembler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
