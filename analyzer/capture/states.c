/* What a thread is doing, by what its registers and its stack prove. */
#include "capture_private.h"

#include <string.h>

/*
 * System calls that wait for something from outside: arch/x86/entry/syscalls/syscall_64.tbl.
 * A thread that died in one was waiting, unless data came in that very moment.
 */
static bool is_waiting_call(uint32_t number)
{
    static const uint16_t calls[] = {
        0,   /* read */
        7,   /* poll */
        23,  /* select */
        34,  /* pause */
        35,  /* nanosleep */
        43,  /* accept */
        45,  /* recvfrom */
        47,  /* recvmsg */
        61,  /* wait4 */
        65,  /* semop */
        70,  /* msgrcv */
        73,  /* flock */
        128, /* rt_sigtimedwait */
        130, /* rt_sigsuspend */
        202, /* futex */
        208, /* io_getevents */
        219, /* restart_syscall */
        220, /* semtimedop */
        230, /* clock_nanosleep */
        232, /* epoll_wait */
        243, /* mq_timedreceive */
        247, /* waitid */
        270, /* pselect6 */
        271, /* ppoll */
        281, /* epoll_pwait */
        288, /* accept4 */
        299, /* recvmmsg */
        426, /* io_uring_enter */
        441, /* epoll_pwait2 */
        449, /* futex_waitv */
        455, /* futex_wait */
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(calls); i++)
        if (calls[i] == number)
            return true;
    return false;
}

uint32_t states_of_registers(const struct target_thread *native, uint32_t known)
{
    uint32_t busy = TRACE_STATE_CRASHED | TRACE_STATE_HOLDS_GIL | TRACE_STATE_WAITS_FOR_GIL |
                    TRACE_STATE_COLLECTING;
    if (!native)
        return TRACE_STATE_TERMINATED;
    if (known & busy || !native->registers.in_system_call ||
        !is_waiting_call(native->registers.system_call))
        return 0;
    return TRACE_STATE_IDLE;
}

bool states_waits_for_gil(const char *inner, const struct address_info *info, bool evaluator)
{
    if (!info->interpreter || !inner)
        return false;
    // The GIL of 2.7 is a lock like others, which the evaluator itself takes (Python/ceval.c),
    // sometimes with all that leads to sem_wait() in it.
    bool takes =
        evaluator || info->levels[info->level_count - 1].function_class == FUNCTION_TAKE_GIL;
    return strstr(inner, "pthread_cond_timedwait") || strstr(inner, "pthread_cond_clockwait") ||
           (takes && (!strcmp(inner, "PyThread_acquire_lock") || strstr(inner, "sem_wait")));
}
