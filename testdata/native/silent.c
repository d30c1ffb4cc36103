/* Calls back through code without unwind tables and without frame pointers.
 * Made by: cc -O2 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-exceptions \
 *             -shared -fPIC -o libsilent.so silent.c */
volatile int silent_sink;

__attribute__((noinline)) void silent_call(void (*call)(void), long depth)
{
    volatile char frame[200];
    frame[depth & 127] = 1;
    if (depth > 0)
        silent_call(call, depth - 1);
    else
        call();
    silent_sink += frame[depth & 127];
}
