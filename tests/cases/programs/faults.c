/* Ways in which the processor refuses, and handlers that pass the signal on; for faults.py. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))

/* ---- faults; what they use is in registers that the caller chooses ---- */

PLAIN void faults_write(uint64_t at)
{
    __asm__ volatile("mov %1,0x18(%0)" : : "r"(at), "r"((uint64_t)5) : "memory");
}

PLAIN void faults_read(uint64_t at)
{
    __asm__ volatile("mov (%0),%%rdx" : : "r"(at) : "rdx");
}

PLAIN void faults_add(uint64_t at)
{
    __asm__ volatile("lock addq $1,(%0)" : : "r"(at) : "memory");
}

PLAIN void faults_vector_write(uint64_t at)
{
    __asm__ volatile("movups %%xmm0,(%0)" : : "r"(at) : "memory");
}

PLAIN void faults_aligned(uint64_t at)
{
    __asm__ volatile("movaps (%0),%%xmm0" : : "r"(at) : "xmm0");
}

PLAIN void faults_copy(uint64_t to, uint64_t from)
{
    uint64_t count = 8;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

PLAIN void faults_call(uint64_t at)
{
    ((void (*)(void))at)();
    __asm__ volatile("");
}

PLAIN void faults_return(uint64_t to)
{
    __asm__ volatile("push %0\n\tret" : : "r"(to));
}

PLAIN void faults_divide(int64_t by)
{
    __asm__ volatile("cqo\n\tidivq %1" : : "a"(INT64_MIN), "r"(by) : "rdx");
}

PLAIN void faults_halt(void)
{
    __asm__ volatile("hlt");
}

PLAIN void faults_undefined(void)
{
    __asm__ volatile("ud2");
}

PLAIN void faults_breakpoint(void)
{
    __asm__ volatile("int3");
}

PLAIN int faults_deep(int depth)
{
    volatile char room[200];
    room[0] = (char)depth;
    return faults_deep(depth + 1) + room[0];
}

/* ---- memory of all kinds ---- */

static char buffer[64] __attribute__((aligned(16)));

uint64_t memory_of_program(void)
{
    return (uint64_t)buffer;
}

uint64_t memory_of_code(void)
{
    return (uint64_t)faults_halt;
}

uint64_t memory_without(int protection)
{
    char *made = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *made = (char)0xc3;
    mprotect(made, 4096, protection);
    return (uint64_t)made;
}

uint64_t memory_behind_file(const char *path)
{
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, 8192))
        abort();
    char *made = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (ftruncate(file, 100))
        abort();
    return (uint64_t)made + 4096;
}

struct node {
    struct node *next;
    long value;
};

/* The only free block of its size: its link, which leads nowhere, is what free() keeps. */
PLAIN long faults_freed(void)
{
    struct node *volatile node = malloc(936);
    node->next = node;
    free(node);
    struct node *next = node->next;
    return next->value;
}

/* The block is in use again when its old link is followed, or what is in its place now. */
PLAIN long faults_reused(uint64_t link)
{
    struct node *volatile node = malloc(936);
    struct node *volatile first = node;
    node->next = node;
    free(node);
    node = malloc(936);
    if (node != first)
        abort();
    if (link)
        node->next = (struct node *)link;
    struct node *next = node->next;
    return next->value;
}

/* ---- handlers ---- */

static void raise_again(int number)
{
    signal(number, SIG_DFL);
    raise(number);
    __asm__ volatile("");
}

static void raise_with_info(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    raise_again(number);
}

static void kill_again(int number)
{
    signal(number, SIG_DFL);
    kill(getpid(), number);
    __asm__ volatile("");
}

static void queue_again(int number, siginfo_t *info, void *context)
{
    (void)context;
    signal(number, SIG_DFL);
    syscall(SYS_rt_tgsigqueueinfo, getpid(), (int)syscall(SYS_gettid), number, info);
    __asm__ volatile("");
}

static void give_up(int number)
{
    (void)number;
    abort();
}

static void fault_in_handler(int number)
{
    (void)number;
    faults_read(0x98);
}

static void return_at_once(int number)
{
    signal(number, SIG_DFL);
}

void handle(const char *how, int options)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    static char stack[64 * 1024];
    struct sigaction action = {.sa_flags = options};
    if (options & SA_ONSTACK)
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
    if (!strcmp(how, "raise") && options & SA_SIGINFO)
        action.sa_sigaction = raise_with_info;
    else if (!strcmp(how, "queue"))
        action.sa_sigaction = queue_again;
    else
        action.sa_handler = !strcmp(how, "raise")   ? raise_again
                            : !strcmp(how, "kill")  ? kill_again
                            : !strcmp(how, "abort") ? give_up
                            : !strcmp(how, "fault") ? fault_in_handler
                                                    : return_at_once;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaction(numbers[i], &action, NULL);
}

/* ---- what is no fault below a handler ---- */

static sigjmp_buf before;

static void jump_back(int number)
{
    (void)number;
    siglongjmp(before, 1);
}

/* A fault that is handled well leaves its signal frame on the stack, below what runs next. */
void near_caught(void)
{
    struct sigaction old, action = {.sa_handler = jump_back};
    sigaction(SIGSEGV, &action, &old);
    if (!sigsetjmp(before, 1))
        faults_read(0x5550);
    sigaction(SIGSEGV, &old, NULL);
}

PLAIN void near_abort(void)
{
    volatile char room[16384];
    __asm__ volatile("" : : "r"(room) : "memory");
    abort();
}

PLAIN void near_raise(int number)
{
    volatile char room[16384];
    __asm__ volatile("" : : "r"(room) : "memory");
    raise(number);
    __asm__ volatile("" : : "r"(room) : "memory");
}

/* Runs `how` in the handler of SIGALRM. */
void near_alarm(const char *how)
{
    signal(SIGALRM, strcmp(how, "abort") ? fault_in_handler : give_up);
    raise(SIGALRM);
}

void near_spin(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    if (file >= 0)
        close(file);
    for (volatile long i = 0;; i++)
        ;
}
