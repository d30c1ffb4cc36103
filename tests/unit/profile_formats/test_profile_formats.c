/* Each format of a made-up profile, as far as it can be told without the tools that read it. */
#include "profile_formats.h"
#include "profile_sample.h"
#include "samples.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

#define MOMENTS 100

static int append(void *context, const char *bytes, size_t size)
{
    text_add(context, bytes, size);
    return 0;
}

static const struct profile_format *find_format(const char *name)
{
    const struct profile_format *format = profile_formats;
    while (strcmp(format->name, name))
        format++;
    return format;
}

static struct text write_one(const struct profile *profile, const char *name)
{
    struct text text = {0};
    struct profile_output output = {.write = append, .context = &text, .version = "1.2.3"};
    assert_int_equal(find_format(name)->write(profile, &output, NULL), PSC_OK);
    assert_false(text.failed);
    return text;
}

static json_t *load(const struct profile *profile, const char *name)
{
    json_error_t error;
    struct text text = write_one(profile, name);
    json_t *root = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("%s in:\n%s", error.text, text.data);
    text_deinit(&text);
    return root;
}

static void test_speedscope(void **state)
{
    (void)state;
    struct sample_profile sample;
    assert_true(sample_make(&sample, MOMENTS));
    json_t *root = load(sample.profile, "speedscope");
    const json_t *frames = json_object_get(json_object_get(root, "shared"), "frames");
    assert_int_equal(json_array_size(frames), sample.profile->frame_count - 1);
    const json_t *profiles = json_object_get(root, "profiles");
    assert_int_equal(json_array_size(profiles), 4);
    for (size_t i = 0; i < 4; i++) {
        const json_t *one = json_array_get(profiles, i);
        const json_t *samples = json_object_get(one, "samples");
        const json_t *weights = json_object_get(one, "weights");
        assert_int_equal(json_array_size(samples), json_array_size(weights));
        json_int_t sum = 0;
        for (size_t k = 0; k < json_array_size(weights); k++) {
            sum += json_integer_value(json_array_get(weights, k));
            for (size_t f = 0; f < json_array_size(json_array_get(samples, k)); f++)
                assert_true(json_integer_value(json_array_get(json_array_get(samples, k), f)) <
                            (json_int_t)json_array_size(frames));
        }
        assert_int_equal(sum, json_integer_value(json_object_get(one, "endValue")));
    }
    // Equal stacks after each other are one entry; main, fit, axpy, dot: outermost first.
    const json_t *main_thread = json_array_get(profiles, 0);
    assert_int_equal(json_array_size(json_object_get(main_thread, "samples")), MOMENTS / 5 * 4);
    assert_int_equal(json_integer_value(json_object_get(main_thread, "endValue")),
                     MOMENTS * SAMPLE_INTERVAL);
    const json_t *deepest = json_array_get(json_object_get(main_thread, "samples"), 2);
    const uint32_t wanted[] = {sample.main_frame, sample.fit_frame, sample.axpy_frame,
                               sample.inlined_frame};
    assert_int_equal(json_array_size(deepest), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(json_array_get(deepest, i)), wanted[i] - 1);
    json_decref(root);
    profile_destroy(sample.profile);
}

/* All columns of a table are as long as it says. */
static void check_table(const json_t *table)
{
    const char *key;
    json_t *column;
    json_int_t length = json_integer_value(json_object_get(table, "length"));
    json_object_foreach((json_t *)(uintptr_t)table, key,
                        column) if (json_is_array(column) &&
                                    json_array_size(column) != (size_t)length)
        fail_msg("%s: %zu of %lld", key, json_array_size(column), (long long)length);
}

