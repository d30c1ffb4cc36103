/*
 * The distributions whose extension modules, or libraries that come with them, stand on the stacks:
 * by the *.dist-info (or *.egg-info) folder beside the module that lists it, when the file there is
 * the very one that the process has mapped.
 */
#include "running_private.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders from that of the module upwards. */
#define LEVEL_LIMIT 8
/* Of one folder, *.dist-info and the like. */
#define FOLDER_LIMIT ((size_t)4096)
/* Of a file; torch's RECORD has 2 MB. */
#define FILE_LIMIT ((size_t)32 << 20)
/* Of all files that are read for one module. */
#define TOTAL_LIMIT ((size_t)128 << 20)
/* Modules that are looked at, and packages. */
#define MODULE_LIMIT  ((size_t)256)
#define PACKAGE_LIMIT ((size_t)64)

/* A folder in which distributions are installed. */
struct site {
    const struct target *target;
    const char *here;   /* Its path on this machine. */
    const char *inside; /* The module's path below it. */
    char **names;       /* malloc'd, of the *.dist-info and *.egg-info in it. */
    size_t count;
    size_t capacity;
    size_t bytes_left;
};

struct search {
    struct modules *modules;
    const struct psc_trace *trace;
    struct trace_package *packages;
    size_t count;
    struct hash_table seen; /* Addresses of modules that were looked at. */
};

/* ---- names ---- */

static bool ends_with(const char *text, const char *ending)
{
    size_t size = strlen(text), length = strlen(ending);
    return size > length && !strcmp(text + size - length, ending);
}

static bool is_distribution(const char *name)
{
    return ends_with(name, ".dist-info") || ends_with(name, ".egg-info");
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
            (strstr(path, ".cpython-") || ends_with(path, ".abi3.so") || strstr(path, ".libs/")));
}

/* ---- files ---- */

/* malloc'd; NULL: it cannot be read. */
static char *read_file(struct site *site, const char *distribution, const char *name,
                       size_t *ret_size)
{
    char path[PATH_MAX];
    int length =
        snprintf(path, sizeof(path), "%s/%s%s%s", site->here, distribution, *name ? "/" : "", name);
    int fd =
        length > 0 && (size_t)length < sizeof(path) ? target_open_local(site->target, path) : -1;
    size_t limit = site->bytes_left < FILE_LIMIT ? site->bytes_left : FILE_LIMIT;
    *ret_size = 0;
    if (fd < 0)
        return NULL;
    char *bytes = file_bytes_read(fd, limit, ret_size);
    close(fd);
    site->bytes_left -= *ret_size;
    return bytes;
}

static bool list_distributions(struct site *site, DIR *folder)
{
    const struct dirent *entry;
    while ((entry = readdir(folder)) && site->count < FOLDER_LIMIT) {
        if (!is_distribution(entry->d_name))
            continue;
        char *name = strdup(entry->d_name);
        if (!name ||
            !array_reserve(&site->names, &site->capacity, site->count + 1, sizeof(*site->names))) {
            free(name);
            return false;
        }
        site->names[site->count++] = name;
    }
    return site->count;
}

static void site_deinit(struct site *site)
{
    for (size_t i = 0; i < site->count; i++)
        free(site->names[i]);
    free(site->names);
}

/* ---- whose a module is ---- */

/* installed-files.txt of *.egg-info has paths from that folder on. */
static bool is_in_list(struct site *site, const char *distribution, bool *ret_has_list)
{
    char path[PATH_MAX];
    size_t size;
    bool egg = ends_with(distribution, ".egg-info");
    int length = snprintf(path, sizeof(path), "%s%s", egg ? "../" : "", site->inside);
    char *list = read_file(site, distribution, egg ? "installed-files.txt" : "RECORD", &size);
    *ret_has_list = list;
    bool found =
        list && length > 0 && (size_t)length < sizeof(path) && parse_record(list, size, path);
    free(list);
    return found;
}

/* Distributions of Debian have no RECORD: their top-level name tells, which nobody else may have.
 */
