/* Files below directories that the user names, by their names. */
#include "target_private.h"

#include <fts.h>
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

/* Some builds put links to files where the files would be; directories are not followed. */
static bool is_file(const FTSENT *entry)
{
    struct stat status;
    return entry->fts_info == FTS_F ||
           (entry->fts_info == FTS_SL && !stat(entry->fts_accpath, &status) &&
            S_ISREG(status.st_mode));
}

enum psc_status file_index_add(struct file_index *index, const struct file_index_request *request,
                               const char *directory)
{
    char *const roots[] = {(char *)(uintptr_t)directory, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    enum psc_status status = PSC_OK;
    for (size_t i = 0; tree && i < ENTRY_LIMIT && (entry = fts_read(tree)); i++) {
        if (entry->fts_info == FTS_D && entry->fts_level > 0 && entry->fts_name[0] == '.' &&
            request->skips_hidden)
            fts_set(tree, entry, FTS_SKIP);
        if (!request->wants(request->context, entry->fts_name) || !is_file(entry))
            continue;
        const char *path = arena_strdup(request->arena, entry->fts_path);
        if (!path || !array_reserve(&index->items, &index->capacity, index->count + 1,
                                    sizeof(*index->items))) {
            status = PSC_ERR_MEMORY;
            break;
        }
        index->items[index->count++] = (struct indexed_file){path, index->directory_count};
    }
    if (tree)
        fts_close(tree);
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
