/*
 * Recursion until the stack ends. The depth that was reached is in the file
 * named first.
 *
 *     case_overflow FILE [handler]
 *
 * handler: the signal is taken on another stack, and abort() called there.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned *depth;

__attribute__((noinline)) int overflow_recurse(volatile int *above)
{
    volatile int here[8];
    here[0] = *above;
    ++*depth;
    return overflow_recurse(here) + here[0];
}

static void overflow_handler(int number)
{
    (void)number;
    abort();
}

int main(int argc, char **argv)
{
    static char other_stack[65536];
    volatile int zero = 0;
    int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (fd < 0 || ftruncate(fd, 4096) != 0)
        return 64;
    depth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (argc > 2) {
        stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
        struct sigaction action;
        memset(&action, 0, sizeof(action));
        action.sa_handler = overflow_handler;
        action.sa_flags = SA_ONSTACK;
        sigaltstack(&stack, NULL);
        sigaction(SIGSEGV, &action, NULL);
    }
    return overflow_recurse(&zero);
}
