/* Dies inside the kernel's vdso: time() stores through a pointer to nowhere. */
#include <time.h>

static volatile int sink;

__attribute__((noinline)) int vdso_caller(void)
{
    sink = (int)time((time_t *)(unsigned long)8);
    return sink + 1;
}

int main(void)
{
    sink = vdso_caller();
    return sink;
}
