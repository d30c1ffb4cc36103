/*
 * Threads that wait for what the C library and the kernel have. Built once as the program, and with
 * OPENED as the library whose constructor calls it back.
 *
 * Usage: native_stuck spin|ring|loader LIBRARY
 */
#ifdef OPENED
void from_constructor(void);
__attribute__((constructor)) static void begin(void)
{
    from_constructor();
}
#else
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/linux/io_uring.h */
#define IO_URING_SETUP 425
#define IO_URING_ENTER 426
#define GET_EVENTS     1

static pthread_spinlock_t spin;

static void ready(void)
{
    if (write(1, "ready\n", 6) != 6)
        _exit(1);
}

static void *spins(void *argument)
{
    pthread_spin_lock(&spin);
    return argument;
}

static void *opens(void *argument)
{
    dlopen("libresolv.so.2", RTLD_NOW);
    return argument;
}

static void *ring(void *argument)
{
    char parameters[512] = {0};
    long descriptor = syscall(IO_URING_SETUP, 4, parameters);
    // A debugger's stop ends the call.
    while (descriptor >= 0)
        syscall(IO_URING_ENTER, descriptor, 0, 1, GET_EVENTS, NULL, 0);
    return argument;
}

void from_constructor(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, opens, NULL);
    ready();
    pthread_join(thread, NULL);
}

int main(int count, char **arguments)
{
    pthread_t thread;
    if (count < 3)
        return 2;
    if (!strcmp(arguments[1], "loader"))
        return !dlopen(arguments[2], RTLD_NOW);
    pthread_spin_init(&spin, 0);
    pthread_spin_lock(&spin);
    pthread_create(&thread, NULL, arguments[1][0] == 's' ? spins : ring, NULL);
    ready();
    for (;;)
        pause();
}
#endif
