/* Moments of a recording: one in each interval, anywhere in it, and no interval twice. */
#include "record_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define INTERVAL UINT64_C(1000000)
#define SLOTS    2000

/* The clock as if all intervals were still to come: none is lost. */
static void begin(struct record_clock *clock, uint64_t seed)
{
    slots_init(clock, INTERVAL, seed);
    clock->moment += INTERVAL * SLOTS * 10;
    clock->start += INTERVAL * SLOTS * 10;
}

static void test_one_moment_in_each_interval(void **state)
{
    (void)state;
    struct record_clock clock;
    double sum = 0;
    size_t quarters[4] = {0};
    begin(&clock, 7);
    for (uint64_t i = 0; i < SLOTS; i++) {
        assert_int_equal(clock.slot, i);
        uint64_t begins = clock.start + i * INTERVAL;
        assert_true(clock.moment >= begins && clock.moment < begins + INTERVAL);
        sum += (double)(clock.moment - begins) / (double)INTERVAL;
        quarters[(clock.moment - begins) * 4 / INTERVAL]++;
        assert_int_equal(slots_next(&clock), 0);
    }
    // Uniform: the mean of 2,000 is within four of its deviations, 0.0065.
    assert_true(sum / SLOTS > 0.5 - 0.026 && sum / SLOTS < 0.5 + 0.026);
    for (size_t i = 0; i < 4; i++)
        assert_in_range(quarters[i], 420, 580);
}

static void test_a_seed_gives_the_same_moments(void **state)
{
    (void)state;
    struct record_clock one, same, other;
    begin(&one, 7);
    begin(&same, 7);
    begin(&other, 8);
    size_t differs = 0;
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(one.moment - one.start, same.moment - same.start);
        differs += one.moment - one.start != other.moment - other.start;
        (void)slots_next(&one);
        (void)slots_next(&same);
        (void)slots_next(&other);
    }
    assert_true(differs > 90);
}

/* Intervals that are over are counted, and the next moment is in one that is not. */
static void test_what_has_passed_is_lost(void **state)
{
    (void)state;
    struct record_clock clock;
    slots_init(&clock, INTERVAL, 7);
    clock.start -= 50 * INTERVAL;
    uint64_t before = (record_now() - clock.start) / INTERVAL;
    uint64_t lost = slots_next(&clock);
    uint64_t after = (record_now() - clock.start) / INTERVAL;
    assert_int_equal(clock.slot, lost + 1);
    assert_true(clock.slot >= before && clock.slot <= after);
    assert_true(lost >= 49);
}

/* A quarter of a processor: what was taken beyond it is made up for, what was saved is little. */
static void test_costly_moments_are_left_out(void **state)
{
    (void)state;
    struct record_clock clock;
    begin(&clock, 7);
    uint64_t now = clock.start, taken = 5;
    struct record_budget budget = {.most = 0.25, .counted_at = now, .counted = taken};
    // As much as it may.
    assert_int_equal(slots_spare(&clock, &budget, now += INTERVAL, taken += INTERVAL / 4), 0);
    assert_int_equal(clock.slot, 0);
    // A whole processor for an interval: three more are to pass without a look.
    assert_int_equal(slots_spare(&clock, &budget, now += INTERVAL, taken += INTERVAL), 5);
    assert_int_equal(clock.slot, 5);
    assert_true(clock.moment >= clock.start + 5 * INTERVAL);
    assert_true(clock.moment < clock.start + 6 * INTERVAL);
    // They have passed.
    assert_int_equal(slots_spare(&clock, &budget, now += 3 * INTERVAL, taken), 0);
    assert_int_equal(slots_next(&clock), 0);
    // Hours of rest are worth a quarter of a tenth of a second.
    assert_int_equal(slots_spare(&clock, &budget, now += UINT64_C(3600000000000), taken), 0);
    assert_int_equal(slots_spare(&clock, &budget, now, taken += 25000000), 0);
    uint64_t slot = clock.slot;
    uint64_t left_out = slots_spare(&clock, &budget, now, taken += INTERVAL);
    assert_int_equal(left_out, (now - clock.start) / INTERVAL + 4 - slot);
}

static void test_waiting_ends_at_the_moment(void **state)
{
    (void)state;
    struct record_clock clock;
    slots_init(&clock, 5 * INTERVAL, 7);
    assert_true(slots_wait(&clock));
    assert_true(record_now() >= clock.moment);
    // Who is asked to end must not wait for long intervals.
    slots_init(&clock, UINT64_C(3600000000000), 7);
    uint64_t start = record_now();
    assert_false(slots_wait(&clock));
    assert_true(record_now() - start < UINT64_C(60000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_moment_in_each_interval),
        cmocka_unit_test(test_a_seed_gives_the_same_moments),
        cmocka_unit_test(test_what_has_passed_is_lost),
        cmocka_unit_test(test_costly_moments_are_left_out),
        cmocka_unit_test(test_waiting_ends_at_the_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
