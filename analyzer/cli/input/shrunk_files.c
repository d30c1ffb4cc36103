#include "input.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Room for a line of /proc/self/maps: numbers and a path. */
#define LINE_SIZE (PATH_MAX + 128)

/* For the handler. */
static uintptr_t page_size;

/* Only what signal-safety(7) lists is called below, and mmap(2), which is a system call alone. */

static void say(const char *text)
{
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    (void)written;
}

/* Control characters cannot act, whatever the file's name is. */
static void say_name(char *name)
{
    for (char *byte = name; *byte; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
            *byte = '?';
    say(name);
}

static const char *read_hex(const char *text, uintptr_t *ret)
{
    static const char digits[] = "0123456789abcdef";
    const char *digit;
    *ret = 0;
    for (; *text && (digit = strchr(digits, *text)); text++)
        *ret = *ret << 4 | (uintptr_t)(digit - digits);
    return text;
}

/* Whether a line is of the mapping that an address is in, and of a file. */
static bool is_line_of(const char *line, uintptr_t address)
{
    uintptr_t start;
    uintptr_t end;
    line = read_hex(line, &start);
    if (*line != '-')
        return false;
    read_hex(line + 1, &end);
    return address >= start && address < end && strchr(line, '/');
}

/* The path of the file that is mapped at an address; false when there is none. */
static bool find_path(uintptr_t address, char line[LINE_SIZE])
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    size_t used = 0;
    ssize_t got;
    while (fd >= 0 && (got = read(fd, bytes, sizeof(bytes))) > 0) {
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] != '\n') {
                if (used < LINE_SIZE - 1)
                    line[used++] = bytes[i];
                continue;
            }
            line[used] = '\0';
            used = 0;
            if (is_line_of(line, address)) {
                close(fd);
                return true;
            }
        }
    }
    if (fd >= 0)
        close(fd);
    return false;
}

static void end_program(int number, siginfo_t *info, void *context)
{
    char line[LINE_SIZE];
    (void)context;
    if (info->si_code != BUS_ADRERR || !find_path((uintptr_t)info->si_addr, line)) {
        signal(number, SIG_DFL); /* Of another cause: it comes again, and acts. */
        return;
    }
    say("pystack-core: ");
    say_name(strchr(line, '/'));
    say(": the file became shorter while it was read\n");
    _exit(EXIT_NOTHING);
}

/* A page of zeros in its place, which can only be read: of memory that was to be written, and for
   which there was no room, SIGSEGV comes next. */
static void fill_page(int number, siginfo_t *info, void *context)
{
    const int error = errno;
    uintptr_t address = (uintptr_t)info->si_addr & ~(page_size - 1);
    (void)context;
    if (info->si_code != BUS_ADRERR ||
        mmap((void *)address, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED)
        signal(number, SIG_DFL);
    errno = error;
}

static void handle(void (*handler)(int number, siginfo_t *info, void *context))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void shrunk_files_watch(void)
{
    handle(end_program);
}

void shrunk_files_fill(void)
{
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    handle(fill_page);
}
