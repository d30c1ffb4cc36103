#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "live_private.h"

#include <stdlib.h>
#include <string.h>

/* core(5): what is dumped by each bit; 0x33 is the default. */
static void what_the_kernel_would_dump(void **state)
{
    (void)state;
    const struct live_map anonymous = {
        .start = 0x1000, .end = 0x2000, .readable = true, .path = ""};
    struct live_map shared = anonymous, file = anonymous, hidden = anonymous;
    const struct dump_flags excluded = {.excluded = true}, huge = {.huge = true};
    shared.shared = true;
    shared.inode = 5;
    shared.path = "/dev/zero (deleted)";
    shared.path_size = strlen(shared.path);
    file.inode = 7;
    file.path = "/lib/libx.so";
    file.path_size = strlen(file.path);
    hidden.readable = false;

    assert_int_equal(dump_choose(&anonymous, NULL, 0x33, true), DUMP_TOUCHED);
    assert_int_equal(dump_choose(&anonymous, NULL, 0x33, false), DUMP_NOTHING);
    assert_int_equal(dump_choose(&anonymous, NULL, 0x32, true), DUMP_NOTHING);
    assert_int_equal(dump_choose(&anonymous, &excluded, 0xff, true), DUMP_NOTHING);
    assert_int_equal(dump_choose(&hidden, NULL, 0xff, true), DUMP_NOTHING);

    assert_int_equal(dump_choose(&shared, NULL, 0x33, false), DUMP_ALL);
    assert_int_equal(dump_choose(&shared, NULL, 0x31, false), DUMP_NOTHING);
    shared.path_size -= strlen(" (deleted)");
    assert_int_equal(dump_choose(&shared, NULL, 0x33, false), DUMP_NOTHING);
    assert_int_equal(dump_choose(&shared, NULL, 0x3b, false), DUMP_ALL);
    assert_int_equal(dump_choose(&shared, &huge, 0x3f, false), DUMP_NOTHING);
    assert_int_equal(dump_choose(&shared, &huge, 0x40, false), DUMP_ALL);

    assert_int_equal(dump_choose(&file, NULL, 0x33, true), DUMP_ALL);
    assert_int_equal(dump_choose(&file, NULL, 0x33, false), DUMP_FIRST_PAGE);
    assert_int_equal(dump_choose(&file, NULL, 0x23, false), DUMP_NOTHING);
    assert_int_equal(dump_choose(&file, NULL, 0x37, false), DUMP_ALL);
    assert_int_equal(dump_choose(&file, &huge, 0x33, false), DUMP_ALL);
    file.offset = 0x1000;
    assert_int_equal(dump_choose(&file, NULL, 0x33, false), DUMP_NOTHING);

    hidden.path = "[vdso]";
    hidden.path_size = 6;
    assert_int_equal(dump_choose(&hidden, NULL, 0, false), DUMP_ALL);
}

static void flags_of_smaps(void **state)
{
    (void)state;
    static const char text[] =
        "00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon\n"
        "Size:                328 kB\nVmFlags: rd ex mr mw me dw sd \n"
        "7f0000000000-7f0000010000 rw-p 00000000 00:00 0 \n"
        "Rss:                   4 kB\nVmFlags: rd wr mr mw me dd ac \n"
        "7f0000020000-7f0000030000 rw-s 00000000 00:0f 5    /dev/hugepages/x\n"
        "VmFlags: rd wr sh ht\n"
        "7f0000040000-7f0000050000 rw-s 00000000 00:05 6    /dev/some\nVmFlags: io";
    struct dump dump = {.pagemap = -1};
    for (size_t size = 0; size <= sizeof(text) - 1; size++)
        assert_true(parse_smaps(text, size, &dump));
    assert_int_equal(dump.flag_count, 4);
    assert_int_equal(dump.flags[0].start, 0x400000);
    assert_false(dump.flags[0].excluded || dump.flags[0].huge);
    assert_true(dump.flags[1].excluded);
    assert_true(dump.flags[2].huge && !dump.flags[2].excluded);
    assert_true(dump.flags[3].excluded);
    dump_deinit(&dump);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_kernel_would_dump),
        cmocka_unit_test(flags_of_smaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
