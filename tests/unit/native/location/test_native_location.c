/* DWARF location descriptions (DWARF 5, 2.5 and 2.6): what each comes to in a given frame. */
#include "native.h"
#include "x86_64_registers.h"

#include <dwarf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CFA UINT64_C(0x7000)

/* Memory is the address itself, up to a page. */
static enum psc_status read_some(struct target *target, psc_addr address, void *buffer, size_t size)
{
    (void)target;
    if (address < 0x1000 || address >= 0x8000)
        return PSC_ERR_FAULT;
    memset(buffer, 0, size);
    memcpy(buffer, &address, size < sizeof(address) ? size : sizeof(address));
    return PSC_OK;
}

static const struct target_ops ops = {.read = read_some};

static bool enter(void *entry, const struct debug_expression *expression, uint64_t *ret)
{
    *ret = expression->operations[0].number;
    return entry != NULL;
}

struct result {
    enum native_location found;
    struct native_value value;
};

static struct result locate(const struct debug_operation *operations, size_t count, uint64_t size,
                            bool with_entry)
{
    struct target target = {.ops = &ops, .machine = target_machine_here()};
    struct debug_operation base_operation = {.code = DW_OP_call_frame_cfa};
    struct debug_expression base = {&base_operation, 1};
    struct debug_expression expression = {operations, count};
    struct native_context context = {
        .known = 1u << X86_RBX | 1u << X86_RSP, .cfa = CFA, .has_vectors = with_entry};
    const double low = 2.5;
    memcpy(context.vectors + target.machine->vectors[0].offset + 16, &low, sizeof(low));
    memset(context.vectors + target.machine->vectors[0].offset + 24, 7, 8);
    memset(context.vectors + target.machine->vectors[1].offset + 16, 9, 16);
    context.registers.value[X86_RBX] = 0x1122334455667788;
    context.registers.value[X86_RSP] = 0x2000;
    struct native_evaluation evaluation = {.context = &context,
                                           .frame_base = &base,
                                           .enter = enter,
                                           .entry = with_entry ? &base : NULL};
    struct result result;
    memset(&result, 0, sizeof(result));
    result.found = native_locate(&target, &evaluation, &expression, size, &result.value);
    return result;
}

#define LOCATE(size, ...)                                                                          \
    locate((const struct debug_operation[]){__VA_ARGS__},                                          \
           sizeof((const struct debug_operation[]){__VA_ARGS__}) / sizeof(struct debug_operation), \
           size, true)

static void assert_bytes(struct result result, uint64_t expected, size_t size)
{
    assert_int_equal(result.found, NATIVE_LOCATION_FOUND);
    assert_false(result.value.in_memory);
    assert_int_equal(result.value.size, size);
    assert_memory_equal(result.value.bytes, &expected, size);
}

static void test_memory(void **state)
{
    (void)state;
    struct result result = LOCATE(4, {.code = DW_OP_fbreg, .number = (uint64_t)-24});
    assert_int_equal(result.found, NATIVE_LOCATION_FOUND);
    assert_true(result.value.in_memory);
    assert_int_equal(result.value.address, CFA - 24);
    result = LOCATE(4, {.code = DW_OP_breg0 + X86_RSP, .number = 16});
    assert_int_equal(result.value.address, 0x2010);
    result = LOCATE(4, {.code = DW_OP_breg0 + X86_RSP}, {.code = DW_OP_deref},
                    {.code = DW_OP_plus_uconst, .number = 5});
    assert_int_equal(result.value.address, 0x2005);
    result = LOCATE(4, {.code = DW_OP_lit0}, {.code = DW_OP_deref});
    assert_int_equal(result.found, NATIVE_LOCATION_UNREADABLE);
}

static void test_registers(void **state)
{
    (void)state;
    assert_bytes(LOCATE(4, {.code = DW_OP_reg0 + X86_RBX}), 0x55667788, 4);
    // Nobody has saved it.
    assert_int_equal(LOCATE(4, {.code = DW_OP_reg0 + X86_RAX}).found, NATIVE_LOCATION_UNSAVED);
    assert_int_equal(LOCATE(8, {.code = DW_OP_regx, .number = 50}).found, NATIVE_LOCATION_UNSAVED);
    assert_int_equal(LOCATE(8, {.code = DW_OP_breg0 + X86_RAX, .number = 8}).found,
                     NATIVE_LOCATION_UNSAVED);
    assert_int_equal(LOCATE(8, {.code = DW_OP_implicit_pointer}).found, NATIVE_LOCATION_LOST);
    assert_int_equal(LOCATE(8, {.code = 0}).found, NATIVE_LOCATION_UNSUPPORTED);
}

