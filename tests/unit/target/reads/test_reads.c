/* Which bytes of pages were read. */
#include "reads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void check_run(const struct reads_page *page, size_t *at, size_t first, size_t end)
{
    size_t got_first, got_end;
    assert_true(reads_next_run(page, at, &got_first, &got_end));
    assert_int_equal(got_first, first);
    assert_int_equal(got_end, end);
}

static void runs_are_what_was_read(void **state)
{
    (void)state;
    struct target_reads *reads = reads_create();
    size_t count = 0, at = 0, first, end;
    assert_non_null(reads);
    reads_add(reads, 0x1008, 8);
    reads_add(reads, 0x1010, 120); // Together with the one before, over two words of bits.
    reads_add(reads, 0x1100, 1);
    reads_add(reads, 0x1fff, 3); // Into the next page.
    struct reads_page **pages = reads_list(reads, &count);
    assert_int_equal(count, 2);
    check_run(pages[0], &at, 8, 0x88);
    check_run(pages[0], &at, 0x100, 0x101);
    check_run(pages[0], &at, 0xfff, 0x1000);
    assert_false(reads_next_run(pages[0], &at, &first, &end));
    at = 0;
    check_run(pages[1], &at, 0, 2);
    assert_false(reads_next_run(pages[1], &at, &first, &end));
    free(pages);
    reads->failed = true;
    reads_clear(reads);
    assert_false(reads->failed);
    assert_int_equal(reads->pages.count, 0);
    reads_add(reads, 0x1000, 4096);
    pages = reads_list(reads, &count);
    at = 0;
    check_run(pages[0], &at, 0, 4096);
    free(pages);
    reads_destroy(reads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_what_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
