#include "base.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_memory_is_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct arena *arena = arena_create();
    assert_non_null(arena);
    unsigned char **pieces = calloc(COUNT, sizeof(*pieces));
    assert_non_null(pieces);
    /* Small ones, and now and then one that is larger than a block. */
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = i % 500 ? i % 97 + 1 : 100000;
        pieces[i] = arena_alloc(arena, size);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < size; j++)
            assert_int_equal(pieces[i][j], 0);
        memset(pieces[i], (int)(i % 251) + 1, size);
    }
    for (size_t i = 0; i < COUNT; i++) {
        size_t size = i % 500 ? i % 97 + 1 : 100000;
        for (size_t j = 0; j < size; j++)
            assert_int_equal(pieces[i][j], i % 251 + 1);
    }
    assert_false(arena_is_exhausted(arena));
    free(pieces);
    arena_destroy(arena);
    arena_destroy(NULL);
}

static void test_strings(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    assert_string_equal(arena_strdup(arena, "core"), "core");
    assert_string_equal(arena_strdup(arena, ""), "");
    assert_string_equal(arena_strndup(arena, "core.1234", 4), "core");
    assert_string_equal(arena_strndup(arena, NULL, 0), "");
    assert_string_equal(arena_printf(arena, "%s.%d", "core", 1234), "core.1234");
    char *large = arena_printf(arena, "%0200000d", 7);
    assert_int_equal(strlen(large), 200000);
    arena_destroy(arena);
}

static void test_exhaustion_stays(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    assert_non_null(arena_array(arena, 3, 8));
    assert_null(arena_array(arena, SIZE_MAX / 4, 8));
    assert_true(arena_is_exhausted(arena));
    assert_null(arena_alloc(arena, 1));
    assert_null(arena_strdup(arena, "x"));
    arena_destroy(arena);

    arena = arena_create();
    assert_null(arena_alloc(arena, SIZE_MAX));
    assert_true(arena_is_exhausted(arena));
    arena_destroy(arena);

    arena = arena_create();
    arena_set_exhausted(arena);
    assert_true(arena_is_exhausted(arena));
    assert_null(arena_alloc(arena, 1));
    arena_destroy(arena);
    arena = arena_create();
    assert_null(arena_strndup(arena, "x", SIZE_MAX));
    arena_destroy(arena);
}

static void test_array_reserve(void **state)
{
    (void)state;
    uint32_t *array = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        assert_true(array_reserve((void **)&array, &capacity, i + 1, sizeof(*array)));
        assert_true(capacity > i);
        array[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(array[i], i);
    size_t before = capacity;
    assert_false(array_reserve((void **)&array, &capacity, SIZE_MAX / 3, sizeof(*array)));
    assert_false(array_reserve((void **)&array, &capacity, SIZE_MAX, 1));
    assert_int_equal(capacity, before);
    assert_int_equal(array[999], 999);
    free(array);
}

static void test_warnings_come_once_and_end(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    struct warnings warnings;
    warnings_init(&warnings, arena);
    warnings_add(&warnings, "a", "%s: missing", "x");
    warnings_add(&warnings, "a", "%s: missing", "x");
    warnings_add(&warnings, "b", "y");
    assert_int_equal(warnings.count, 2);
    assert_string_equal(warnings.items[0].message, "x: missing");
    assert_string_equal(warnings.items[1].code, "b");
    for (int i = 0; i < 3000; i++)
        warnings_add(&warnings, "c", "number %d", i);
    assert_int_equal(warnings.count, 1001);
    assert_string_equal(warnings.items[1000].code, "more-warnings");
    warnings_deinit(&warnings);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_exhaustion_stays),
        cmocka_unit_test(test_array_reserve),
        cmocka_unit_test(test_warnings_come_once_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
