#include "input.h"

#include "messages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes read at once. */
#define READ_SIZE ((size_t)64 * 1024)

const char *input_name(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

void input_deinit(struct input *input)
{
    free(input->bytes);
    *input = (struct input){0};
}

/* For one more reading and the zero behind it. */
static bool make_room(struct input *input)
{
    if (input->capacity - input->size > READ_SIZE)
        return true;
    size_t capacity = (input->capacity + READ_SIZE) * 2;
    char *bytes = realloc(input->bytes, capacity);
    if (!bytes)
        return false;
    input->bytes = bytes;
    input->capacity = capacity;
    return true;
}

/* A pipe that another opened may be one that does not wait by itself. */
static bool wait_for(int fd)
{
    struct pollfd input = {.fd = fd, .events = POLLIN};
    return poll(&input, 1, -1) >= 0 || errno == EINTR;
}

ssize_t input_read_some(struct input *input, int fd)
{
    ssize_t got;
    if (!make_room(input)) {
        errno = ENOMEM;
        return -1;
    }
    do
        got = read(fd, input->bytes + input->size, READ_SIZE);
    while (got < 0 && (errno == EINTR || (errno == EAGAIN && wait_for(fd))));
    input->size += got > 0 ? (size_t)got : 0;
    input->bytes[input->size] = '\0';
    return got;
}

int input_read_all(struct input *input, int fd, size_t limit)
{
    ssize_t got;
    while ((got = input_read_some(input, fd)) > 0)
        if (input->size > limit)
            return EFBIG;
    return got < 0 ? errno : 0;
}

bool input_read(struct input *input, const char *label, const char *path, size_t limit)
{
    const bool standard = !strcmp(path, "-");
    const char *start = label ? label : "", *colon = label ? ": " : "";
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int error = fd < 0 ? errno : input_read_all(input, fd, limit);
    if (fd >= 0 && !standard)
        close(fd);
    if (error == EFBIG)
        complain("%s%s%s: has more than %zu MB", start, colon, input_name(path), limit >> 20);
    else if (error)
        complain("%s%s%s: %s", start, colon, input_name(path), strerror(error));
    return !error;
}
