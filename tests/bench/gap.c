/* Keeps the largest gap, in milliseconds, between two readings of the clock. */
#include <time.h>

void gap_watch(volatile double *largest)
{
    struct timespec now;
    double last = 0;
    for (;;) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        double time = (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
        if (last && time - last > *largest)
            *largest = time - last;
        last = time;
    }
}
