/* The kinds of waits, by the names that JSON and the C API have for them. */
#include "trace.h"

const char *trace_wait_name(enum trace_wait_kind kind)
{
    static const char *const names[TRACE_WAIT_KINDS] = {
        [TRACE_WAIT_GIL] = "gil",
        [TRACE_WAIT_MUTEX] = "mutex",
        [TRACE_WAIT_RWLOCK] = "rwlock",
        [TRACE_WAIT_CONDITION] = "condition",
        [TRACE_WAIT_BARRIER] = "barrier",
        [TRACE_WAIT_SEMAPHORE] = "semaphore",
        [TRACE_WAIT_SPIN] = "spin",
        [TRACE_WAIT_LOCK] = "lock",
        [TRACE_WAIT_RLOCK] = "rlock",
        [TRACE_WAIT_EVENT] = "event",
        [TRACE_WAIT_QUEUE] = "queue",
        [TRACE_WAIT_JOIN] = "join",
        [TRACE_WAIT_PYTHON_MUTEX] = "python-mutex",
        [TRACE_WAIT_STOP_THE_WORLD] = "stop-the-world",
        [TRACE_WAIT_IMPORT_LOCK] = "import-lock",
        [TRACE_WAIT_LOADER_LOCK] = "loader-lock",
        [TRACE_WAIT_MALLOC_LOCK] = "malloc-lock",
        [TRACE_WAIT_STDIO_LOCK] = "stdio-lock",
        [TRACE_WAIT_FUTEX] = "futex",
        [TRACE_WAIT_CHILD] = "child",
        [TRACE_WAIT_PIPE] = "pipe",
        [TRACE_WAIT_SOCKET] = "socket",
        [TRACE_WAIT_TERMINAL] = "terminal",
        [TRACE_WAIT_FILE] = "file",
        [TRACE_WAIT_FILE_LOCK] = "file-lock",
        [TRACE_WAIT_POLL] = "poll",
        [TRACE_WAIT_SLEEP] = "sleep",
        [TRACE_WAIT_TIMER] = "timer",
        [TRACE_WAIT_SIGNAL] = "signal",
        [TRACE_WAIT_IO_URING] = "io-uring",
        [TRACE_WAIT_SYSTEM_CALL] = "system-call",
        [TRACE_WAIT_FUTURE] = "future",
        [TRACE_WAIT_TASKS] = "tasks",
        [TRACE_WAIT_STREAM] = "stream",
    };
    return names[kind];
}

const char *trace_verdict_name(enum trace_verdict verdict)
{
    switch (verdict) {
    case TRACE_VERDICT_LIKELY:
        return "likely";
    case TRACE_VERDICT_STALL:
        return "stall";
    case TRACE_VERDICT_DEADLOCK:
        break;
    }
    return "deadlock";
}
