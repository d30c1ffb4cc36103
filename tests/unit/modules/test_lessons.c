/* What was read of the files of modules, as bytes. */
#include "modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

struct written {
    uint8_t bytes[8192];
    size_t size;
};

static void put(struct written *written, const void *bytes, size_t size)
{
    memcpy(written->bytes + written->size, bytes, size);
    written->size += size;
}

static void put_lesson(struct written *written, const char *path, uint32_t id_size, uint32_t lines)
{
    static const uint8_t id[80] = {0xab, 0xcd};
    static const char sources[] = "m.c\0\0\0m.pyx";
    const uint32_t head[] = {(uint32_t)strlen(path), id_size, 5 + 8, lines, 1, 2, sizeof(sources)};
    put(written, head, sizeof(head));
    put(written, path, strlen(path));
    put(written, id, id_size);
    for (uint64_t i = 0; i < lines; i++)
        put(written, &i, sizeof(i));
    for (uint64_t i = 77; i < 80; i++)
        put(written, &i, sizeof(i));
    put(written, sources, sizeof(sources));
}

static void test_whole(void **state)
{
    (void)state;
    struct written written = {.size = 0};
    struct module_lesson lesson;
    put_lesson(&written, "/lib/a.so", 20, 3);
    put_lesson(&written, "/lib/b.so", 8, 0);
    struct byte_cursor bytes = cursor_over(written.bytes, written.size);
    assert_true(parse_module_lesson(&bytes, &lesson));
    assert_int_equal(lesson.path_size, 9);
    assert_memory_equal(lesson.path, "/lib/a.so", 9);
    assert_int_equal(lesson.build_id.size, 20);
    assert_int_equal(lesson.build_id.bytes[1], 0xcd);
    assert_true(lesson.separate && !lesson.symbols && lesson.names);
    assert_int_equal(lesson.line_count, 3);
    assert_int_equal(load_u64(lesson.lines + 16), 2);
    assert_int_equal(lesson.inline_count, 1);
    assert_int_equal(load_u64(lesson.inlines), 77);
    assert_true(lesson.code);
    assert_int_equal(lesson.code_count, 2);
    assert_int_equal(load_u64(lesson.codes + 8), 79);
    assert_int_equal(lesson.source_size, 12);
    assert_memory_equal(lesson.sources, "m.c\0\0\0m.pyx", 12);
    assert_true(parse_module_lesson(&bytes, &lesson));
    assert_int_equal(lesson.line_count, 0);
    assert_false(parse_module_lesson(&bytes, &lesson));
    assert_false(bytes.failed);
}

static void expect_damaged(const void *start, size_t size)
{
    struct byte_cursor bytes = cursor_over(start, size);
    struct module_lesson lesson;
    assert_false(parse_module_lesson(&bytes, &lesson));
    assert_true(bytes.failed);
}

static void test_damaged(void **state)
{
    (void)state;
    struct written written = {.size = 0};
    put_lesson(&written, "/lib/a.so", 20, 3);
    for (size_t size = 1; size < written.size; size++)
        expect_damaged(written.bytes, size);
    written.size = 0;
    put_lesson(&written, "lib/a.so", 20, 3); // No absolute path.
    expect_damaged(written.bytes, written.size);
    written.size = 0;
    put_lesson(&written, "/a", 0, 3);
    expect_damaged(written.bytes, written.size);
    written.size = 0;
    put_lesson(&written, "/a", 65, 3);
    expect_damaged(written.bytes, written.size);
    written.size = 0;
    put_lesson(&written, "/a", 20, 3);
    memset(written.bytes + 12, 0xff, 4); // More addresses than there may be.
    expect_damaged(written.bytes, written.size);
    written.size = 0;
    put_lesson(&written, "/a", 20, 3);
    written.bytes[29] = 0; // A path with a zero in it.
    expect_damaged(written.bytes, written.size);
    written.size = 0;
    put_lesson(&written, "/a", 20, 3);
    written.bytes[written.size - 1] = 'x'; // A source without its end.
    expect_damaged(written.bytes, written.size);
    written.bytes[written.size - 1] = 0;
    written.bytes[written.size - 2] = 0; // One that stands alone.
    expect_damaged(written.bytes, written.size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
