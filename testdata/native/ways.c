/* Ways to die and ways to call, for tests/cases/programs.
 * Made by: cc -g -O1 -shared -fPIC -pthread -o libways.so ways.c */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef void (*callback)(void);

volatile int ways_sink;

__attribute__((noinline)) void ways_call(callback call)
{
    call();
    ways_sink++;
}

__attribute__((noinline)) void ways_descend(long depth, callback call)
{
    if (depth > 0)
        ways_descend(depth - 1, call);
    else
        call();
    ways_sink++;
}

/* A frame of 4 KB: the 8 MB of a usual stack hold about 2000 of them. */
__attribute__((noinline)) int ways_overflow_step(int depth)
{
    volatile char frame[4000];
    frame[depth & 1023] = (char)depth;
    return ways_overflow_step(depth + 1) + frame[depth & 1023];
}

void ways_overflow(void)
{
    ways_sink = ways_overflow_step(0);
}

void ways_divide(void)
{
    volatile int seven = 7, zero = 0;
    ways_sink = seven / zero;
}

void ways_illegal(void)
{
    __asm__ volatile("ud2");
}

void ways_trap(void)
{
    __asm__ volatile("int3");
}

void ways_write_null(void)
{
    volatile int *nothing = (volatile int *)(uintptr_t)(ways_sink & 0);
    *nothing = 1;
}

void ways_null_call(void)
{
    callback volatile nothing = NULL;
    nothing();
    ways_sink++;
}

void ways_wild_call(void)
{
    callback volatile nowhere = (callback)(uintptr_t)0x1234;
    nowhere();
    ways_sink++;
}

/* Whether all threads but this one wait in the kernel; yes where /proc is not mounted. */
static int ways_others_wait(void)
{
    DIR *threads = opendir("/proc/self/task");
    int running = 0;
    for (struct dirent *entry; threads && (entry = readdir(threads));) {
        char path[300], line[300];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/self/task/%s/stat", entry->d_name);
        FILE *file = fopen(path, "r");
        const char *name_end = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
        running += name_end && name_end[2] != 'S';
        if (file)
            fclose(file);
    }
    if (threads)
        closedir(threads);
    return running <= 1;
}

/* Dies when the other threads have come to rest: all were seen to wait some times. */
void ways_rest_and_kill(void)
{
    for (int waits = 0, looks = 0; waits < 5 && looks < 1000; looks++) {
        usleep(20000);
        waits += ways_others_wait();
    }
    kill(getpid(), SIGSEGV);
}

/* Reads a page of a mapping that lies past the end of its (empty) file. */
void ways_bus(const char *path)
{
    int fd = open(path, O_RDONLY);
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    ways_sink = page[0];
}

static void *ways_thread(void *argument)
{
    callback call = (callback)(uintptr_t)argument;
    if (call)
        call();
    for (;;)
        pause();
    return NULL;
}

int ways_start_thread(callback call)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, ways_thread, (void *)(uintptr_t)call);
}

typedef int (*ensure_function)(void);
typedef void *(*save_function)(void);

/* A thread state for this thread, whose GIL is let go of again. */
static void *ways_abandon_thread(void *argument)
{
    ensure_function ensure = (ensure_function)(uintptr_t)dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    save_function save = (save_function)(uintptr_t)dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
    ensure();
    save();
    return argument;
}

void ways_abandon(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, ways_abandon_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

static void *ways_attached_thread(void *argument)
{
    ensure_function ensure = (ensure_function)(uintptr_t)dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    ensure();
    ways_write_null();
    return argument;
}

void ways_attach_and_die(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, ways_attached_thread, NULL) == 0)
        pthread_join(thread, NULL);
}

/* What glibc called them before 2.34: the programs run in older Debian roots, too. */
__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_join,pthread_join@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
