/* The clock of a recording. */
#include "record_private.h"

#include <errno.h>
#include <time.h>

/* Nanoseconds of one sleep. */
#define LONGEST_SLEEP UINT64_C(100000000)
/* Nanoseconds of which the part that may be taken is saved for a look that costs more. */
#define CREDIT_TIME 100000000.0

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

/* Goes to the first interval that begins no earlier. */
static uint64_t leave_out(struct record_clock *clock, uint64_t until)
{
    uint64_t passed = until > clock->start ? until - clock->start : 0;
    uint64_t slot = passed / clock->interval + (passed % clock->interval != 0);
    if (slot <= clock->slot)
        return 0;
    uint64_t left_out = slot - clock->slot;
    clock->slot = slot;
    choose_moment(clock);
    return left_out;
}

uint64_t slots_spare(struct record_clock *clock, struct record_budget *budget, uint64_t now,
                     uint64_t taken)
{
    budget->credit += budget->most * (double)(now - budget->counted_at);
    budget->credit -= (double)(taken - budget->counted);
    if (budget->credit > budget->most * CREDIT_TIME)
        budget->credit = budget->most * CREDIT_TIME;
    budget->counted_at = now;
    budget->counted = taken;
    if (budget->credit >= 0)
        return 0;
    return leave_out(clock, now + (uint64_t)(-budget->credit / budget->most));
}
