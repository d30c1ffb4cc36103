/* A file that cannot become shorter, because nobody else has it. */
#include "foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Bytes that one call copies at most. */
#define COPY_AT_ONCE ((size_t)64 * 1024 * 1024)
/* stat(2): st_blocks counts these. */
#define STAT_BLOCK_SIZE 512

/* Where the file has bytes from a place on, up to its end; false: only a hole follows. */
static bool find_data(int fd, off_t at, off_t size, off_t *ret_start, off_t *ret_end)
{
    off_t start = lseek(fd, at, SEEK_DATA);
    off_t end = start < 0 ? -1 : lseek(fd, start, SEEK_HOLE);
    // A file system that knows nothing of holes has none.
    bool unknown = start < 0 && errno != ENXIO;
    *ret_start = unknown ? at : start;
    *ret_end = unknown || end < 0 || end > size ? size : end;
    return *ret_start >= 0 && *ret_start < *ret_end;
}

static bool copy_range(int from, int to, off_t start, off_t end)
{
    if (lseek(to, start, SEEK_SET) < 0)
        return false;
    while (start < end) {
        size_t want = (uint64_t)(end - start) < COPY_AT_ONCE ? (size_t)(end - start) : COPY_AT_ONCE;
        ssize_t got = sendfile(to, from, &start, want);
        if (got < 0 && errno == EINTR)
            continue;
        // It has become shorter: what is missing reads as zeros, as in a hole.
        if (got <= 0)
            return got == 0;
    }
    return true;
}

static bool copy_all(int from, int to, off_t size)
{
    off_t start, end = 0;
    if (ftruncate(to, size))
        return false;
    while (end < size && find_data(from, end, size, &start, &end))
        if (!copy_range(from, to, start, end))
            return false;
    return true;
}

int foreign_file_copy(int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) || status.st_size <= 0 ||
        (uint64_t)status.st_blocks * STAT_BLOCK_SIZE > FILE_COPY_LIMIT)
        return fd;
    int copy = memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (copy < 0)
        return fd;
    if (!copy_all(fd, copy, status.st_size) ||
        fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
        close(copy);
        return fd;
    }
    close(fd);
    return copy;
}

/* ---- one that is too large for memory ---- */

static int open_unnamed(void)
{
    const char *const folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
        if (folders[i] && *folders[i])
            fd = open(folders[i], O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    return fd;
}

/* Where the file system shares blocks, a copy takes none (ioctl_ficlone(2)). */
static bool copy_to_disk(int from, int to, const struct stat *status)
{
    struct statvfs place;
    const uint64_t size = (uint64_t)status->st_blocks * STAT_BLOCK_SIZE;
    if (!ioctl(to, FICLONE, from))
        return true;
    if (fstatvfs(to, &place))
        return false;
    if (size / 2 > (uint64_t)place.f_bavail * place.f_frsize / 4) {
        errno = ENOSPC;
        return false;
    }
    return copy_all(from, to, status->st_size);
}

int foreign_file_copy_to_map(int fd)
{
    struct stat status;
    int copy = foreign_file_copy(fd);
    if (copy < 0 || copy != fd)
        return copy;
    bool good = !fstat(fd, &status);
    if (good &&
        (status.st_size <= 0 || (uint64_t)status.st_blocks * STAT_BLOCK_SIZE > FILE_DISK_LIMIT)) {
        errno = status.st_size <= 0 ? EINVAL : EFBIG;
        good = false;
    }
    copy = good ? open_unnamed() : -1;
    good = copy >= 0 && copy_to_disk(fd, copy, &status);
    int error = errno;
    if (!good && copy >= 0)
        close(copy);
    close(fd);
    errno = error;
    return good ? copy : -1;
}
