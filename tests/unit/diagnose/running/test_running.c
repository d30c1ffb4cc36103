/* What was running: files of installed distributions, the environment, the test, the rank. */
#include "running_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static bool is_recorded(const char *text, const char *path)
{
    return parse_record(text, strlen(text), path);
}

static void test_record(void **state)
{
    static const char record[] = "numpy/a.so,sha256=x,12\r\n"
                                 "\"odd,name/b \"\"c\"\".so\",,\n"
                                 "../../bin/f2py,sha256=y,3\n"
                                 "numpy.libs/libblas.so";
    (void)state;
    assert_true(is_recorded(record, "numpy/a.so"));
    assert_true(is_recorded(record, "odd,name/b \"c\".so"));
    assert_true(is_recorded(record, "numpy.libs/libblas.so"));
    assert_false(is_recorded(record, "numpy/a"));
    assert_false(is_recorded(record, "umpy/a.so"));
    assert_false(is_recorded(record, "numpy.libs/libblas.so.0"));
    assert_false(is_recorded(record, "odd"));
    assert_false(is_recorded("", "a"));
    assert_false(is_recorded("\"a", "a"));
    assert_false(is_recorded("a\"\"b,", "a\"b"));
}

static void assert_conda(const char *text, const char *path, const char *wanted)
{
    struct arena *arena = arena_create();
    struct trace_package found = {0};
    bool listed = parse_conda_record(text, strlen(text), path, arena, &found);
    assert_int_equal(listed, wanted != NULL);
    if (wanted) {
        assert_string_equal(found.name, "zlib");
        assert_string_equal(found.version, wanted);
    }
    arena_destroy(arena);
}

static void test_conda_record(void **state)
{
    static const char plain[] =
        "{\"build\": \"h1_0\", \"files\": [\"lib/libz.so\", \"lib/libz.so.1\"],"
        " \"name\": \"zlib\", \"version\": \"1.3\"}";
    static const char paths[] =
        "{\"name\": \"zlib\", \"version\": \"2\", \"files\": [], \"paths_data\":"
        " {\"paths\": [7, {\"_path\": \"lib\\/libz.so\", \"sha256\": \"a\"}]}}";
    (void)state;
    assert_conda(plain, "lib/libz.so.1", "1.3");
    assert_conda(paths, "lib/libz.so", "2");
    assert_conda(plain, "libz.so", NULL);
    assert_conda(plain, "lib/libz.so.1.2", NULL);
    assert_conda("{\"files\": [\"lib/libz.so\"], \"name\": \"zlib\", \"version\": 3}",
                 "lib/libz.so", NULL);
    assert_conda("{\"files\": {\"lib/libz.so\": 1}, \"name\": \"zlib\", \"version\": \"3\"}",
                 "lib/libz.so", NULL);
    assert_conda("[\"lib/libz.so\"]", "lib/libz.so", NULL);
    assert_conda("{\"files\": [\"lib/libz.so\"", "lib/libz.so", NULL);
    assert_conda("", "lib/libz.so", NULL);
}

static void assert_field(const char *text, const char *name, const char *wanted)
{
    size_t size = 0;
    const char *found = parse_metadata_field(text, strlen(text), name, &size);
    if (!wanted) {
        assert_null(found);
        return;
    }
    assert_non_null(found);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(found, wanted, size);
}

static void test_metadata(void **state)
{
    static const char text[] = "Metadata-Version: 2.1\nName: NumPy\r\nVersion:\t1.26.4 \nEmpty:\n"
                               "\nName: of the description\nSummary: behind\n";
    (void)state;
    assert_field(text, "Name", "NumPy");
    assert_field(text, "Version", "1.26.4");
    assert_field(text, "Empty", NULL);
    assert_field(text, "Summary", NULL);
    assert_field(text, "Nam", NULL);
    assert_field("", "Name", NULL);
    assert_field("Name", "Name", NULL);
    assert_field("Version: 2", "Version", "2");
}

static void test_lines(void **state)
{
    static const char text[] = "cv2\nnumpy\r\nlast";
    (void)state;
    assert_true(parse_has_line(text, strlen(text), "cv2"));
    assert_true(parse_has_line(text, strlen(text), "numpy"));
    assert_true(parse_has_line(text, strlen(text), "last"));
    assert_false(parse_has_line(text, strlen(text), "num"));
    assert_false(parse_has_line(text, strlen(text), "numpy\r"));
}

static bool is_shown(const char *name)
{
    return running_shows_variable(name, strlen(name));
}

