/* Which processes a parser may ask for: one, and its descendants as the kernel tells them. */
#include "traced.h"
#include "broker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

const struct sandbox_owner *broker_owners(const struct sandbox_rules *rules, size_t *ret_count)
{
    *ret_count = rules->traced ? rules->traced->count : rules->owner_count;
    return rules->traced ? rules->traced->owners : rules->owners;
}

/* ---- whose it is ---- */

/* proc(5), "status": the first number of a line. */
static uint32_t read_number(const char *text, const char *field)
{
    const char *at = strstr(text, field);
    return at ? (uint32_t)strtoul(at + strlen(field), NULL, 10) : UINT32_MAX;
}

/* False: it has ended. */
static bool read_owner(struct sandbox_owner *owner)
{
    char text[4096];
    const int fd = openat(owner->folder, "status", O_RDONLY | O_CLOEXEC);
    const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    owner->user = read_number(text, "\nUid:");
    owner->group = read_number(text, "\nGid:");
    return got > 0;
}

/* ---- they come and go ---- */

static bool is_alive(const struct sandbox_owner *owner)
{
    struct stat status;
    return owner->folder >= 0 && !fstatat(owner->folder, "stat", &status, 0);
}

static bool are_alike(const struct sandbox_traced *traced, size_t one, size_t other)
{
    return traced->owners[one].user == traced->owners[other].user &&
           traced->owners[one].group == traced->owners[other].group &&
           traced->roots[one].device == traced->roots[other].device &&
           traced->roots[one].inode == traced->roots[other].inode;
}

/* Of one that has ended it stays known whose it was: its sources are read at the end. */
static void end_owner(struct sandbox_traced *traced, size_t index)
{
    struct sandbox_owner *owner = &traced->owners[index];
    if (owner->folder >= 0)
        close(owner->folder);
    owner->folder = -1;
    owner->pid = 0;
    for (size_t i = 0; i < traced->count; i++)
        if (i != index && are_alike(traced, i, index)) {
            *owner = traced->owners[--traced->count];
            traced->roots[index] = traced->roots[traced->count];
            return;
        }
}

static void sweep(struct sandbox_traced *traced)
{
    for (size_t i = traced->count; i-- > 0;)
        if (traced->owners[i].pid && !is_alive(&traced->owners[i]))
            end_owner(traced, i);
}

static bool is_known(const struct sandbox_traced *traced, int32_t pid)
{
    for (size_t i = 0; i < traced->count; i++)
        if (traced->owners[i].pid == pid && is_alive(&traced->owners[i]))
            return true;
    return false;
}

void sandbox_trace(struct sandbox_traced *traced, int32_t pid)
{
    char path[64];
    struct stat root;
    snprintf(path, sizeof(path), "/proc/%d", pid);
    struct sandbox_owner owner = {.pid = pid};
    if (traced->count == SANDBOX_TRACED)
        return;
    owner.folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (owner.folder >= 0 && read_owner(&owner)) {
        const bool has_root = !fstatat(owner.folder, "root", &root, 0);
        traced->roots[traced->count] =
            (struct sandbox_root){has_root ? root.st_dev : 0, has_root ? root.st_ino : 0};
        traced->owners[traced->count++] = owner;
    } else if (owner.folder >= 0) {
        close(owner.folder);
    }
}

void sandbox_trace_end(struct sandbox_traced *traced)
{
    for (size_t i = 0; i < traced->count; i++)
        if (traced->owners[i].folder >= 0)
            close(traced->owners[i].folder);
    traced->count = 0;
}

void traced_add_children(struct sandbox_traced *traced, const char *text)
{
    char *end;
    for (const char *at = text;; at = end) {
        const long pid = strtol(at, &end, 10);
        if (end == at || pid <= 0 || pid > INT32_MAX)
            break;
        if (is_known(traced, (int32_t)pid))
            continue;
        sweep(traced);
        sandbox_trace(traced, (int32_t)pid);
    }
}

/* ---- paths below their folders ---- */

bool broker_name_process_path(const struct sandbox_rules *rules, int folder, const char *path,
                              char ret[PATH_MAX])
{
    char link[64];
    struct statfs status;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
    errno = EACCES;
    if (!rules->traced || fstatfs(folder, &status) ||
        (unsigned long)status.f_type != PROC_SUPER_MAGIC)
        return false;
    ssize_t size = readlink(link, ret, PATH_MAX - 1);
    if (!strncmp(path, "../", 3))
        // Beside the folder: of another thread.
        for (path += 3; size > 0 && ret[--size] != '/';)
            ;
    const size_t more = strlen(path);
    if (size <= 0 || (size_t)size + 1 + more >= PATH_MAX)
        return false;
    ret[size] = '/';
    memcpy(ret + size + 1, path, more + 1);
    return true;
}
