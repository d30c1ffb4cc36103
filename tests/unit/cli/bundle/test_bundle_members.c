/* The index of an unpacked archive, written and read back; what is none is refused. */
#include "bundle_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD_SIZE 32

/* As members_write() has it: offset, size, sizes of name and link, whether it begins at the root.
 */
static size_t put(char *at, uint64_t offset, uint64_t size, const char *name, const char *link)
{
    const uint64_t numbers[2] = {offset, size};
    const uint32_t sizes[4] = {(uint32_t)strlen(name) + 1, link ? (uint32_t)strlen(link) + 1 : 0,
                               link != NULL, 0};
    memcpy(at, numbers, sizeof(numbers));
    memcpy(at + sizeof(numbers), sizes, sizeof(sizes));
    memcpy(at + HEAD_SIZE, name, sizes[0]);
    if (link)
        memcpy(at + HEAD_SIZE + sizes[0], link, sizes[1]);
    return HEAD_SIZE + sizes[0] + sizes[1];
}

static bool parse(char *text, size_t size, struct member_list *ret)
{
    const bool whole = parse_members(text, size, ret);
    free(ret->items);
    return whole;
}

static void test_members(void **state)
{
    (void)state;
    char text[256];
    struct member_list list;
    size_t size = put(text, 4096, 10, "a/b", NULL);
    size += put(text + size, 0, 0, "c", "a/b");
    assert_true(parse_members(text, size, &list));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.items[0].name, "a/b");
    assert_null(list.items[0].link);
    assert_int_equal(list.items[0].offset, 4096);
    assert_int_equal(list.items[0].size, 10);
    assert_false(list.items[0].from_root);
    assert_string_equal(list.items[1].name, "c");
    assert_string_equal(list.items[1].link, "a/b");
    assert_true(list.items[1].from_root);
    free(list.items);
    assert_true(parse(text, 0, &list));
    assert_int_equal(list.count, 0);
}

static void test_what_is_none(void **state)
{
    (void)state;
    char text[256];
    struct member_list list;
    const size_t size = put(text, 1, 2, "a/b", "c");
    for (size_t cut = 1; cut < size; cut++)
        assert_false(parse(text, cut, &list));
    assert_true(parse(text, size, &list));
    text[size - 1] = 'x'; // A link without an end.
    assert_false(parse(text, size, &list));
    (void)put(text, 1, 2, "a/b", "c");
    text[HEAD_SIZE + 3] = 'x'; // A name without one.
    assert_false(parse(text, size, &list));
    (void)put(text, (uint64_t)1 << 63, 0, "a/b", "c");
    assert_false(parse(text, size, &list));
    (void)put(text, INT64_MAX, 1, "a/b", "c"); // It would end behind all files.
    assert_false(parse(text, size, &list));
    (void)put(text, INT64_MAX, 0, "a/b", "c");
    assert_true(parse(text, size, &list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
