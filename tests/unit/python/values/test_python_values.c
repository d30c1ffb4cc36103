/* Values as text: numbers and strings by themselves, containers from memory laid out by hand. */
#include "python_memory.h"

#include "types.h"
#include "values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void expect(struct text *text, const char *expected)
{
    assert_false(text->failed);
    assert_string_equal(text->data ? text->data : "", expected);
    text_deinit(text);
}

/* ---- numbers ---- */

static void check_float(double value, const char *expected)
{
    struct text text = {0};
    format_float(value, &text);
    expect(&text, expected);
}

static void test_floats_as_repr(void **state)
{
    (void)state;
    check_float(0.0, "0.0");
    check_float(-0.0, "-0.0");
    check_float(0.1, "0.1");
    check_float(1e15, "1000000000000000.0");
    check_float(1e16, "1e+16");
    check_float(1e22, "1e+22");
    check_float(0.0001, "0.0001");
    check_float(0.00001, "1e-05");
    check_float(1.25e-7, "1.25e-07");
    check_float(5e-324, "5e-324");
    check_float(1.7976931348623157e308, "1.7976931348623157e+308");
    check_float(9007199254740993.0, "9007199254740992.0");
    check_float(2.0 / 3, "0.6666666666666666");
    check_float(INFINITY, "inf");
    check_float(-INFINITY, "-inf");
    check_float(NAN, "nan");
}

static void test_float32_is_not_shown_as_float64(void **state)
{
    struct text text = {0};
    (void)state;
    format_single(0.1f, true, &text);
    expect(&text, "0.1");
    format_single(16777216.0f, true, &text);
    expect(&text, "16777216.0");
    format_single(-3.0f, false, &text);
    expect(&text, "-3");
}

static void check_int(const uint32_t *digits, size_t count, bool negative, const char *expected)
{
    struct text text = {0};
    format_int(digits, count, negative, &text);
    expect(&text, expected);
}

static void test_ints_of_any_size(void **state)
{
    static const uint32_t digits[] = {0x3fffffff, 0x3fffffff, 0x3fffffff, 1};
    uint32_t many[200];
    (void)state;
    check_int(digits, 0, false, "0");
    check_int(digits, 1, false, "1073741823");
    check_int(digits, 2, true, "-1152921504606846975");
    check_int(digits, 4, false, "2475880078570760549798248447");
    for (size_t i = 0; i < 200; i++)
        many[i] = 0x3fffffff;
    struct text text = {0};
    format_int(many, 200, false, &text);
    assert_int_equal(text.size, 1807);
    assert_memory_equal(text.data, "15134705", 8);
    text_deinit(&text);
}

/* ---- text ---- */

static void test_strings_as_repr(void **state)
{
    static const uint16_t wide[] = {'a', 0xd800, 0x2028, 0xe9, 0x4e2d};
    static const uint32_t widest[] = {0x1f600, 0xe0001, 0x7fffffff};
    struct text text = {0};
    (void)state;
    format_str((const uint8_t *)"it's", 4, 1, &text);
    expect(&text, "\"it's\"");
    format_str((const uint8_t *)"'\"", 2, 1, &text);
    expect(&text, "'\\'\"'");
    format_str((const uint8_t *)"\\\n\x1b\x7f", 4, 1, &text);
    expect(&text, "'\\\\\\n\\x1b\\x7f'");
    format_str((const uint8_t *)wide, 5, 2, &text);
    expect(&text, "'a\\ud800\\u2028é中'");
    format_str((const uint8_t *)widest, 3, 4, &text);
    expect(&text, "'😀\\U000e0001\\U7fffffff'");
    format_bytes((const uint8_t *)"\xff"
                                  "a\0",
                 3, &text);
    expect(&text, "'\\xffa\\x00'");
}

/* ---- objects ---- */

struct values {
    struct memory *memory;
    psc_addr list_type;
    psc_addr object_type;
};

static struct values make_values(uint32_t hex)
{
    struct values values = {.memory = memory_create(hex)};
    struct memory *memory = values.memory;
    values.list_type = memory_type(memory, PY_FLAG_LIST);
    values.object_type = memory_type(memory, 0);
    memory_name_type(memory, memory->int_type, "int");
    memory_name_type(memory, memory->str_type, "str");
    memory_name_type(memory, memory->tuple_type, "tuple");
    memory_name_type(memory, memory->dict_type, "dict");
    memory_name_type(memory, values.list_type, "list");
    memory_name_type(memory, values.object_type, "pkg.thing");
    return values;
}

