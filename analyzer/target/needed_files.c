/* Which files of the target were wanted, by which of its paths each is known, and what is installed
 * that they are a part of. */
#include "target_private.h"

#include <string.h>

struct file_home {
    const char *local;
    const char *path; /* On the target. */
};

static bool has_local(const void *item, const void *key)
{
    return !strcmp(((const struct file_home *)item)->local, key);
}

const char *target_home_of(struct target *target, const char *local)
{
    const struct file_home *home =
        hash_table_find_by(&target->homes, hash_text(local, strlen(local)), has_local, local);
    return home ? home->path : NULL;
}

void target_add_home(struct target *target, const char *local, const char *path)
{
    uint64_t hash = hash_text(local, strlen(local));
    if (hash_table_find_by(&target->homes, hash, has_local, local))
        return;
    if (!target->homes.item_size)
        target->homes = HASH_TABLE_OF(struct file_home);
    const char *kept_local = arena_strdup(target->arena, local);
    const char *kept_path = arena_strdup(target->arena, path);
    struct file_home *home =
        kept_local && kept_path ? hash_table_add_by(&target->homes, hash) : NULL;
    if (home)
        *home = (struct file_home){kept_local, kept_path};
}

static bool has_path(const void *item, const void *key)
{
    return !strcmp(((const struct target_needed_file *)item)->path, key);
}

void target_need_file(struct target *target, const struct target_needed_file *file)
{
    uint64_t hash = hash_text(file->path, strlen(file->path));
    struct target_needed_file *known =
        hash_table_find_by(&target->needed, hash, has_path, file->path);
    if (known && (known->local || !file->local))
        return;
    struct target_needed_file kept = *file;
    kept.path = arena_strdup(target->arena, file->path);
    kept.local = file->local ? arena_strdup(target->arena, file->local) : NULL;
    if (!kept.path || (file->local && !kept.local))
        return;
    if (!target->needed.item_size)
        target->needed = HASH_TABLE_OF(struct target_needed_file);
    if (!known)
        known = hash_table_add_by(&target->needed, hash);
    if (known)
        *known = kept;
}

static bool is_package_of(const void *item, const void *key)
{
    return !strcmp(((const struct target_package *)item)->path, key);
}

const struct target_package *target_find_package(const struct target *target, const char *path)
{
    return hash_table_find_by(&target->packages, hash_text(path, strlen(path)), is_package_of,
                              path);
}

void target_add_package(struct target *target, const struct target_package *package)
{
    if (target_find_package(target, package->path))
        return;
    if (!target->packages.item_size)
        target->packages = HASH_TABLE_OF(struct target_package);
    const struct target_package kept = {.path = arena_strdup(target->arena, package->path),
                                        .name = arena_strdup(target->arena, package->name),
                                        .version = arena_strdup(target->arena, package->version)};
    struct target_package *added =
        kept.path && kept.name && kept.version
            ? hash_table_add_by(&target->packages, hash_text(kept.path, strlen(kept.path)))
            : NULL;
    if (added)
        *added = kept;
}

void target_needed_close(struct target *target)
{
    hash_table_deinit(&target->packages);
    hash_table_deinit(&target->homes);
    hash_table_deinit(&target->needed);
}
