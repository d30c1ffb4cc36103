/* Calls a lazily bound function; a debugger stops it inside the procedure linkage table. */
#include <stdlib.h>

static volatile int sink;

__attribute__((noinline)) int plt_caller(int depth)
{
    sink = abs(depth) + rand();
    return sink + 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    sink = plt_caller(argc);
    return sink;
}