/* xmm1 is 18, st1 is 34. */
static void test_vectors(void **state)
{
    (void)state;
    static const uint64_t two_and_a_half = 0x4004000000000000;
    static const uint8_t sevens[8] = {7, 7, 7, 7, 7, 7, 7, 7};
    const struct debug_operation xmm1 = {.code = DW_OP_reg18};
    assert_bytes(LOCATE(8, xmm1), two_and_a_half, 8);
    struct result result = LOCATE(32, {.code = DW_OP_regx, .number = 18});
    assert_memory_equal(result.value.bytes + 8, sevens, sizeof(sevens));
    assert_true(result.value.known[15]);
    assert_false(result.value.known[16]);
    result = LOCATE(16, {.code = DW_OP_reg0, .number = 0});
    assert_int_equal(result.found, NATIVE_LOCATION_UNSAVED);
    result = LOCATE(16, {.code = DW_OP_regx, .number = 34});
    assert_int_equal(result.found, NATIVE_LOCATION_FOUND);
    assert_int_equal(result.value.bytes[9], 9);
    assert_true(result.value.known[9]);
    assert_false(result.value.known[10]);
    assert_int_equal(locate(&xmm1, 1, 8, false).found, NATIVE_LOCATION_UNSAVED);
    const struct debug_operation typed = {
        .code = DW_OP_regval_type, .number = 18, .number2 = 8, .encoding = DW_ATE_float};
    assert_bytes(LOCATE(8, typed, typed, {.code = DW_OP_plus}, {.code = DW_OP_stack_value}),
                 0x4014000000000000, 8);
}

static void test_values(void **state)
{
    (void)state;
    assert_bytes(LOCATE(4, {.code = DW_OP_lit5}, {.code = DW_OP_lit3}, {.code = DW_OP_minus},
                        {.code = DW_OP_stack_value}),
                 2, 4);
    assert_bytes(LOCATE(8, {.code = DW_OP_const1s, .number = (uint64_t)-7}, {.code = DW_OP_lit2},
                        {.code = DW_OP_div}, {.code = DW_OP_stack_value}),
                 (uint64_t)-3, 8);
    assert_bytes(LOCATE(1, {.code = DW_OP_const1s, .number = (uint64_t)-1}, {.code = DW_OP_lit0},
                        {.code = DW_OP_lt}, {.code = DW_OP_stack_value}),
                 1, 1);
    assert_int_equal(LOCATE(4, {.code = DW_OP_lit1}, {.code = DW_OP_lit0}, {.code = DW_OP_mod},
                            {.code = DW_OP_stack_value})
                         .found,
                     NATIVE_LOCATION_UNSUPPORTED);
    assert_bytes(
        LOCATE(2,
               {.code = DW_OP_implicit_value, .number = 2, .bytes = (const uint8_t *)"\x34\x12"}),
        0x1234, 2);
}

