#include "base.h"

#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

struct item {
    char letter;
    uint64_t start;
};

static const struct item items[] = {{'a', 0}, {'b', 4}, {'c', 4}, {'d', 9}, {'e', UINT64_MAX}};

/* The same by looking at each. */
static size_t count(size_t size, uint64_t key, bool equal)
{
    size_t found = 0;
    for (size_t i = 0; i < size; i++)
        found += items[i].start < key || (equal && items[i].start == key);
    return found;
}

static void test_items_before_a_key_are_counted(void **state)
{
    (void)state;
    static const uint64_t keys[] = {0, 1, 3, 4, 5, 8, 9, 10, UINT64_MAX - 1, UINT64_MAX};
    for (size_t size = 0; size <= PSC_ARRAY_SIZE(items); size++)
        for (size_t i = 0; i < PSC_ARRAY_SIZE(keys); i++) {
            assert_int_equal(SORTED_BELOW(items, start, size, keys[i]),
                             count(size, keys[i], false));
            assert_int_equal(SORTED_UP_TO(items, start, size, keys[i]), count(size, keys[i], true));
        }
}

static void test_no_array_has_no_items(void **state)
{
    (void)state;
    const struct item *none = NULL;
    assert_int_equal(SORTED_BELOW(none, start, 0, 7), 0);
    assert_int_equal(SORTED_UP_TO(none, start, 0, UINT64_MAX), 0);
}

static void test_an_item_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(items); i++) {
        const struct item *found = SORTED_FIND(items, start, PSC_ARRAY_SIZE(items), items[i].start);
        assert_ptr_equal(found, &items[i == 2 ? 1 : i]);
    }
    assert_null(SORTED_FIND(items, start, PSC_ARRAY_SIZE(items), UINT64_C(5)));
    assert_null(SORTED_FIND(items, start, PSC_ARRAY_SIZE(items) - 1, UINT64_MAX));
    assert_null(SORTED_FIND(items, start, 0, UINT64_C(0)));
}

static void test_any_condition_serves(void **state)
{
    (void)state;
    static const char *const names[] = {"Ada", "Barbara", "Frances", "Grace"};
    size_t size = PSC_ARRAY_SIZE(names);
    assert_int_equal(SORTED_COUNT(i, size, strcmp(names[i], "Frances") < 0), 2);
    assert_int_equal(SORTED_COUNT(i, size, true), size);
    assert_int_equal(SORTED_COUNT(i, size, false), 0);
}

static void test_comparing(void **state)
{
    (void)state;
    assert_int_equal(COMPARE(UINT64_MAX, UINT64_C(1)), 1);
    assert_int_equal(COMPARE(INT64_MIN, INT64_C(1)), -1);
    assert_int_equal(COMPARE(7, 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_before_a_key_are_counted),
        cmocka_unit_test(test_no_array_has_no_items),
        cmocka_unit_test(test_an_item_is_found),
        cmocka_unit_test(test_any_condition_serves),
        cmocka_unit_test(test_comparing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
