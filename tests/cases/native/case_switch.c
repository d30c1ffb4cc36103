/*
 * A function that runs another on a stack of its own, as Rust's psm does: the
 * stack pointer falls or rises between frames, and the rows say so.
 *
 *     case_switch below | above
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static volatile int sink;

int switch_stack(int (*function)(void), void *top);
__asm__(".text\n"
        ".type switch_stack,@function\n"
        "switch_stack:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 6,-16\n"
        "mov %rsp,%rbp\n"
        ".cfi_def_cfa_register 6\n"
        "mov %rsi,%rsp\n"
        "call *%rdi\n"
        "mov %rbp,%rsp\n"
        "pop %rbp\n"
        ".cfi_def_cfa 7,8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size switch_stack,.-switch_stack\n");

__attribute__((noinline)) int switch_inner(void)
{
    abort();
}

__attribute__((noinline)) int switch_outer(char *top)
{
    sink = switch_stack(switch_inner, top);
    return sink + 1;
}

#define STACK_SIZE 65536

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    /* The second switch comes from a mapping that lies below or above the first one. */
    char *area =
        mmap(NULL, 3 * STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || mprotect(area + STACK_SIZE, STACK_SIZE, PROT_NONE) != 0)
        return 1;
    char *low = area + STACK_SIZE, *high = area + 3 * STACK_SIZE;
    int below = strcmp(argv[1], "below") == 0;
    int switch_again(void);
    extern char *volatile switch_next;
    switch_next = below ? low : high;
    sink = switch_stack(switch_again, below ? high : low);
    return sink;
}

char *volatile switch_next;
int switch_again(void);
__attribute__((noinline)) int switch_again(void)
{
    sink = switch_outer(switch_next);
    return sink + 1;
}
