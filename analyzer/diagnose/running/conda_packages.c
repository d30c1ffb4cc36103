/*
 * Packages that conda, mamba or pixi have installed: PREFIX/conda-meta/NAME-VERSION-BUILD.json
 * lists what came with one, by paths from PREFIX on. Python's packages are named by their
 * *.dist-info first; what is left are libraries, and packages without it.
 */
#include "running_private.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER  "conda-meta"
#define LIBRARY "/lib/"
/* Places in a path where it may be split into a prefix and what lies in it. */
#define PREFIX_LIMIT 4

static bool is_record(const char *name)
{
    return package_name_ends(name, ".json");
}

/* "numpy" of "lib/python3.11/site-packages/numpy/core/x.so", "libblas" of "lib/libblas.so.3". */
static const char *likely_name(const char *inside, size_t *ret_size)
{
    static const char packages[] = "-packages/";
    const char *found = strstr(inside, packages);
    const char *slash = strrchr(inside, '/');
    found = found ? found + sizeof(packages) - 1 : slash ? slash + 1 : inside;
    *ret_size = strcspn(found, "/.");
    return found;
}

/* Those that are named as the module come first: then few files are read. */
static bool search_records(struct package_site *site, struct arena *arena,
                           struct trace_package *ret)
{
    size_t size, length;
    const char *likely = likely_name(site->inside, &length);
    bool found = false;
    for (int own = 1; own >= 0; own--)
        for (size_t i = 0; i < site->count && !found; i++) {
            if ((strncmp(site->names[i], likely, length) == 0) != own)
                continue;
            char *text = package_site_read(site, FOLDER, site->names[i], &size);
            found = text && parse_conda_record(text, size, site->inside, arena, ret);
            free(text);
        }
    return found;
}

static bool find_in_prefix(const struct target *target, const struct target_file *file,
                           size_t prefix_size, struct arena *arena, struct trace_package *ret)
{
    char path[PATH_MAX + sizeof(FOLDER) + 1], here[PATH_MAX], inside[PATH_MAX + 4];
    memcpy(path, file->path, prefix_size);
    memcpy(path + prefix_size, "/" FOLDER, sizeof(FOLDER) + 1);
    int fd = target_open_folder(target, path, here, sizeof(here));
    if (fd < 0)
        return false;
    snprintf(inside, sizeof(inside), "../%s", file->path + prefix_size + 1);
    struct package_site site = {.target = target,
                                .here = here,
                                .inside = file->path + prefix_size + 1,
                                .bytes_left = PACKAGE_SITE_BYTES};
    bool found = package_is_same_file(fd, inside, file) && package_site_list(&site, fd, is_record);
    close(fd);
    char *slash = strrchr(here, '/');
    found = found && slash;
    if (found) {
        *slash = '\0';
        found = search_records(&site, arena, ret);
    }
    package_site_deinit(&site);
    return found;
}

bool running_find_conda_package(const struct target *target, const struct target_file *file,
                                struct arena *arena, struct trace_package *ret)
{
    const char *at = file->path;
    // CPython's own modules are of its package; its version is told anyway.
    if (strstr(file->path, "/lib-dynload/"))
        return false;
    for (size_t i = 0; i < PREFIX_LIMIT && (at = strstr(at, LIBRARY)); i++, at++)
        if (at != file->path && find_in_prefix(target, file, (size_t)(at - file->path), arena, ret))
            return true;
    return false;
}
