/* The map from lines of the generated C to those of the .pyx. */
#include "lines_private.h"

#include <stdlib.h>

/* A module has one .pyx and a few .pxi and .pxd. */
#define FILE_LIMIT 1024

static uint32_t hash_bytes(struct slice text)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (uint8_t)text.data[i]) * 16777619u;
    return hash;
}

uint32_t cython_lines_intern_file(struct cython_lines *lines, struct slice name)
{
    uint32_t hash = hash_bytes(name);
    for (size_t i = 0; i < lines->file_count; i++) {
        if (lines->hashes[i] == hash && slice_equals(name, lines->files[i]))
            return (uint32_t)i;
    }
    if (lines->file_count == FILE_LIMIT ||
        !array_reserve((void **)&lines->files, &lines->file_capacity, lines->file_count + 1,
                       sizeof(*lines->files)) ||
        !array_reserve((void **)&lines->hashes, &lines->hash_capacity, lines->file_count + 1,
                       sizeof(*lines->hashes)))
        return NO_FILE;
    const char *copy = arena_strndup(lines->arena, name.data, name.size);
    if (!copy)
        return NO_FILE;
    lines->files[lines->file_count] = copy;
    lines->hashes[lines->file_count] = hash;
    return (uint32_t)lines->file_count++;
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
    free(lines->files);
    free(lines->hashes);
    arena_destroy(lines->arena);
    free(lines);
}

bool cython_lines_is_empty(const struct cython_lines *lines)
{
    return lines->file_count == 0;
}

bool cython_lines_get(const struct cython_lines *lines, uint32_t c_line, struct cython_line *ret)
{
    size_t low = 0;
    size_t high = lines->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lines->ranges[middle].c_line <= c_line)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || c_line > lines->last_c_line || lines->ranges[low - 1].file == NO_FILE)
        return false;
    ret->file = lines->files[lines->ranges[low - 1].file];
    ret->line = lines->ranges[low - 1].line;
    ret->only_of = lines->only_of;
    return true;
}
