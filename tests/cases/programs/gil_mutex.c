/* What bindings do that forget to let go of the GIL around a lock of their own; by ctypes.PyDLL. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

typedef int gil_state;
gil_state PyGILState_Ensure(void);
void PyGILState_Release(gil_state);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int held;
static volatile int wanted;

int is_held(void)
{
    return held;
}

/* Takes the mutex without the GIL, then wants the GIL while somebody wants the mutex. */
int hold_mutex_and_take_gil(int waits)
{
    void *thread = PyEval_SaveThread();
    pthread_mutex_lock(&mutex);
    held = 1;
    while (waits && !wanted)
        ;
    PyEval_RestoreThread(thread);
    pthread_mutex_unlock(&mutex);
    return 0;
}

/* Without the GIL. */
int hold_mutex_for(int seconds)
{
    pthread_mutex_lock(&mutex);
    held = 1;
    sleep((unsigned)seconds);
    pthread_mutex_unlock(&mutex);
    return 0;
}

/* With the GIL; says that it is ready before it waits. */
int lock_with_gil(int says)
{
    wanted = 1;
    if (says && write(1, "ready\n", 6) != 6)
        return 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return 0;
}

/* ---- with LD_PRELOAD: who gives the GIL up stays where that is done, behind it ---- */

static __thread int giving; /* 1: is going to, 2: has told the others (drop_gil()) */
static volatile int given;

int is_given(void)
{
    return given;
}

/* With the GIL, which the next call that may block gives up. */
int hold_mutex_and_give_up(void)
{
    pthread_mutex_lock(&mutex);
    held = 1;
    giving = 1;
    return 0;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    int (*real)(pthread_cond_t *) = dlsym(RTLD_NEXT, "pthread_cond_signal");
    if (giving == 1)
        giving = 2;
    return real(condition);
}

int pthread_mutex_unlock(pthread_mutex_t *one)
{
    int (*real)(pthread_mutex_t *) = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int result = real(one);
    if (giving < 2)
        return result;
    giving = 0;
    given = 1;
    for (;;)
        pause();
}
