/* Files of the building machine: the generated C, Cython's debug XML, the .pyx. */
#include "lines.h"

#include <sys/stat.h>

/* Directories above a module in which a file is looked for. */
#define PARENT_LIMIT 32

static bool is_regular_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/** `tail` in a directory of the target, or NULL. */
static const char *find_in_target(struct target *target, struct slice directory, const char *tail,
                                  struct arena *arena)
{
    const char *path = arena_printf(arena, "%.*s/%s", (int)directory.size, directory.data, tail);
    return path ? target_find_local_path(target, path) : NULL;
}

/** `tail` in a directory of this machine, or NULL. */
static const char *find_here(struct slice directory, const char *tail, struct arena *arena)
{
    const char *path = arena_printf(arena, "%.*s/%s", (int)directory.size, directory.data, tail);
    return path && is_regular_file(path) ? path : NULL;
}

static void go_up(struct slice *directory)
{
    size_t size = directory->size;
    while (size && directory->data[size - 1] != '/')
        size--;
    directory->size = size ? size - 1 : 0;
}

/** A relative name in the directory of `path` and in each one above. */
static const char *find_above(struct target *target, const char *path, const char *name,
                              struct arena *arena)
{
    struct slice directory = path_directory(path);
    for (size_t i = 0; i < PARENT_LIMIT && directory.size; i++, go_up(&directory)) {
        const char *found = find_in_target(target, directory, name, arena);
        if (found)
            return found;
    }
    return NULL;
}

static const char *find_above_here(const char *path, const char *name, struct arena *arena)
{
    struct slice directory = path_directory(path);
    for (size_t i = 0; i < PARENT_LIMIT && directory.size; i++, go_up(&directory)) {
        const char *found = find_here(directory, name, arena);
        if (found)
            return found;
    }
    return NULL;
}

/** A relative name seen from the module's file, as the target has it and where it was found. */
static const char *find_near_module(const struct module *module, struct target *target,
                                    const char *name, struct arena *arena)
{
    const char *found = NULL;
    if (module->path)
        found = find_above(target, module->path, name, arena);
    if (!found && module->file && module->file->local_path)
        found = find_above_here(module->file->local_path, name, arena);
    return found;
}

/* ---- the generated C ---- */

static bool is_c_file(const char *path)
{
    static const char *const endings[] = {".c", ".cpp", ".cc", ".cxx", ".c++", ".C"};
    const char *dot = strrchr(path_base(path), '.');
    for (size_t i = 0; dot && i < PSC_ARRAY_SIZE(endings); i++) {
        if (strcmp(dot, endings[i]) == 0)
            return true;
    }
    return false;
}

/**
 * Where a path of the building machine is: there, else near the module. The more directories of
 * it agree the better, but at least one must.
 */
static const char *find_built_file(const struct module *module, struct target *target,
                                   const char *path, struct arena *arena)
{
    const char *found = target_find_local_path(target, path);
    const char *tail = path;
    for (size_t i = 0; !found && i < PARENT_LIMIT; i++) {
        while (*tail == '/')
            tail++;
        const char *slash = strchr(tail, '/');
        if (!slash)
            break;
        found = find_near_module(module, target, tail, arena);
        tail = slash + 1;
    }
    return found;
}

/** Visits those that are there, each once. */
static bool visit_each(const struct cython_file_search *search, const char *const *paths,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool known = !paths[i];
        for (size_t k = 0; k < i && !known; k++)
            known = paths[k] && strcmp(paths[k], paths[i]) == 0;
        if (!known && search->visit(search->context, paths[i]))
            return true;
    }
    return false;
}

void cython_each_c_file(const struct cython_file_search *search)
{
    const struct module *module = search->module;
    const char *c_file = search->c_file;
    struct arena *arena = search->arena;
    struct target *target = modules_target(module->owner);
    const char *base = path_base(c_file);
    if (!is_c_file(c_file))
        return;
    const char *paths[] = {
        find_built_file(module, target, c_file, arena),
        module->path ? find_in_target(target, path_directory(module->path), base, arena) : NULL,
        module->file && module->file->local_path
            ? find_here(path_directory(module->file->local_path), base, arena)
            : NULL,
        target_find_source(target, c_file, 1),
    };
    if (visit_each(search, paths, PSC_ARRAY_SIZE(paths)) || c_file[0] != '/')
        return;
    const char *fetched = target_fetch(target, PSC_FETCHED_SOURCE, &module->build_id, c_file);
    if (fetched)
        target_add_home(target, fetched, c_file);
    (void)visit_each(search, &fetched, 1);
}

