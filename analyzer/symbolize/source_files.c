/* Source text: files are mapped on first need and indexed by line. */
#include "source_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_SIZE_LIMIT ((off_t)64 * 1024 * 1024)
#define SOURCE_FILE_LIMIT 4096
#define SHOWN_LINE_LIMIT  400 /* Bytes of a line that are kept. */

struct source_file {
    const char *path; /* As the target names it. */
    const char *text; /* NULL: not at hand. */
    size_t size;
    void *mapping; /* NULL: the text is malloc'd. */
    size_t mapping_size;
    uint32_t *starts; /* Offset of each line. */
    size_t line_count;
};

struct sources {
    struct target *target;
    struct arena *arena;
    struct hash_table files; /* struct source_file, by path. */
    size_t last;             /* The one that was asked for last. */
};

struct sources *sources_create(struct target *target, struct arena *arena)
{
    struct sources *sources = calloc(1, sizeof(*sources));
    if (sources) {
        sources->target = target;
        sources->arena = arena;
        sources->files = HASH_TABLE_OF(struct source_file);
    }
    return sources;
}

void sources_destroy(struct sources *sources)
{
    if (!sources)
        return;
    for (size_t i = 0; i < sources->files.count; i++) {
        const struct source_file *file = hash_table_at(&sources->files, i);
        if (file->mapping)
            munmap(file->mapping, file->mapping_size);
        else
            free((void *)(uintptr_t)file->text);
        free(file->starts);
    }
    hash_table_deinit(&sources->files);
    free(sources);
}

static void source_index_lines(struct source_file *file)
{
    size_t capacity = 0;
    const char *at = file->text, *end = at + file->size;
    while (at < end) {
        if (!array_reserve(&file->starts, &capacity, file->line_count + 1, sizeof(*file->starts)))
            return;
        file->starts[file->line_count++] = (uint32_t)(at - file->text);
        at += source_line_length(at, (size_t)(end - at));
    }
}

static void source_take_text(struct source_file *file)
{
    static const size_t mark = 3;
    char *converted;
    size_t size;
    file->text = file->mapping;
    file->size = file->mapping_size;
    switch (source_decode(file->text, file->size, &converted, &size)) {
    case SOURCE_UTF8:
    case SOURCE_UNKNOWN:
        break;
    case SOURCE_UTF8_MARKED:
        file->text += mark;
        file->size -= mark;
        break;
    case SOURCE_CONVERTED:
        munmap(file->mapping, file->mapping_size);
        file->mapping = NULL;
        file->text = converted;
        file->size = size;
        break;
    }
}

/* Maps a regular file of a size that source files have. */
static void *map_file(int fd, size_t *ret_size)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size <= 0 ||
        status.st_size > SOURCE_SIZE_LIMIT)
        return NULL;
    void *text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    *ret_size = (size_t)status.st_size;
    return text == MAP_FAILED ? NULL : text;
}

static void source_open(struct sources *sources, struct source_file *file)
{
    // "<string>", "<frozen importlib._bootstrap>": no file has such a name.
    if (!file->path[0] || file->path[0] == '<')
        return;
    const char *local = target_find_local_path(sources->target, file->path);
    if (!local)
        local = target_find_source(sources->target, file->path, 2);
    int fd = open(local ? local : file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return;
    file->mapping = map_file(fd, &file->mapping_size);
    close(fd);
    // Compilers refuse source files with a NUL.
    if (!file->mapping || memchr(file->mapping, '\0', file->mapping_size))
        return;
    source_take_text(file);
    source_index_lines(file);
}

static bool has_path(const void *item, const void *path)
{
    return !strcmp(((const struct source_file *)item)->path, path);
}

static struct source_file *sources_get(struct sources *sources, const char *path)
{
    struct hash_table *files = &sources->files;
    if (sources->last < files->count && has_path(hash_table_at(files, sources->last), path))
        return hash_table_at(files, sources->last);
    uint64_t hash = hash_text(path, strlen(path));
    struct source_file *file = hash_table_find_by(files, hash, has_path, path);
    if (!file && files->count < SOURCE_FILE_LIMIT) {
        const char *kept = arena_strdup(sources->arena, path);
        file = kept ? hash_table_add_by(files, hash) : NULL;
        if (file) {
            file->path = kept;
            source_open(sources, file);
        }
    }
    if (file)
        sources->last = (size_t)(file - (struct source_file *)files->items);
    return file;
}

const char *sources_find_line(struct sources *sources, const char *path, uint32_t line,
                              size_t *ret_size)
{
    struct source_file *file = sources_get(sources, path);
    if (!file || !file->text || !line || line > file->line_count)
        return NULL;
    size_t start = file->starts[line - 1];
    size_t end = line < file->line_count ? file->starts[line] : file->size;
    while (end > start && (file->text[end - 1] == '\n' || file->text[end - 1] == '\r'))
        end--;
    *ret_size = end - start;
    return file->text + start;
}

const char *sources_copy_line(struct sources *sources, const char *path, uint32_t line)
{
    size_t size;
    const char *text = sources_find_line(sources, path, line, &size);
    if (!text)
        return NULL;
    while (size && (*text == ' ' || *text == '\t' || *text == '\f')) {
        text++;
        size--;
    }
    while (size && (text[size - 1] == ' ' || text[size - 1] == '\t'))
        size--;
    if (!size)
        return NULL;
    if (size > SHOWN_LINE_LIMIT) {
        size = SHOWN_LINE_LIMIT;
        while (size && utf8_continues(text[size]))
            size--;
    }
    const char *nul = memchr(text, '\0', size);
    return arena_strndup(sources->arena, text, nul ? (size_t)(nul - text) : size);
}
