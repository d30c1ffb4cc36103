/*
 * The distributions whose extension modules, or libraries that come with them, stand on the stacks:
 * by the *.dist-info (or *.egg-info) folder beside the module that lists it, or by conda's records,
 * when the file there is the very one that the process has mapped.
 */
#include "running_private.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Folders from that of the module upwards. */
#define LEVEL_LIMIT 8
/* Modules that are looked at, and packages. */
#define MODULE_LIMIT  ((size_t)256)
#define PACKAGE_LIMIT ((size_t)64)

struct search {
    struct modules *modules;
    const struct psc_trace *trace;
    struct trace_package *packages;
    size_t count;
    struct hash_table seen; /* Addresses of modules that were looked at. */
};

/* ---- names ---- */

/* A folder *.egg is one distribution, with what it says of itself in EGG-INFO ("The Internal
 * Structure of Python Eggs" of setuptools). */
#define EGG_INFO "EGG-INFO"

static bool is_distribution(const char *name)
{
    return package_name_ends(name, ".dist-info") || package_name_ends(name, ".egg-info") ||
           !strcmp(name, EGG_INFO);
}

/* PEP 503: letters in lower case, and '-', '_' and '.' are the same. */
static char normalized(char character)
{
    return character == '_' || character == '.' ? '-' : (char)tolower((unsigned char)character);
}

/* "numpy" of "numpy/core/x.so", "numpy.libs/x.so", "numpy.cpython-311-x86_64-linux-gnu.so". */
static size_t top_name(const char *inside)
{
    size_t size = strcspn(inside, "/");
    if (!inside[size])
        return strcspn(inside, ".");
    static const char libraries[] = ".libs";
    size_t ending = strlen(libraries);
    return size > ending && !strncmp(inside + size - ending, libraries, ending) ? size - ending
                                                                                : size;
}

/* Whether "numpy-1.26.4.dist-info" is named as the module's own package. */
static bool has_own_name(const char *distribution, const char *inside)
{
    size_t size = top_name(inside), i = 0;
    while (i < size && distribution[i] && normalized(distribution[i]) == normalized(inside[i]))
        i++;
    return i == size && (distribution[i] == '-' || is_distribution(distribution + i - !!i));
}

/*
 * What can be of a distribution: below site-packages or dist-packages; elsewhere (pip install
 * --target) a module with an extension module's name, but for those of CPython's own lib-dynload,
 * or a library that was put beside it.
 */
static bool may_be_installed(const char *path)
{
    return strstr(path, "-packages/") ||
           (!strstr(path, "/lib-dynload/") &&
            (strstr(path, ".cpython-") || package_name_ends(path, ".abi3.so") ||
             strstr(path, ".libs/")));
}

/* ---- whose a module is ---- */

/* installed-files.txt of *.egg-info has paths from that folder on. */
static bool is_in_list(struct package_site *site, const char *distribution, bool *ret_has_list)
{
    char path[PATH_MAX];
    size_t size;
    bool egg = package_name_ends(distribution, ".egg-info");
    int length = snprintf(path, sizeof(path), "%s%s", egg ? "../" : "", site->inside);
    char *list =
        package_site_read(site, distribution, egg ? "installed-files.txt" : "RECORD", &size);
    *ret_has_list = list;
    bool found =
        list && length > 0 && (size_t)length < sizeof(path) && parse_record(list, size, path);
    free(list);
    return found;
}

/* Distributions of Debian have no RECORD: their top-level name tells, which nobody else may have.
 */
static bool is_top_level(struct package_site *site, const char *distribution)
{
    char top[NAME_MAX + 1];
    size_t size, length = top_name(site->inside);
    if (length > NAME_MAX)
        return false;
    memcpy(top, site->inside, length);
    top[length] = '\0';
    char *list = package_site_read(site, distribution, "top_level.txt", &size);
    bool found = list ? parse_has_line(list, size, top) : has_own_name(distribution, site->inside);
    free(list);
    return found;
}

/* Those that are named as the module come first: then few files are read. */
static const char *find_distribution(struct package_site *site)
{
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < site->count; i++) {
            const char *name = site->names[i];
            bool has_list;
            if (!strcmp(name, EGG_INFO)) {
                if (package_name_ends(site->here, ".egg"))
                    return name;
                continue;
            }
            if (has_own_name(name, site->inside) != own)
                continue;
            if (is_in_list(site, name, &has_list) || (!has_list && is_top_level(site, name)))
                return name;
        }
    return NULL;
}

