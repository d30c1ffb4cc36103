/* What is typed to ask for a value: names, attributes, numbers, keys; and what is none of them. */
#include "value_path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct value_path path;

static void check(const char *typed, const char *expected)
{
    struct psc_error err;
    char found[2 * VALUE_PATH_SIZE] = "";
    static const char kinds[] = {'n', '.', 'i', 'k'};
    assert_int_equal(parse_value_path(typed, &path, &err), PSC_OK);
    for (size_t i = 0; i < path.count; i++) {
        size_t size = strlen(found);
        snprintf(found + size, sizeof(found) - size, "%c%s ", kinds[path.steps[i].kind],
                 path.steps[i].text);
    }
    assert_string_equal(found, expected);
}

static void refuse(const char *typed, const char *said)
{
    struct psc_error err = {0};
    assert_int_equal(parse_value_path(typed, &path, &err), PSC_ERR_ARGUMENT);
    if (!strstr(err.message, said))
        fail_msg("'%s' of %s is not '%s'", err.message, typed, said);
}

static void test_steps(void **state)
{
    (void)state;
    check("name", "nname ");
    check("  _x9  ", "n_x9 ");
    check("\xc3\xbc", "n\xc3\xbc ");
    check("self.rows[-1]['a b'].c", "nself .rows i-1 ka b .c ");
    check("d [ 'k' ] . x [ 7 ]", "nd kk .x i7 ");
    check("d[\"it's\"]['\\'\\\\\\n']", "nd kit's k'\\\\n ");
    check("d['']", "nd k ");
    check(".0", "n.0 ");
    check(".0[1]", "n.0 i1 ");
}

static void test_numbers(void **state)
{
    (void)state;
    check("a[007]", "na i7 ");
    check("a[-0]", "na i0 ");
    check("a[000]", "na i0 ");
    check("a[-00012]", "na i-12 ");
    assert_int_equal(path.steps[1].index, -12);
    check("a[1180591620717411303424]", "na i1180591620717411303424 ");
    assert_true(path.steps[1].index == INT64_MAX);
    check("a[-1180591620717411303424]", "na i-1180591620717411303424 ");
    assert_true(path.steps[1].index == INT64_MIN);
}

static void test_where_a_step_ends(void **state)
{
    (void)state;
    check(" a.bc[ 1 ]", "na .bc i1 ");
    assert_int_equal(path.steps[0].end, 2);
    assert_int_equal(path.steps[1].end, 5);
    assert_int_equal(path.steps[2].end, 10);
}

static void test_what_is_refused(void **state)
{
    char many[4 * VALUE_PATH_STEPS + 2] = "a";
    char size[VALUE_PATH_SIZE + 1];
    (void)state;
    refuse("", "a name is wanted at column 1");
    refuse("1", "a name is wanted at column 1");
    refuse(".x", "a name is wanted at column 2");
    refuse("a b", "'.' or '[' is wanted at column 3");
    refuse("f()", "'.' or '[' is wanted at column 2");
    refuse("a.", "a name is wanted at column 3");
    refuse("a..b", "a name is wanted at column 3");
    refuse("a[", "a number or a key in quotes is wanted at column 3");
    refuse("a[b]", "a number or a key in quotes is wanted at column 3");
    refuse("a[-]", "a number or a key in quotes is wanted at column 3");
    refuse("a[1", "']' is wanted at column 4");
    refuse("a['x]", "a closing ' is wanted at column 6");
    refuse("a[\"x\\\"]", "a closing \" is wanted");
    for (size_t i = 0; i < VALUE_PATH_STEPS; i++)
        memcpy(many + 1 + 2 * i, ".a", 3);
    refuse(many, "more than 32 steps");
    memset(size, 'a', VALUE_PATH_SIZE);
    size[VALUE_PATH_SIZE] = '\0';
    refuse(size, "longer than 1024 bytes");
    size[VALUE_PATH_SIZE - 1] = '\0';
    assert_int_equal(parse_value_path(size, &path, NULL), PSC_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_where_a_step_ends),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