void cython_each_xml(const struct cython_file_search *search, const char *module_name)
{
    const struct module *module = search->module;
    struct arena *arena = search->arena;
    struct target *target = modules_target(module->owner);
    const char *name = arena_printf(arena, "cython_debug/cython_debug_info_%s", module_name);
    if (!name)
        return;
    const char *paths[] = {
        find_near_module(module, target, name, arena),
        find_above(target, search->c_file, name, arena),
        target_find_source(target, name, 2),
    };
    (void)visit_each(search, paths, PSC_ARRAY_SIZE(paths));
}

/* ---- the .pyx ---- */

const char *cython_home_of(const struct module *module, const char *name, struct arena *arena)
{
    struct slice directory = path_directory(module->path ? module->path : "");
    return name[0] == '/'
               ? name
               : arena_printf(arena, "%.*s/%s", (int)directory.size, directory.data, name);
}

static const char *find_source(const struct module *module, const char *c_file,
                               const char *pyx_file, struct arena *arena)
{
    struct target *target = modules_target(module->owner);
    if (pyx_file[0] == '/')
        return find_built_file(module, target, pyx_file, arena);
    /* A package's sources are often built from src/ but installed without it. */
    const char *names[] = {pyx_file, strncmp(pyx_file, "src/", 4) == 0 ? pyx_file + 4 : NULL};
    const char *found = NULL;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names) && !found; i++) {
        if (!names[i] || !*names[i])
            continue;
        found = find_near_module(module, target, names[i], arena);
        if (!found && c_file)
            found = find_above(target, c_file, names[i], arena);
    }
    return found;
}

/*
 * What debug information calls a .pyx whose name is relative: it and its C file are named from the
 * folder of the build, as DW_AT_comp_dir has it. NULL: that cannot be told.
 */
static const char *name_in_build(const char *c_file, const char *pyx_file, struct arena *arena)
{
    if (pyx_file[0] == '/')
        return pyx_file;
    if (!c_file || c_file[0] != '/')
        return NULL;
    const struct slice folder = path_directory(c_file);
    const char *slash = strrchr(pyx_file, '/');
    const size_t below = slash ? (size_t)(slash - pyx_file) : 0;
    if (!below)
        return arena_printf(arena, "%.*s/%s", (int)folder.size, folder.data, pyx_file);
    if (folder.size <= below || folder.data[folder.size - below - 1] != '/' ||
        memcmp(folder.data + folder.size - below, pyx_file, below) != 0)
        return NULL;
    return arena_printf(arena, "%.*s%s", (int)(folder.size - below), folder.data, pyx_file);
}

void cython_find_source(const struct cython_source *source, struct arena *arena,
                        struct cython_place *ret)
{
    const struct module *module = source->module;
    struct target *target = modules_target(module->owner);
    const char *found = find_source(module, source->c_file, source->pyx_file, arena);
    if (!found)
        found = target_find_source(target, source->pyx_file, 1);
    const char *name = found ? NULL : name_in_build(source->c_file, source->pyx_file, arena);
    if (name) {
        found = target_fetch(target, PSC_FETCHED_SOURCE, &module->build_id, name);
        if (found)
            target_add_home(target, found, name);
    }
    *ret = (struct cython_place){.path = found, .local = found};
    if (!found) {
        ret->path = arena_strdup(arena, source->pyx_file);
        return;
    }
    ret->home = target_home_of(target, found);
    const char *there = ret->home ? target_find_local_path(target, ret->home) : NULL;
    if (there && strcmp(there, found) == 0)
        ret->path = ret->home;
    else /* Found on this machine alone: another one will look for it beside the module. */
        ret->home = cython_home_of(module, source->pyx_file, arena);
}
