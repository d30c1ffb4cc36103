/*
 * A stack whose middle is overwritten: main, smash_outer, smash_middle,
 * smash_inner. The return address of smash_inner is destroyed before it aborts.
 *
 *     case_smash
 */
#include <stdlib.h>
#include <string.h>

static volatile int sink;

__attribute__((noinline)) int smash_inner(volatile char *from)
{
    void **slot = __builtin_frame_address(0);
    memset(slot, 0x41, 16);
    sink = *from;
    abort();
}

__attribute__((noinline)) int smash_middle(int depth)
{
    volatile char buffer[128];
    buffer[0] = (char)depth;
    sink = smash_inner(buffer);
    return sink + 1;
}

__attribute__((noinline)) int smash_outer(int depth)
{
    volatile int kept[8] = {depth};
    sink = smash_middle(depth + 1) + kept[1];
    return sink + 1;
}

int main(int argc, char **argv)
{
    (void)argv;
    sink = smash_outer(argc);
    return sink;
}
