#include "archive_calls.h"

#include <errno.h>
#include <unistd.h>

bool unpacked_write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
    const char *at = bytes;
    while (size) {
        ssize_t written = pwrite(fd, at, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
        offset += (uint64_t)written;
    }
    return true;
}
