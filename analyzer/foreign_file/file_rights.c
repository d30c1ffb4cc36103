/* What a user may do with a file, by its rights. */
#include "foreign_file.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

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

bool foreign_file_user_may_reach(const char *name, uid_t user, gid_t group)
{
    char path[PATH_MAX];
    struct stat status;
    size_t length = strlen(name);
    if (name[0] != '/' || length >= sizeof(path))
        return false;
    memcpy(path, name, length + 1);
    for (; length > 0; length--) {
        if (path[length] != '/')
            continue;
        path[length] = '\0';
        if (stat(path, &status) || !user_may(&status, user, group, MAY_SEARCH))
            return false;
    }
    return true;
}