static bool is_top_level(struct site *site, const char *distribution)
{
    char top[NAME_MAX + 1];
    size_t size, length = top_name(site->inside);
    if (length > NAME_MAX)
        return false;
    memcpy(top, site->inside, length);
    top[length] = '\0';
    char *list = read_file(site, distribution, "top_level.txt", &size);
    bool found = list ? parse_has_line(list, size, top) : has_own_name(distribution, site->inside);
    free(list);
    return found;
}

/* Those that are named as the module come first: then few files are read. */
static const char *find_distribution(struct site *site)
{
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < site->count; i++) {
            const char *name = site->names[i];
            bool has_list;
            if (has_own_name(name, site->inside) != own)
                continue;
            if (is_in_list(site, name, &has_list) || (!has_list && is_top_level(site, name)))
                return name;
        }
    return NULL;
}

/* *.egg-info may be a file, then it is PKG-INFO itself. */
static bool read_package(struct site *site, const char *distribution, struct arena *arena,
                         struct trace_package *ret)
{
    static const char *const files[] = {"METADATA", "PKG-INFO", ""};
    size_t size = 0, name_size = 0, version_size = 0;
    char *text = NULL;
    for (size_t i = 0; !text && i < PSC_ARRAY_SIZE(files); i++)
        text = read_file(site, distribution, files[i], &size);
    const char *name = text ? parse_metadata_field(text, size, "Name", &name_size) : NULL;
    const char *version = text ? parse_metadata_field(text, size, "Version", &version_size) : NULL;
    if (name && version)
        *ret = (struct trace_package){.name = arena_strndup(arena, name, name_size),
                                      .version = arena_strndup(arena, version, version_size)};
    free(text);
    return name && version;
}

/* ---- a module ---- */

static bool is_same_file(int folder, const char *inside, const char *local)
{
    struct stat there, mapped;
    return !fstatat(folder, inside, &there, AT_NO_AUTOMOUNT) && !stat(local, &mapped) &&
           there.st_dev == mapped.st_dev && there.st_ino == mapped.st_ino;
}

/* The package that has the file, by the distributions that are installed in one folder. */
static bool find_in_folder(const struct target *target, const struct target_file *file,
                           size_t folder_size, struct arena *arena, struct trace_package *ret)
{
    char path[PATH_MAX], here[PATH_MAX];
    memcpy(path, file->path, folder_size);
    path[folder_size] = '\0';
    int fd = target_open_folder(target, path, here, sizeof(here));
    struct site site = {.target = target,
                        .here = here,
                        .inside = file->path + folder_size + 1,
                        .bytes_left = TOTAL_LIMIT};
    if (fd < 0)
        return false;
    bool same = is_same_file(fd, site.inside, file->local_path);
    DIR *folder = same ? fdopendir(fd) : NULL;
    if (!folder) {
        close(fd);
        return false;
    }
    bool found = list_distributions(&site, folder);
    closedir(folder);
    const char *distribution = found ? find_distribution(&site) : NULL;
    found = distribution && read_package(&site, distribution, arena, ret);
    site_deinit(&site);
    return found;
}

static bool find_package(const struct target *target, const struct target_file *file,
                         struct arena *arena, struct trace_package *ret)
{
    size_t size = strlen(file->path);
    if (!file->image || file->deleted || !file->local_path || size >= PATH_MAX ||
        file->path[0] != '/' || !may_be_installed(file->path))
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

static void look_at(struct search *search, const struct trace_module *module)
{
    struct trace_package package;
    if (search->seen.count >= MODULE_LIMIT || search->count >= PACKAGE_LIMIT ||
        hash_table_find(&search->seen, module->start) ||
        !hash_table_add(&search->seen, module->start))
        return;
    const struct module *mapped = modules_find(search->modules, module->start);
    if (!mapped || !mapped->file || !may_be_installed(mapped->file->path))
        return;
    if (find_package(modules_target(search->modules), mapped->file, search->trace->arena,
                     &package) &&
        package.name && package.version)
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
