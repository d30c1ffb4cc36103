/* A signal comes while a thread is in malloc(), and what its handler does needs malloc(), too. */
#define _GNU_SOURCE
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define BLOCKS 500

static atomic_int ready, stopped, go_on;
static void *volatile kept;

/* Sizes that glibc keeps no list without a lock of. */
static void allocate(void)
{
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = malloc(2000 + (size_t)(i * 7919) % 6000);
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
}

static void stop(int number)
{
    (void)number;
    stopped = 1;
    while (!go_on)
        poll(NULL, 0, 2);
    stopped = 0;
}

static void allocate_in_handler(int number)
{
    (void)number;
    for (int i = 0; i < 20; i++)
        kept = malloc(5000 + (size_t)i * 16);
}

static void *worker(void *tid)
{
    *(atomic_int *)tid = (int)syscall(SYS_gettid);
    for (;;)
        allocate();
    return NULL;
}

static pthread_t begin(atomic_int *tid)
{
    pthread_t thread;
    signal(SIGUSR2, stop);
    pthread_create(&thread, NULL, worker, tid);
    while (!*tid)
        poll(NULL, 0, 1);
    return thread;
}

static void stop_thread(pthread_t thread)
{
    go_on = 0;
    pthread_kill(thread, SIGUSR2);
    while (!stopped)
        poll(NULL, 0, 1);
}

/* The other thread is stopped in its call; what this one wants is in the same arena. */
void wait_for_other(void (*tell)(int waiter, int owner))
{
    static atomic_int tid;
    mallopt(M_ARENA_MAX, 1);
    pthread_t thread = begin(&tid);
    tell((int)syscall(SYS_gettid), tid);
    for (;;) {
        stop_thread(thread);
        kept = malloc(100000);
        free(kept);
        go_on = 1;
        while (stopped)
            poll(NULL, 0, 1);
    }
}

/* The other one stands in an arena of its own. */
void wait_for_itself(void (*tell)(int waiter, int owner))
{
    static atomic_int tid;
    const struct itimerval often = {{0, 500}, {0, 500}};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    stop_thread(begin(&tid));
    tell((int)syscall(SYS_gettid), (int)syscall(SYS_gettid));
    signal(SIGALRM, allocate_in_handler);
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    for (;;)
        allocate();
}
