/* What a user may do with a file, by its rights. */
#include "foreign_file.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAY_READ = 4, MAY_SEARCH = 1 }; /* inode(7): the bits of each class. */

static bool user_may(const struct stat *status, uid_t user, gid_t group, mode_t what)
{
    if (status->st_uid == user)
        return status->st_mode >> 6 & what;
    if (status->st_gid == group)
        return status->st_mode >> 3 & what;
    return status->st_mode & what;
}

bool foreign_file_user_may_read(int fd, uid_t user, gid_t group)
{
    struct stat status;
    return !fstat(fd, &status) && user_may(&status, user, group, MAY_READ);
}

bool foreign_file_user_may_reach(int fd, uid_t user, gid_t group)
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
        if (stat(path, &status) || !user_may(&status, user, group, MAY_SEARCH))
            return false;
    }
    return true;
}
