/*
 * Threads that wait in the C library, one for each thing that there is to wait for.
 *
 * Usage: native_waits [die]
 *
 * A line for each once all wait: "TID KIND ADDRESS OWNER", the owner 0 where none is recorded; then
 * "ready", and it waits for its end, or aborts.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 20

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive, checking, shared, robust, inheriting, timed;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t read_by_one = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static int words[5] = {2, 0, 0, 0, 0}; /* As a mutex that somebody has, but for the owner. */
static pthread_t holder;
static FILE *stream;
static sem_t begun, gone_on;
static int tids[32];
static const char *kinds[32];
static const void *addresses[32];
static int owned[32];
static int count;
static int holder_tid;

static int get_tid(void)
{
    return (int)syscall(SYS_gettid);
}

static void begin(const char *kind, const void *address, int has_owner)
{
    int index = count++;
    tids[index] = get_tid();
    kinds[index] = kind;
    addresses[index] = address;
    owned[index] = has_owner;
    sem_post(&begun);
}

static void init(pthread_mutex_t *mutex, int type, int is_shared, int is_robust, int protocol)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setpshared(&attributes, is_shared);
    pthread_mutexattr_setrobust(&attributes, is_robust);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutex_init(mutex, &attributes);
}

static void *hold(void *argument)
{
    (void)argument;
    holder_tid = get_tid();
    pthread_mutex_lock(&plain);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&checking);
    pthread_mutex_lock(&shared);
    pthread_mutex_lock(&robust);
    pthread_mutex_lock(&inheriting);
    pthread_mutex_lock(&timed);
    pthread_rwlock_wrlock(&written);
    pthread_rwlock_rdlock(&read_by_one);
    flockfile(stream);
    sem_post(&begun);
    for (;;)
        sem_wait(&gone_on);
    return NULL;
}

#define LOCKS(name, kind, thing, has_owner, call) \
    static void *name(void *argument)             \
    {                                             \
        (void)argument;                           \
        begin(kind, thing, has_owner);            \
        call;                                     \
        return NULL;                              \
    }

static void lock_timed(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 5000;
    pthread_mutex_timedlock(&timed, &end);
}

LOCKS(lock_plain, "mutex", &plain, 1, pthread_mutex_lock(&plain))
LOCKS(lock_recursive, "mutex", &recursive, 1, pthread_mutex_lock(&recursive))
LOCKS(lock_checking, "mutex", &checking, 1, pthread_mutex_lock(&checking))
LOCKS(lock_shared, "mutex", &shared, 1, pthread_mutex_lock(&shared))
LOCKS(lock_robust, "mutex", &robust, 1, pthread_mutex_lock(&robust))
LOCKS(lock_inheriting, "mutex", &inheriting, 1, pthread_mutex_lock(&inheriting))
LOCKS(lock_with_limit, "mutex", &timed, 1, lock_timed())
LOCKS(read_written, "rwlock", &written, 1, pthread_rwlock_rdlock(&written))
LOCKS(write_read, "rwlock", &read_by_one, 0, pthread_rwlock_wrlock(&read_by_one))
LOCKS(wait_semaphore, "semaphore", &semaphore, 0, sem_wait(&semaphore))
LOCKS(wait_barrier, "barrier", &barrier, 0, pthread_barrier_wait(&barrier))
LOCKS(join_holder, "join", NULL, 1, pthread_join(holder, NULL))
LOCKS(wait_word, "futex", words, 0, syscall(SYS_futex, words, FUTEX_WAIT_PRIVATE, 2, NULL))
LOCKS(use_stream, "stdio-lock", NULL, 1, fputs("x", stream))

static void *wait_condition(void *argument)
{
    pthread_mutex_lock(&of_condition);
    begin("condition", &condition, 0);
    pthread_cond_wait(&condition, &of_condition);
    return argument;
}

static int is_asleep(int tid)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "r");
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    return strrchr(text, ')')[2] == 'S';
}

static void wait_for_all(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++)
            if (!is_asleep(tids[i]))
                round = 0;
        sched_yield();
    }
}

int main(int argc, char **argv)
{
    static void *(*const waiters[])(void *) = {
        lock_plain,      lock_recursive,  lock_checking, lock_shared,    lock_robust,
        lock_inheriting, lock_with_limit, read_written,  write_read,     wait_semaphore,
        wait_barrier,    join_holder,     use_stream,    wait_condition, wait_word,
    };
    pthread_t thread;
    (void)argv;
    init(&recursive, PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
    init(&checking, PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
    init(&shared, PTHREAD_MUTEX_NORMAL, PTHREAD_PROCESS_SHARED, 0, 0);
    init(&robust, PTHREAD_MUTEX_NORMAL, 0, PTHREAD_MUTEX_ROBUST, 0);
    init(&inheriting, PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PRIO_INHERIT);
    init(&timed, PTHREAD_MUTEX_NORMAL, 0, 0, 0);
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&semaphore, 0, 0);
    sem_init(&begun, 0, 0);
    sem_init(&gone_on, 0, 0);
    stream = fopen("/dev/null", "w");
    pthread_create(&holder, NULL, hold, NULL);
    sem_wait(&begun);
    for (size_t i = 0; i < sizeof(waiters) / sizeof(*waiters); i++) {
        pthread_create(&thread, NULL, waiters[i], NULL);
        sem_wait(&begun);
    }
    wait_for_all();
    printf("ready\n");
    for (int i = 0; i < count; i++)
        printf("%d %s %p %d\n", tids[i], kinds[i], addresses[i], owned[i] ? holder_tid : 0);
    printf("end\n");
    fflush(stdout);
    if (argc > 1)
        abort();
    for (;;)
        pause();
}
