/* Lines of /proc/PID/maps. */
#include "live_private.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct live_map parse_one(const char *text)
{
    struct live_map map;
    const char *at = text, *end = text + strlen(text);
    assert_true(parse_next_map(&at, end, &map));
    assert_ptr_equal(at, end);
    return map;
}

static void test_file(void **state)
{
    (void)state;
    struct live_map map = parse_one("7f0000001000-7f0000003000 r-xp 00002000 fd:1a 1311768 "
                                    "                  /usr/lib/libm.so.6\n");
    assert_int_equal(map.start, 0x7f0000001000);
    assert_int_equal(map.end, 0x7f0000003000);
    assert_int_equal(map.offset, 0x2000);
    assert_int_equal(map.device, (uint64_t)0xfd << 32 | 0x1a);
    assert_int_equal(map.inode, 1311768);
    assert_true(map.readable && map.executable && !map.writable);
    assert_int_equal(map.path_size, strlen("/usr/lib/libm.so.6"));
    assert_memory_equal(map.path, "/usr/lib/libm.so.6", map.path_size);
}

static void test_anonymous_memory(void **state)
{
    (void)state;
    struct live_map map = parse_one("00400000-00401000 rw-p 00000000 00:00 0 \n");
    assert_int_equal(map.inode, 0);
    assert_int_equal(map.path_size, 0);
    assert_true(map.readable && map.writable && !map.executable);
    map = parse_one("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0   [vsyscall]");
    assert_int_equal(map.end, 0xffffffffff601000);
    assert_memory_equal(map.path, "[vsyscall]", map.path_size);
}

static void test_lines_that_are_none_are_passed_over(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "x",
        "400000-401000",
        "400000-401000 r",
        "400000-401000 rw-p",
        "400000-401000 rw-p 0",
        "400000-401000 rw-p 0 00:00",
        "400000-401000 rw-p 0 00 0",
        "400000 401000 rw-p 0 00:00 0",
        "401000-400000 rw-p 0 00:00 0",
        "400000-400000 rw-p 0 00:00 0",
        "11112222333344445-400000 rw-p 0 00:00 0",
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(wrong); i++) {
        struct live_map map;
        const char *at = wrong[i];
        assert_false(parse_next_map(&at, at + strlen(at), &map));
    }
    struct live_map map = parse_one("no mapping\n\n1000-2000 r--p 0 00:00 0 /a b\\012c (deleted)");
    assert_memory_equal(map.path, "/a b\\012c (deleted)", map.path_size);
}

static void test_mappings_of_a_target(void **state)
{
    (void)state;
    static char text[] = "1000-2000 r--p 00000000 08:01 7 /lib/one.so\n"
                         "2000-3000 r-xp 00001000 08:01 7 /lib/one.so\n"
                         "2800-3800 rw-p 00000000 00:00 0 \n" /* Overlaps: the list moved. */
                         "4000-5000 rw-p 00000000 00:00 0 [heap]\n"
                         "5000-6000 r--p 00000000 08:01 8 /lib/one.so (deleted)\n"
                         "6000-7000 r--p 00000000 08:01 9 /odd\\012name\n";
    struct live_files files = {0};
    const struct live_text maps = {text, sizeof(text) - 1, sizeof(text)};
    static const struct target_ops no_ops = {0};
    struct target *target = target_create(TARGET_PROCESS, &no_ops, NULL, NULL);
    assert_non_null(target);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(live_take_maps(target, &files, &maps, ""), PSC_OK);
        assert_int_equal(target->mapping_count, 5);
        assert_int_equal(target->file_count, 3);
        assert_ptr_equal(target->mappings[0].file, target->mappings[1].file);
        assert_null(target->mappings[2].file);
        assert_true(target->mappings[3].file->deleted);
        assert_string_equal(target->mappings[3].file->path, "/lib/one.so");
        assert_ptr_not_equal(target->mappings[3].file, target->mappings[0].file);
        assert_string_equal(target->mappings[4].file->path, "/odd\nname");
    }
    target_close(target);
    free(files.items);
}

static void test_paths_below_another_root(void **state)
{
    (void)state;
    static char text[] = "1000-2000 r--p 00000000 08:01 7 /srv/root/lib/one.so\n"
                         "3000-4000 r--p 00000000 08:01 8 /srv/rootless/two.so\n"
                         "5000-6000 r--p 00000000 00:01 9 /memfd:three (deleted)\n";
    static const char *const paths[] = {"/lib/one.so", "/srv/rootless/two.so", "/memfd:three"};
    struct live_files files = {0};
    const struct live_text maps = {text, sizeof(text) - 1, sizeof(text)};
    static const struct target_ops no_ops = {0};
    struct target *target = target_create(TARGET_PROCESS, &no_ops, NULL, NULL);
    assert_non_null(target);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(live_take_maps(target, &files, &maps, "/srv/root"), PSC_OK);
        assert_int_equal(target->file_count, 3);
        for (size_t i = 0; i < 3; i++)
            assert_string_equal(target->mappings[i].file->path, paths[i]);
    }
    target_close(target);
    free(files.items);
}

