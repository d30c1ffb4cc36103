#include "unit_index.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

/* Two units in four slots, three sections each; the second one's slot was taken by the first. */
struct index {
    uint32_t version, columns, units, slots;
    uint64_t ids[4];
    uint32_t rows[4];
    uint32_t names[3];
    uint32_t offsets[2][3];
    uint32_t sizes[2][3];
};

#define FIRST  UINT64_C(0x100000001)
#define SECOND UINT64_C(0x200000001)

static struct index make_index(uint32_t version)
{
    // The steps of 1 and 2 are odd numbers: 1, and 2 | 1.
    return (struct index){.version = version,
                          .columns = 3,
                          .units = 2,
                          .slots = 4,
                          .ids = {SECOND, FIRST, 0, 0},
                          .rows = {2, 1, 0, 0},
                          .names = {1, 5, 8},
                          .offsets = {{0, 7, 9}, {10, 20, 30}},
                          .sizes = {{10, 2, 1}, {11, 12, 13}}};
}

static bool find(const struct index *index, uint64_t id, struct unit_parts *ret)
{
    return parse_unit_index((const uint8_t *)index, sizeof(*index), id, ret);
}

static void parts_of_a_unit_are_found(void **state)
{
    (void)state;
    struct unit_parts parts;
    const struct index index = make_index(5);
    assert_true(find(&index, FIRST, &parts));
    assert_int_equal(parts.count, 3);
    assert_string_equal(parts.items[0].section, ".debug_info.dwo");
    assert_int_equal(parts.items[1].offset, 7);
    assert_true(find(&index, SECOND, &parts));
    assert_string_equal(parts.items[1].section, ".debug_loclists.dwo");
    assert_string_equal(parts.items[2].section, ".debug_rnglists.dwo");
    assert_int_equal(parts.items[2].offset, 30);
    assert_int_equal(parts.items[2].size, 13);
    assert_false(find(&index, 3, &parts));
}

static void sections_of_version_2_have_other_numbers(void **state)
{
    (void)state;
    struct unit_parts parts;
    const struct index index = make_index(2);
    assert_true(find(&index, FIRST, &parts));
    assert_string_equal(parts.items[1].section, ".debug_loc.dwo");
    assert_string_equal(parts.items[2].section, ".debug_macro.dwo");
}

static void what_is_damaged_is_refused(void **state)
{
    (void)state;
    struct unit_parts parts;
    struct index index = make_index(5);
    for (size_t size = 0; size < offsetof(struct index, sizes) + sizeof(index.sizes); size++)
        assert_false(parse_unit_index((const uint8_t *)&index, size, FIRST, &parts));
    index.slots = 3;
    assert_false(find(&index, FIRST, &parts));
    index = make_index(5);
    index.units = UINT32_MAX;
    assert_false(find(&index, FIRST, &parts));
    index = make_index(5);
    index.rows[1] = 3;
    assert_false(find(&index, FIRST, &parts));
    // No slot is empty: all are tried, once.
    index = make_index(5);
    index.rows[2] = index.rows[3] = 1;
    assert_false(find(&index, 77, &parts));
    index.version = 4;
    assert_false(find(&index, FIRST, &parts));
}

static void headers_have_an_id_where_the_version_has_one(void **state)
{
    (void)state;
    uint8_t bytes[] = {22, 0, 0, 0, 5, 0, 6, 8,  0, 0, 0, 0, 1,
                       2,  3, 4, 5, 6, 7, 8, 25, 0, 0, 0, 0, 0};
    struct unit_header unit;
    assert_true(parse_unit_header(bytes, sizeof(bytes), false, &unit)); // DW_UT_split_type
    assert_int_equal(unit.size, sizeof(bytes));
    assert_true(unit.is_type);
    assert_int_equal(unit.id, UINT64_C(0x0807060504030201));
    assert_false(parse_unit_header(bytes, sizeof(bytes) - 1, false, &unit));
    bytes[6] = 5; // DW_UT_split_compile
    assert_true(parse_unit_header(bytes, sizeof(bytes), false, &unit));
    assert_false(unit.is_type);
    assert_int_equal(unit.id, UINT64_C(0x0807060504030201));
    bytes[6] = 1; // DW_UT_compile
    assert_true(parse_unit_header(bytes, sizeof(bytes), false, &unit));
    assert_int_equal(unit.id, 0);
    bytes[4] = 4; // The signature is behind the size of addresses.
    assert_true(parse_unit_header(bytes, sizeof(bytes), true, &unit));
    assert_true(unit.is_type);
    assert_int_equal(unit.id, UINT64_C(0x0706050403020100));
    assert_true(parse_unit_header(bytes, sizeof(bytes), false, &unit));
    assert_false(unit.is_type);
    bytes[4] = 6;
    assert_false(parse_unit_header(bytes, sizeof(bytes), false, &unit));
    bytes[4] = 5;
    bytes[6] = 6;
    bytes[0] = 15; // It ends within the signature.
    assert_false(parse_unit_header(bytes, sizeof(bytes), false, &unit));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_unit_are_found),
        cmocka_unit_test(sections_of_version_2_have_other_numbers),
        cmocka_unit_test(headers_have_an_id_where_the_version_has_one),
        cmocka_unit_test(what_is_damaged_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
