/* Eight threads that wait and one that aborts: for cut cores. Argument: how many. */
#include "resting.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int sink;
static pthread_barrier_t barrier;

__attribute__((noinline)) int threads_wait(int depth)
{
    if (depth == 0) {
        pthread_barrier_wait(&barrier);
        for (;;)
            pause();
    }
    sink = threads_wait(depth - 1);
    return sink + depth;
}

static void *threads_start(void *context)
{
    (void)context;
    sink = threads_wait(5);
    return NULL;
}

int main(int argc, char **argv)
{
    unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 8;
    pthread_t thread;
    pthread_barrier_init(&barrier, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&thread, NULL, threads_start, NULL) != 0)
            return 1;
    pthread_barrier_wait(&barrier);
    resting_wait();
    abort();
}
