#include "base.h"
#include "json_cost.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE ((size_t)12 * 1024 * 1024)

static bool is_affordable(const char *begin, const char *repeated, const char *end)
{
    size_t used = strlen(begin), length = strlen(repeated), last = strlen(end);
    char *text = malloc(SIZE + used + length + last);
    assert_non_null(text);
    memcpy(text, begin, used);
    for (; used < SIZE; used += length)
        memcpy(text + used, repeated, length);
    memcpy(text + used, end, last);
    bool good = json_is_affordable(text, used + last);
    free(text);
    return good;
}

static void test_values_that_cost_more_than_their_text(void **state)
{
    (void)state;
    assert_false(is_affordable("[", "{},", "1]"));
    assert_false(is_affordable("[", "[],", "1]"));
    assert_false(is_affordable("{\"a\":[", "1,", "1]}"));
    assert_false(is_affordable("", "[", ""));
}

static void test_texts(void **state)
{
    (void)state;
    assert_true(is_affordable("{\"a\":\"", "{}[],\\\"", "\"}"));
    assert_true(is_affordable("[", "{\"name\":\"the name of a function\",\"line\":12},", "1]"));
    assert_true(is_affordable("", "no JSON ", ""));
    assert_true(json_is_affordable("", 0));
    assert_true(json_is_affordable("\"\\", 2));
}

static void test_many_texts(void **state)
{
    (void)state;
    uint64_t excess = 0;
    size_t taken = 0;
    while (json_are_affordable("{\"a\":[{},{},{},{}]}", 20, &excess) && taken < JSON_COST_LIMIT)
        taken++;
    assert_in_range(taken, JSON_COST_LIMIT / 2000, JSON_COST_LIMIT / 500);
    excess = 0;
    for (size_t i = 0; i < 1000; i++)
        assert_true(
            json_are_affordable("{\"name\":\"the name of a function, long\"}", 40, &excess));
}

/* Only the first one is looked at: many may follow it. */
static void test_first_of_many(void **state)
{
    (void)state;
    assert_true(is_affordable("{\"a\":1}\n", "{},", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_that_cost_more_than_their_text),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_many_texts),
        cmocka_unit_test(test_first_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
