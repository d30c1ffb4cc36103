/* A path below a root, gone step by step. */
#include "path_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* As the kernel has it: include/linux/namei.h, MAXSYMLINKS. */
#define LINK_LIMIT 40

struct walk {
    int root; /* The caller's. */
    int folder;
    size_t links;
    size_t done_size;
    char done[PATH_MAX]; /* The names that were gone by, none of them a link. */
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

static int add_name(struct walk *walk, const char *name, size_t length)
{
    if (walk->done_size + 1 + length >= sizeof(walk->done))
        return ENAMETOOLONG;
    walk->done[walk->done_size] = '/';
    memcpy(walk->done + walk->done_size + 1, name, length + 1);
    walk->done_size += 1 + length;
    return 0;
}

static int enter_folder(struct walk *walk, const char *name, size_t length)
{
    int error = enter(walk, name);
    return error ? error : add_name(walk, name, length);
}

/* What the path ends at, which is no link. 0 or errno. */
static int open_end(struct walk *walk, const char *name, int flags, mode_t mode, int *ret)
{
    // To open a device is to use it.
    if (!(flags & O_PATH) && !S_ISREG(mode) && !S_ISDIR(mode))
        return EINVAL;
    *ret = openat(walk->folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
    return *ret < 0 ? errno : 0;
}

static bool is_last(const struct walk *walk)
{
    return !walk->rest[strspn(walk->rest, "/")];
}

/* One step; *ret is what the path leads to, once it is reached. 0 or errno. */
static int step(struct walk *walk, const char *name, size_t length, int flags, int *ret)
{
    struct stat status;
    if (!strcmp(name, "."))
        return 0;
    if (!strcmp(name, ".."))
        return go_up(walk);
    if (fstatat(walk->folder, name, &status, AT_SYMLINK_NOFOLLOW))
        return errno;
    if (S_ISLNK(status.st_mode))
        return follow(walk, name);
    if (!is_last(walk))
        return enter_folder(walk, name, length);
    int error = add_name(walk, name, length);
    return error ? error : open_end(walk, name, flags, status.st_mode, ret);
}

int path_steps_open(int root, const char *path, int flags, char *ret_name)
{
    struct walk walk = {.root = root, .folder = -1};
    int fd = -1, error = 0;
    char name[NAME_MAX + 1];
    size_t length = strlen(path);
    if (length >= sizeof(walk.rest))
        error = ENAMETOOLONG;
    if (!error) {
        memcpy(walk.rest, path, length + 1);
        error = go_to_root(&walk);
    }
    while (!error && fd < 0) {
        length = take_name(&walk, name);
        error = !length             ? EINVAL
                : length > NAME_MAX ? ENAMETOOLONG
                                    : step(&walk, name, length, flags, &fd);
    }
    if (walk.folder >= 0)
        close(walk.folder);
    if (fd >= 0 && ret_name)
        memcpy(ret_name, walk.done, walk.done_size + 1);
    if (error)
        errno = error;
    return fd;
}
