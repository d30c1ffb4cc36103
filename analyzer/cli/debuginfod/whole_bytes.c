/* Questions and answers, each as a whole. */
#include "debuginfod_private.h"

#include <errno.h>
#include <unistd.h>

bool read_whole(int fd, void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, (char *)bytes + done, size - done);
        if (got > 0)
            done += (size_t)got;
        else if (!got || errno != EINTR)
            return false;
    }
    return true;
}

bool write_whole(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, (const char *)bytes + done, size - done);
        if (put > 0)
            done += (size_t)put;
        else if (!put || errno != EINTR)
            return false;
    }
    return true;
}
