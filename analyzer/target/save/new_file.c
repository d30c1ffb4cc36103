#include "new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PRIVATE_MODE (S_IRUSR | S_IWUSR)
#define NAME_LIMIT   100

static char *join(const char *a, const char *b)
{
    char *joined;
    return asprintf(&joined, "%s%s", a, b) < 0 ? NULL : joined;
}

/* In the folder of the file; kernel 3.11 and most file systems. */
static int open_without_name(const char *path)
{
    char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        slash[slash == folder] = '\0';
    int fd = folder ? open(slash ? folder : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, PRIVATE_MODE) : -1;
    free(folder);
    return fd;
}

enum psc_status new_file_open(struct new_file *file, const char *path, struct psc_error *err)
{
    struct stat status;
    *file = (struct new_file){.fd = -1};
    if (!stat(path, &status) && !S_ISREG(status.st_mode))
        return psc_fail(err, PSC_ERR_IO, "%s: is %s; name a file to write the core to", path,
                        S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
    file->path = realpath(path, NULL);
    if (!file->path)
        file->path = strdup(path);
    if (!file->path)
        return psc_fail_memory(err);
    file->fd = open_without_name(file->path);
    if (file->fd < 0) {
        file->temporary = join(file->path, ".XXXXXX");
        file->fd = file->temporary ? mkostemp(file->temporary, O_CLOEXEC) : -1;
    }
    if (file->fd >= 0)
        return PSC_OK;
    enum psc_status result = psc_fail(err, PSC_ERR_IO, "%s: cannot be written: %s", path,
                                      describe_errno(errno, &(struct errno_text){0}));
    free(file->temporary);
    file->temporary = NULL;
    new_file_drop(file);
    return result;
}

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
    int error = file->temporary ? 0 : give_name(file);
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
