/* What stands in a core's notes of the auxiliary vector and of mapped files. */
#include "target_private.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void auxv_is_read_up_to_its_end(void **state)
{
    (void)state;
    const uint64_t words[] = {
        AT_PHDR,   0x40, AT_PHNUM, 3, AT_ENTRY, 0x1000, AT_SYSINFO_EHDR, 0x7000, AT_EXECFN, 0x8000,
        AT_PAGESZ, 4096, 77,       1, AT_NULL,  0,      AT_ENTRY,        0x2000};
    struct target_auxv auxv = {0};
    parse_auxv((const uint8_t *)words, sizeof(words), &auxv);
    assert_int_equal(auxv.phdr, 0x40);
    assert_int_equal(auxv.phnum, 3);
    assert_int_equal(auxv.entry, 0x1000);
    assert_int_equal(auxv.vdso, 0x7000);
    assert_int_equal(auxv.execfn, 0x8000);
    assert_int_equal(auxv.page_size, 4096);
    /* Half an entry is none; what is not told stays. */
    auxv.entry = 5;
    parse_auxv((const uint8_t *)(words + 4), 15, &auxv);
    assert_int_equal(auxv.entry, 5);
}

static void check_files(const void *bytes, size_t size, size_t expected)
{
    struct elf_bytes note = {bytes, size};
    struct core_file_range *ranges = NULL;
    size_t count = 99;
    assert_int_equal(parse_core_files(&note, &ranges, &count), PSC_OK);
    assert_int_equal(count, expected);
    if (expected) {
        assert_int_equal(ranges[0].start, 0x1000);
        assert_int_equal(ranges[0].end, 0x2000);
        assert_int_equal(ranges[0].offset, 0x3000);
        assert_string_equal(ranges[0].path, "/a");
    }
    free(ranges);
}

static void file_ranges_are_read(void **state)
{
    (void)state;
    uint64_t words[9] = {2, 0x1000, 0x1000, 0x2000, 3, 0x4000, 0x5000, 0};
    memcpy(words + 8, "/a\0/bc\0", 8);
    check_files(words, sizeof(words), 2);
    check_files(words, sizeof(words) - 2, 1); /* The second path has no end. */
    check_files(words, 64, 0);
    check_files(words, 16, 0);
    check_files(words, 15, 0);
    words[5] = 0x6000; /* It ends before it begins. */
    check_files(words, sizeof(words), 1);
    words[0] = UINT64_MAX;
    check_files(words, 15, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auxv_is_read_up_to_its_end),
        cmocka_unit_test(file_ranges_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