static json_int_t cell(const json_t *table, const char *column, json_int_t row)
{
    const json_t *value = json_array_get(json_object_get(table, column), (size_t)row);
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void test_firefox(void **state)
{
    (void)state;
    struct sample_profile sample;
    assert_true(sample_make(&sample, MOMENTS));
    json_t *root = load(sample.profile, "firefox");
    const json_t *shared = json_object_get(root, "shared");
    const char *key;
    json_t *table;
    json_object_foreach((json_t *)(uintptr_t)shared, key, table) if (json_is_object(table))
        check_table(table);
    const json_t *stacks = json_object_get(shared, "stackTable");
    const json_t *frames = json_object_get(shared, "frameTable");
    const json_t *threads = json_object_get(root, "threads");
    assert_int_equal(json_array_size(threads), 4);
    for (size_t i = 0; i < 4; i++) {
        check_table(json_object_get(json_array_get(threads, i), "samples"));
        check_table(json_object_get(json_array_get(threads, i), "markers"));
    }
    // The main thread's third sample: dot, inlined, without a category of its own.
    const json_t *samples = json_object_get(json_array_get(threads, 0), "samples");
    json_int_t stack = cell(samples, "stack", 22);
    assert_int_equal(cell(frames, "func", cell(stacks, "frame", stack)),
                     sample.profile->frames[sample.inlined_frame].function - 1);
    assert_int_equal(cell(frames, "category", cell(stacks, "frame", stack)), 3);
    json_int_t outer = stack - cell(stacks, "prefixOffset", stack);
    assert_int_equal(cell(frames, "address", cell(stacks, "frame", outer)), 0x1234);
    // Its first is in the garbage collector: that stack, in another category.
    stack = cell(samples, "stack", 0);
    assert_int_equal(cell(frames, "category", cell(stacks, "frame", stack)), 5);
    assert_int_equal(cell(frames, "func", cell(stacks, "frame", stack)),
                     sample.profile->frames[sample.main_frame].function - 1);
    assert_int_equal(cell(stacks, "prefixOffset", stack), 0);
    // 5 collections of two samples; the worker's 10 waits for the GIL.
    const json_t *markers = json_object_get(json_array_get(threads, 0), "markers");
    assert_int_equal(json_integer_value(json_object_get(markers, "length")), 5);
    markers = json_object_get(json_array_get(threads, 1), "markers");
    assert_int_equal(json_integer_value(json_object_get(markers, "length")), 10);
    double length = json_real_value(json_array_get(json_object_get(markers, "endTime"), 3)) -
                    json_real_value(json_array_get(json_object_get(markers, "startTime"), 3));
    assert_true(length > 49.9 && length < 50.1);
    // The idle thread was away for 10 moments, once: a row says so.
    samples = json_object_get(json_array_get(threads, 2), "samples");
    assert_int_equal(json_integer_value(json_object_get(samples, "length")), 80 + 1);
    assert_true(json_is_null(json_array_get(json_object_get(samples, "stack"), 40)));
    const json_t *library = json_array_get(json_object_get(root, "libs"), 0);
    assert_string_equal(json_string_value(json_object_get(library, "breakpadId")),
                        "E54D3AF274383256B9F6144F83F3F7510");
    json_decref(root);
    profile_destroy(sample.profile);
}

static void test_flamegraph(void **state)
{
    (void)state;
    struct sample_profile sample;
    assert_true(sample_make(&sample, MOMENTS));
    struct text page = write_one(sample.profile, "flamegraph");
    const char *begin = strstr(page.data, "id=\"data\">");
    assert_non_null(begin);
    begin += strlen("id=\"data\">");
    const char *end = strstr(begin, "</script>");
    json_error_t error;
    json_t *root = json_loadb(begin, (size_t)(end - begin), JSON_REJECT_DUPLICATES, &error);
    assert_non_null(root);
    const json_t *nodes = json_object_get(root, "nodes");
    // all, main, the hostile one, the gap, fit, axpy, dot
    assert_int_equal(json_array_size(json_object_get(nodes, "up")), 7);
    assert_int_equal(cell(nodes, "total", 0), 80 + 100 + 100 + 85);
    assert_int_equal(cell(nodes, "total", 1), cell(nodes, "total", 0));
    assert_int_equal(json_array_size(json_object_get(root, "threads")), 4);
    // Nothing of the program's names ends the element, or is markup outside of it.
    assert_null(strstr(page.data, "<script>window"));
    json_decref(root);
    text_deinit(&page);
    profile_destroy(sample.profile);
}

/* A tree that is larger than a page shall be: its smallest nodes are left out, and it is said. */
static void test_large_flamegraph(void **state)
{
    (void)state;
    struct sample_profile sample;
    assert_true(sample_make(&sample, MOMENTS) && sample_add_many(&sample, 60000, 7));
    struct text page = write_one(sample.profile, "flamegraph");
    assert_non_null(strstr(page.data, "are left out.</p>"));
    assert_true(page.size < 4000000);
    text_deinit(&page);
    profile_destroy(sample.profile);
}

static struct text unpack(const struct text *packed)
{
    struct text text = {0};
    z_stream stream = {.next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->size};
    assert_int_equal(inflateInit2(&stream, MAX_WBITS + 16), Z_OK);
    int status;
    do {
        Bytef piece[4096];
        stream.next_out = piece;
        stream.avail_out = sizeof(piece);
        status = inflate(&stream, Z_NO_FLUSH);
        text_add(&text, (const char *)piece, sizeof(piece) - stream.avail_out);
    } while (status == Z_OK);
    assert_int_equal(status, Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
    return text;
}

/* One message behind the other, to the end: of each field how many. */
static void test_pprof(void **state)
{
    (void)state;
    struct sample_profile sample;
    assert_true(sample_make(&sample, MOMENTS));
    struct text packed = write_one(sample.profile, "pprof"), text = unpack(&packed);
    size_t counts[16] = {0};
    struct byte_cursor cursor = cursor_over(text.data, text.size);
    while (cursor_left(&cursor)) {
        uint64_t tag = cursor_uleb(&cursor);
        assert_true(tag >> 3 < PSC_ARRAY_SIZE(counts));
        counts[tag >> 3]++;
        uint64_t value = cursor_uleb(&cursor);
        if ((tag & 7) == 2)
            cursor_take(&cursor, value);
        assert_false(cursor.failed);
    }
    assert_int_equal(counts[1], 3);
    assert_int_equal(counts[2], 4 + 1 + 1 + 1); // Stacks of threads.
    assert_int_equal(counts[3], 1);
    assert_int_equal(counts[4], sample.profile->frame_count - 1);
    assert_int_equal(counts[5], sample.profile->function_count - 1);
    assert_int_equal(counts[6], sample.profile->string_count + 10);
    text_deinit(&packed);
    text_deinit(&text);
    profile_destroy(sample.profile);
}

/* Who has no room for the bytes is told so, by each format. */
static int refuse(void *context, const char *bytes, size_t size)
{
    (void)context;
    (void)bytes;
    (void)size;
    return 1;
}

static void test_output_that_ends(void **state)
{
    (void)state;
    struct sample_profile sample;
    assert_true(sample_make(&sample, MOMENTS));
    struct profile_output output = {.write = refuse, .version = "1.2.3"};
    for (const struct profile_format *format = profile_formats; format->name; format++)
        assert_int_equal(format->write(sample.profile, &output, NULL), PSC_ERR_IO);
    profile_destroy(sample.profile);
}

/* A profile in which nothing was sampled is a file, too. */
static void test_nothing(void **state)
{
    (void)state;
    struct sample_profile sample;
    assert_true(sample_make(&sample, 0));
    for (const struct profile_format *format = profile_formats; format->name; format++) {
        struct text text = write_one(sample.profile, format->name);
        text_deinit(&text);
    }
    json_decref(load(sample.profile, "speedscope"));
    json_decref(load(sample.profile, "firefox"));
    profile_destroy(sample.profile);
}

static void test_many_by_thread(void **state)
{
    (void)state;
    struct sample_profile sample;
    struct thread_samples *samples;
    assert_true(sample_make(&sample, 30000));
    assert_int_equal(thread_samples_create(sample.profile, &samples, NULL), PSC_OK);
    size_t sum = 0;
    for (uint32_t i = 1; i < sample.profile->thread_count; i++) {
        size_t count;
        const struct profile_sample *items = thread_samples_of(samples, i, &count);
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(items[k].thread, i);
            assert_true(!k || items[k - 1].time < items[k].time);
        }
        sum += count;
    }
    assert_int_equal(sum, profile_sample_count(sample.profile));
    thread_samples_destroy(samples);
    profile_destroy(sample.profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speedscope), cmocka_unit_test(test_firefox),
        cmocka_unit_test(test_flamegraph), cmocka_unit_test(test_large_flamegraph),
        cmocka_unit_test(test_pprof),      cmocka_unit_test(test_output_that_ends),
        cmocka_unit_test(test_nothing),    cmocka_unit_test(test_many_by_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