static psc_addr make_list(struct values *values, size_t count, psc_addr *ret_items)
{
    struct memory *memory = values->memory;
    psc_addr list = memory_object(memory, values->list_type, 40);
    *ret_items = memory_reserve(memory, 8 * count);
    memory_put_field(memory, list, PY_VAR_SIZE, count);
    memory_put_field(memory, list, PY_LIST_ITEMS, *ret_items);
    return list;
}

static void check_value(struct values *values, psc_addr object, const char *expected)
{
    struct text text = {0};
    value_add(&values->memory->python, object, &text);
    expect(&text, expected);
}

static void test_what_is_no_object(void **state)
{
    struct values values = make_values(0x030c00f0);
    struct memory *memory = values.memory;
    psc_addr items;
    (void)state;
    check_value(&values, 0, "<NULL>");
    check_value(&values, 0x7, "<no object at 0x7>");
    check_value(&values, UINT64_MAX - 7, "<no object at 0xfffffffffffffff8>");
    /* Something whose type is no type. */
    psc_addr trash = memory_object(memory, memory_ascii(memory, "text"), 64);
    psc_addr list = make_list(&values, 2, &items);
    memory_put(memory, items, trash, 8);
    memory_put(memory, items + 8, memory_ascii(memory, "x"), 8);
    char text[80];
    snprintf(text, sizeof(text), "[<no object at 0x%llx>, 'x']", (unsigned long long)trash);
    check_value(&values, list, text);
    memory_destroy(memory);
}

static void test_cycles_and_depth(void **state)
{
    struct values values = make_values(0x030c00f0);
    struct memory *memory = values.memory;
    psc_addr lists[12];
    psc_addr items;
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        lists[i] = make_list(&values, 1, &items);
        memory_put(memory, items, i ? lists[i - 1] : lists[0], 8);
    }
    check_value(&values, lists[0], "[[...]]");
    check_value(&values, lists[2], "[[[[...]]]]");
    check_value(&values, lists[11], "[[[[[[\u2026]]]]]]");
    memory_destroy(memory);
}

static void test_sizes_that_can_not_be(void **state)
{
    struct values values = make_values(0x030b00f0);
    struct memory *memory = values.memory;
    psc_addr items;
    (void)state;
    psc_addr list = make_list(&values, 1, &items);
    memory_put(memory, items, memory_ascii(memory, "only"), 8);
    memory_put_field(memory, list, PY_LIST_ITEMS, MEMORY_BASE + MEMORY_SIZE - 8);
    memory_put_field(memory, list, PY_VAR_SIZE, 1000);
    check_value(&values, list, "[<NULL>, \u2026 999 not readable]");
    memory_put_field(memory, list, PY_VAR_SIZE, UINT64_MAX);
    char text[80];
    snprintf(text, sizeof(text), "<list at 0x%llx: not readable>", (unsigned long long)list);
    check_value(&values, list, text);
    psc_addr huge = memory_object(memory, memory->int_type, 64);
    memory_put_field(memory, huge, PY_INT_SIZE, UINT64_C(1) << 62);
    check_value(&values, huge, "<int: not readable>");
    memory_destroy(memory);
}

static void test_text_is_bounded(void **state)
{
    struct values values = make_values(0x030c00f0);
    struct memory *memory = values.memory;
    psc_addr items;
    char name[301];
    struct text text = {0};
    (void)state;
    memset(name, 'x', 300);
    name[300] = '\0';
    psc_addr string = memory_ascii(memory, name);
    psc_addr list = make_list(&values, 30, &items);
    for (size_t i = 0; i < 30; i++)
        memory_put(memory, items + 8 * i, string, 8);
    value_add(&memory->python, list, &text);
    assert_in_range(text.size, VALUE_TEXT_LIMIT, VALUE_TEXT_LIMIT + 4);
    assert_string_equal(text.data + text.size - 3, "\u2026");
    text_deinit(&text);
    memory_destroy(memory);
}

static void test_work_is_bounded(void **state)
{
    struct values values = make_values(0x030c00f0);
    struct memory *memory = values.memory;
    (void)state;
    psc_addr string = memory_ascii(memory, "text");
    assert_true(budget_spend(&memory->python, BUDGET_WORK - 40));
    check_value(&values, string, "'text'");
    check_value(&values, string, "\u2026");
    memory_destroy(memory);
}

enum { ORDERED_COUNT = 3 };

