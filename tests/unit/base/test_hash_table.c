#include "base.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

struct page {
    psc_addr address;
    uint32_t number;
};

struct position {
    uint64_t code;
    uint64_t instruction;
    char letter;
};

struct name {
    const char *text;
    int value;
};

static void test_nothing_is_in_an_empty_table(void **state)
{
    (void)state;
    struct hash_table table = {0};
    assert_null(hash_table_find(&table, 0));
    assert_null(hash_table_find_pair(&table, 1, 2));
    hash_table_clear(&table);
    hash_table_deinit(&table);
}

static void test_what_was_added_is_found(void **state)
{
    (void)state;
    struct hash_table table = HASH_TABLE_OF(struct page);
    for (uint32_t i = 0; i < 100000; i++) {
        struct page *page = hash_table_add(&table, i * UINT64_C(4096));
        assert_non_null(page);
        assert_int_equal(page->number, 0);
        page->number = i;
    }
    assert_int_equal(table.count, 100000);
    for (uint32_t i = 0; i < 100000; i++) {
        const struct page *page = hash_table_find(&table, i * UINT64_C(4096));
        assert_non_null(page);
        assert_int_equal(page->number, i);
        assert_ptr_equal(page, hash_table_at(&table, i));
        assert_null(hash_table_find(&table, i * UINT64_C(4096) + 1));
    }
    hash_table_clear(&table);
    assert_null(hash_table_find(&table, 4096));
    assert_non_null(hash_table_add(&table, 4096));
    assert_int_equal(table.count, 1);
    hash_table_deinit(&table);
    assert_int_equal(table.count, 0);
    assert_non_null(hash_table_add(&table, UINT64_MAX));
    assert_non_null(hash_table_find(&table, UINT64_MAX));
    hash_table_deinit(&table);
}

static void test_both_numbers_of_a_pair_count(void **state)
{
    (void)state;
    struct hash_table table;
    hash_table_init(&table, sizeof(struct position));
    for (uint64_t code = 0; code < 100; code++)
        for (uint64_t at = 0; at < 100; at++) {
            struct position *position = hash_table_add_pair(&table, code, at);
            assert_non_null(position);
            position->letter = (char)(code ^ at);
        }
    for (uint64_t code = 0; code < 100; code++)
        for (uint64_t at = 0; at < 100; at++) {
            const struct position *position = hash_table_find_pair(&table, code, at);
            assert_non_null(position);
            assert_true(position->code == code && position->instruction == at);
            assert_int_equal(position->letter, (char)(code ^ at));
        }
    assert_null(hash_table_find_pair(&table, 7, 100));
    hash_table_deinit(&table);
}

static bool has_text(const void *item, const void *key)
{
    return !strcmp(((const struct name *)item)->text, key);
}

static void test_a_function_may_compare(void **state)
{
    (void)state;
    static const char *const names[] = {"alpha", "beta", "gamma", ""};
    struct hash_table table = HASH_TABLE_OF(struct name);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        struct name *name = hash_table_add_by(&table, hash_text(names[i], strlen(names[i])));
        assert_non_null(name);
        *name = (struct name){names[i], (int)i};
    }
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++) {
        const struct name *name =
            hash_table_find_by(&table, hash_text(names[i], strlen(names[i])), has_text, names[i]);
        assert_non_null(name);
        assert_int_equal(name->value, i);
    }
    assert_null(hash_table_find_by(&table, hash_text("delta", 5), has_text, "delta"));
    hash_table_deinit(&table);
}

/* Keys that were made to collide: what does not fit is refused, and costs no more than the rest. */
static void test_collisions_are_bounded(void **state)
{
    (void)state;
    struct hash_table table = HASH_TABLE_OF(struct name);
    size_t added = 0;
    for (int i = 0; i < 100000; i++) {
        struct name *name = hash_table_add_by(&table, 42);
        added += name != NULL;
        if (name)
            *name = (struct name){"same", i};
    }
    assert_int_equal(added, HASH_PROBE_LIMIT);
    assert_int_equal(table.count, HASH_PROBE_LIMIT);
    const struct name *first = hash_table_find_by(&table, 42, has_text, "same");
    assert_non_null(first);
    assert_null(hash_table_find_by(&table, 42, has_text, "other"));
    assert_non_null(hash_table_add_by(&table, 43));
    hash_table_deinit(&table);
}

static void test_room_is_made_ahead(void **state)
{
    (void)state;
    struct hash_table table = HASH_TABLE_OF(struct page);
    assert_true(hash_table_reserve(&table, 5000));
    const void *items = table.items, *slots = table.slots;
    for (psc_addr i = 0; i < 5000; i++)
        assert_non_null(hash_table_add(&table, i));
    assert_ptr_equal(table.items, items);
    assert_ptr_equal(table.slots, slots);
    assert_false(hash_table_reserve(&table, HASH_TABLE_LIMIT + 1));
    assert_int_equal(table.count, 5000);
    hash_table_deinit(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_in_an_empty_table),
        cmocka_unit_test(test_what_was_added_is_found),
        cmocka_unit_test(test_both_numbers_of_a_pair_count),
        cmocka_unit_test(test_a_function_may_compare),
        cmocka_unit_test(test_collisions_are_bounded),
        cmocka_unit_test(test_room_is_made_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
