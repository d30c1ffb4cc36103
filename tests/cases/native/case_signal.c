/*
 * A signal in a leaf: main, signal_outer, signal_leaf, interrupted, then
 * signal_handler, which aborts.
 *
 *     case_signal plain | onstack | restorer | null
 *
 * onstack: on another stack, which lies below or above. restorer: the way back is
 * our own code without call frame information, as with musl. null: what is
 * interrupted is a call to nowhere.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int sink;
static const char *way;

void signal_restorer(void);
__asm__(".text\n"
        ".type signal_restorer,@function\n"
        "signal_restorer:\n"
        "mov $15,%rax\n"
        "syscall\n"
        ".size signal_restorer,.-signal_restorer\n");

/* The kernel's struct sigaction. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

static void signal_handler(int number)
{
    (void)number;
    abort();
}

__attribute__((noinline)) int signal_leaf(volatile int *place)
{
    void (*volatile target)(void) = NULL;
    if (strcmp(way, "null") == 0)
        target();
    *place = 1;
    return *place + sink;
}

__attribute__((noinline)) int signal_outer(void)
{
    sink = signal_leaf(NULL);
    return sink + 1;
}

static void install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = signal_handler;
    if (strcmp(way, "onstack") == 0) {
        stack_t stack = {.ss_size = 65536};
        stack.ss_sp =
            mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        sigaltstack(&stack, NULL);
        action.sa_flags = SA_ONSTACK;
    }
    sigaction(SIGSEGV, &action, NULL);
    if (strcmp(way, "restorer") == 0) {
        struct kernel_action kernel = {
            .handler = signal_handler, .flags = 0x04000000, .restorer = signal_restorer};
        syscall(SYS_rt_sigaction, SIGSEGV, &kernel, NULL, 8);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 64;
    way = argv[1];
    install();
    sink = signal_outer();
    return sink;
}
