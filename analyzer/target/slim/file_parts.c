/* Which pages of a file were looked at: proc_pid_maps(5), proc_pid_pagemap(5). */
#include "slim_private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PRESENT       (UINT64_C(3) << 62) /* In memory, or written to the swap. */
#define ENTRIES       512
#define MAPPING_LIMIT 100000u /* Lines that are read of the first file. */

/* A line: a part of a file that is mapped into this process. */
struct own_mapping {
    uint64_t start, end, offset;
    uint64_t device, inode;
};

struct pages {
    uint64_t size; /* Of one. */
    uint64_t file_size;
    uint64_t *seen; /* A bit for each. */
};

static bool next_mapping(FILE *maps, char **line, size_t *capacity, struct own_mapping *ret)
{
    uint32_t major, minor;
    if (getline(line, capacity, maps) < 0 ||
        sscanf(*line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64,
               &ret->start, &ret->end, &ret->offset, &major, &minor, &ret->inode) != 6)
        return false;
    ret->device = (uint64_t)major << 32 | minor;
    return true;
}

/* All mappings, malloc'd. */
static struct own_mapping *read_mappings(size_t *ret_count)
{
    void *items = NULL;
    size_t capacity = 0, line_capacity = 0;
    char *line = NULL;
    struct own_mapping mapping;
    FILE *maps = fopen("/proc/self/maps", "re");
    *ret_count = 0;
    while (maps && *ret_count < MAPPING_LIMIT &&
           next_mapping(maps, &line, &line_capacity, &mapping) &&
           array_reserve(&items, &capacity, *ret_count + 1, sizeof(mapping)))
        ((struct own_mapping *)items)[(*ret_count)++] = mapping;
    free(line);
    if (maps)
        fclose(maps);
    return items;
}

/* False: the kernel does not tell. */
static bool mark_seen(int pagemap, const struct own_mapping *mapping, struct pages *pages)
{
    uint64_t entries[ENTRIES];
    for (uint64_t at = mapping->start; at < mapping->end; at += ENTRIES * pages->size) {
        uint64_t left = (mapping->end - at) / pages->size;
        size_t count = left < ENTRIES ? (size_t)left : ENTRIES;
        ssize_t wanted = (ssize_t)(count * sizeof(*entries));
        if (pread(pagemap, entries, (size_t)wanted, (off_t)(at / pages->size * sizeof(*entries))) !=
            wanted)
            return false;
        for (size_t i = 0; i < count; i++) {
            uint64_t offset = mapping->offset + (at - mapping->start) + i * pages->size;
            uint64_t page = offset / pages->size;
            if (entries[i] & PRESENT && offset < pages->file_size)
                pages->seen[page / 64] |= UINT64_C(1) << page % 64;
        }
    }
    return true;
}

static bool is_seen(const struct pages *pages, uint64_t page)
{
    return pages->seen[page / 64] >> page % 64 & 1;
}

static void list_seen(const struct pages *pages, struct slim_parts *ret)
{
    const uint64_t count = (pages->file_size + pages->size - 1) / pages->size;
    size_t capacity = 0;
    void *items = NULL;
    for (uint64_t page = 0; page < count; page++) {
        uint64_t start = page * pages->size;
        if (!is_seen(pages, page))
            continue;
        while (page + 1 < count && is_seen(pages, page + 1))
            page++;
        uint64_t end = (page + 1) * pages->size;
        if (!array_reserve(&items, &capacity, ret->count + 1, sizeof(*ret->items))) {
            ret->count = 0;
            break;
        }
        ret->items = items;
        ret->items[ret->count++] =
            (struct elf_range){start, end < pages->file_size ? end : pages->file_size};
    }
    ret->items = items;
}

/* The mapping that begins there; NULL: the kernel does not tell of it. */
static const struct own_mapping *find_mapping(const struct own_mapping *mappings, size_t count,
                                              const void *start)
{
    for (size_t i = 0; i < count; i++)
        if (mappings[i].start == (uintptr_t)start && mappings[i].inode)
            return &mappings[i];
    return NULL;
}

static bool mark_all(const struct own_mapping *mappings, size_t count,
                     const struct own_mapping *own, bool is_new, struct pages *pages)
{
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    size_t others = 0;
    bool good = pagemap >= 0;
    for (size_t i = 0; good && i < count; i++) {
        const struct own_mapping *mapping = &mappings[i];
        // Of a library that this process runs by itself the loader has mapped parts.
        if (mapping->device != own->device || mapping->inode != own->inode || mapping->offset ||
            mapping->end - mapping->start < pages->file_size)
            continue;
        others += mapping != own;
        good = mark_seen(pagemap, mapping, pages);
    }
    if (pagemap >= 0)
        close(pagemap);
    return good && (others || !is_new);
}

void slim_find_parts(const struct elf_bytes *bytes, bool is_new, struct slim_parts *ret)
{
    size_t count;
    struct own_mapping *mappings PSC_CLEANUP(cleanup_free) = read_mappings(&count);
    const struct own_mapping *own = find_mapping(mappings, count, bytes->data);
    struct pages pages = {.size = (uint64_t)sysconf(_SC_PAGESIZE), .file_size = bytes->size};
    *ret = (struct slim_parts){0};
    pages.seen =
        own ? calloc((size_t)(bytes->size / pages.size / 64 + 1), sizeof(*pages.seen)) : NULL;
    if (pages.seen && mark_all(mappings, count, own, is_new, &pages))
        list_seen(&pages, ret);
    free(pages.seen);
    if (ret->items && ret->count == 1 && !ret->items[0].start && ret->items[0].end == bytes->size)
        ret->count = 0;
}
