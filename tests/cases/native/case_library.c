/* The library of case_program.c; compiled with and without each kind of unwind information. */
static volatile int sink;
#ifdef OTHER_BUILD
/* Moves everything, so that another build is another one in each address. */
volatile int other_data[100] = {1};
__attribute__((noinline)) int other_function(int a)
{
    other_data[a & 63] = a;
    return other_data[(a + 1) & 63] * 3;
}
#endif

__attribute__((noinline)) int library_inner(int (*callback)(int), int depth)
{
    volatile char buffer[200];
    buffer[depth & 127] = (char)depth;
    if (!callback)
        *(volatile int *)0 = depth;
    else
        sink = callback(depth + 1);
    return sink + buffer[1];
}

__attribute__((noinline)) int library_middle(int (*callback)(int), int depth)
{
    volatile int kept[6] = {depth};
    sink = library_inner(callback, depth + 1) + kept[2];
    return sink + kept[depth & 3];
}

__attribute__((noinline)) int library_outer(int (*callback)(int), int depth)
{
    sink = library_middle(callback, depth + 1);
    return sink + depth;
}
