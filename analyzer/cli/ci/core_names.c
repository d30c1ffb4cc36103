/* A core under a name that the next one does not take. */
#include "ci_private.h"
#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COPY_BYTES ((size_t)1 << 20)

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Up to where there is no data, in pieces. */
static bool copy_piece(int from, int to, off_t at, off_t end, char *buffer)
{
    while (at < end) {
        size_t size = (size_t)(end - at) < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
        ssize_t got = pread(from, buffer, size, at);
        if (got <= 0 || pwrite(to, buffer, (size_t)got, at) != got)
            return false;
        at += got;
    }
    return true;
}

/* Holes stay holes. 0 or errno. */
static int copy_sparse(int from, int to)
{
    struct stat status;
    char *buffer = malloc(COPY_BYTES);
    if (!buffer || fstat(from, &status) || ftruncate(to, status.st_size)) {
        free(buffer);
        return errno;
    }
    errno = 0;
    for (off_t at = 0; at < status.st_size && !errno;) {
        off_t data = lseek(from, at, SEEK_DATA);
        if (data < 0 && errno == ENXIO) { // Nothing but a hole.
            errno = 0;
            break;
        }
        off_t end = data < 0 ? status.st_size : lseek(from, data, SEEK_HOLE);
        errno = 0;
        if (data < 0) // The file system knows no holes.
            data = at;
        if (!copy_piece(from, to, data, end, buffer) && !errno)
            errno = EIO;
        at = end;
    }
    free(buffer);
    return errno;
}

/* To another file system, or from where nothing may be removed. 0 or errno. */
static int copy_file(const char *path, const char *name)
{
    int from = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int to = from < 0 ? -1 : open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int error = to < 0 ? errno : copy_sparse(from, to);
    if (to >= 0)
        close(to);
    if (from >= 0)
        close(from);
    if (error && to >= 0)
        unlink(name);
    if (!error)
        unlink(path);
    return error;
}

/* Never over a file that is there. 0 or errno. */
static int move_file(const char *path, const char *name)
{
    // Musl has no function for it; 1: RENAME_NOREPLACE.
    if (!syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, name, 1))
        return 0;
    return errno == EEXIST ? EEXIST : copy_file(path, name);
}

static char *make_name(const char *path, const char *folder, const struct descendant *process,
                       unsigned number)
{
    char *name, suffix[16] = "";
    const char *program = process->executable ? base_name(process->executable) : "unknown";
    if (number)
        snprintf(suffix, sizeof(suffix), ".%u", number);
    int size = folder ? asprintf(&name, "%s/core.%s.%d%s", folder, program, process->pid, suffix)
                      : asprintf(&name, "%s.%d%s", path, process->pid, suffix);
    return size < 0 ? NULL : name;
}

char *core_name_own(const char *path, const char *folder, const struct descendant *process,
                    bool has_own_name)
{
    if (!folder && has_own_name)
        return strdup(path);
    for (unsigned number = 0;; number++) {
        char *name = make_name(path, folder, process, number);
        int error = name ? move_file(path, name) : 0;
        if (!name || !error)
            return name;
        if (error == EEXIST && number < 1000) {
            free(name);
            continue;
        }
        complain("%s: cannot be moved to %s: %s", path, name, strerror(error));
        free(name);
        return strdup(path);
    }
}
