/*
 * What the broker tells of processes: files of /proc by fixed names, whose numbers are read and
 * written anew, so that no other path can be meant.
 */
#include "broker.h"
#include "new_file.h"
#include "traced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Parents that are followed upwards, of one process. */
#define ANCESTOR_LIMIT 64
/* Links of one process that are told at once. */
#define LINK_LIMIT 4096

/* Whose file it is. */
enum whose {
    OF_ALL,       /* Everybody may read it. */
    OF_RELATIVES, /* Of the process that is looked at, its ancestors, descendants and session. */
    OF_TARGET     /* Of that process alone. */
};

/* proc(5); a # stands for a number, the first of them for the process. */
struct process_file {
    const char *path;
    enum whose whose;
    bool asks_reader; /* The kernel asks at each read whether the reader may trace the process. */
};

static const struct process_file files[] = {
    {"/proc/#/stat", OF_ALL, false},
    {"/proc/#/status", OF_ALL, false},
    {"/proc/locks", OF_ALL, false},
    {"/proc/#/fdinfo/#", OF_RELATIVES, false},
    {"/proc/#/maps", OF_TARGET, false},
    {"/proc/#/task/#/syscall", OF_TARGET, true},
    {"/proc/#/task/#/wchan", OF_TARGET, true},
    {"/proc/#/task/#/stat", OF_TARGET, false},
    {"/proc/#/task/#/status", OF_TARGET, false},
    {"/proc/#/task/#/comm", OF_TARGET, false},
    {"/proc/#/net/tcp", OF_TARGET, false},
    {"/proc/#/net/tcp6", OF_TARGET, false},
    {"/proc/#/net/udp", OF_TARGET, false},
    {"/proc/#/net/udp6", OF_TARGET, false},
    {"/proc/#/net/unix", OF_TARGET, false},
};

/* Of a process that is traced, and whose memory is read again and again. */
static const struct process_file traced_files[] = {
    {"/proc/#/stat", OF_TARGET, true}, /* Where its code and its stack are. */
    {"/proc/#/task/#/mem", OF_TARGET, false},
    {"/proc/#/task/#/maps", OF_TARGET, false},
    {"/proc/#/task/#/pagemap", OF_TARGET, false},
    {"/proc/#/task/#/auxv", OF_TARGET, false},
    {"/proc/#/task/#/cmdline", OF_TARGET, false},
    {"/proc/#/task/#/schedstat", OF_TARGET, false},
};

/* The kernel says whose children these are. */
static const struct process_file child_lists[] = {{"/proc/#/task/#/children", OF_TARGET, false}};

static const struct process_file traced_folders[] = {{"/proc/#/task/#", OF_TARGET, false}};

static const struct process_file traced_links[] = {{"/proc/#/task/#/root", OF_TARGET, false}};

static const struct process_file folders[] = {
    {"/proc", OF_ALL, false},
    {"/proc/#/fd", OF_RELATIVES, false},
    {"/proc/#/task", OF_TARGET, false},
};

static const struct process_file roots[] = {{"/proc/#/task/#/root", OF_TARGET, false}};

static const struct process_file links[] = {
    {"/proc/#/fd/#", OF_RELATIVES, false},
    {"/proc/#/ns/net", OF_TARGET, false},
};

static const struct process_file link_folders[] = {{"/proc/#/fd", OF_RELATIVES, false}};

#define COUNT(items) (sizeof(items) / sizeof(*(items)))
/* Digits of a number; one more does not fit into an int. */
#define DIGIT_LIMIT 9
/* A path of the tables with its numbers. */
#define PATH_SIZE 128

/* Whether the path is one of that form; the path is made anew, and the process told. */
static bool fits(const char *form, const char *path, char made[PATH_SIZE], int *ret_process)
{
    size_t used = 0, numbers = 0;
    *ret_process = 0;
    for (; *form && used < PATH_SIZE - DIGIT_LIMIT - 2; form++) {
        if (*form != '#') {
            if (*path != *form)
                return false;
            made[used++] = *path++;
            continue;
        }
        size_t digits = strspn(path, "0123456789");
        if (!digits || digits > DIGIT_LIMIT)
            return false;
        int number = (int)strtol(path, NULL, 10);
        used += (size_t)sprintf(made + used, "%d", number);
        path += digits;
        if (!numbers++)
            *ret_process = number;
    }
    made[used] = '\0';
    return !*form && !*path;
}

/* ---- relatives ---- */

struct family {
    int parent;
    int session;
};

/* stat of proc(5): pid (name) state ppid pgrp session; the name may hold anything. */
static bool read_family(int folder, const char *path, struct family *ret)
{
    char text[512];
    int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end && sscanf(end + 1, " %*c %d %*d %d", &ret->parent, &ret->session) == 2;
}

