#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "core_writer.h"
#include "source_files.h"

static void source_lines_are_cut_clean(void **state)
{
    (void)state;
    char path[64] = "/tmp/psc-test-source-XXXXXX", core[64];
    static const char text[] = "first\n\t  second  \r\n\n\xc3\xa4 last";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 1, 11, 0, 0, 0);
    core_writer_write(&writer, core);
    struct target *target;
    assert_int_equal(core_open(core, NULL, NULL, &target, NULL), PSC_OK);
    struct sources *sources = sources_create(target, target->arena);
    assert_string_equal(sources_copy_line(sources, path, 1), "first");
    assert_string_equal(sources_copy_line(sources, path, 2), "second");
    assert_null(sources_copy_line(sources, path, 3));
    assert_string_equal(sources_copy_line(sources, path, 4), "\xc3\xa4 last");
    assert_null(sources_copy_line(sources, path, 5));
    assert_null(sources_copy_line(sources, path, 0));
    assert_null(sources_copy_line(sources, "<string>", 1));
    assert_null(sources_copy_line(sources, "/no/such/file.py", 1));
    size_t size;
    assert_non_null(sources_find_line(sources, path, 3, &size));
    assert_int_equal(size, 0);
    sources_destroy(sources);
    target_close(target);
    unlink(path);
    unlink(core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_lines_are_cut_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
