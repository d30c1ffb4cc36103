/* A program without Python: two threads, the main one dies.
 * Made by: cc -g -O1 -pthread -o plain plain.c */
#include "resting.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *waits(void *argument)
{
    for (;;)
        pause();
    return argument;
}

static __attribute__((noinline)) void dies(void)
{
    abort();
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    resting_wait();
    dies();
    return 0;
}
