/*
 * An empty loop at a rate: timer RATE SECONDS. Prints how many moments were wanted, how many began
 * late by more than half a period, and how many were lost, as `record` counts them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

int main(int argc, char **argv)
{
    long period = argc > 1 ? 1000000000 / atol(argv[1]) : 1000000, wanted = 0, late = 0, lost = 0;
    double seconds = argc > 2 ? atof(argv[2]) : 1;
    struct timespec next, now;
    prctl(PR_SET_TIMERSLACK, 1UL);
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long count = (long)(seconds * 1e9 / (double)period); wanted < count; wanted++) {
        next.tv_nsec += period;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        long behind = (now.tv_sec - next.tv_sec) * 1000000000 + now.tv_nsec - next.tv_nsec;
        late += behind > period / 2;
        lost += behind / period;
        wanted += behind / period;
        next.tv_nsec += behind / period * period;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
    }
    printf("%ld %ld %ld\n", wanted, late, lost);
    return 0;
}
