#include "passed_files.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

union control {
    struct cmsghdr aligned;
    char bytes[CMSG_SPACE(PASSED_FILES * sizeof(int))];
};

bool passed_files_send(int socket, const struct iovec *parts, size_t part_count, const int *files,
                       size_t file_count)
{
    union control control;
    struct msghdr header = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = part_count};
    size_t size = 0;
    ssize_t sent;
    for (size_t i = 0; i < part_count; i++)
        size += parts[i].iov_len;
    if (file_count > PASSED_FILES) {
        errno = EINVAL;
        return false;
    }
    if (file_count) {
        memset(&control, 0, sizeof(control));
        header.msg_control = control.bytes;
        header.msg_controllen = CMSG_SPACE(file_count * sizeof(int));
        struct cmsghdr *part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(file_count * sizeof(int));
        memcpy(CMSG_DATA(part), files, file_count * sizeof(int));
    }
    do
        sent = sendmsg(socket, &header, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)size;
}

/* How many there are. */
static size_t take_files(struct msghdr *header, int files[PASSED_FILES])
{
    struct cmsghdr *part = CMSG_FIRSTHDR(header);
    if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
        return 0;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(files, CMSG_DATA(part), count * sizeof(int));
    return count;
}

ssize_t passed_files_receive(int socket, void *bytes, size_t size, int *ret_files,
                             size_t file_count)
{
    union control control;
    int files[PASSED_FILES + 1];
    struct iovec part = {bytes, size};
    struct msghdr header = {.msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = CMSG_SPACE(file_count * sizeof(int))};
    ssize_t got;
    if (file_count > PASSED_FILES) {
        errno = EINVAL;
        return -1;
    }
    do
        got = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    // What is more than there is room for is closed by the kernel.
    const size_t count = got > 0 ? take_files(&header, files) : 0;
    for (size_t i = 0; i < file_count; i++)
        ret_files[i] = count == file_count ? files[i] : -1;
    for (size_t i = 0; count != file_count && i < count; i++)
        close(files[i]);
    if (got > 0 && !count && header.msg_flags & MSG_CTRUNC) {
        errno = EMFILE;
        return -1;
    }
    return got;
}
