/* Opening what stands on this machine for a file of the target. */
#include "foreign_file.h"
#include "target_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The part of the path below the folder; NULL for one that is not there. */
static const char *below(const char *folder, const char *path)
{
    size_t length = folder ? strlen(folder) : 0;
    return length && !strncmp(path, folder, length) && path[length] == '/' ? path + length : NULL;
}

/* The root that a local path lies in, and the rest of the path; NULL: of this machine. */
static const char *find_root(const struct target *target, const char *path, const char **ret_inside)
{
    const char *roots[] = {target->options.sysroot,
                           target->ops->root ? target->ops->root(target) : NULL};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(roots); i++) {
        *ret_inside = below(roots[i], path);
        if (*ret_inside)
            return roots[i];
    }
    *ret_inside = path;
    return NULL;
}

int target_open_local(const struct target *target, const char *path)
{
    const char *inside, *root = find_root(target, path, &inside);
    return foreign_file_open(root, inside);
}

int target_open_mapped(const struct target *target, const char *path)
{
    int fd = target_open_local(target, path);
    return target->options.maps_files ? fd : foreign_file_copy_to_map(fd);
}

bool target_maps_modules(const struct target *target)
{
    return target->options.maps_files || target->options.maps_modules;
}

int target_open_module(const struct target *target, const char *path)
{
    return target_maps_modules(target) ? target_open_local(target, path)
                                       : target_open_mapped(target, path);
}

int target_open_folder(const struct target *target, const char *path, char *ret, size_t size)
{
    const char *roots[] = {target->options.sysroot,
                           target->ops->root ? target->ops->root(target) : NULL, ""};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(roots) && path[0] == '/'; i++) {
        if (!roots[i])
            continue;
        int length = snprintf(ret, size, "%s%s", roots[i], path);
        int fd = length > 0 && (size_t)length < size
                     ? foreign_folder_open(*roots[i] ? roots[i] : NULL, path)
                     : -1;
        if (fd >= 0)
            return fd;
    }
    return -1;
}

const char *target_fetch(struct target *target, enum psc_fetched what,
                         const struct target_build_id *id, const char *path)
{
    char hex[TARGET_BUILD_ID_TEXT];
    const struct target_options *options = &target->options;
    if (!options->fetch_file || target->stands || target->local_only || target->interrupted ||
        id->size < 2)
        return NULL;
    const char *fetched =
        options->fetch_file(options->fetch_context, what, target_build_id_text(id, hex), path);
    return fetched ? arena_strdup(target->arena, fetched) : NULL;
}

bool target_user_may_read(const struct target *target, const char *path, int fd)
{
    const struct target_process *process = &target->process;
    const char *inside;
    char name[PATH_MAX];
    if (!process->owner_known || !process->user || process->user == geteuid())
        return true;
    return foreign_file_user_may_read(fd, process->user, process->group) &&
           (find_root(target, path, &inside) ||
            (foreign_file_get_name(fd, -1, path, name) &&
             foreign_file_user_may_reach(name, process->user, process->group)));
}

/* ---- where it stands ---- */

/** -1: it is not there, or may not be read. */
static int open_if_there(struct target *target, const char *path, const char **ret)
{
    int fd = target_open_local(target, path);
    if (fd < 0) {
        target->refused += errno == EACCES;
        return -1;
    }
    *ret = arena_strdup(target->arena, path);
    if (*ret)
        return fd;
    close(fd);
    return -1;
}

/** A file below a folder of this machine. */
static int open_below(struct target *target, const char *folder, const char *path, const char **ret)
{
    char candidate[4096];
    int size = snprintf(candidate, sizeof(candidate), "%s/%s", folder, path);
    return size > 0 && (size_t)size < sizeof(candidate) ? open_if_there(target, candidate, ret)
                                                        : -1;
}

/** Where PREFIX=FOLDER of --source-map puts it. */
static int open_mapped_source(struct target *target, const char *map, const char *path,
                              const char **ret)
{
    char candidate[4096];
    const char *equals = strchr(map, '=');
    size_t length = equals ? (size_t)(equals - map) : 0;
    if (!equals || strncmp(path, map, length) != 0)
        return -1;
    int size = snprintf(candidate, sizeof(candidate), "%s%s", equals + 1, path + length);
    return size > 0 && (size_t)size < sizeof(candidate) ? open_if_there(target, candidate, ret)
                                                        : -1;
}

static int find_and_open(struct target *target, const char *path, const char **ret)
{
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < target->options.source_map_count; i++)
        fd = open_mapped_source(target, target->options.source_maps[i], path, ret);
    const char *given = fd < 0 && target->options.find_file
                            ? target->options.find_file(target->options.find_file_context, path)
                            : NULL;
    if (given)
        fd = open_if_there(target, given, ret);
    if (fd < 0 && target->options.sysroot)
        fd = open_below(target, target->options.sysroot, path, ret);
    const char *root = fd < 0 && target->ops->root ? target->ops->root(target) : NULL;
    if (root)
        fd = open_below(target, root, path, ret);
    return fd < 0 && path[0] == '/' ? open_if_there(target, path, ret) : fd;
}

int target_find_and_open(struct target *target, const char *path, const char **ret)
{
    *ret = NULL;
    int fd = find_and_open(target, path, ret);
    if (fd >= 0)
        target_add_home(target, *ret, path);
    return fd;
}

const char *target_find_local_path(struct target *target, const char *path)
{
    const char *found;
    int fd = target_find_and_open(target, path, &found);
    if (fd >= 0)
        close(fd);
    return found;
}