/* {'a': 'a', 'b': 'b', 'c': 'c'} with a list of the same three keys, the last first. */
static psc_addr make_ordered(struct values *values, psc_addr *ret_nodes)
{
    struct memory *memory = values->memory;
    psc_addr type = memory_type(memory, PY_FLAG_DICT);
    memory_name_type(memory, type, "collections.OrderedDict");
    psc_addr dict = memory_object(memory, type, 112);
    psc_addr table = memory_reserve(memory, 256);
    memory_put_field(memory, dict, PY_DICT_USED, ORDERED_COUNT);
    memory_put_field(memory, dict, PY_DICT_KEYS, table);
    memory_put_field(memory, table, PY_KEYS_ENTRIES, ORDERED_COUNT);
    memory_put_field(memory, table, PY_KEYS_LOG2_INDEX_BYTES, 3);
    psc_addr entries = py_field_address(&memory->python, table, PY_KEYS_INDICES) + 8;
    for (size_t i = 0; i < ORDERED_COUNT; i++)
        ret_nodes[i] = memory_reserve(memory, 40);
    for (size_t i = 0; i < ORDERED_COUNT; i++) {
        psc_addr key = memory_ascii(memory, (const char *[]){"a", "b", "c"}[i]);
        memory_put(memory, entries + 24 * i + 8, key, 8);
        memory_put(memory, entries + 24 * i + 16, key, 8);
        memory_put_field(memory, ret_nodes[i], PY_ORDEREDNODE_KEY, key);
        memory_put_field(memory, ret_nodes[i], PY_ORDEREDNODE_NEXT, i ? ret_nodes[i - 1] : 0);
    }
    memory_put_field(memory, dict, PY_ORDERED_FIRST, ret_nodes[ORDERED_COUNT - 1]);
    return dict;
}

static void test_order_of_broken_lists(void **state)
{
    struct values values = make_values(0x030c00f0);
    struct memory *memory = values.memory;
    psc_addr nodes[ORDERED_COUNT];
    (void)state;
    psc_addr dict = make_ordered(&values, nodes);
    check_value(&values, dict, "OrderedDict({'c': 'c', 'b': 'b', 'a': 'a'})");
    /* A ring, an end too early, a list that leads nowhere. */
    memory_put_field(memory, nodes[1], PY_ORDEREDNODE_NEXT, nodes[2]);
    check_value(&values, dict, "OrderedDict({'c': 'c', 'b': 'b', \u2026 1 more})");
    memory_put_field(memory, nodes[2], PY_ORDEREDNODE_NEXT, 8);
    check_value(&values, dict, "OrderedDict({'c': 'c', \u2026 2 more})");
    memory_put_field(memory, dict, PY_ORDERED_FIRST, 0);
    check_value(&values, dict, "OrderedDict({\u2026 3 more})");
    /* A key that the dict does not have: none behind it is shown as if it came next. */
    memory_put_field(memory, dict, PY_ORDERED_FIRST, nodes[2]);
    memory_put_field(memory, nodes[2], PY_ORDEREDNODE_NEXT, nodes[1]);
    memory_put_field(memory, nodes[1], PY_ORDEREDNODE_NEXT, nodes[0]);
    memory_put_field(memory, nodes[1], PY_ORDEREDNODE_KEY, memory_ascii(memory, "b"));
    check_value(&values, dict, "OrderedDict({'c': 'c', \u2026 2 more})");
    memory_destroy(memory);
}

static void test_names_of_c_types(void **state)
{
    struct values values = make_values(0x030d00f0 - 0x10000);
    struct memory *memory = values.memory;
    char text[80];
    (void)state;
    psc_addr object = memory_object(memory, values.object_type, 64);
    snprintf(text, sizeof(text), "<pkg.thing object at 0x%llx>", (unsigned long long)object);
    check_value(&values, object, text);
    memory_destroy(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_as_repr),
        cmocka_unit_test(test_float32_is_not_shown_as_float64),
        cmocka_unit_test(test_ints_of_any_size),
        cmocka_unit_test(test_strings_as_repr),
        cmocka_unit_test(test_what_is_no_object),
        cmocka_unit_test(test_cycles_and_depth),
        cmocka_unit_test(test_sizes_that_can_not_be),
        cmocka_unit_test(test_text_is_bounded),
        cmocka_unit_test(test_work_is_bounded),
        cmocka_unit_test(test_order_of_broken_lists),
        cmocka_unit_test(test_names_of_c_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
