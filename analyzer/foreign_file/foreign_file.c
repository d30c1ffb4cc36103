/* A file that somebody else has named. */
#include "foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Nothing is opened by this but the name: to open some devices is to use them. */
#define NAME_FLAGS (O_PATH | O_CLOEXEC)
/* As the kernel has it: include/linux/namei.h, MAXSYMLINKS. */
#define LINK_LIMIT 40
/* Tries, when folders are renamed meanwhile (openat2(2), EAGAIN). */
#define TRY_LIMIT 8

/* Opens for reading what a descriptor of its name stands for, if it is of that type (inode(7)). */
static int open_if_type(int name, mode_t type)
{
    struct stat status;
    char path[64];
    int fd = -1, error = name < 0 ? errno : 0;
    if (!error && fstat(name, &status))
        error = errno;
    if (!error && (status.st_mode & S_IFMT) != type)
        error = EINVAL;
    if (!error) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", name);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        error = errno;
    }
    if (name >= 0)
        close(name);
    if (fd < 0)
        errno = error;
    return fd;
}

static int open_root(const char *root)
{
    return open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* ---- by steps ---- */

struct walk {
    int root;
    int folder;
    size_t links;
    size_t done_size;
    char done[PATH_MAX]; /* Names of the folders that were entered, none of them a link. */
    char rest[PATH_MAX]; /* What is still to be walked. */
};

static int enter(struct walk *walk, const char *name)
{
    int next = openat(walk->folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
        return errno;
    close(walk->folder);
    walk->folder = next;
    return 0;
}

static int go_to_root(struct walk *walk)
{
    int folder = fcntl(walk->root, F_DUPFD_CLOEXEC, 0);
    if (folder < 0)
        return errno;
    close(walk->folder);
    walk->folder = folder;
    return 0;
}

/* A folder may have been moved elsewhere since it was entered: its ".." is not asked. */
static int go_up(struct walk *walk)
{
    char *done = walk->done;
    while (walk->done_size && done[--walk->done_size] != '/')
        ;
    done[walk->done_size] = '\0';
    int error = go_to_root(walk);
    for (size_t at = 0; !error && at < walk->done_size;) {
        char name[NAME_MAX + 1];
        const char *begin = done + at + 1;
        size_t length = strcspn(begin, "/");
        memcpy(name, begin, length);
        name[length] = '\0';
        error = enter(walk, name);
        at += 1 + length;
    }
    return error;
}

/* Puts what the link says before the rest of the path. */
static int follow(struct walk *walk, const char *name)
{
    char target[PATH_MAX];
    ssize_t length = readlinkat(walk->folder, name, target, sizeof(target));
    if (length < 0)
        return errno;
    size_t rest = strlen(walk->rest);
    if (++walk->links > LINK_LIMIT)
        return ELOOP;
    if ((size_t)length + 1 + rest >= sizeof(walk->rest))
        return ENAMETOOLONG;
    memmove(walk->rest + length + 1, walk->rest, rest + 1);
    memcpy(walk->rest, target, (size_t)length);
    walk->rest[length] = '/';
    if (target[0] != '/')
        return 0;
    walk->done_size = 0;
    walk->done[0] = '\0';
    return go_to_root(walk);
}

/* The next name of the path; its length, 0 at the end. */
static size_t take_name(struct walk *walk, char name[NAME_MAX + 1])
{
    const char *at = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(at, "/");
    if (length > NAME_MAX)
        return length;
    memcpy(name, at, length);
    name[length] = '\0';
    memmove(walk->rest, at + length, strlen(at + length) + 1);
    return length;
}

static int enter_folder(struct walk *walk, const char *name, size_t length)
{
    if (walk->done_size + 1 + length >= sizeof(walk->done))
        return ENAMETOOLONG;
    int error = enter(walk, name);
    if (error)
        return error;
    walk->done[walk->done_size] = '/';
    memcpy(walk->done + walk->done_size + 1, name, length + 1);
    walk->done_size += 1 + length;
    return 0;
}

/* One step; *ret is the name of the last, whatever it is. 0 or errno. */
static int step(struct walk *walk, const char *name, size_t length, int *ret)
{
    struct stat status;
    bool last = !walk->rest[strspn(walk->rest, "/")];
    if (!strcmp(name, "."))
        return 0;
    if (!strcmp(name, ".."))
        return go_up(walk);
    if (fstatat(walk->folder, name, &status, AT_SYMLINK_NOFOLLOW))
        return errno;
    if (S_ISLNK(status.st_mode))
        return follow(walk, name);
    if (!last)
        return enter_folder(walk, name, length);
    *ret = openat(walk->folder, name, NAME_FLAGS | O_NOFOLLOW);
    return *ret < 0 ? errno : 0;
}

/* A descriptor of the name, or -1 and errno. */
static int find_by_steps(const char *root, const char *path)
{
    struct walk walk = {.root = open_root(root), .folder = -1};
    int fd = -1, error = walk.root < 0 ? errno : 0;
    char name[NAME_MAX + 1];
    size_t length = strlen(path);
    if (!error && length >= sizeof(walk.rest))
        error = ENAMETOOLONG;
    if (!error) {
        memcpy(walk.rest, path, length + 1);
        error = go_to_root(&walk);
    }
    while (!error && fd < 0) {
        length = take_name(&walk, name);
        error = !length             ? EINVAL
                : length > NAME_MAX ? ENAMETOOLONG
                                    : step(&walk, name, length, &fd);
    }
    if (walk.folder >= 0)
        close(walk.folder);
    if (walk.root >= 0)
        close(walk.root);
    if (error)
        errno = error;
    return fd;
}

int foreign_file_open_by_steps(const char *root, const char *path)
{
    return open_if_type(find_by_steps(root, path), S_IFREG);
}

/* ---- by the kernel ---- */

static int open_in_root(int root, const char *path)
{
    const struct open_how how = {.flags = NAME_FLAGS,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long fd = -1;
    errno = EAGAIN;
    for (int i = 0; fd < 0 && errno == EAGAIN && i < TRY_LIMIT; i++)
        fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
    return (int)fd;
}

/* A descriptor of the name, or -1 and errno. */
static int find_name(const char *root, const char *path)
{
    if (!root)
        return open(path, NAME_FLAGS);
    int folder = open_root(root);
    if (folder < 0)
        return -1;
    int name = open_in_root(folder, path), error = errno;
    close(folder);
    // An older kernel; a filter of system calls, which may say EPERM; renames without end.
    if (name < 0 && (error == ENOSYS || error == EPERM || error == EAGAIN))
        return find_by_steps(root, path);
    errno = error;
    return name;
}

int foreign_file_open(const char *root, const char *path)
{
    return open_if_type(find_name(root, path), S_IFREG);
}

int foreign_folder_open(const char *root, const char *path)
{
    return open_if_type(find_name(root, path), S_IFDIR);
}