static bool descends(struct family family, int ancestor)
{
    char path[64];
    for (size_t i = 0; i < ANCESTOR_LIMIT; i++) {
        if (family.parent == ancestor)
            return true;
        snprintf(path, sizeof(path), "/proc/%d/stat", family.parent);
        if (family.parent <= 1 || !read_family(AT_FDCWD, path, &family))
            return false;
    }
    return false;
}

static bool are_relatives(int pid, int folder, const struct sandbox_owner *target)
{
    struct family one, other;
    return read_family(folder, "stat", &one) && read_family(target->folder, "stat", &other) &&
           (one.session == other.session || descends(one, target->pid) || descends(other, pid));
}

/* ---- one process ---- */

/*
 * A process is named by its number once: what is read of it is read below the folder that was
 * opened then, which tells nothing any more when another process has got the number (proc(5)).
 */
struct process {
    int pid;
    int folder; /* -1: there is none. */
    bool is_target;
    bool asked; /* Whether it is a relative: */
    bool is_relative;
};

static int open_process(int pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d", pid);
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static bool is_alive(const struct process *process)
{
    struct stat status;
    return process->folder >= 0 && !fstatat(process->folder, "stat", &status, 0);
}

/* All files of one process are mostly asked for one after the other: the last one is kept. */
static struct process *find_process(const struct sandbox_rules *rules, int pid)
{
    static struct process target, other = {.folder = -1};
    size_t count;
    const struct sandbox_owner *owners = broker_owners(rules, &count);
    for (size_t i = 0; i < count; i++)
        if (pid > 0 && owners[i].pid == pid) {
            target = (struct process){pid, owners[i].folder, true, true, true};
            return &target;
        }
    if (other.pid == pid && is_alive(&other))
        return &other;
    if (other.folder >= 0)
        close(other.folder);
    other = (struct process){.pid = pid, .folder = open_process(pid)};
    return &other;
}

/* Of one that is looked at. */
static bool is_relative(const struct sandbox_rules *rules, struct process *process)
{
    size_t count;
    const struct sandbox_owner *owners = broker_owners(rules, &count);
    for (size_t i = 0; !process->asked && i < count; i++)
        process->is_relative |=
            owners[i].pid > 0 && are_relatives(process->pid, process->folder, &owners[i]);
    process->asked = true;
    return process->is_relative;
}

/* ---- what may be had ---- */

bool broker_has_process(const struct sandbox_rules *rules)
{
    size_t count;
    const struct sandbox_owner *owners = broker_owners(rules, &count);
    for (size_t i = 0; i < count; i++)
        if (owners[i].pid > 0)
            return true;
    return rules->traced != NULL;
}

/* What was asked for. */
struct found {
    const struct process_file *row;
    const struct process *process; /* NULL: of none. */
    char made[PATH_SIZE];          /* The path, made anew. */
};

static bool may_have(const struct sandbox_rules *rules, const struct process_file *row,
                     struct process *process)
{
    return row->whose == OF_ALL || process->is_target ||
           (row->whose == OF_RELATIVES && is_relative(rules, process));
}

/* False and errno: the path is none of the table, or not his. */
static bool find_path(const struct sandbox_rules *rules, const struct process_file *table,
                      size_t count, const char *path, struct found *ret)
{
    int pid;
    errno = ENOENT;
    for (size_t i = 0; broker_has_process(rules) && i < count; i++) {
        if (!fits(table[i].path, path, ret->made, &pid))
            continue;
        ret->row = &table[i];
        struct process *process = pid > 0 ? find_process(rules, pid) : NULL;
        ret->process = process;
        errno = EACCES;
        return !process || may_have(rules, ret->row, process);
    }
    return false;
}

/* For openat(2) and its like: what is left of the path below the folder of the process. */
static int place_of(const struct found *found, const char **ret_path)
{
    *ret_path = found->made;
    if (!found->process)
        return AT_FDCWD;
    const char *below = strchr(found->made + strlen("/proc/"), '/');
    *ret_path = below ? below + 1 : ".";
    return found->process->folder;
}

/* Closes the file. */
static ssize_t read_text(int fd, char *ret, size_t size)
{
    const ssize_t got = fd < 0 ? -1 : read(fd, ret, size);
    const int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return got;
}

/* Open for whoever reads it once, at least: a pipe takes a page at any time (pipe(7)). */
static int keep_text(const char *text, ssize_t size)
{
    int ends[2];
    int copy = size < 0 ? -1 : memfd_create("process", MFD_CLOEXEC);
    if (copy < 0 && size >= 0 && !pipe2(ends, O_CLOEXEC)) {
        copy = ends[0];
        if (size && write(ends[1], text, (size_t)size) != size) {
            close(copy);
            copy = -1;
        }
        close(ends[1]);
    } else if (copy >= 0 && size && pwrite(copy, text, (size_t)size, 0) != size) {
        close(copy);
        errno = EIO;
        copy = -1;
    }
    return copy;
}

/*
 * What fs/proc/base.c, proc_pid_syscall() and proc_pid_wchan(), and fs/proc/array.c,
 * do_task_stat(), tell this process alone.
 */
static int copy_text(int fd)
{
    char text[4096]; // One line.
    return keep_text(text, read_text(fd, text, sizeof(text)));
}

static int open_found(const struct found *found, int flags)
{
    const char *path;
    int folder = place_of(found, &path);
    return openat(folder, path, O_RDONLY | O_CLOEXEC | flags);
}

/* A list of children, which are traced, too, from now on. */
static int open_children(const struct sandbox_rules *rules, const char *path)
{
    struct found found;
    if (!find_path(rules, child_lists, COUNT(child_lists), path, &found))
        return -1;
    char text[4096];
    const ssize_t got = read_text(open_found(&found, O_NOCTTY), text, sizeof(text) - 1);
    const int fd = keep_text(text, got);
    text[got > 0 ? got : 0] = '\0';
    if (fd >= 0 && rules->traced->children)
        traced_add_children(rules->traced, text);
    return fd;
}

static bool find_file(const struct sandbox_rules *rules, const char *path, bool folder,
                      struct found *ret)
{
    if (rules->traced &&
        (folder ? find_path(rules, traced_folders, COUNT(traced_folders), path, ret)
                : find_path(rules, traced_files, COUNT(traced_files), path, ret)))
        return true;
    return folder ? find_path(rules, folders, COUNT(folders), path, ret)
                  : find_path(rules, files, COUNT(files), path, ret);
}

int broker_open_process_file(const struct sandbox_rules *rules, const char *path, bool folder)
{
    struct found found;
    if (rules->traced && !folder) {
        const int fd = open_children(rules, path);
        if (fd >= 0)
            return fd;
    }
    const bool is_there = find_file(rules, path, folder, &found);
    int fd = is_there ? open_found(&found, folder ? O_DIRECTORY : O_NOCTTY) : -1;
    return fd >= 0 && found.row->asks_reader ? copy_text(fd) : fd;
}

int broker_open_process_root(const struct sandbox_rules *rules, const char *path)
{
    struct found found;
    return find_path(rules, roots, COUNT(roots), path, &found)
               ? open_found(&found, O_PATH | O_DIRECTORY)
               : -1;
}

/* Of others than the process only what tells the ends of its own pipes and sockets. */
static bool is_end(const char *text)
{
    return !strncmp(text, "pipe:[", 6) || !strncmp(text, "socket:[", 8);
}

static bool write_links(DIR *folder, FILE *file, bool of_target)
{
    char text[PATH_MAX];
    const struct dirent *entry;
    struct broker_link last = {0};
    for (size_t i = 0; i < LINK_LIMIT && (entry = readdir(folder)); i++) {
        ssize_t size = readlinkat(dirfd(folder), entry->d_name, text, sizeof(text) - 1);
        last.descriptor = (int32_t)strtol(entry->d_name, NULL, 10);
        text[size > 0 ? size : 0] = '\0';
        if (size <= 0 || (!of_target && !is_end(text)))
            continue;
        const struct broker_link link = {last.descriptor, (uint32_t)size};
        fwrite(&link, sizeof(link), 1, file);
        fwrite(text, 1, (size_t)size, file);
    }
    fwrite(&last, sizeof(last), 1, file);
    return !fflush(file);
}

int broker_list_process_links(const struct sandbox_rules *rules, const char *path)
{
    struct found found;
    if (!find_path(rules, link_folders, COUNT(link_folders), path, &found))
        return -1;
    int names = open_found(&found, O_DIRECTORY);
    DIR *folder = names < 0 ? NULL : fdopendir(names);
    if (names >= 0 && !folder)
        close(names);
    int fd = folder ? new_file_open_unnamed("links") : -1;
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    FILE *file = copy < 0 ? NULL : fdopen(copy, "w");
    bool good = file && write_links(folder, file, found.process && found.process->is_target);
    int error = errno;
    if (file)
        fclose(file);
    else if (copy >= 0)
        close(copy);
    if (folder)
        closedir(folder);
    if (good)
        return fd;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

ssize_t broker_read_process_link(const struct sandbox_rules *rules, const char *path, char *ret,
                                 size_t size)
{
    struct found found;
    const char *below;
    if (!find_path(rules, links, COUNT(links), path, &found) &&
        (!rules->traced || !find_path(rules, traced_links, COUNT(traced_links), path, &found)))
        return -1;
    int folder = place_of(&found, &below);
    ssize_t length = readlinkat(folder, below, ret, size - 1);
    if (length < 0)
        return -1;
    ret[length] = '\0';
    if ((found.process && found.process->is_target) || is_end(ret))
        return length;
    errno = EACCES;
    return -1;
}
