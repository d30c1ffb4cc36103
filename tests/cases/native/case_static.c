/* A stack in one file, for gcc -static and friends. */
#include <stdlib.h>

static volatile int sink;

__attribute__((noinline)) int static_inner(int depth)
{
    if (depth)
        abort();
    return sink;
}

__attribute__((noinline)) int static_outer(int depth)
{
    sink = static_inner(depth + 1);
    return sink + 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    sink = static_outer(argc);
    return sink;
}
