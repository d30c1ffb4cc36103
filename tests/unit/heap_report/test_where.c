/* Expressions on objects, as they are typed. */
#include "where.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct where where;

static const struct where_term *one(const char *typed)
{
    struct psc_error err = {0};
    assert_int_equal(parse_where(typed, &where, &err), PSC_OK);
    return &where.terms[0];
}

static void test_terms(void **state)
{
    (void)state;
    const struct where_term *term = one("  len( self.rows['a b'][-1] ) >= 1e3 ");
    assert_true(term->is_length && term->is_number);
    assert_int_equal(term->operation, WHERE_MORE_OR_EQUAL);
    assert_string_equal(term->path, "self.rows['a b'][-1]");
    assert_true(term->number > 999 && term->number < 1001);
    term = one("name == 'it is'");
    assert_true(term->is_text);
    assert_string_equal(term->value, "it is");
    term = one("'x' in name");
    assert_int_equal(term->operation, WHERE_CONTAINS);
    assert_string_equal(term->path, "name");
    assert_string_equal(one("owner is None")->value, "None");
    assert_int_equal(one("owner is not None")->operation, WHERE_UNEQUAL);
    assert_int_equal(one("length")->operation, WHERE_IS_SET);
    assert_false(one("length > 2")->is_length);
}

static void test_several(void **state)
{
    (void)state;
    one("a < -1 and len(b) and c != \"d and e\"");
    assert_int_equal(where.count, 3);
    assert_int_equal(where.terms[1].operation, WHERE_IS_SET);
    assert_string_equal(where.terms[2].value, "d and e");
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const typed[] = {
        "",       "a >",   "a > b", "a or b", "len(a",   "len a", "a['", "a[",
        "'x' in", "a = 3", "a and", "(a)",    "a > 3 b", "a]",    "'a",  "a == 'b",
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(typed); i++) {
        struct psc_error err = {0};
        assert_int_equal(parse_where(typed[i], &where, &err), PSC_ERR_ARGUMENT);
        assert_true(*err.message);
    }
}

static void test_limits(void **state)
{
    (void)state;
    struct psc_error err = {0};
    char many[WHERE_SIZE] = "a";
    for (size_t i = 0; i < WHERE_TERMS; i++)
        strcat(many, " and a");
    assert_int_equal(parse_where(many, &where, &err), PSC_ERR_ARGUMENT);
    char large[2 * WHERE_SIZE];
    memset(large, 'a', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    assert_int_equal(parse_where(large, &where, &err), PSC_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_several),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
