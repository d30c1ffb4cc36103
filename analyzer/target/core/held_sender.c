/* Who sent the signal that a process died of, while the kernel holds it: proc(5). */
#include "core_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_file(const char *path, char *ret, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, ret, size - 1);
    if (fd >= 0)
        close(fd);
    ret[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/*
 * Whether the process counts others as /proc here does: the sender's number is one of its namespace
 * (kernel/signal.c, __send_signal_locked()). In inner ones it has several numbers itself.
 */
static bool has_our_numbers(int32_t pid)
{
    char path[64], text[4096], more;
    int number;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/status", pid, pid);
    const char *ids = read_file(path, text, sizeof(text)) ? strstr(text, "\nNSpid:") : NULL;
    return ids && sscanf(ids, " NSpid: %d%c", &number, &more) == 2 && more == '\n' && number == pid;
}

/* Its name, when it began before; the number may be another process's since. */
static const char *name_of(struct target *target, int32_t pid, uint64_t before)
{
    char path[64], text[1024];
    uint64_t began;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    if (!read_file(path, text, sizeof(text)))
        return NULL;
    const char *name = strchr(text, '('), *end = strrchr(text, ')');
    // Behind the name: the state, 18 numbers, and when it began.
    const char *at = end;
    for (int i = 0; at && i < 20; i++)
        at = strchr(at + 1, ' ');
    if (!name || end <= name + 1 || !at || sscanf(at, " %" SCNu64, &began) != 1 || began >= before)
        return NULL;
    return arena_strndup(target->arena, name + 1, (size_t)(end - name - 1));
}

void held_name_sender(struct target *target)
{
    struct target_signal *signal = &target->process.signal;
    const struct target_options *options = &target->options;
    if (!options->held_pid || !options->held_since || !signal->has_sender ||
        signal->sender_pid <= 0 || signal->sender_pid == options->held_pid ||
        !has_our_numbers(options->held_pid))
        return;
    signal->sender_name = name_of(target, signal->sender_pid, options->held_since);
}
