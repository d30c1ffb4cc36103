/* Source files, a few of them in memory. */
#include "foreign_file.h"
#include "messages.h"
#include "sources_private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a source file: longer ones are read as if they were not there. */
#define SOURCE_LIMIT ((off_t)16 << 20)
/* Bytes of those in memory, but for the last one. */
#define CACHE_LIMIT ((size_t)64 << 20)
/* Kilobytes of source files that are read or searched, and some for each that is asked for. */
#define SEARCH_LIMIT ((uint64_t)4 << 20)
#define FILE_COST    4u

bool sources_are_exhausted(struct sources *sources)
{
    if (sources->searched < SEARCH_LIMIT)
        return false;
    if (!sources->exhausted)
        complain("reports name too many source files: further ones are not looked for");
    sources->exhausted = true;
    return true;
}

static void drop(struct source_file *file)
{
    free(file->path);
    free(file->text);
    free(file->lines);
    *file = (struct source_file){0};
}

static bool read_all(int fd, char *text, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t length = read(fd, text + got, size - got);
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return false;
        got += (size_t)length;
    }
    return true;
}

static bool split(struct source_file *file)
{
    size_t count = 1;
    for (size_t i = 0; i < file->size; i++)
        count += file->text[i] == '\n';
    file->lines = calloc(count, sizeof(*file->lines));
    if (!file->lines)
        return false;
    file->line_count = 1;
    for (size_t i = 0; i + 1 < file->size; i++)
        if (file->text[i] == '\n')
            file->lines[file->line_count++] = i + 1;
    return true;
}

static void load(struct source_file *file)
{
    struct stat status;
    int fd = foreign_file_open(NULL, file->path);
    if (fd < 0)
        return;
    bool good = !fstat(fd, &status) && status.st_size > 0 && status.st_size <= SOURCE_LIMIT;
    file->size = good ? (size_t)status.st_size : 0;
    file->text = good ? malloc(file->size) : NULL;
    if (!file->text || !read_all(fd, file->text, file->size) || !split(file)) {
        free(file->text);
        file->text = NULL;
    }
    close(fd);
}

static size_t size_in_memory(const struct source_file *file)
{
    return file->text ? file->size + file->line_count * sizeof(*file->lines) : 0;
}

/* Nobody has one of the others by now. */
static void make_room(struct sources *sources)
{
    size_t size = 0;
    for (size_t i = 0; i < CACHE_SIZE; i++)
        size += size_in_memory(&sources->cache[i]);
    for (size_t i = 0; size > CACHE_LIMIT && i < CACHE_SIZE; i++)
        drop(&sources->cache[i]);
}

const struct source_file *read_source(struct sources *sources, const char *path)
{
    for (size_t i = 0; i < CACHE_SIZE; i++)
        if (sources->cache[i].path && !strcmp(sources->cache[i].path, path))
            return &sources->cache[i];
    struct source_file *file = &sources->cache[sources->next];
    sources->next = (sources->next + 1) % CACHE_SIZE;
    drop(file);
    make_room(sources);
    file->path = strdup(path);
    if (!file->path)
        return NULL;
    if (!sources_are_exhausted(sources))
        load(file);
    sources->searched += FILE_COST + size_in_memory(file) / SOURCE_COST_BYTES;
    return file;
}

bool source_names(const struct source_file *file, const char *name)
{
    const size_t length = strlen(name);
    const char *at = file->text, *end = file->text + file->size;
    while ((at = memmem(at, (size_t)(end - at), name, length))) {
        const char before = at > file->text ? at[-1] : ' ';
        const char after = at + length < end ? at[length] : ' ';
        if (!isalnum((unsigned char)before) && before != '_' && !isalnum((unsigned char)after) &&
            after != '_')
            return true;
        at += length;
    }
    return false;
}

const char *sources_line(struct sources *sources, const char *path, long long line,
                         size_t *ret_size)
{
    const struct source_file *file = read_source(sources, path);
    if (!file || !file->text || line < 1 || (unsigned long long)line > file->line_count)
        return NULL;
    const char *at = file->text + file->lines[line - 1], *end = file->text + file->size;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    end = newline ? newline : end;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\f'))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    *ret_size = (size_t)(end - at);
    return at;
}

void sources_close(struct sources *sources)
{
    if (!sources)
        return;
    for (size_t i = 0; i < CACHE_SIZE; i++)
        drop(&sources->cache[i]);
    free(sources->folder);
    free(sources->real);
    free(sources->found);
    redact_secrets_destroy(sources->secrets);
    text_deinit(&sources->masked);
    free(sources);
}
