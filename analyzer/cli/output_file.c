#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A regular file, or none yet, is replaced as a whole; others are written to. */
static bool open_temporary(struct output_file *file, const char *path)
{
    file->path = realpath(path, NULL);
    if (!file->path)
        file->path = strdup(path);
    if (!file->path || asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
        file->temporary = NULL;
        errno = ENOMEM;
        return false;
    }
    file->fd = mkostemp(file->temporary, O_CLOEXEC);
    if (file->fd < 0)
        return false;
    mode_t mask = umask(0);
    umask(mask);
    return !fchmod(file->fd, 0666 & ~mask);
}

bool open_output(struct output_file *file, const char *path)
{
    struct stat status;
    *file = (struct output_file){.fd = -1};
    if (!path) {
        file->fd = STDOUT_FILENO;
        return true;
    }
    if (stat(path, &status) || S_ISREG(status.st_mode))
        return open_temporary(file, path);
    file->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return file->fd >= 0;
}

bool close_output(struct output_file *file, bool good)
{
    int error = file->error;
    if (file->fd > STDERR_FILENO && close(file->fd) && good) {
        error = errno;
        good = false;
    }
    if (good && file->temporary && rename(file->temporary, file->path)) {
        error = errno;
        good = false;
    }
    if (!good && file->temporary && file->fd >= 0)
        unlink(file->temporary);
    free(file->path);
    free(file->temporary);
    file->error = error;
    return good;
}

int write_output(void *context, const char *bytes, size_t size)
{
    struct output_file *file = context;
    while (size) {
        ssize_t written = write(file->fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            file->error = errno;
            return 1;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}