/* *.egg-info may be a file, then it is PKG-INFO itself. */
static bool read_package(struct package_site *site, const char *distribution, struct arena *arena,
                         struct trace_package *ret)
{
    static const char *const files[] = {"METADATA", "PKG-INFO", ""};
    size_t size = 0, name_size = 0, version_size = 0;
    char *text = NULL;
    for (size_t i = 0; !text && i < PSC_ARRAY_SIZE(files); i++)
        text = package_site_read(site, distribution, files[i], &size);
    const char *name = text ? parse_metadata_field(text, size, "Name", &name_size) : NULL;
    const char *version = text ? parse_metadata_field(text, size, "Version", &version_size) : NULL;
    if (name && version)
        *ret = (struct trace_package){.name = arena_strndup(arena, name, name_size),
                                      .version = arena_strndup(arena, version, version_size)};
    free(text);
    return name && version;
}

/* ---- a module ---- */

/* The package that has the file, by the distributions that are installed in one folder. */
static bool find_in_folder(const struct target *target, const struct target_file *file,
                           size_t folder_size, struct arena *arena, struct trace_package *ret)
{
    char path[PATH_MAX], here[PATH_MAX];
    memcpy(path, file->path, folder_size);
    path[folder_size] = '\0';
    struct package_site site = {.target = target,
                                .here = here,
                                .inside = file->path + folder_size + 1,
                                .bytes_left = PACKAGE_SITE_BYTES};
    int fd = target_open_folder(target, path, here, sizeof(here));
    bool found = fd >= 0 && package_is_same_file(fd, site.inside, file) &&
                 package_site_list(&site, fd, is_distribution);
    if (fd >= 0)
        close(fd);
    const char *distribution = found ? find_distribution(&site) : NULL;
    found = distribution && read_package(&site, distribution, arena, ret);
    package_site_deinit(&site);
    return found;
}

static bool find_package(const struct target *target, const struct target_file *file,
                         struct arena *arena, struct trace_package *ret)
{
    size_t size = strlen(file->path);
    if (!may_be_installed(file->path))
        return false;
    for (size_t level = 0; level < LEVEL_LIMIT; level++) {
        while (size && file->path[size - 1] != '/')
            size--;
        if (size <= 1)
            break;
        if (find_in_folder(target, file, --size, arena, ret))
            return true;
    }
    return false;
}

static void add_package(struct search *search, const struct trace_package *package)
{
    for (size_t i = 0; i < search->count; i++)
        if (!strcmp(search->packages[i].name, package->name))
            return;
    search->packages[search->count++] = *package;
}

/* A small core knows it of where it was made; and each report of a target finds the same. */
static bool take_noted(const struct target *target, const struct target_file *file,
                       struct arena *arena, struct trace_package *ret)
{
    const struct target_package *noted = target_find_package(target, file->path);
    if (noted)
        *ret = (struct trace_package){.name = arena_strdup(arena, noted->name),
                                      .version = arena_strdup(arena, noted->version)};
    return noted;
}

static void look_at(struct search *search, const struct trace_module *module)
{
    struct trace_package package;
    if (search->seen.count >= MODULE_LIMIT || search->count >= PACKAGE_LIMIT ||
        hash_table_find(&search->seen, module->start) ||
        !hash_table_add(&search->seen, module->start))
        return;
    struct target *target = modules_target(search->modules);
    const struct module *mapped = modules_find(search->modules, module->start);
    const struct target_file *file = mapped ? mapped->file : NULL;
    if (!file || !file->image || file->deleted || !file->local_path || file->path[0] != '/' ||
        strlen(file->path) >= PATH_MAX)
        return;
    if (!take_noted(target, file, search->trace->arena, &package)) {
        if (!find_package(target, file, search->trace->arena, &package) &&
            !running_find_conda_package(target, file, search->trace->arena, &package))
            return;
        if (package.name && package.version)
            target_add_package(target,
                               &(struct target_package){file->path, package.name, package.version});
    }
    if (package.name && package.version)
        add_package(search, &package);
}

void running_find_packages(struct modules *modules, const struct psc_trace *trace,
                           struct trace_running *ret)
{
    struct seen {
        uint64_t start;
    };
    struct search search = {.modules = modules,
                            .trace = trace,
                            .packages =
                                arena_array(trace->arena, PACKAGE_LIMIT, sizeof(*search.packages)),
                            .seen = HASH_TABLE_OF(struct seen)};
    const struct trace_module *last = NULL;
    for (size_t i = 0; search.packages && i < trace->thread_count; i++)
        for (size_t j = 0; j < trace->threads[i].frame_count; j++) {
            const struct trace_module *module = trace->threads[i].frames[j].location->module;
            if (!module || module == last)
                continue;
            last = module;
            look_at(&search, module);
        }
    hash_table_deinit(&search.seen);
    ret->packages = search.packages;
    ret->package_count = search.count;
}
