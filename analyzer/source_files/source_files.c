/* Source text: files are read on first need and indexed by line. */
#include "source_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_SIZE_LIMIT ((size_t)64 * 1024 * 1024)
#define SOURCE_FILE_LIMIT 4096
#define SHOWN_LINE_LIMIT  400 /* Bytes of a line that are kept. */
/* Of so many lines the start of one is kept: a file may have nothing but ends of lines. */
#define LINES_A_START 32

struct source_file {
    const char *path; /* As the target names it. */
    const char *text; /* NULL: not at hand. */
    size_t size;
    char *bytes;      /* What the text is in, malloc'd. */
    uint32_t *starts; /* Offsets of the first line, and of each LINES_A_START-th behind it. */
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
        free(file->bytes);
        free(file->starts);
    }
    hash_table_deinit(&sources->files);
    free(sources);
}

static void source_index_lines(struct source_file *file)
{
    size_t capacity = 0;
    size_t count = 0;
    const char *at = file->text, *end = file->text ? at + file->size : NULL;
    while (at < end) {
        if (file->line_count % LINES_A_START == 0) {
            if (!array_reserve(&file->starts, &capacity, count + 1, sizeof(*file->starts)))
                return;
            file->starts[count++] = (uint32_t)(at - file->text);
        }
        file->line_count++;
        at += source_line_length(at, (size_t)(end - at));
    }
}

static void source_take_text(struct source_file *file, size_t byte_count)
{
    static const size_t mark = 3;
    char *converted;
    size_t size;
    file->text = file->bytes;
    file->size = byte_count;
    switch (source_decode(file->text, file->size, &converted, &size)) {
    case SOURCE_UTF8:
    case SOURCE_UNKNOWN:
        break;
    case SOURCE_UTF8_MARKED:
        file->text += mark;
        file->size -= mark;
        break;
    case SOURCE_CONVERTED:
        free(file->bytes);
        file->text = file->bytes = converted;
        file->size = size;
        break;
    }
}

/* A file of Cython's that was found by its module has a path of its own here. */
static void note_need(struct target *target, const char *path, const char *local)
{
    struct stat status;
    bool is_here = !stat(path, &status) && S_ISREG(status.st_mode);
    const char *found = local ? local : is_here ? path : NULL;
    const char *home = found ? target_home_of(target, found) : NULL;
    target_need_file(target, &(struct target_needed_file){.kind = TARGET_NEED_SOURCE,
                                                          .path = home ? home : path,
                                                          .local = found});
}

static void source_open(struct target *target, struct source_file *file)
{
    // "<string>", "<frozen importlib._bootstrap>": no file has such a name.
    if (!file->path[0] || file->path[0] == '<')
        return;
    const char *local;
    int fd = target_find_and_open(target, file->path, &local);
    if (!local)
        local = target_find_source(target, file->path, 2);
    note_need(target, file->path, local);
    if (!local)
        local = file->path;
    if (fd < 0)
        fd = target_open_local(target, local);
    if (fd < 0)
        return;
    size_t size = 0;
    if (target_user_may_read(target, local, fd))
        file->bytes = file_bytes_read(fd, SOURCE_SIZE_LIMIT, &size);
    close(fd);
    // Compilers refuse source files with a NUL.
    if (file->bytes && !memchr(file->bytes, '\0', size))
        source_take_text(file, size);
}

char *sources_read_file(struct target *target, const char *path, size_t *ret_size)
{
    struct source_file file = {.path = path};
    source_open(target, &file);
    if (!file.text) {
        free(file.bytes);
        return NULL;
    }
    memmove(file.bytes, file.text, file.size);
    *ret_size = file.size;
    return file.bytes;
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
            source_open(sources->target, file);
            source_index_lines(file);
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
    size_t start = file->starts[(line - 1) / LINES_A_START];
    for (uint32_t i = 0; i < (line - 1) % LINES_A_START; i++)
        start += source_line_length(file->text + start, file->size - start);
    size_t end = start + source_line_length(file->text + start, file->size - start);
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
