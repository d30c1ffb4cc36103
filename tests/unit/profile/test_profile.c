/* Tables of a profile have each thing once, and samples that memory does not hold come back. */
#include "profile_private.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct profile *make_profile(void)
{
    struct profile *profile = profile_create(NULL);
    assert_non_null(profile);
    return profile;
}

static uint32_t add_frame(struct profile *profile, const char *name, uint32_t line)
{
    const struct profile_function function = {.kind = PROFILE_PYTHON,
                                              .name = profile_add_string(profile, name),
                                              .file = profile_add_string(profile, "app.py")};
    const struct profile_frame frame = {.function = profile_add_function(profile, &function),
                                        .line = line};
    return profile_add_frame(profile, &frame);
}

static void test_equal_items_have_one_number(void **state)
{
    (void)state;
    struct profile *profile PSC_CLEANUP(cleanup_profile) = make_profile();
    assert_int_equal(profile_add_string(profile, ""), 0);
    assert_int_equal(profile_add_string(profile, NULL), 0);
    uint32_t main_frame = add_frame(profile, "main", 3);
    assert_int_equal(add_frame(profile, "main", 3), main_frame);
    assert_int_not_equal(add_frame(profile, "main", 4), main_frame);
    uint32_t strings = profile->string_count, functions = profile->function_count;
    uint32_t outer = profile_add_stack(profile, 0, main_frame);
    uint32_t inner = profile_add_stack(profile, outer, add_frame(profile, "work", 9));
    assert_int_equal(profile_add_stack(profile, 0, main_frame), outer);
    assert_int_equal(profile_add_stack(profile, outer, add_frame(profile, "work", 9)), inner);
    assert_true(outer && inner > outer);
    assert_int_equal(profile->string_count, strings + 1);
    assert_int_equal(profile->function_count, functions + 1);
}

static void test_processes_and_threads_are_always_new(void **state)
{
    (void)state;
    struct profile *profile PSC_CLEANUP(cleanup_profile) = make_profile();
    const struct profile_process process = {.pid = 12};
    const struct profile_thread thread = {.process = 1, .tid = 12};
    assert_int_equal(profile_add_process(profile, &process), 1);
    assert_int_equal(profile_add_process(profile, &process), 2);
    assert_int_equal(profile_add_thread(profile, &thread), 1);
    assert_int_equal(profile_add_thread(profile, &thread), 2);
}

static void test_bytes_that_are_no_utf8(void **state)
{
    (void)state;
    struct profile *profile PSC_CLEANUP(cleanup_profile) = make_profile();
    uint32_t string = profile_add_string(profile, "a\xff z");
    assert_string_equal(profile_string(profile, string), "a\xef\xbf\xbd z");
}

static void test_unfolding_a_deep_stack(void **state)
{
    (void)state;
    enum { DEPTH = 10000 };
    struct profile *profile PSC_CLEANUP(cleanup_profile) = make_profile();
    uint32_t stack = 0;
    for (uint32_t i = 0; i < DEPTH; i++)
        stack = profile_add_stack(profile, stack, add_frame(profile, "deeper", i + 1));
    uint32_t *frames = NULL;
    size_t capacity = 0, count;
    assert_true(profile_unfold(profile, stack, &frames, &capacity, &count));
    assert_int_equal(count, DEPTH);
    for (uint32_t i = 0; i < DEPTH; i++)
        assert_int_equal(profile->frames[frames[i]].line, i + 1);
    free(frames);
}

static struct profile_sample sample_of(uint64_t i)
{
    return (struct profile_sample){.time = i * 3,
                                   .thread = (uint32_t)(i % 5) + 1,
                                   .stack = (uint32_t)(i % 1000),
                                   .cpu = (uint32_t)i,
                                   .weight = 1};
}

static void assert_is_sample(const struct profile_sample *sample, uint64_t i)
{
    const struct profile_sample wanted = sample_of(i);
    assert_int_equal(sample->time, wanted.time);
    assert_int_equal(sample->thread, wanted.thread);
    assert_int_equal(sample->stack, wanted.stack);
    assert_int_equal(sample->cpu, wanted.cpu);
}

