/* A thread that waits in a second interpreter, while the first one, which is older, runs and dies.
 * Made by: cc -g -O1 $(python3-config --includes) two_interpreters.c $(python3-config --embed
 * --ldflags) */
#include <Python.h>
#include <pthread.h>

static void *wait_in(void *interpreter)
{
    PyThreadState *state = PyThreadState_New(interpreter);
    PyEval_AcquireThread(state);
    PyRun_SimpleString("import time\n"
                       "def waits():\n"
                       "    open('waiting', 'w').close()\n"
                       "    time.sleep(600)\n"
                       "waits()\n");
    return NULL;
}

int main(void)
{
    pthread_t thread;
    Py_Initialize();
    PyEval_InitThreads();
    PyThreadState *first = PyThreadState_Get();
    PyThreadState *second = Py_NewInterpreter();
    pthread_create(&thread, NULL, wait_in, second->interp);
    PyThreadState_Swap(first);
    return PyRun_SimpleString("import os, signal, time\n"
                              "def dies():\n"
                              "    while not os.path.exists('waiting'): time.sleep(0.01)\n"
                              "    os.kill(os.getpid(), signal.SIGSEGV)\n"
                              "dies()\n");
}
