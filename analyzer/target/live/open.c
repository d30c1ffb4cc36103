/* Opening a living process: what can be known of it without stopping it. */
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS_LIMIT ((size_t)16 * 1024 * 1024)

/* The main thread may have ended before the others, and has no memory then. */
static pid_t find_living_thread(DIR *tasks)
{
    const struct dirent *entry;
    pid_t first = 0;
    rewinddir(tasks);
    while ((entry = readdir(tasks))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        char name[64], byte;
        if (tid <= 0)
            continue;
        if (!first)
            first = tid;
        snprintf(name, sizeof(name), "%d/maps", tid);
        int fd = openat(dirfd(tasks), name, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? 0 : read(fd, &byte, 1);
        if (fd >= 0)
            close(fd);
        if (got == 1)
            return tid;
    }
    return first;
}

/* 0 or errno. */
static int open_files(struct live *live, int *ret_memory)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", live->pid);
    live->stop.tasks = opendir(path);
    if (!live->stop.tasks)
        return errno;
    live->memory_tid = find_living_thread(live->stop.tasks);
    snprintf(path, sizeof(path), "%d", live->memory_tid);
    live->folder = openat(dirfd(live->stop.tasks), path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (live->folder < 0)
        return errno;
    live->maps_fd = openat(live->folder, "maps", O_RDONLY | O_CLOEXEC);
    if (live->maps_fd >= 0)
        live->environment = openat(live->folder, "environ", O_RDONLY | O_CLOEXEC);
    *ret_memory = live->maps_fd < 0 ? -1 : openat(live->folder, "mem", O_RDONLY | O_CLOEXEC);
    return *ret_memory < 0 ? errno : 0;
}

static bool is_foreign_root(const struct live *live)
{
    struct stat own, other;
    if (fstatat(live->folder, "root/", &other, 0) || stat("/", &own) ||
        own.st_dev != other.st_dev || own.st_ino != other.st_ino)
        return true;
    return stat("/proc/self/ns/mnt", &own) || fstatat(live->folder, "ns/mnt", &other, 0) ||
           own.st_ino != other.st_ino;
}

static const char *find_root(struct target *target)
{
    const struct live *live = live_of(target);
    char path[4096];
    ssize_t length = readlinkat(live->folder, "root", path, sizeof(path));
    if (length <= 1 || (size_t)length >= sizeof(path) || path[0] != '/')
        return "";
    const char *root = arena_strndup(target->arena, path, (size_t)length);
    return root ? root : "";
}

/* The text is empty where there is none. */
static void read_arguments(const struct live *live, struct live_text *text)
{
    int fd = openat(live->folder, "cmdline", O_RDONLY | O_CLOEXEC);
    text->size = 0;
    if (fd < 0)
        return;
    (void)live_read_timed(live, fd, ARGUMENTS_LIMIT, text);
    close(fd);
}

static void describe_process(struct target *target, struct live_text *text)
{
    const struct live *live = live_of(target);
    struct target_process *process = &target->process;
    struct core_identity identity;
    process->pid = live->pid;
    process->name = live_read_name(target, live->pid);
    live_read_identity(target, &identity);
    process->inner_pid = live_read_inner_tid(live->pid);
    process->owner_known = true;
    process->user = identity.user;
    process->group = identity.user_group;
    if (!live_read_path(live->folder, "auxv", text))
        parse_auxv((const uint8_t *)text->bytes, text->size, &target->auxv);
    target_find_executable(target);
    read_arguments(live, text);
    size_t count = 0;
    for (size_t i = 0; i < text->size; i++)
        count += !text->bytes[i] || i + 1 == text->size;
    const char **arguments = arena_array(target->arena, count + 1, sizeof(*arguments));
    size_t used = 0;
    for (size_t at = 0; arguments && at < text->size && used < count;) {
        size_t length = strnlen(text->bytes + at, text->size - at);
        arguments[used++] = arena_strndup(target->arena, text->bytes + at, length);
        at += length + 1;
    }
    process->arguments = arguments;
    process->argument_count = arguments ? used : 0;
}

static enum psc_status fill(struct target *target, struct psc_error *err)
{
    struct live *live = live_of(target);
    int memory = -1;
    bool changed;
    struct psc_error why = {0};
    int error = open_files(live, &memory);
    if (error == EPERM || error == EACCES) {
        if (live_refuse_target(target, error, &why) != PSC_ERR_IO || !live->stop.tasks ||
            live->folder < 0)
            return psc_fail(err, why.status, "%s", why.message);
        live->refusal = arena_strdup(target->arena, why.message);
    } else if (error) {
        return live_refuse_target(target, error, err);
    }
    live->reader = reader_create(live->folder);
    if (!live->reader || !pages_init(&live->pages, memory, live->reader)) {
        live->pages.memory = memory;
        return psc_fail_memory(err);
    }
    live->proc = arena_printf(target->arena, "/proc/%d/task/%d", live->pid, live->memory_tid);
    if (is_foreign_root(live))
        live->root_here = arena_printf(target->arena, "%s/root", live->proc);
    live->root = find_root(target);
    enum psc_status status = live_prepare(target, &changed, err);
    if (status != PSC_OK)
        return status;
    struct live_text text = {0};
    describe_process(target, &text);
    free(text.bytes);
    return PSC_OK;
}

enum psc_status live_open(int32_t pid, const struct target_options *options, struct target **ret,
                          struct psc_error *err)
{
    enum psc_status status = live_check(pid, err);
    if (status != PSC_OK)
        return status;
    struct live *live = calloc(1, sizeof(*live));
    struct target *target = live ? target_create(TARGET_PROCESS, &live_ops, NULL, options) : NULL;
    if (!target) {
        free(live);
        return psc_fail_memory(err);
    }
    *live = (struct live){.pid = pid,
                          .folder = -1,
                          .root = "",
                          .maps_fd = -1,
                          .environment = -1,
                          .stop.pid = pid,
                          .save.output.fd = -1,
                          .save.dump.pagemap = -1,
                          .pages.memory = -1};
    target->backend = live;
    status = fill(target, err);
    if (status != PSC_OK) {
        target_close(target);
        return status;
    }
    *ret = target;
    return PSC_OK;
}
