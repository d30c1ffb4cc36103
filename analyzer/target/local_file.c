/* Opening what stands on this machine for a file of the target. */
#include "foreign_file.h"
#include "target_private.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAY_READ = 4, MAY_SEARCH = 1 }; /* inode(7): the bits of each class. */

/* The part of the path below the folder; NULL for one that is not there. */
static const char *below(const char *folder, const char *path)
{
    size_t length = folder ? strlen(folder) : 0;
    return length && !strncmp(path, folder, length) && path[length] == '/' ? path + length : NULL;
}

/* The root that a local path lies in, and the rest of the path; NULL: of this machine. */
static const char *find_root(const struct target *target, const char *path, const char **ret_inside)
{
    const char *roots[] = {target->options.sysroot,
                           target->ops->root ? target->ops->root(target) : NULL};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(roots); i++) {
        *ret_inside = below(roots[i], path);
        if (*ret_inside)
            return roots[i];
    }
    *ret_inside = path;
    return NULL;
}

int target_open_local(const struct target *target, const char *path)
{
    const char *inside, *root = find_root(target, path, &inside);
    return foreign_file_open(root, inside);
}

int target_open_folder(const struct target *target, const char *path, char *ret, size_t size)
{
    const char *roots[] = {target->options.sysroot,
                           target->ops->root ? target->ops->root(target) : NULL, ""};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(roots) && path[0] == '/'; i++) {
        if (!roots[i])
            continue;
        int length = snprintf(ret, size, "%s%s", roots[i], path);
        int fd = length > 0 && (size_t)length < size
                     ? foreign_folder_open(*roots[i] ? roots[i] : NULL, path)
                     : -1;
        if (fd >= 0)
            return fd;
    }
    return -1;
}

/* Groups beside the process's own are not asked for. */
static bool user_may(const struct target_process *process, const struct stat *status, mode_t what)
{
    if (status->st_uid == process->user)
        return status->st_mode >> 6 & what;
    if (status->st_gid == process->group)
        return status->st_mode >> 3 & what;
    return status->st_mode & what;
}

/* All folders of the name that the kernel gives an opened file, which has no links in it. */
static bool user_may_search(const struct target_process *process, int fd)
{
    char name[64], path[PATH_MAX];
    struct stat status;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(name, path, sizeof(path) - 1);
    if (length <= 0 || path[0] != '/')
        return false;
    for (path[length] = '\0'; length > 0; length--) {
        if (path[length] != '/')
            continue;
        path[length] = '\0';
        if (stat(path, &status) || !user_may(process, &status, MAY_SEARCH))
            return false;
    }
    return true;
}

bool target_user_may_read(const struct target *target, const char *path, int fd)
{
    const struct target_process *process = &target->process;
    const char *inside;
    struct stat status;
    if (!process->owner_known || !process->user || process->user == geteuid())
        return true;
    if (fstat(fd, &status) || !user_may(process, &status, MAY_READ))
        return false;
    return find_root(target, path, &inside) || user_may_search(process, fd);
}
