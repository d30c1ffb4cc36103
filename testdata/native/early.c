/* Dies at an allocation of a program that starts: its number is in EARLY_DEATH.
 * Made by: cc -g -O1 -shared -fPIC -o libearly.so early.c; used by LD_PRELOAD. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);

void *malloc(size_t size)
{
    static long left = -1;
    if (left < 0) {
        const char *wanted = getenv("EARLY_DEATH");
        left = wanted ? atol(wanted) : 0;
    }
    if (left && !--left)
        kill(getpid(), SIGSEGV);
    return __libc_malloc(size);
}
