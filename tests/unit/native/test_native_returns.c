/**
 * @file
 * Ways out of functions: code made by hand, and the rules that compilers wrote for the code of
 * this process, instruction by instruction.
 */
#include "disassembly.h"
#include "native_private.h"
#include "test_modules_self.h"
#include "x86_64_registers.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define WORDS 0x20000u

struct world {
    struct target *target;
    struct modules *modules;
    struct native *native;
    uint64_t stack[WORDS];
    uint8_t *code;
    bool sure;
};

/* Behind a call: what all words of the stack say. */
static psc_addr returns_to;

static int create_world(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    world->code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(world->code != MAP_FAILED);
    memset(world->code, 0xcc, 4096);
    memcpy(world->code + 0x800, "\xe8\0\0\0\0", 5);
    returns_to = (psc_addr)(uintptr_t)world->code + 0x805;
    for (size_t i = 0; i < WORDS; i++)
        world->stack[i] = returns_to;
    world->target = self_open();
    world->modules = self_modules(world->target);
    assert_int_equal(
        native_create(world->target, world->modules, PSC_UNWINDER_LIBUNWIND, &world->native, NULL),
        PSC_OK);
    *state = world;
    return 0;
}

static int destroy_world(void **state)
{
    struct world *world = *state;
    native_destroy(world->native);
    modules_destroy(world->modules);
    target_close(world->target);
    munmap(world->code, 4096);
    free(world);
    return 0;
}

static psc_addr stack_at(const struct world *world, size_t word)
{
    return (psc_addr)(uintptr_t)&world->stack[word];
}

static struct target_registers registers_at(const struct world *world, psc_addr pc)
{
    struct target_registers registers = {.value = {0}};
    registers.value[X86_RIP] = pc;
    registers.value[X86_RSP] = stack_at(world, 0x100);
    registers.value[X86_RBP] = stack_at(world, 0x10000);
    return registers;
}

/* What was found, and how much has been looked for. */
static void forget(struct world *world)
{
    returns_destroy(world->native->returns);
    world->native->returns = NULL;
}

static bool run(struct world *world, const void *code, size_t size, bool exact,
                struct target_registers *ret)
{
    forget(world);
    memset(world->code, 0xcc, 0x400);
    memcpy(world->code, code, size);
    struct target_registers registers = registers_at(world, (psc_addr)(uintptr_t)world->code);
    return returns_run(world->native, &registers, exact, ret, &world->sure);
}
#define RUN(world, code, exact, ret) run(world, code, sizeof(code) - 1, exact, ret)

static void test_pops(void **state)
{
    struct world *world = *state;
    struct target_registers caller;
    world->stack[0x102] = 0x1234;
    // add $16,%rsp; pop %rbx; pop %r12; ret
    assert_true(RUN(world, "\x48\x83\xc4\x10\x5b\x41\x5c\xc3", false, &caller));
    assert_false(world->sure);
    assert_int_equal(caller.value[X86_RIP], returns_to);
    assert_int_equal(caller.value[X86_RSP], stack_at(world, 0x105));
    assert_int_equal(caller.value[X86_RBX], 0x1234);
    assert_int_equal(caller.value[X86_R12], returns_to);
}

static void test_frame_pointer(void **state)
{
    struct world *world = *state;
    struct target_registers caller;
    world->stack[0x10000] = 0x5678;
    assert_true(RUN(world, "\xc9\xc3", false, &caller)); // leave; ret
    assert_int_equal(caller.value[X86_RSP], stack_at(world, 0x10002));
    assert_int_equal(caller.value[X86_RBP], 0x5678);
    // rbp is another's since: mov %rax,%rbp; leave; ret
    assert_false(RUN(world, "\x48\x89\xc5\xc9\xc3", false, &caller));
}

static void test_what_was_pushed_is_not_there(void **state)
{
    struct world *world = *state;
    struct target_registers caller;
    world->stack[0xff] = 0x9999;
    assert_true(RUN(world, "\x53\x5b\xc3", true, &caller)); // push %rbx; pop %rbx; ret
    assert_true(world->sure);
    assert_int_equal(caller.value[X86_RSP], stack_at(world, 0x101));
    assert_int_equal(caller.value[X86_RBX], 0);
}

static void test_branches_agree(void **state)
{
    struct world *world = *state;
    struct target_registers caller;
    // test %eax,%eax; je 1f; pop %rbx; ret; 1: pop %rbp; ret
    assert_true(RUN(world, "\x85\xc0\x74\x02\x5b\xc3\x5d\xc3", false, &caller));
    assert_int_equal(caller.value[X86_RSP], stack_at(world, 0x102));
    // The same, but one way pops and the other does not.
    assert_false(RUN(world, "\x85\xc0\x74\x02\x5b\xc3\x90\xc3", false, &caller));
}

