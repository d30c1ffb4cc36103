/* A file that somebody else has named. */
#include "foreign_file.h"
#include "path_steps.h"

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
/* What is a regular file or a folder by then. */
#define READ_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
/* Tries, when folders are renamed meanwhile (openat2(2), EAGAIN). */
#define TRY_LIMIT 8
/* Of a path that begins at the root of this machine. */
#define WHOLE_PATH_SIZE (2 * PATH_MAX)

static int open_root(const char *root)
{
    return open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static void close_with_error(int fd, int error)
{
    if (fd >= 0)
        close(fd);
    errno = error;
}

/* ---- without /proc ---- */

/* By steps, from the root of this machine where there is no other. */
static int walk_from(int root, const char *path, int flags, char *ret_name)
{
    char whole[WHOLE_PATH_SIZE] = "";
    if (root >= 0)
        return path_steps_open(root, path, flags, ret_name);
    if (path[0] != '/' && !getcwd(whole, PATH_MAX))
        return -1;
    size_t length = strlen(whole), size = strlen(path);
    if (length + 1 + size >= sizeof(whole)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    whole[length] = '/';
    memcpy(whole + length + 1, path, size + 1);
    int machine = open_root("/");
    int fd = machine < 0 ? -1 : path_steps_open(machine, whole, flags, ret_name);
    close_with_error(machine, errno);
    return fd;
}

static bool is_same(int one, int other)
{
    struct stat first, second;
    return !fstat(one, &first) && !fstat(other, &second) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

int foreign_file_duplicate(const char *path)
{
    static const char own[] = "/proc/self/fd/";
    int number = -1, size = 0;
    if (strncmp(path, own, sizeof(own) - 1) != 0 ||
        sscanf(path + sizeof(own) - 1, "%9d%n", &number, &size) != 1 || number < 0 ||
        path[sizeof(own) - 1 + (size_t)size]) {
        errno = ENOENT;
        return -1;
    }
    return fcntl(number, F_DUPFD_CLOEXEC, 0);
}

/* What was found is found again, by steps, and opened if it is the same. */
static int open_again(int root, const char *path, int name)
{
    int fd = root < 0 ? foreign_file_duplicate(path) : -1;
    if (fd < 0)
        fd = walk_from(root, path, READ_FLAGS, NULL);
    if (fd < 0 || is_same(fd, name))
        return fd;
    close_with_error(fd, ESTALE);
    return -1;
}

/* ---- what was found ---- */

/* Opens for reading what a descriptor of its name stands for, if it is of that type (inode(7)). */
static int open_if_type(int root, const char *path, int name, mode_t type)
{
    struct stat status;
    char link[64];
    int fd = -1, error = name < 0 ? errno : 0;
    if (!error && fstat(name, &status))
        error = errno;
    if (!error && (status.st_mode & S_IFMT) != type)
        error = EINVAL;
    if (!error) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", name);
        fd = open(link, READ_FLAGS);
        // What is open already is not there only where /proc is not.
        if (fd < 0 && errno == ENOENT)
            fd = open_again(root, path, name);
        error = errno;
    }
    if (name >= 0)
        close(name);
    if (fd < 0)
        errno = error;
    return fd;
}

/* ---- finding it ---- */

static int find_in_root(int root, const char *path)
{
    const struct open_how how = {.flags = NAME_FLAGS,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long fd = -1;
    errno = EAGAIN;
    for (int i = 0; fd < 0 && errno == EAGAIN && i < TRY_LIMIT; i++)
        fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
    // An older kernel; a filter of system calls, which may say EPERM; renames without end.
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EAGAIN))
        return path_steps_open(root, path, NAME_FLAGS, NULL);
    return (int)fd;
}

static int open_type(int root, const char *path, mode_t type)
{
    int name = root >= 0 ? find_in_root(root, path) : open(path, NAME_FLAGS);
    if (name < 0 && root < 0 && errno == ENOENT)
        name = foreign_file_duplicate(path);
    return open_if_type(root, path, name, type);
}

typedef int opener(int root, const char *path);

static int open_below(const char *root, const char *path, opener *open_it)
{
    int folder = root ? open_root(root) : -1;
    if (root && folder < 0)
        return -1;
    int fd = open_it(folder, path);
    close_with_error(folder, errno);
    return fd;
}

int foreign_file_open_at(int root, const char *path)
{
    return open_type(root, path, S_IFREG);
}

int foreign_folder_open_at(int root, const char *path)
{
    return open_type(root, path, S_IFDIR);
}

int foreign_file_open(const char *root, const char *path)
{
    return open_below(root, path, foreign_file_open_at);
}

int foreign_folder_open(const char *root, const char *path)
{
    return open_below(root, path, foreign_folder_open_at);
}

static int open_by_steps(int root, const char *path)
{
    return open_if_type(root, path, walk_from(root, path, NAME_FLAGS, NULL), S_IFREG);
}

int foreign_file_open_by_steps(const char *root, const char *path)
{
    return open_below(root, path, open_by_steps);
}

static int open_without_proc(int root, const char *path)
{
    struct stat status;
    int name = root >= 0 ? find_in_root(root, path) : open(path, NAME_FLAGS);
    if (name < 0)
        return -1;
    bool regular = !fstat(name, &status) && S_ISREG(status.st_mode);
    errno = EINVAL;
    int fd = regular ? open_again(root, path, name) : -1;
    close_with_error(name, errno);
    return fd;
}

int foreign_file_open_without_proc(const char *root, const char *path)
{
    return open_below(root, path, open_without_proc);
}

/* ---- its name ---- */

bool foreign_file_get_name(int fd, int root, const char *path, char ret[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, ret, PATH_MAX - 1);
    if (length > 0) {
        ret[length] = '\0';
        return true;
    }
    int other = errno == ENOENT ? walk_from(root, path, NAME_FLAGS, ret) : -1;
    bool same = other >= 0 && is_same(fd, other);
    if (other >= 0)
        close(other);
    return same;
}
