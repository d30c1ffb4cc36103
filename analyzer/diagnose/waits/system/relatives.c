/* The processes around one, and who of them has an end of a pipe or socket. */
#include "system_private.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Processes that are asked, descriptors of each that are looked at, and all in all. */
#define PROCESS_LIMIT    ((size_t)65536)
#define RELATIVE_LIMIT   ((size_t)256)
#define DESCRIPTOR_LIMIT 1024
#define OPEN_LIMIT       ((size_t)16384)
#define ANCESTOR_LIMIT   64
/* Milliseconds, of all threads together. */
#define PATIENCE 50u

struct system *system_create(int32_t pid)
{
    char path[64];
    char own[64];
    char other[64];
    struct system *system = calloc(1, sizeof(*system));
    if (!system)
        return NULL;
    system->pid = pid;
    system->patience = PATIENCE;
    snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
    ssize_t size = readlink(path, other, sizeof(other));
    system->same_network = size > 0 && size == readlink("/proc/self/ns/net", own, sizeof(own)) &&
                           !memcmp(own, other, (size_t)size);
    return system;
}

void system_destroy(struct system *system)
{
    if (!system)
        return;
    free(system->relatives);
    free(system->opened);
    free(system);
}

/* /proc/PID/stat: pid (name) state ppid pgrp session; a name may have any characters. */
static bool read_process(int32_t pid, struct system_relative *ret)
{
    char path[64];
    char stat[512];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (!system_read_file(path, stat, sizeof(stat)))
        return false;
    const char *open = strchr(stat, '(');
    const char *close = strrchr(stat, ')');
    char state;
    int parent;
    int session;
    if (!open || !close || close < open ||
        sscanf(close + 1, " %c %d %*d %d", &state, &parent, &session) != 3)
        return false;
    *ret = (struct system_relative){
        .pid = pid, .parent = parent, .session = session, .stopped = state == 'T'};
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

bool system_name_process(int32_t pid, char ret[32], bool *ret_stopped)
{
    struct system_relative process;
    if (!read_process(pid, &process))
        return false;
    memcpy(ret, process.name, sizeof(process.name));
    *ret_stopped = process.stopped;
    return true;
}

static struct system_relative *find_relative(struct system_relative *items, size_t count,
                                             int32_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].pid == pid)
            return &items[i];
    return NULL;
}

static size_t list_processes(struct system_relative **ret)
{
    size_t count = 0;
    size_t capacity = 0;
    DIR *folder = opendir("/proc");
    *ret = NULL;
    for (struct dirent *entry = folder ? readdir(folder) : NULL; entry && count < PROCESS_LIMIT;
         entry = readdir(folder)) {
        struct system_relative process;
        int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
        if (pid <= 0 || !read_process(pid, &process) ||
            !array_reserve(ret, &capacity, count + 1, sizeof(**ret)))
            continue;
        (*ret)[count++] = process;
    }
    if (folder)
        closedir(folder);
    return count;
}

/* Whether one is among the parents of another. */
static bool descends(struct system_relative *items, size_t count, int32_t pid, int32_t ancestor)
{
    for (size_t i = 0; i < ANCESTOR_LIMIT; i++) {
        const struct system_relative *one = find_relative(items, count, pid);
        if (!one || one->parent <= 0)
            return false;
        if (one->parent == ancestor)
            return true;
        pid = one->parent;
    }
    return false;
}

/* Keeps those of the same session, its ancestors and its descendants. */
static size_t keep_relatives(struct system *system, struct system_relative *items, size_t count)
{
    const struct system_relative *own = find_relative(items, count, system->pid);
    size_t kept = 0;
    bool *keeps = own ? calloc(count, sizeof(*keeps)) : NULL;
    if (!keeps)
        return 0;
    int32_t session = own->session;
    for (size_t i = 0; i < count; i++)
        keeps[i] = items[i].session == session ||
                   descends(items, count, items[i].pid, system->pid) ||
                   descends(items, count, system->pid, items[i].pid);
    for (size_t i = 0; i < count && kept < RELATIVE_LIMIT; i++)
        if (keeps[i] && items[i].pid != (int32_t)getpid())
            items[kept++] = items[i];
    free(keeps);
    return kept;
}

