/* What case_described loads itself: code without references to anything outside of it. */

static __attribute__((noinline)) int described_inner(int (*call)(int), int number)
{
    int more = call(number + 1);
    return more + number;
}

int described_outer(int (*call)(int), int number)
{
    int twice = described_inner(call, number) * 2;
    return twice + 1;
}
