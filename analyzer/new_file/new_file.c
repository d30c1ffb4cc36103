#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRIVATE_MODE (S_IRUSR | S_IWUSR)
#define ALL_MODES    (S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH)
#define NAME_LIMIT   100
/* path_resolution(7): the kernel follows so many. */
#define LINK_LIMIT 40

static char *join(const char *a, const char *b)
{
    char *joined;
    return asprintf(&joined, "%s%s", a, b) < 0 ? NULL : joined;
}

/* ---- whose it is ---- */

/* The folder of a path, malloc'd; NULL: no memory. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

/* Everybody may add files there, and nobody may touch those of others: as /tmp. */
static bool is_shared_folder(const char *folder)
{
    struct stat status;
    return !stat(folder, &status) && (status.st_mode & S_ISVTX) &&
           (status.st_mode & (S_IWGRP | S_IWOTH));
}

static bool is_trusted(uid_t owner)
{
    return owner == geteuid() || owner == 0;
}

/* Where a link of that path leads, malloc'd; NULL: it is none that is followed. errno is 0 then. */
static char *read_own_link(const char *path)
{
    char target[PATH_MAX];
    struct stat status;
    errno = 0;
    if (lstat(path, &status) || !S_ISLNK(status.st_mode) || !is_trusted(status.st_uid)) {
        errno = 0;
        return NULL;
    }
    ssize_t size = readlink(path, target, sizeof(target) - 1);
    if (size <= 0)
        return NULL;
    target[size] = '\0';
    if (target[0] == '/')
        return strdup(target);
    char *folder = folder_of(path), *joined = NULL;
    if (folder && asprintf(&joined, "%s/%s", folder, target) < 0)
        joined = NULL;
    free(folder);
    return joined;
}

/* The path behind the user's own links, malloc'd; NULL: errno says why. */
static char *follow_own_links(const char *path)
{
    char *at = strdup(path);
    for (int i = 0; at && i < LINK_LIMIT; i++) {
        char *next = read_own_link(at);
        if (!next && !errno)
            return at;
        free(at);
        at = next;
    }
    if (at)
        errno = ELOOP;
    free(at);
    return NULL;
}

/* The rights that the new file gets. */
static mode_t choose_mode(const char *path, unsigned int flags)
{
    struct stat there;
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = ALL_MODES & ~mask;
    if (!lstat(path, &there) && S_ISREG(there.st_mode))
        mode = there.st_uid == geteuid() ? there.st_mode & ALL_MODES : mode & there.st_mode;
    return flags & NEW_FILE_PRIVATE ? mode & PRIVATE_MODE : mode;
}

/* ---- making one ---- */

/* In the folder of the file; kernel 3.11 and most file systems. Its name comes by /proc. */
static int open_without_name(const char *path)
{
    struct stat status;
    if (stat("/proc/self/fd", &status))
        return -1;
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, PRIVATE_MODE) : -1;
    free(folder);
    return fd;
}

int new_file_open(struct new_file *file, const char *path, unsigned int flags)
{
    struct stat status;
    *file = (struct new_file){.fd = -1};
    // What a link leads to counts: nobody means to replace /dev/stdout itself.
    if (!stat(path, &status) && !S_ISREG(status.st_mode))
        return S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    errno = ENOMEM;
    file->path = flags & NEW_FILE_FOLLOWS_OWN_LINKS ? follow_own_links(path) : strdup(path);
    if (!file->path)
        return errno;
    file->mode = choose_mode(file->path, flags);
    file->fd = open_without_name(file->path);
    if (file->fd < 0) {
        file->temporary = join(file->path, ".XXXXXX");
        errno = ENOMEM;
        file->fd = file->temporary ? mkostemp(file->temporary, O_CLOEXEC) : -1;
    }
    if (file->fd >= 0)
        return 0;
    int error = errno;
    free(file->temporary);
    file->temporary = NULL;
    new_file_drop(file);
    return error;
}

/* A pipe that another user has put where everybody may: EPERM; or 0, or another error. */
static int check_pipe(const char *path, const struct stat *status)
{
    if (!S_ISFIFO(status->st_mode) || is_trusted(status->st_uid))
        return 0;
    char *folder = folder_of(path);
    const int error = !folder ? ENOMEM : is_shared_folder(folder) ? EPERM : 0;
    free(folder);
    return error;
}

int new_file_open_special(const char *path)
{
    struct stat status;
    // To open one that nobody reads takes for ever: asked before, and of what was opened again.
    int error = stat(path, &status) ? 0 : check_pipe(path, &status);
    int fd = error ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        errno = error ? error : errno;
        return -1;
    }
    error = fstat(fd, &status) ? errno : S_ISREG(status.st_mode) ? EEXIST : 0;
    error = error ? error : check_pipe(path, &status);
    if (!error)
        return fd;
    close(fd);
    errno = error;
    return -1;
}

/* ---- its place ---- */

/*
 * open(2), O_TMPFILE: this link gives a name without any special right. Where a file has the name,
 * one beside it, for rename(): who is killed between the two leaves that.
 */
static int give_name(struct new_file *file)
{
    char link[32], ending[32];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
    if (!linkat(AT_FDCWD, link, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW))
        return 0;
    if (errno != EEXIST)
        return errno;
    for (int i = 0; i < NAME_LIMIT; i++) {
        snprintf(ending, sizeof(ending), ".%d-%d", (int)getpid(), i);
        char *name = join(file->path, ending);
        if (!name)
            return ENOMEM;
        if (!linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW)) {
            file->temporary = name;
            return 0;
        }
        int error = errno;
        free(name);
        if (error != EEXIST)
            return error;
    }
    return EEXIST;
}

int new_file_keep(struct new_file *file)
{
    int error = fchmod(file->fd, file->mode) ? errno : 0;
    if (!error && !file->temporary)
        error = give_name(file);
    bool in_place = !error && !file->temporary;
    // What a network's file system could not write is said by close() at the latest.
    if (close(file->fd) && !error)
        error = errno;
    file->fd = -1;
    if (!error && !in_place && rename(file->temporary, file->path))
        error = errno;
    else if (error && in_place)
        unlink(file->path);
    if (!error) {
        free(file->temporary);
        file->temporary = NULL;
    }
    new_file_drop(file);
    return error;
}

void new_file_drop(struct new_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (struct new_file){.fd = -1};
}

int new_file_open_unnamed(const char *name)
{
    const char *const folders[] = {getenv("TMPDIR"), "/tmp", "/var/tmp"};
    int fd = memfd_create(name, MFD_CLOEXEC);
    const int error = errno;
    for (size_t i = 0; fd < 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
        if (folders[i] && folders[i][0] == '/')
            fd = open(folders[i], O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, PRIVATE_MODE);
    errno = error;
    return fd;
}