/* More than memory holds: those before go to the file, and reading crosses its end. */
static void test_samples_come_back_in_order(void **state)
{
    (void)state;
    const uint64_t count = 2 * PROFILE_HELD_LIMIT + 100;
    struct profile *profile PSC_CLEANUP(cleanup_profile) = make_profile();
    for (uint64_t i = 0; i < count; i++) {
        const struct profile_sample sample = sample_of(i);
        assert_int_equal(profile_add_sample(profile, &sample), PSC_OK);
    }
    assert_int_equal(profile_sample_count(profile), count);
    assert_int_equal(profile->spill->spilled, 2 * PROFILE_HELD_LIMIT);
    for (int turn = 0; turn < 2; turn++) {
        struct profile_reader reader;
        struct profile_sample sample;
        uint64_t seen = 0;
        profile_start_reading(&reader, profile);
        while (profile_next_sample(&reader, &sample))
            assert_is_sample(&sample, seen++);
        assert_int_equal(seen, count);
    }
    struct profile_sample some[200];
    uint64_t first = 2 * PROFILE_HELD_LIMIT - 50;
    assert_int_equal(profile_read_samples(profile, first, some, 200), 150);
    for (size_t i = 0; i < 150; i++)
        assert_is_sample(&some[i], first + i);
    assert_int_equal(profile_read_samples(profile, count, some, 200), 0);
}

static void test_dropped_samples_leave_the_tables(void **state)
{
    (void)state;
    struct profile *profile PSC_CLEANUP(cleanup_profile) = make_profile();
    uint32_t stack = profile_add_stack(profile, 0, add_frame(profile, "main", 1));
    for (uint64_t i = 0; i <= PROFILE_HELD_LIMIT; i++) {
        const struct profile_sample sample = sample_of(i);
        assert_int_equal(profile_add_sample(profile, &sample), PSC_OK);
    }
    profile_drop_samples(profile);
    assert_int_equal(profile_sample_count(profile), 0);
    const struct profile_sample again = sample_of(7);
    assert_int_equal(profile_add_sample(profile, &again), PSC_OK);
    struct profile_sample read;
    assert_int_equal(profile_read_samples(profile, 0, &read, 1), 1);
    assert_is_sample(&read, 7);
    assert_int_equal(profile_add_stack(profile, 0, add_frame(profile, "main", 1)), stack);
}

static uint64_t median_of(const uint64_t *stops, size_t count)
{
    struct profile_counts counts = {0};
    for (size_t i = 0; i < count; i++)
        profile_count_stop(&counts, stops[i]);
    assert_int_equal(counts.stops, count);
    return profile_median_stop(&counts);
}

/* A median is told to a 32nd, and never as less than it is. */
static void test_median_of_stops(void **state)
{
    (void)state;
    for (uint64_t stood = 1; stood < UINT64_C(8000000000); stood += 1 + stood / 29) {
        uint64_t median = median_of(&stood, 1);
        assert_true(median >= stood && (stood < 256 || median <= stood + stood / 32));
    }
    assert_int_equal(median_of(NULL, 0), 0);
    const uint64_t stops[] = {61000, 59000, 59000, 900000, 100};
    assert_in_range(median_of(stops, PSC_ARRAY_SIZE(stops)), 59000, 60999);
    const uint64_t endless = UINT64_MAX;
    assert_true(median_of(&endless, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_items_have_one_number),
        cmocka_unit_test(test_processes_and_threads_are_always_new),
        cmocka_unit_test(test_bytes_that_are_no_utf8),
        cmocka_unit_test(test_unfolding_a_deep_stack),
        cmocka_unit_test(test_samples_come_back_in_order),
        cmocka_unit_test(test_dropped_samples_leave_the_tables),
        cmocka_unit_test(test_median_of_stops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
