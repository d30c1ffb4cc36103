#include "machine.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger files are not generated C. */
#define C_FILE_SIZE_LIMIT ((off_t)256 * 1024 * 1024)

/* Directories above a module in which a file is looked for. */
#define PARENT_LIMIT 32

struct cached_lines {
    const struct module *module;
    const char *c_file;
    struct cython_lines *lines; /**< NULL: looked for and not there. */
};

struct cython_cache {
    struct arena *arena;
    struct cached_lines *lines;
    size_t line_count;
    size_t line_capacity;
    struct cython_module *modules;
    size_t module_count;
    size_t module_capacity;
};

struct cython_cache *cython_cache_create(void)
{
    struct cython_cache *cache = calloc(1, sizeof(*cache));
    if (cache && !(cache->arena = arena_create())) {
        free(cache);
        return NULL;
    }
    return cache;
}

void cython_cache_destroy(struct cython_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->line_count; i++)
        cython_lines_destroy(cache->lines[i].lines);
    for (size_t i = 0; i < cache->module_count; i++)
        cython_module_deinit(&cache->modules[i]);
    free(cache->lines);
    free(cache->modules);
    arena_destroy(cache->arena);
    free(cache);
}

/** What is known of a module; NULL when out of memory. */
static struct cython_module *cache_module(struct cython_cache *cache, struct module *module)
{
    for (size_t i = 0; i < cache->module_count; i++)
        if (cache->modules[i].module == module)
            return &cache->modules[i];
    if (!array_reserve((void **)&cache->modules, &cache->module_capacity, cache->module_count + 1,
                       sizeof(*cache->modules)))
        return NULL;
    struct cython_module *known = &cache->modules[cache->module_count++];
    *known = (struct cython_module){.module = module};
    return known;
}

bool cython_cache_name_of(struct cython_cache *cache, struct module *module, const char *symbol,
                          struct arena *arena, struct cython_name *ret)
{
    struct cython_module *known = cache_module(cache, module);
    return known ? cython_module_name_of(known, symbol, arena, cache->arena, ret)
                 : cython_name_of(module, symbol, arena, ret);
}

/** The module's machine code, made ready once; NULL when it is not Cython's. */
static struct machine *cache_machine(struct cython_cache *cache, struct module *module,
                                     struct cython_module **ret)
{
    struct cython_module *known = cache_module(cache, module);
    if (known && !known->machine_tried) {
        known->machine_tried = true;
        module_open(module);
        if (module->image)
            known->machine = machine_create(module->image, module->image_size);
    }
    *ret = known;
    return known ? known->machine : NULL;
}

bool cython_cache_has_code(struct cython_cache *cache, struct module *module)
{
    struct cython_module *known;
    return cache_machine(cache, module, &known) != NULL;
}

size_t cython_cache_find_code(struct cython_cache *cache, struct module *module, psc_addr pc,
                              struct arena *arena, struct cython_code *ret, size_t limit)
{
    struct cython_module *known;
    struct machine *machine = cache_machine(cache, module, &known);
    if (!machine)
        return 0;
    return cython_machine_find(machine, cython_module_get_name(known, cache->arena),
                               pc - module->bias, arena, ret, limit);
}

/* ---- files beside the module ---- */

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

/** Also by its bare name, in the module's own directory. */
static const char *find_c_file(const struct module *module, const char *c_file, struct arena *arena)
{
    struct target *target = modules_target(module->owner);
    const char *found = find_built_file(module, target, c_file, arena);
    const char *base = path_base(c_file);
    if (!found && module->path)
        found = find_in_target(target, path_directory(module->path), base, arena);
    if (!found && module->file && module->file->local_path)
        found = find_here(path_directory(module->file->local_path), base, arena);
    return found;
}

static struct cython_lines *read_lines(const char *path)
{
    struct cython_lines *lines = NULL;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        status.st_size <= C_FILE_SIZE_LIMIT) {
        size_t size = (size_t)status.st_size;
        void *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (text != MAP_FAILED) {
            if (parse_cython_lines(text, size, &lines) != PSC_OK)
                lines = NULL;
            munmap(text, size);
        }
    }
    close(fd);
    if (lines && cython_lines_is_empty(lines)) {
        cython_lines_destroy(lines);
        lines = NULL;
    }
    return lines;
}

const struct cython_lines *cython_lines_find(struct cython_cache *cache, struct module *module,
                                             const char *c_file)
{
    for (size_t i = 0; i < cache->line_count; i++) {
        if (cache->lines[i].module == module && strcmp(cache->lines[i].c_file, c_file) == 0)
            return cache->lines[i].lines;
    }
    if (!is_c_file(c_file) || !array_reserve((void **)&cache->lines, &cache->line_capacity,
                                             cache->line_count + 1, sizeof(*cache->lines)))
        return NULL;
    const char *copy = arena_strdup(cache->arena, c_file);
    const char *path = copy ? find_c_file(module, c_file, cache->arena) : NULL;
    if (!copy)
        return NULL;
    struct cached_lines *entry = &cache->lines[cache->line_count++];
    *entry = (struct cached_lines){
        .module = module, .c_file = copy, .lines = path ? read_lines(path) : NULL};
    return entry->lines;
}

/* ---- the .pyx ---- */

const char *cython_source_path(struct module *module, const char *c_file, const char *pyx_file,
                               struct arena *arena)
{
    struct target *target = modules_target(module->owner);
    const char *found = NULL;
    if (pyx_file[0] == '/') {
        found = find_built_file(module, target, pyx_file, arena);
        return found ? found : pyx_file;
    }
    /* A package's sources are often built from src/ but installed without it. */
    const char *names[] = {pyx_file, strncmp(pyx_file, "src/", 4) == 0 ? pyx_file + 4 : NULL};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names) && !found; i++) {
        if (!names[i] || !*names[i])
            continue;
        found = find_near_module(module, target, names[i], arena);
        if (!found && c_file)
            found = find_above(target, c_file, names[i], arena);
    }
    return found ? found : pyx_file;
}
