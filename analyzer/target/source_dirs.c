/* Source files below the directories that the user names: found by how much of a path agrees. */
#include "foreign_file.h"
#include "target_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Files that may be copies of each other. */
#define COMPARED_LIMIT   ((off_t)16 << 20)
#define COMPARED_AT_ONCE 16384

static bool is_wanted(void *context, const char *name)
{
    (void)context;
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

/* malloc'd; as it was given where the names of links must not be read. NULL: no such folder. */
static char *find_real(const char *path)
{
    char *real = realpath(path, NULL);
    if (real || (errno != EPERM && errno != EACCES))
        return real;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    close(fd);
    return strdup(path);
}

static struct file_index *make_index(struct target *target)
{
    const struct file_index_request request = {
        .arena = target->arena, .wants = is_wanted, .skips_hidden = true};
    struct file_index *index = calloc(1, sizeof(*index));
    enum psc_status status = index ? PSC_OK : PSC_ERR_MEMORY;
    for (size_t i = 0; status == PSC_OK && i < target->options.source_directory_count; i++) {
        char *real PSC_CLEANUP(cleanup_free) = find_real(target->options.source_directories[i]);
        if (real)
            status = file_index_add(index, &request, real);
        else
            target_warn(target, "source-dir-missing", "%s: there is no such directory",
                        target->options.source_directories[i]);
    }
    // Without memory what was found serves.
    if (index)
        file_index_sort(index);
    return index;
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
    const struct file_index *index = target->sources;
    const char *base = file_base_name(path), *best = NULL;
    size_t most = 0;
    bool ambiguous = false;
    for (size_t at = index ? file_index_find(index, base) : 0;
         index && at < index->count && !strcmp(file_base_name(index->items[at].path), base); at++) {
        const char *found = index->items[at].path;
        size_t equal = count_equal(found, path);
        if (equal < most || (equal < least && equal < count_equal(path, path)))
            continue;
        ambiguous = equal == most && best && (ambiguous || !same_content(best, found));
        best = equal > most ? found : best;
        most = equal;
    }
    return ambiguous ? NULL : best;
}
