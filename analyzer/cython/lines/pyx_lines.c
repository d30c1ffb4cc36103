/* The map from lines of the generated C to those of the .pyx. */
#include "lines_private.h"

#include <stdlib.h>

/* A module has one .pyx and a few .pxi and .pxd. */
#define FILE_LIMIT 1024

static bool is_named(const void *item, const void *key)
{
    return slice_equals(*(const struct slice *)key, *(const char *const *)item);
}

uint32_t cython_lines_intern_file(struct cython_lines *lines, struct slice name)
{
    uint64_t hash = hash_text(name.data, name.size);
    const char **known = hash_table_find_by(&lines->files, hash, is_named, &name);
    if (known)
        return (uint32_t)(known - (const char **)lines->files.items);
    const char *copy =
        lines->files.count < FILE_LIMIT ? arena_strndup(lines->arena, name.data, name.size) : NULL;
    const char **added = copy ? hash_table_add_by(&lines->files, hash) : NULL;
    if (!added)
        return NO_FILE;
    *added = copy;
    return (uint32_t)lines->files.count - 1;
}

bool cython_lines_add_range(struct cython_lines *lines, const struct line_range *range)
{
    if (lines->count && lines->ranges[lines->count - 1].file == range->file &&
        lines->ranges[lines->count - 1].line == range->line)
        return true;
    if (!array_reserve((void **)&lines->ranges, &lines->capacity, lines->count + 1,
                       sizeof(*lines->ranges)))
        return false;
    lines->ranges[lines->count++] = *range;
    return true;
}

struct cython_lines *cython_lines_create(void)
{
    struct cython_lines *lines = calloc(1, sizeof(*lines));
    if (lines && !(lines->arena = arena_create())) {
        free(lines);
        return NULL;
    }
    if (lines)
        hash_table_init(&lines->files, sizeof(const char *));
    return lines;
}

bool cython_lines_add(struct cython_lines *lines, struct slice file, uint32_t c_line, uint32_t line)
{
    struct line_range gap = {.c_line = lines->last_c_line + 1, .file = NO_FILE};
    struct line_range range = {
        .c_line = c_line, .file = cython_lines_intern_file(lines, file), .line = line};
    if (c_line > gap.c_line && !cython_lines_add_range(lines, &gap))
        return false;
    lines->last_c_line = c_line;
    return range.file == NO_FILE || cython_lines_add_range(lines, &range);
}

void cython_lines_limit(struct cython_lines *lines, struct slice module_name)
{
    lines->only_of = arena_strndup(lines->arena, module_name.data, module_name.size);
}

bool cython_lines_has_files(const struct cython_lines *lines)
{
    return !lines->only_of;
}

void cython_lines_destroy(struct cython_lines *lines)
{
    if (!lines)
        return;
    free(lines->ranges);
    hash_table_deinit(&lines->files);
    arena_destroy(lines->arena);
    free(lines);
}

bool cython_lines_is_empty(const struct cython_lines *lines)
{
    return lines->files.count == 0;
}

bool cython_lines_get(const struct cython_lines *lines, uint32_t c_line, struct cython_line *ret)
{
    size_t low = SORTED_UP_TO(lines->ranges, c_line, lines->count, c_line);
    if (!low || c_line > lines->last_c_line || lines->ranges[low - 1].file == NO_FILE)
        return false;
    ret->file = *(const char **)hash_table_at(&lines->files, lines->ranges[low - 1].file);
    ret->line = lines->ranges[low - 1].line;
    ret->only_of = lines->only_of;
    return true;
}
