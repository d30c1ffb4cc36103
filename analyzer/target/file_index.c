/* Files below directories that the user names, by their names. */
#include "target_private.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* More entries than a system or a large project has, with all that it builds. */
#define ENTRY_LIMIT 1000000

const char *file_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int compare_bases(const void *left, const void *right)
{
    const struct indexed_file *a = left, *b = right;
    int order = strcmp(file_base_name(a->path), file_base_name(b->path));
    if (!order)
        order = COMPARE(a->directory, b->directory);
    return order ? order : strcmp(a->path, b->path);
}

/* Directories that are still to be read; the paths are the arena's. */
struct walk {
    const struct file_index_request *request;
    const char **directories;
    size_t count, capacity;
    size_t entries_left;
};

static const char *join_path(struct arena *arena, const char *directory, const char *name)
{
    return arena_printf(arena, "%s/%s", directory, name);
}

/* Some builds put links to files where the files would be; directories are not followed. */
static mode_t kind_of(const char *path, unsigned char type)
{
    struct stat status;
    if (type == DT_REG || type == DT_DIR)
        return DTTOIF(type);
    if (type != DT_LNK && type != DT_UNKNOWN)
        return 0;
    if (type == DT_UNKNOWN && !lstat(path, &status) && !S_ISLNK(status.st_mode))
        return status.st_mode & S_IFMT;
    return !stat(path, &status) && S_ISREG(status.st_mode) ? S_IFREG : 0;
}

static enum psc_status add_entry(struct file_index *index, struct walk *walk, const char *directory,
                                 const struct dirent *entry)
{
    const struct file_index_request *request = walk->request;
    bool wanted = request->wants(request->context, entry->d_name);
    bool may_be_directory = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (!wanted && !may_be_directory)
        return PSC_OK;
    const char *path = join_path(request->arena, directory, entry->d_name);
    mode_t kind = path ? kind_of(path, entry->d_type) : 0;
    if (!path)
        return PSC_ERR_MEMORY;
    if (S_ISDIR(kind) && !(request->skips_hidden && entry->d_name[0] == '.')) {
        if (!array_reserve(&walk->directories, &walk->capacity, walk->count + 1,
                           sizeof(*walk->directories)))
            return PSC_ERR_MEMORY;
        walk->directories[walk->count++] = path;
    }
    if (!S_ISREG(kind) || !wanted)
        return PSC_OK;
    if (!array_reserve(&index->items, &index->capacity, index->count + 1, sizeof(*index->items)))
        return PSC_ERR_MEMORY;
    index->items[index->count++] = (struct indexed_file){path, index->directory_count};
    return PSC_OK;
}

static enum psc_status add_directory(struct file_index *index, struct walk *walk, const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    enum psc_status status = PSC_OK;
    while (directory && status == PSC_OK && walk->entries_left && (entry = readdir(directory))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        walk->entries_left--;
        status = add_entry(index, walk, path, entry);
    }
    if (directory)
        closedir(directory);
    return status;
}

enum psc_status file_index_add(struct file_index *index, const struct file_index_request *request,
                               const char *directory)
{
    struct walk walk = {request, NULL, 0, 0, ENTRY_LIMIT};
    enum psc_status status = add_directory(index, &walk, directory);
    while (status == PSC_OK && walk.count && walk.entries_left)
        status = add_directory(index, &walk, walk.directories[--walk.count]);
    free(walk.directories);
    index->directory_count++;
    return status;
}

void file_index_sort(struct file_index *index)
{
    if (index->count)
        qsort(index->items, index->count, sizeof(*index->items), compare_bases);
}

size_t file_index_find(const struct file_index *index, const char *base)
{
    return SORTED_COUNT(i, index->count, strcmp(file_base_name(index->items[i].path), base) < 0);
}

void file_index_destroy(struct file_index *index)
{
    if (index)
        free(index->items);
    free(index);
}