static void assert_maps(const struct target *target, const psc_addr (*expected)[3], size_t count)
{
    assert_int_equal(target->mapping_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(target->mappings[i].start, expected[i][0]);
        assert_int_equal(target->mappings[i].end, expected[i][1]);
        assert_int_equal(target->mappings[i].offset, expected[i][2]);
    }
}

/* What lies where the later list has nothing is kept, in parts where it has to be. */
static void test_two_lists(void **state)
{
    (void)state;
    static char text[] = "2000-3000 r--p 00000000 08:01 7 /lib/one.so\n"
                         "5000-6000 rw-p 00000000 00:00 0\n"
                         "7000-9000 rw-p 00000000 00:00 0\n"
                         "c000-f000 rw-p 00000000 00:00 0 [heap]\n";
    static const psc_addr now[][3] = {
        {0x2000, 0x3000, 0}, {0x5000, 0x6000, 0}, {0x7000, 0x9000, 0}, {0xc000, 0xf000, 0}};
    static const struct target_mapping before[] = {
        {.start = 0x1000, .end = 0x1800},
        {.start = 0x2000, .end = 0x3000},
        {.start = 0x4000, .end = 0x8000, .offset = 0x100},
        {.start = 0xb000, .end = 0xd000},
        {.start = 0xe000, .end = 0x10000},
    };
    static const psc_addr joined[][3] = {
        {0x1000, 0x1800, 0}, {0x2000, 0x3000, 0},      {0x4000, 0x5000, 0x100},
        {0x5000, 0x6000, 0}, {0x6000, 0x7000, 0x2100}, {0x7000, 0x9000, 0},
        {0xb000, 0xc000, 0}, {0xc000, 0xf000, 0},      {0xf000, 0x10000, 0x1000},
    };
    struct live_files files = {0};
    const struct live_text maps = {text, sizeof(text) - 1, sizeof(text)};
    static const struct target_ops no_ops = {0};
    struct target *target = target_create(TARGET_PROCESS, &no_ops, NULL, NULL);
    assert_non_null(target);
    assert_int_equal(live_take_maps(target, &files, &maps, ""), PSC_OK);
    assert_int_equal(live_join_maps(target, NULL, 0), PSC_OK);
    assert_maps(target, now, PSC_ARRAY_SIZE(now));
    assert_int_equal(live_join_maps(target, before, PSC_ARRAY_SIZE(before)), PSC_OK);
    assert_maps(target, joined, PSC_ARRAY_SIZE(joined));
    assert_int_equal(live_join_maps(target, before, PSC_ARRAY_SIZE(before)), PSC_OK);
    assert_maps(target, joined, PSC_ARRAY_SIZE(joined));
    target_close(target);
    free(files.items);
}

static void test_pages_stay_as_they_were_read(void **state)
{
    (void)state;
    char name[] = "/tmp/psc-pages-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    static uint8_t bytes[40 * 4096];
    for (size_t i = 0; i < 40; i++)
        memset(bytes + i * 4096, (int)i, 4096);
    assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));

    struct live_pages pages;
    struct live_reader *reader = reader_create(-1);
    assert_non_null(reader);
    assert_true(pages_init(&pages, fd, reader));
    for (size_t i = 39; i > 0; i--) /* Downwards, as Python's frames are walked. */
        assert_int_equal(pages_find(&pages, i * 4096) ? pages_find(&pages, i * 4096)[5]
                                                      : pages_read(&pages, i * 4096)[5],
                         i);
    assert_int_equal(pages.table.count, 39);
    memset(bytes, 77, sizeof(bytes));
    assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
    assert_int_equal(pages_find(&pages, 20 * 4096)[0], 20);
    assert_null(pages_read(&pages, 0));
    assert_null(pages_read(&pages, 40 * 4096)); /* Behind the end. */
    assert_null(pages_read(&pages, UINT64_MAX - 4095));
    pages_clear(&pages);
    assert_null(pages_find(&pages, 20 * 4096));
    assert_int_equal(pages_read(&pages, 20 * 4096)[0], 77);
    pages_deinit(&pages);
    reader_destroy(reader);
    close(fd);
}

static void test_many_pages(void **state)
{
    (void)state;
    struct live_pages pages;
    static const uint8_t page[4096];
    assert_true(pages_init(&pages, -1, NULL));
    for (psc_addr i = 1; i <= 40000; i++)
        assert_true(pages_add(&pages, i * 4096, page + i % 4096));
    for (psc_addr i = 1; i <= 40000; i++)
        assert_ptr_equal(pages_find(&pages, i * 4096), page + i % 4096);
    assert_int_equal(pages.table.count, 40000);
    assert_true(pages_add(&pages, 4096, page));
    assert_ptr_equal(pages_find(&pages, 4096), page + 1); /* As it was. */
    pages_deinit(&pages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_anonymous_memory),
        cmocka_unit_test(test_lines_that_are_none_are_passed_over),
        cmocka_unit_test(test_mappings_of_a_target),
        cmocka_unit_test(test_paths_below_another_root),
        cmocka_unit_test(test_two_lists),
        cmocka_unit_test(test_pages_stay_as_they_were_read),
        cmocka_unit_test(test_many_pages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