static void list_descriptors(struct system *system, size_t relative, size_t *capacity)
{
    char path[64];
    int32_t pid = system->relatives[relative].pid;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    size_t seen = 0;
    for (struct dirent *entry = folder ? readdir(folder) : NULL;
         entry && seen < DESCRIPTOR_LIMIT && system->open_count < OPEN_LIMIT;
         entry = readdir(folder), seen++) {
        struct system_descriptor found;
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] == '.' || !system_read_link(pid, fd, &found) ||
            (found.kind != SYSTEM_PIPE && found.kind != SYSTEM_SOCKET))
            continue;
        if (found.kind == SYSTEM_PIPE)
            system_read_mode(pid, fd, &found);
        if (!array_reserve(&system->opened, capacity, system->open_count + 1,
                           sizeof(*system->opened)))
            break;
        system->opened[system->open_count++] =
            (struct system_open){.inode = found.inode,
                                 .socket = found.kind == SYSTEM_SOCKET,
                                 .reads = found.reads,
                                 .writes = found.writes,
                                 .relative = relative};
    }
    if (folder)
        closedir(folder);
}

static void list_all(struct system *system)
{
    size_t capacity = 0;
    if (system->listed)
        return;
    system->listed = true;
    size_t count = list_processes(&system->relatives);
    system->relative_count = keep_relatives(system, system->relatives, count);
    for (size_t i = 0; i < system->relative_count; i++)
        list_descriptors(system, i, &capacity);
}

void system_find_end(struct system *system, const struct system_descriptor *descriptor,
                     bool for_reading, struct system_end *ret)
{
    bool socket = descriptor->kind == SYSTEM_SOCKET;
    uint64_t inode = socket ? descriptor->peer : descriptor->inode;
    *ret = (struct system_end){.only = true};
    if (!inode || (socket && !descriptor->has_peer))
        return;
    list_all(system);
    for (size_t i = 0; i < system->open_count; i++) {
        const struct system_open *one = &system->opened[i];
        const struct system_relative *whose = &system->relatives[one->relative];
        if (one->inode != inode || one->socket != socket ||
            (!socket && !(for_reading ? one->writes : one->reads)) || whose->pid == ret->pid)
            continue;
        // Others go before the process itself, which may have forgotten to close its own end.
        ret->only = !ret->pid;
        if (!ret->pid || ret->pid == system->pid) {
            ret->pid = whose->pid;
            ret->stopped = whose->stopped;
            memcpy(ret->name, whose->name, sizeof(ret->name));
        }
    }
}

int32_t system_find_process(const struct system *system, int32_t tid, int32_t *ret_parent)
{
    char path[64];
    char status[4096];
    struct system_relative own;
    *ret_parent = read_process(system->pid, &own) ? own.parent : 0;
    snprintf(path, sizeof(path), "/proc/%d/status", tid);
    if (tid <= 0 || !system_read_file(path, status, sizeof(status)))
        return 0;
    const char *group = strstr(status, "\nTgid:");
    return group ? (int32_t)strtol(group + 6, NULL, 10) : 0;
}

size_t system_find_child(struct system *system, int32_t *ret)
{
    size_t count = 0;
    list_all(system);
    *ret = 0;
    for (size_t i = 0; i < system->relative_count; i++) {
        if (system->relatives[i].parent != system->pid)
            continue;
        *ret = system->relatives[i].pid;
        count++;
    }
    return count;
}

int32_t system_find_lock_owner(const struct system *system)
{
    char locks[65536];
    unsigned long number = 0;
    unsigned long waited = 0;
    if (!system_read_file("/proc/locks", locks, sizeof(locks)))
        return 0;
    // "1: FLOCK  ADVISORY  WRITE 100 fd:01:12 0 EOF", and those that wait: "1: -> FLOCK ...".
    char type[16];
    int pid;
    for (const char *line = locks; line && *line && !waited;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (sscanf(line, "%lu: -> %15s %*s %*s %d", &number, type, &pid) == 3 && pid == system->pid)
            waited = number;
    for (const char *line = locks; line && *line && waited;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (sscanf(line, "%lu: %15s %*s %*s %d", &number, type, &pid) == 3 && number == waited &&
            type[0] != '-')
            return pid > 0 ? pid : 0;
    return 0;
}
