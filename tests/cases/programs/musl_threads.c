/* Threads that wait in musl in different ways; each shows what it was called by. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int ends[2];
static volatile unsigned long counter; /* Counting behind calls keeps them from being jumps. */

PLAIN static void wait_in_condition(void)
{
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
}

PLAIN static void *run_condition(void *argument)
{
    wait_in_condition();
    counter++;
    return argument;
}

PLAIN static void wait_in_read(void)
{
    char bytes[64];
    while (read(ends[0], bytes, sizeof(bytes)) >= 0)
        counter++;
    counter++;
}

PLAIN static void *run_read(void *argument)
{
    wait_in_read();
    counter++;
    return argument;
}

PLAIN static void spin(void)
{
    for (;;)
        counter++;
}

PLAIN static void *run_spin(void *argument)
{
    spin();
    counter++;
    return argument;
}

PLAIN static int compare(const void *left, const void *right)
{
    for (;;)
        pause();
    return left < right;
}

PLAIN static void wait_in_sort(void)
{
    int values[4] = {4, 3, 2, 1};
    qsort(values, 4, sizeof(*values), compare);
    counter++;
}

PLAIN static void *run_sort(void *argument)
{
    wait_in_sort();
    counter++;
    return argument;
}

PLAIN static void wait_in_sleep(void)
{
    struct timespec time = {600, 0};
    while (nanosleep(&time, 0) == 0)
        counter++;
    counter++;
}

PLAIN static void descend(int depth)
{
    if (depth)
        descend(depth - 1);
    else
        wait_in_sleep();
    counter++;
}

int main(void)
{
    void *(*const all[])(void *) = {run_condition, run_read, run_spin, run_sort};
    pthread_t thread;
    if (pipe(ends))
        return 1;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (pthread_create(&thread, NULL, all[i], NULL))
            return 1;
    puts("ready");
    fflush(stdout);
    descend(3);
    return 0;
}
