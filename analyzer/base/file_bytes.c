#include "file_bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *file_bytes_read(int fd, size_t limit, size_t *ret_size)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
        (uint64_t)status.st_size > limit)
        return NULL;
    size_t size = (size_t)status.st_size;
    size_t have = 0;
    char *bytes = malloc(size);
    while (bytes && have < size) {
        ssize_t got = pread(fd, bytes + have, size - have, (off_t)have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    if (!have) {
        free(bytes);
        return NULL;
    }
    *ret_size = have;
    return bytes;
}