static void test_types(void **state)
{
    (void)state;
    struct debug_operation to_byte = {
        .code = DW_OP_convert, .number2 = 1, .encoding = DW_ATE_signed};
    struct debug_operation to_word = {
        .code = DW_OP_convert, .number2 = 8, .encoding = DW_ATE_signed};
    // 0x88 of rbx, with its sign.
    assert_bytes(
        LOCATE(8, {.code = DW_OP_breg0 + X86_RBX}, to_byte, to_word, {.code = DW_OP_stack_value}),
        (uint64_t)-0x78, 8);
    // Unsigned 32 bits wrap, and are compared so.
    struct debug_operation narrow = {
        .code = DW_OP_convert, .number2 = 4, .encoding = DW_ATE_unsigned};
    assert_bytes(LOCATE(8, {.code = DW_OP_lit1}, narrow, {.code = DW_OP_lit2}, narrow,
                        {.code = DW_OP_minus}, {.code = DW_OP_stack_value}),
                 0xffffffff, 8);
    // Floating numbers.
    struct debug_operation single = {.code = DW_OP_const_type,
                                     .number = 4,
                                     .number2 = 4,
                                     .encoding = DW_ATE_float,
                                     .bytes = (const uint8_t *)"\0\0\xc0\x3f"};
    assert_bytes(LOCATE(4, single, {.code = DW_OP_stack_value}), 0x3fc00000, 4);
    assert_bytes(LOCATE(4, single, single, {.code = DW_OP_plus}, {.code = DW_OP_stack_value}),
                 0x40400000, 4);
    assert_bytes(LOCATE(4, single, {.code = DW_OP_neg}, single, {.code = DW_OP_lt},
                        {.code = DW_OP_stack_value}),
                 1, 4);
    assert_bytes(LOCATE(8, single, to_word, {.code = DW_OP_stack_value}), 1, 8);
    struct debug_operation to_double = {
        .code = DW_OP_convert, .number2 = 8, .encoding = DW_ATE_float};
    assert_bytes(LOCATE(8, single, to_double, {.code = DW_OP_stack_value}), 0x3ff8000000000000, 8);
    assert_bytes(LOCATE(8, {.code = DW_OP_const1s, .number = (uint64_t)-3}, to_double,
                        {.code = DW_OP_stack_value}),
                 0xc008000000000000, 8);
    // Of one type and another, and what does not fit.
    assert_int_equal(
        LOCATE(4, single, {.code = DW_OP_lit1}, {.code = DW_OP_plus}, {.code = DW_OP_stack_value})
            .found,
        NATIVE_LOCATION_UNSUPPORTED);
    struct debug_operation infinite = single;
    infinite.bytes = (const uint8_t *)"\0\0\x80\x7f";
    assert_int_equal(LOCATE(8, infinite, to_word, {.code = DW_OP_stack_value}).found,
                     NATIVE_LOCATION_UNSUPPORTED);
}

static void test_pieces(void **state)
{
    (void)state;
    struct result result =
        LOCATE(24, {.code = DW_OP_reg0 + X86_RBX}, {.code = DW_OP_piece, 8},
               {.code = DW_OP_piece, 8}, {.code = DW_OP_fbreg, .number = 0},
               {.code = DW_OP_piece, 4}, {.code = DW_OP_breg0 + X86_RAX}, {.code = DW_OP_piece, 4});
    assert_int_equal(result.found, NATIVE_LOCATION_FOUND);
    assert_int_equal(result.value.size, 24);
    assert_int_equal(load_u64(result.value.bytes), 0x1122334455667788);
    assert_int_equal(load_u32(result.value.bytes + 16), CFA);
    for (size_t i = 0; i < 24; i++)
        assert_int_equal(result.value.known[i], i < 8 || (i >= 16 && i < 20));
    result = LOCATE(8, {.code = DW_OP_piece, .number = NATIVE_VALUE_LIMIT + 1});
    assert_int_equal(result.found, NATIVE_LOCATION_UNSUPPORTED);
    assert_int_equal(LOCATE(8, {.code = DW_OP_piece, 8}).found, NATIVE_LOCATION_LOST);
}

static void test_entry_values(void **state)
{
    (void)state;
    struct debug_operation inner_operation = {.code = DW_OP_reg0 + X86_RDI, .number = 42};
    struct debug_expression inner = {&inner_operation, 1};
    struct debug_operation operations[] = {{.code = DW_OP_entry_value, .inner = &inner},
                                           {.code = DW_OP_stack_value}};
    assert_bytes(locate(operations, 2, 4, true), 42, 4);
    assert_int_equal(locate(operations, 2, 4, false).found, NATIVE_LOCATION_LOST);
}

static void test_bounds(void **state)
{
    (void)state;
    struct debug_operation forever = {.code = DW_OP_skip, .number = 0};
    assert_int_equal(LOCATE(4, forever).found, NATIVE_LOCATION_UNSUPPORTED);
    struct debug_operation many[100];
    for (size_t i = 0; i < 100; i++)
        many[i] = (struct debug_operation){.code = DW_OP_lit1};
    assert_int_equal(locate(many, 100, 4, true).found, NATIVE_LOCATION_UNSUPPORTED);
    assert_int_equal(LOCATE(4, {.code = DW_OP_plus}).found, NATIVE_LOCATION_UNSUPPORTED);
    // A jump behind the last operation ends it.
    assert_bytes(LOCATE(4, {.code = DW_OP_lit3}, {.code = DW_OP_stack_value}, {.code = DW_OP_lit1},
                        {.code = DW_OP_bra, .number = 5}, {.code = DW_OP_lit7}),
                 3, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_registers),
        cmocka_unit_test(test_vectors),      cmocka_unit_test(test_values),
        cmocka_unit_test(test_types),        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_entry_values), cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
