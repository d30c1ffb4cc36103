/* Source files that recorded processes name, when the processes may be gone already. */
#include "record_private.h"
#include "source_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Users and roots of one recording; with more of them no source is shown. */
#define OWNER_LIMIT 64

/** Processes of one user with one root: all that it takes to say what is shown of their files. */
struct owner {
    bool user_known;
    uint32_t user;
    uint32_t group;
    int root; /**< Their root, opened; -1: that of this program. */
    struct stat root_status;
    struct stat space; /**< Of their mounts (mount_namespaces(7)), where the root is another. */
    struct target *target;
};

struct record_sources {
    struct owner owners[OWNER_LIMIT];
    size_t count;
    bool incomplete; /**< There are some that are not in the list. */
};

struct record_sources *record_sources_create(void)
{
    return calloc(1, sizeof(struct record_sources));
}

static void close_owner(struct owner *owner)
{
    target_close(owner->target);
    if (owner->root >= 0)
        close(owner->root);
}

void record_sources_destroy(struct record_sources *sources)
{
    for (size_t i = 0; sources && i < sources->count; i++)
        close_owner(&sources->owners[i]);
    free(sources);
}

/* False: it cannot be opened, so that nothing can be said of its files. */
static bool open_owner(const struct target *target, struct owner *ret)
{
    char path[64];
    const char *root = target->ops->root ? target->ops->root(target) : NULL;
    *ret = (struct owner){.user_known = target->process.owner_known,
                          .user = target->process.user,
                          .group = target->process.group,
                          .root = -1};
    if (!root)
        return true;
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", target->process.pid);
    ret->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return ret->root >= 0 && !fstat(ret->root, &ret->root_status) && !stat(path, &ret->space);
}

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

static bool is_listed(const struct record_sources *sources, const struct owner *owner)
{
    for (size_t i = 0; i < sources->count; i++) {
        const struct owner *one = &sources->owners[i];
        if (one->user_known == owner->user_known && one->user == owner->user &&
            one->group == owner->group && is_same_file(&one->root_status, &owner->root_status) &&
            is_same_file(&one->space, &owner->space))
            return true;
    }
    return false;
}

/* A target for files alone: the process may be over when they are read. */
static struct target *create_target(const struct owner *owner, const struct target_options *open)
{
    char root[64];
    struct target_options options = open ? *open : (struct target_options){0};
    if (owner->root >= 0 && !options.sysroot) {
        snprintf(root, sizeof(root), "/proc/self/fd/%d", owner->root);
        options.sysroot = root;
    }
    struct target *target = target_create_empty(&options);
    if (target) {
        target->process.owner_known = owner->user_known;
        target->process.user = owner->user;
        target->process.group = owner->group;
    }
    return target;
}

void sources_note_process(struct record_sources *sources, const struct target *target,
                          const struct target_options *open)
{
    struct owner owner;
    if (!sources || sources->incomplete)
        return;
    bool good = open_owner(target, &owner);
    if (good && is_listed(sources, &owner)) {
        close_owner(&owner);
        return;
    }
    good = good && sources->count < OWNER_LIMIT && (owner.target = create_target(&owner, open));
    if (good)
        sources->owners[sources->count++] = owner;
    else
        close_owner(&owner);
    sources->incomplete = !good;
}

char *record_sources_read(void *context, const char *file, size_t *ret_size)
{
    const struct record_sources *sources = context;
    char *text = NULL;
    for (size_t i = 0; !sources->incomplete && i < sources->count; i++) {
        size_t size = 0;
        char *one = sources_read_file(sources->owners[i].target, file, &size);
        if (i)
            free(one);
        if (!one) {
            // A function of the profile may be of any of them.
            free(text);
            return NULL;
        }
        if (!i) {
            text = one;
            *ret_size = size;
        }
    }
    return text;
}
