/*
 * Code that no file holds, in the middle of a stack: main, jit_outer, the code,
 * jit_inner.
 *
 *     case_jit frame-pointer | epilogue | scan
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static volatile int sink;

/* push %rbp; mov %rsp,%rbp; sub $32,%rsp; call *%rdi; xor %eax,%eax; leave; ret */
static const unsigned char frame_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec,
                                              0x20, 0xff, 0xd7, 0x31, 0xc0, 0xc9, 0xc3};
/* sub $24,%rsp; call *%rdi; add $24,%rsp; ret: CPython 3.12's perf trampoline */
static const unsigned char epilogue[] = {0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
                                         0x48, 0x83, 0xc4, 0x18, 0xc3};
/* sub $56,%rsp; call *%rdi; inc %eax; jmp +0; add $56,%rsp; ret */
static const unsigned char scan[] = {0x48, 0x83, 0xec, 0x38, 0xff, 0xd7, 0xff, 0xc0,
                                     0xeb, 0x00, 0x48, 0x83, 0xc4, 0x38, 0xc3};

__attribute__((noinline)) int jit_inner(void)
{
    abort();
}

__attribute__((noinline)) int jit_outer(int (*code)(int (*)(void)))
{
    sink = code(jit_inner);
    return sink + 1;
}

int main(int argc, char **argv)
{
    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc < 2 || page == MAP_FAILED)
        return 64;
    if (strcmp(argv[1], "frame-pointer") == 0)
        memcpy(page + 256, frame_pointer, sizeof(frame_pointer));
    else if (strcmp(argv[1], "epilogue") == 0)
        memcpy(page + 256, epilogue, sizeof(epilogue));
    else
        memcpy(page + 256, scan, sizeof(scan));
    sink = jit_outer((int (*)(int (*)(void)))(unsigned long)(page + 256));
    return sink;
}
