/* Source files below the directories that the user names: found by how much of a path agrees. */
#include "foreign_file.h"
#include "target_private.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More entries than the sources of a large project and what it builds. */
#define ENTRY_LIMIT 1000000
/* Files that may be copies of each other. */
#define COMPARED_LIMIT   ((off_t)16 << 20)
#define COMPARED_AT_ONCE 16384

struct source_index {
    const char **paths; /* Sorted by their last component. */
    size_t count;
    size_t capacity;
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_wanted(const char *name)
{
    static const char *const endings[] = {"pyx", "pxd", "pxi", "px",  "py",  "c",
                                          "cpp", "cc",  "cxx", "c++", "C",   "h",
                                          "hpp", "hxx", "tp",  "pyi", "pyw", "inc"};
    const char *dot = strrchr(name, '.');
    if (!strncmp(name, "cython_debug_info_", strlen("cython_debug_info_")))
        return true;
    for (size_t i = 0; dot && i < PSC_ARRAY_SIZE(endings); i++)
        if (!strcmp(dot + 1, endings[i]))
            return true;
    return false;
}

static int compare_bases(const void *left, const void *right)
{
    const char *a = *(const char *const *)left, *b = *(const char *const *)right;
    int order = strcmp(base_of(a), base_of(b));
    return order ? order : strcmp(a, b);
}

/* Some builds put links to files where the files would be; directories are not followed. */
static bool is_file(const FTSENT *entry)
{
    struct stat status;
    return entry->fts_info == FTS_F ||
           (entry->fts_info == FTS_SL && !stat(entry->fts_accpath, &status) &&
            S_ISREG(status.st_mode));
}

static void index_tree(struct source_index *index, struct arena *arena, const char *directory)
{
    char *const roots[] = {(char *)(uintptr_t)directory, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    FTSENT *entry;
    for (size_t i = 0; tree && i < ENTRY_LIMIT && (entry = fts_read(tree)); i++) {
        if (entry->fts_info == FTS_D && entry->fts_level > 0 && entry->fts_name[0] == '.')
            fts_set(tree, entry, FTS_SKIP);
        if (!is_wanted(entry->fts_name) || !is_file(entry))
            continue;
        const char *path = arena_strdup(arena, entry->fts_path);
        if (!path || !array_reserve(&index->paths, &index->capacity, index->count + 1,
                                    sizeof(*index->paths)))
            break;
        index->paths[index->count++] = path;
    }
    if (tree)
        fts_close(tree);
}

static struct source_index *make_index(struct target *target)
{
    struct source_index *index = calloc(1, sizeof(*index));
    if (!index)
        return NULL;
    for (size_t i = 0; i < target->options.source_directory_count; i++) {
        char *real PSC_CLEANUP(cleanup_free) =
            realpath(target->options.source_directories[i], NULL);
        if (real)
            index_tree(index, target->arena, real);
        else
            target_warn(target, "source-dir-missing", "%s: there is no such directory",
                        target->options.source_directories[i]);
    }
    if (index->count)
        qsort(index->paths, index->count, sizeof(*index->paths), compare_bases);
    return index;
}

void target_sources_close(struct target *target)
{
    if (target->sources)
        free(target->sources->paths);
    free(target->sources);
    target->sources = NULL;
}

/* How many components at the ends of two paths are equal; "." and empty ones do not count. */
static size_t count_equal(const char *left, const char *right)
{
    size_t equal = 0, a = strlen(left), b = strlen(right);
    for (;;) {
        size_t end_a = a, end_b = b;
        while (a && left[a - 1] != '/')
            a--;
        while (b && right[b - 1] != '/')
            b--;
        if (end_a - a != end_b - b || end_a == a || memcmp(left + a, right + b, end_a - a) != 0)
            return equal;
        equal++;
        while (a && left[a - 1] == '/')
            a--;
        while (b && right[b - 1] == '/')
            b--;
    }
}

/* Copies of a file, in the tree that it was built in, say. */
static bool same_content(const char *left, const char *right)
{
    char bytes[2][COMPARED_AT_ONCE];
    struct stat status[2];
    int files[2] = {foreign_file_open(NULL, left), foreign_file_open(NULL, right)};
    bool same = files[0] >= 0 && files[1] >= 0 && !fstat(files[0], &status[0]) &&
                !fstat(files[1], &status[1]) && status[0].st_size == status[1].st_size &&
                status[0].st_size <= COMPARED_LIMIT;
    for (off_t at = 0; same && at < status[0].st_size; at += COMPARED_AT_ONCE) {
        ssize_t size = pread(files[0], bytes[0], sizeof(bytes[0]), at);
        same = size > 0 && pread(files[1], bytes[1], sizeof(bytes[1]), at) == size &&
               !memcmp(bytes[0], bytes[1], (size_t)size);
    }
    for (size_t i = 0; i < 2; i++)
        if (files[i] >= 0)
            close(files[i]);
    return same;
}

const char *target_find_source(struct target *target, const char *path, size_t least)
{
    if (!target->options.source_directory_count)
        return NULL;
    if (!target->sources)
        target->sources = make_index(target);
    const struct source_index *index = target->sources;
    const char *base = base_of(path), *best = NULL;
    size_t count = index ? index->count : 0, most = 0;
    bool ambiguous = false;
    for (size_t at = SORTED_COUNT(i, count, strcmp(base_of(index->paths[i]), base) < 0);
         at < count && !strcmp(base_of(index->paths[at]), base); at++) {
        size_t equal = count_equal(index->paths[at], path);
        if (equal < most || (equal < least && equal < count_equal(path, path)))
            continue;
        ambiguous = equal == most && best && (ambiguous || !same_content(best, index->paths[at]));
        best = equal > most ? index->paths[at] : best;
        most = equal;
    }
    return ambiguous ? NULL : best;
}