static void test_no_way(void **state)
{
    struct world *world = *state;
    struct target_registers caller;
    assert_false(RUN(world, "\xeb\xfe", false, &caller));             // jmp .
    assert_false(RUN(world, "\xff\xe0", false, &caller));             // jmp *%rax
    assert_false(RUN(world, "\xf4\xc3", false, &caller));             // hlt; ret
    assert_false(RUN(world, "\x48\x89\xc4\xc3", false, &caller));     // mov %rax,%rsp; ret
    assert_false(RUN(world, "\x48\x83\xe4\xf0\xc3", false, &caller)); // and $-16,%rsp; ret
    assert_false(RUN(world, "\x48\x83\xec\x10\xc3", false, &caller)); // sub $16,%rsp; ret
    assert_false(RUN(world, "\x06\xc3", false, &caller));             // no instruction
    // Filled up behind a call: it does not return. Innermost it is code.
    assert_false(RUN(world, "\x0f\x1f\x40\x00\xc3", false, &caller));
    assert_true(RUN(world, "\x0f\x1f\x40\x00\xc3", true, &caller));
    // call 1f; ret; 1: ret
    assert_true(RUN(world, "\xe8\x01\0\0\0\xc3\xc3", true, &caller));
    assert_false(world->sure);
    // call 1f; ret; 1: hlt
    assert_false(RUN(world, "\xe8\x01\0\0\0\xc3\xf4", false, &caller));
    // No return address there.
    world->stack[0x100] = 0x1000;
    assert_false(RUN(world, "\xc3", true, &caller));
}

/* ---- against call frame information ---- */

struct tally {
    struct world *world;
    struct module *module;
    struct disassembler *disassembler;
    psc_addr last;
    size_t functions, right, wrong, unsure, none;
};

static void compare(struct tally *tally, psc_addr pc, bool exact)
{
    struct native *native = tally->world->native;
    struct target_registers registers = registers_at(tally->world, pc), expected, found;
    psc_addr cfa;
    bool sure;
    if (native_step(native, &registers, exact, &expected, &cfa) != PSC_OK ||
        !expected.value[X86_RIP])
        return;
    if (!returns_run(native, &registers, exact, &found, &sure)) {
        tally->none++;
    } else if (found.value[X86_RSP] == cfa) {
        tally->right++;
    } else if (cfa > registers.value[X86_RBP] && found.value[X86_RSP] < registers.value[X86_RBP]) {
        // Between lea -0x28(%rbp),%rsp and the pops both are right, as they are not here.
        tally->none++;
    } else if (!sure) {
        tally->unsure++;
    } else {
        tally->wrong++;
        print_message("%s+%#" PRIx64 ": %" PRId64 " for %" PRId64 "\n", tally->module->name,
                      pc - tally->module->bias,
                      (int64_t)(found.value[X86_RSP] - registers.value[X86_RSP]),
                      (int64_t)(cfa - registers.value[X86_RSP]));
    }
}

/* Each place behind a call, and some others. */
static bool visit_function(void *context, const struct module_symbol *symbol)
{
    struct tally *tally = context;
    if (symbol->address <= tally->last || symbol->size > 0x2000 || tally->functions++ > 500)
        return true;
    tally->last = symbol->address;
    forget(tally->world);
    const uint8_t *code = (const uint8_t *)(uintptr_t)symbol->address;
    size_t left = symbol->size;
    uint64_t address = symbol->address;
    struct instruction instruction;
    for (unsigned i = 0;
         disassembler_decode(tally->disassembler, code, left, address, &instruction); i++) {
        code += instruction.size;
        left -= instruction.size;
        address += instruction.size;
        if (instruction.verb == INSTRUCTION_CALL && left)
            compare(tally, address, false);
        else if (instruction.verb != INSTRUCTION_NOP && i % 16 == 1)
            compare(tally, instruction.address, true);
    }
    return true;
}

static void test_rules_of_compilers(void **state)
{
    struct world *world = *state;
    struct tally tally = {.world = world};
    assert_int_equal(disassembler_open(EM_X86_64, &tally.disassembler), PSC_OK);
    static const char *const names[] = {"libc.so", "libelf", "libdw"};
    for (size_t i = 0; i < modules_count(world->modules); i++) {
        tally.module = modules_get(world->modules, i);
        tally.last = 0;
        tally.functions = 0;
        for (size_t n = 0; n < PSC_ARRAY_SIZE(names); n++)
            if (strncmp(tally.module->name, names[n], strlen(names[n])) == 0)
                module_each_symbol(tally.module, visit_function, &tally);
    }
    print_message("%zu right, %zu wrong, %zu unsure and wrong, %zu without an answer\n",
                  tally.right, tally.wrong, tally.unsure, tally.none);
    disassembler_close(tally.disassembler);
    assert_true(tally.right > 1000);
    assert_true(tally.right > tally.none);
    // Behind one that does not return, as __assert_fail, is other code: hence not sure.
    assert_true(tally.unsure * 50 < tally.right);
    // Hand-written assembler, as glibc's mpn functions, pushes without saying so in its rules.
    assert_true(tally.wrong * 200 < tally.right);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, create_world, destroy_world)
    const struct CMUnitTest tests[] = {
        TEST(test_pops),           TEST(test_frame_pointer),
        TEST(test_branches_agree), TEST(test_what_was_pushed_is_not_there),
        TEST(test_no_way),         TEST(test_rules_of_compilers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
