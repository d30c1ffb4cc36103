/* What a core file says of a process beside its memory: /proc/PID/stat and status, see proc(5). */
#include "live_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The beginning of a file, as text. */
static void read_beginning(pid_t pid, const char *name, char *buffer, size_t size)
{
    char path[64];
    struct live_text text = {0};
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    (void)live_read_path(AT_FDCWD, path, &text);
    size_t length = text.size < size - 1 ? text.size : size - 1;
    if (length)
        memcpy(buffer, text.bytes, length);
    buffer[length] = '\0';
    free(text.bytes);
}

static uint32_t read_number(const char *text, const char *field)
{
    const char *at = strstr(text, field);
    return at ? (uint32_t)strtoul(at + strlen(field), NULL, 10) : 0;
}

void live_read_identity(const struct target *target, struct core_identity *ret)
{
    const struct live *live = live_of(target);
    const struct target_process *process = &target->process;
    char text[4096];
    *ret = (struct core_identity){.machine = target->machine,
                                  .pid = process->pid,
                                  .name = process->name,
                                  .arguments = process->arguments,
                                  .argument_count = process->argument_count};
    read_beginning(live->pid, "stat", text, sizeof(text));
    // The name, in parentheses, may hold anything.
    const char *end = strrchr(text, ')');
    int nice;
    // state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime cutime
    // cstime priority nice
    if (end &&
        sscanf(end + 1,
               " %c %" SCNd32 " %" SCNd32 " %" SCNd32 " %*d %*d %" SCNu64
               " %*s %*s %*s %*s %*s %*s %*s %*s %*s %d",
               &ret->state, &ret->parent, &ret->group, &ret->session, &ret->flags, &nice) == 6)
        ret->nice = (int8_t)nice;
    read_beginning(live->pid, "status", text, sizeof(text));
    ret->user = read_number(text, "\nUid:");
    ret->user_group = read_number(text, "\nGid:");
}