static void test_names(void **state)
{
    (void)state;
    assert_true(is_shown("ASAN_OPTIONS"));
    assert_true(is_shown("OMPI_COMM_WORLD_RANK"));
    assert_true(is_shown("OMP_NUM_THREADS"));
    assert_true(is_shown("PYTHONPATH"));
    assert_true(is_shown("PYTHON_GIL"));
    assert_true(is_shown("RANK"));
    assert_true(is_shown("XLA_FLAGS"));
    assert_true(running_shows_variable("RANK=3", 4));
    assert_false(is_shown(""));
    assert_false(is_shown("RAN"));
    assert_false(is_shown("RANKS"));
    assert_false(is_shown("PYTHONSECRET"));
    assert_false(is_shown("AWS_SECRET_ACCESS_KEY"));
    assert_false(is_shown("ZZZ"));
}

static void test_environment(void **state)
{
    static const char text[] = "A_TOKEN=hidden\0RANK=1\0RANK=2\0=RANK\0RANK\0PYTHONPATH=\0PWD=/a=b";
    struct running_variables found = {0};
    struct arena *arena = arena_create();
    (void)state;
    parse_environment(text, sizeof(text) - 1, arena, &found);
    assert_int_equal(found.count, 3);
    assert_string_equal(found.items[0].name, "RANK");
    assert_string_equal(found.items[0].value, "1");
    assert_string_equal(found.items[1].name, "PYTHONPATH");
    assert_string_equal(found.items[1].value, "");
    assert_string_equal(found.items[2].value, "/a=b");
    assert_false(found.items[2].cut);
    free(found.items);
    arena_destroy(arena);
}

static void test_long_value(void **state)
{
    struct running_variables found = {0};
    struct arena *arena = arena_create();
    static char text[TRACE_VARIABLE_LIMIT + 100];
    (void)state;
    memset(text, 'x', sizeof(text));
    memcpy(text, "PYTHONPATH=", strlen("PYTHONPATH="));
    parse_environment(text, sizeof(text), arena, &found);
    assert_int_equal(found.count, 1);
    assert_true(found.items[0].cut);
    assert_int_equal(strlen(found.items[0].value), TRACE_VARIABLE_LIMIT);
    free(found.items);
    arena_destroy(arena);
}

static struct trace_running running_of(struct arena *arena, const struct trace_variable *variables,
                                       size_t count)
{
    struct trace_running running = {.environment = variables, .environment_count = count};
    running_name_test(arena, &running);
    return running;
}

static void test_test_and_rank(void **state)
{
    const struct trace_variable usual[] = {
        {.name = "PYTEST_CURRENT_TEST", .value = "a/t.py::test_x[a (1)] (setup)"},
        {.name = "PYTEST_XDIST_WORKER", .value = "gw3"},
        {.name = "SLURM_PROCID", .value = "0"},
        {.name = "OMPI_COMM_WORLD_RANK", .value = "12"}};
    const struct trace_variable odd[] = {{.name = "PYTEST_CURRENT_TEST", .value = "(call)"},
                                         {.name = "RANK", .value = "-1"},
                                         {.name = "LOCAL_RANK", .value = "12345678901"}};
    struct arena *arena = arena_create();
    (void)state;
    struct trace_running running = running_of(arena, usual, PSC_ARRAY_SIZE(usual));
    assert_string_equal(running.test, "a/t.py::test_x[a (1)]");
    assert_string_equal(running.phase, "setup");
    assert_string_equal(running.worker, "gw3");
    assert_string_equal(running.rank_by, "OMPI_COMM_WORLD_RANK");
    assert_int_equal(running.rank, 12);
    running = running_of(arena, odd, PSC_ARRAY_SIZE(odd));
    assert_string_equal(running.test, "(call)");
    assert_null(running.phase);
    assert_null(running.rank_by);
    running = running_of(arena, NULL, 0);
    assert_null(running.test);
    assert_null(running.worker);
    arena_destroy(arena);
}

/* Of a damaged core: mappings lie on each other. */
static void test_more_memory_than_there_is(void **state)
{
    struct target_mapping mappings[] = {
        {.start = 0x1000, .end = INT64_MAX, .writable = true},
        {.start = 0x2000, .end = INT64_MAX, .writable = true},
    };
    struct target target = {.mappings = mappings, .mapping_count = 1};
    struct trace_running running = {0};
    struct arena *arena = arena_create();
    (void)state;
    running_sum_memory(&target, NULL, arena, &running);
    assert_true(running.memory_count > 0);
    assert_string_equal(running.memory[0].kind, "anonymous");
    assert_int_equal(running.memory[0].bytes, INT64_MAX - 0x1000);
    target.mapping_count = 2;
    running = (struct trace_running){0};
    running_sum_memory(&target, NULL, arena, &running);
    assert_int_equal(running.memory_count, 0);
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_record),
                                       cmocka_unit_test(test_conda_record),
                                       cmocka_unit_test(test_metadata),
                                       cmocka_unit_test(test_lines),
                                       cmocka_unit_test(test_names),
                                       cmocka_unit_test(test_environment),
                                       cmocka_unit_test(test_long_value),
                                       cmocka_unit_test(test_test_and_rank),
                                       cmocka_unit_test(test_more_memory_than_there_is)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
