/* What everybody may know of a process: the names and states of its threads. */
#include "live_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_LIMIT ((size_t)1000000)

/* The first line of a small file of a thread; empty when it cannot be read. */
static void read_line(const struct live *live, pid_t tid, const char *name, char *line, size_t size)
{
    char path[64];
    struct live_text text = {0};
    snprintf(path, sizeof(path), "%d/%s", tid, name);
    (void)live_read_path(dirfd(live->stop.tasks), path, &text);
    size_t length = 0;
    while (length < text.size && length < size - 1 && text.bytes[length] != '\n')
        length++;
    if (length)
        memcpy(line, text.bytes, length);
    line[length] = '\0';
    free(text.bytes);
}

/* proc(5): the letter behind the name; NULL for one that has ended. */
static const char *describe_state(char letter)
{
    switch (letter) {
    case 'R':
        return "it is running";
    case 'S':
        return "it is sleeping";
    case 'D':
        return "it is in an uninterruptible wait";
    case 'T':
        return "it is stopped by a signal";
    case 't':
        return "it is stopped by its tracer";
    case 'I':
        return "it is idle";
    case 'Z':
    case 'X':
    case '\0':
        return NULL;
    default:
        return "it is in another state";
    }
}

const char *live_unreadable_reason(struct target *target, pid_t tid, bool uninterruptible)
{
    const struct live *live = target->backend;
    char stat[512], place[128];
    read_line(live, tid, "stat", stat, sizeof(stat));
    const char *end = strrchr(stat, ')');
    const char *state = describe_state(end && end[1] ? end[2] : '\0');
    if (!state)
        return NULL;
    // The kernel's function it waits in; "0" when it does not wait, or for who may not know.
    read_line(live, tid, "wchan", place, sizeof(place));
    bool known = isalpha((unsigned char)place[0]) || place[0] == '_';
    return arena_printf(
        target->arena, "%s; %s%s%s%s",
        uninterruptible ? "it could not be stopped, and its stack not be read"
                        : "its stack cannot be read without the right to trace the process",
        state, known ? " in the kernel (" : "", known ? place : "", known ? ")" : "");
}

enum psc_status target_list_threads(struct target *target, struct psc_error *err)
{
    struct live *live = target->backend;
    const struct dirent *entry;
    size_t capacity = 0;
    free(target->threads);
    target->threads = NULL;
    target->thread_count = 0;
    rewinddir(live->stop.tasks);
    while ((entry = readdir(live->stop.tasks)) && target->thread_count < THREAD_LIMIT) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        const char *unreadable = tid > 0 ? live_unreadable_reason(target, tid, false) : NULL;
        void *threads = target->threads;
        if (!unreadable)
            continue;
        if (!array_reserve(&threads, &capacity, target->thread_count + 1, sizeof(*target->threads)))
            return psc_fail(err, PSC_ERR_MEMORY, "out of memory");
        target->threads = threads;
        target->threads[target->thread_count++] = (struct target_thread){
            .tid = tid, .name = live_read_name(target, tid), .unreadable = unreadable};
    }
    if (arena_is_exhausted(target->arena))
        return psc_fail(err, PSC_ERR_MEMORY, "out of memory");
    return target->thread_count ? PSC_OK : live_refuse(live->pid, ESRCH, err);
}
