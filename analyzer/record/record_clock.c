/* The clock of a recording. */
#include "record_private.h"

#include <errno.h>
#include <time.h>

/* Nanoseconds of one sleep. */
#define LONGEST_SLEEP UINT64_C(100000000)

uint64_t record_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Xorshift (Marsaglia 2003): moments only have to be spread, nobody must not guess them. */
static uint64_t draw(struct record_clock *clock)
{
    clock->random ^= clock->random << 13;
    clock->random ^= clock->random >> 7;
    clock->random ^= clock->random << 17;
    return clock->random;
}

static void choose_moment(struct record_clock *clock)
{
    // 32 bits of it spread an interval of up to 4 s to the nanosecond.
    uint64_t part = draw(clock) >> 32;
    clock->moment = clock->start + clock->slot * clock->interval +
                    (uint64_t)((double)clock->interval * ((double)part / 4294967296.0));
}

void slots_init(struct record_clock *clock, uint64_t interval, uint64_t seed)
{
    *clock = (struct record_clock){.start = record_now(), .interval = interval};
    clock->random = hash_u64(seed ? seed : clock->start) | 1;
    for (int i = 0; i < 8; i++)
        (void)draw(clock);
    choose_moment(clock);
}

bool slots_wait(const struct record_clock *clock)
{
    uint64_t now = record_now(), until = clock->moment;
    if (now >= until)
        return true;
    if (until - now > LONGEST_SLEEP)
        until = now + LONGEST_SLEEP;
    const struct timespec time = {.tv_sec = (time_t)(until / 1000000000u),
                                  .tv_nsec = (long)(until % 1000000000u)};
    return !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) && until == clock->moment;
}

uint64_t slots_next(struct record_clock *clock)
{
    uint64_t next = clock->slot + 1, now = record_now();
    uint64_t current = now > clock->start ? (now - clock->start) / clock->interval : 0;
    uint64_t lost = current > next ? current - next : 0;
    clock->slot = next + lost;
    choose_moment(clock);
    return lost;
}
