/* Descriptors: proc(5), /proc/PID/fd and fdinfo. */
#include "system_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INFO_SIZE         8192
#define SYSTEM_PATH_LIMIT 1024

bool system_read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    size_t used = 0;
    if (fd < 0)
        return false;
    while (used < size - 1) {
        ssize_t got = read(fd, buffer + used, size - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    buffer[used] = '\0';
    close(fd);
    return used > 0;
}

static enum system_file find_anonymous(const char *name)
{
    static const struct {
        const char *name;
        enum system_file kind;
    } names[] = {
        {"anon_inode:[eventpoll]", SYSTEM_EPOLL}, {"anon_inode:[eventfd]", SYSTEM_EVENT},
        {"anon_inode:[timerfd]", SYSTEM_TIMER},   {"anon_inode:[pidfd]", SYSTEM_PROCESS},
        {"anon_inode:[io_uring]", SYSTEM_OTHER},
    };
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names); i++)
        if (!strcmp(names[i].name, name))
            return names[i].kind;
    return strncmp(name, "anon_inode:", 11) ? SYSTEM_PATH : SYSTEM_OTHER;
}

static bool is_terminal(const char *path)
{
    return !strncmp(path, "/dev/pts/", 9) || !strncmp(path, "/dev/tty", 8) ||
           !strcmp(path, "/dev/console");
}

bool system_read_link(int32_t pid, int fd, struct system_descriptor *ret)
{
    char path[64];
    char link[SYSTEM_TEXT];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    ssize_t size = readlink(path, link, sizeof(link) - 1);
    *ret = (struct system_descriptor){.kind = SYSTEM_UNKNOWN};
    if (size <= 0)
        return false;
    link[size] = '\0';
    if (sscanf(link, "pipe:[%" SCNu64 "]", &ret->inode) == 1)
        ret->kind = SYSTEM_PIPE;
    else if (sscanf(link, "socket:[%" SCNu64 "]", &ret->inode) == 1)
        ret->kind = SYSTEM_SOCKET;
    else
        ret->kind = is_terminal(link) ? SYSTEM_TERMINAL : find_anonymous(link);
    if (ret->kind == SYSTEM_PIPE)
        snprintf(ret->text, sizeof(ret->text), "a pipe");
    else if (ret->kind == SYSTEM_PATH || ret->kind == SYSTEM_TERMINAL)
        snprintf(ret->text, sizeof(ret->text), "%s", link);
    else if (!strncmp(link, "anon_inode:", 11))
        snprintf(ret->text, sizeof(ret->text), "%s", link + 11);
    return true;
}

bool system_is_fifo(const struct system *system, int folder, const char *path)
{
    char base[64];
    char found[SYSTEM_PATH_LIMIT];
    struct stat status;
    if (*path == '/')
        snprintf(base, sizeof(base), "/proc/%d/root", system->pid);
    else if (folder == AT_FDCWD)
        snprintf(base, sizeof(base), "/proc/%d/cwd/", system->pid);
    else
        snprintf(base, sizeof(base), "/proc/%d/fd/%d/", system->pid, folder);
    int size = snprintf(found, sizeof(found), "%s%s", base, path);
    return size > 0 && (size_t)size < sizeof(found) && stat(found, &status) == 0 &&
           S_ISFIFO(status.st_mode);
}

/* The lines of fdinfo that tell more. */
static void read_info(int32_t pid, int fd, struct system_descriptor *ret)
{
    char path[64];
    char info[INFO_SIZE];
    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
    if (!system_read_file(path, info, sizeof(info)))
        return;
    const char *flags = strstr(info, "flags:");
    if (flags) {
        unsigned long bits = strtoul(flags + 6, NULL, 8);
        ret->reads = (bits & (O_WRONLY | O_RDWR)) != O_WRONLY;
        ret->writes = (bits & (O_WRONLY | O_RDWR)) != O_RDONLY;
    }
    const char *process = strstr(info, "\nPid:");
    if (ret->kind == SYSTEM_PROCESS && process)
        ret->process = (int32_t)strtol(process + 5, NULL, 10);
    const char *value = strstr(info, "it_value: (");
    uint64_t seconds;
    uint64_t nanoseconds;
    if (ret->kind == SYSTEM_TIMER && value &&
        sscanf(value, "it_value: (%" SCNu64 ", %" SCNu64 ")", &seconds, &nanoseconds) == 2) {
        ret->has_time_left = seconds || nanoseconds;
        ret->time_left = (double)seconds + (double)nanoseconds / 1e9;
    }
}

void system_read_mode(int32_t pid, int fd, struct system_descriptor *ret)
{
    read_info(pid, fd, ret);
}

bool system_describe(struct system *system, int fd, struct system_descriptor *ret)
{
    if (!system_read_link(system->pid, fd, ret))
        return false;
    read_info(system->pid, fd, ret);
    if (ret->kind == SYSTEM_SOCKET)
        system_describe_socket(system, ret);
    return true;
}

size_t system_list_epoll(struct system *system, int fd, int *ret, size_t limit)
{
    char path[64];
    char info[INFO_SIZE];
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", system->pid, fd);
    if (!system_read_file(path, info, sizeof(info)))
        return 0;
    for (const char *line = strstr(info, "tfd:"); line && count < limit;
         line = strstr(line + 4, "tfd:"))
        ret[count++] = (int)strtol(line + 4, NULL, 10);
    return count;
}
