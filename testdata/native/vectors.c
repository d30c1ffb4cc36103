/*
 * Numbers that are in xmm registers only, when the function dies, is interrupted by a signal, or
 * runs for ever: `vectors`, `vectors handler`, `vectors spin`. Made by: cc -g -O2 vectors.c
 */
#include <complex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

/* Here they are in registers, whatever the optimiser thinks. */
#define KEEP(a, b) __asm__ volatile("" : "+x"(a), "+x"(b))

static volatile double seed = 1.25;
static volatile int stop;
static int *volatile nowhere;

APART static double dies(double wide, float narrow, int *place, float _Complex pair)
{
    double triple = wide * 3;
    float half = (float)wide / 2;
    KEEP(wide, narrow);
    *place = 1;
    KEEP(wide, narrow);
    return wide + narrow + crealf(pair) + cimagf(pair) + *place + triple + half;
}

APART static double spins(double wide, float narrow)
{
    while (!stop)
        KEEP(wide, narrow);
    return wide + narrow;
}

/* The compiler does without arguments that nobody uses; what they were is described at the call. */
static __attribute__((noinline)) double forgets(int *place, int number, float half)
{
    return dies(seed, 2.5f, place, 3.5f - 4.5f * I) + 1;
}

/* What the caller held in registers is gone in the function that is called. */
APART static double calls(double wide, int *place)
{
    double sum = wide + 1;
    double answer = forgets(place, 77, 0.5f);
    return answer * sum;
}

static void handle(int number)
{
    (void)number;
    double spoiled = seed * 100;
    __asm__ volatile("movapd %0, %%xmm0\n movapd %0, %%xmm1\n" : : "x"(spoiled) : "xmm0", "xmm1");
    abort();
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    if (!strcmp(how, "handler"))
        signal(SIGSEGV, handle);
    if (!strcmp(how, "spin"))
        return (int)spins(seed, 2.5f);
    return (int)calls(seed, nowhere);
}
