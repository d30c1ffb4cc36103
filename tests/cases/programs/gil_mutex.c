/* What bindings do that forget to let go of the GIL around a lock of their own; by ctypes.PyDLL. */
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
