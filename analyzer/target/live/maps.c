/* /proc/PID/maps, and the reading of files of /proc. */
#include "live_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROC_FILE_LIMIT ((size_t)256 * 1024 * 1024)
#define MAPPING_LIMIT   ((size_t)4 * 1024 * 1024)
#define READ_AT_ONCE    ((size_t)4096)

/* ---- bytes ---- */

static bool take_hexadecimal(const char **at, const char *end, uint64_t *ret)
{
    const char *from = *at;
    uint64_t value = 0;
    while (*at < end && *at - from < 16) {
        char digit = **at;
        unsigned nibble = digit >= '0' && digit <= '9'   ? (unsigned)(digit - '0')
                          : digit >= 'a' && digit <= 'f' ? (unsigned)(digit - 'a') + 10
                                                         : 16;
        if (nibble > 15)
            break;
        value = value << 4 | nibble;
        ++*at;
    }
    *ret = value;
    return *at > from;
}

static bool take_decimal(const char **at, const char *end, uint64_t *ret)
{
    const char *from = *at;
    uint64_t value = 0;
    while (*at < end && **at >= '0' && **at <= '9' && *at - from < 19)
        value = value * 10 + (uint64_t)(*(*at)++ - '0');
    *ret = value;
    return *at > from;
}

static bool take_character(const char **at, const char *end, char character)
{
    if (*at >= end || **at != character)
        return false;
    ++*at;
    return true;
}

/* fs/proc/task_mmu.c, show_map_vma(): start-end rwxp offset major:minor inode, blanks, path. */
static bool parse_map(const char *at, const char *end, struct live_map *ret)
{
    uint64_t major, minor;
    *ret = (struct live_map){0};
    if (!take_hexadecimal(&at, end, &ret->start) || !take_character(&at, end, '-') ||
        !take_hexadecimal(&at, end, &ret->end) || !take_character(&at, end, ' ') || end - at < 4)
        return false;
    ret->readable = at[0] == 'r';
    ret->writable = at[1] == 'w';
    ret->executable = at[2] == 'x';
    ret->shared = at[3] == 's';
    at += 4;
    if (!take_character(&at, end, ' ') || !take_hexadecimal(&at, end, &ret->offset) ||
        !take_character(&at, end, ' ') || !take_hexadecimal(&at, end, &major) ||
        !take_character(&at, end, ':') || !take_hexadecimal(&at, end, &minor) ||
        !take_character(&at, end, ' ') || !take_decimal(&at, end, &ret->inode))
        return false;
    while (at < end && *at == ' ')
        at++;
    ret->device = major << 32 | (minor & UINT32_MAX);
    ret->path = at;
    ret->path_size = (size_t)(end - at);
    return ret->start < ret->end;
}

bool parse_next_map(const char **at, const char *end, struct live_map *ret)
{
    while (*at < end) {
        const char *line = *at;
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop)
            stop = end;
        *at = stop < end ? stop + 1 : end;
        if (parse_map(line, stop, ret))
            return true;
    }
    return false;
}

/* ---- files of /proc ---- */

int live_read_file(int fd, struct live_text *ret)
{
    ret->size = 0;
    for (;;) {
        void *bytes = ret->bytes;
        if (ret->size >= PROC_FILE_LIMIT)
            return EFBIG;
        if (ret->capacity - ret->size < 4096 &&
            !array_reserve(&bytes, &ret->capacity, ret->capacity + 65536, 1))
            return ENOMEM;
        ret->bytes = bytes;
        ssize_t got =
            pread(fd, ret->bytes + ret->size, ret->capacity - ret->size, (off_t)ret->size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno;
        if (!got)
            return 0;
        ret->size += (size_t)got;
    }
}

int live_read_path(int directory, const char *name, struct live_text *ret)
{
    ret->size = 0;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = live_read_file(fd, ret);
    close(fd);
    return error;
}

bool live_read_timed(const struct live *live, int fd, size_t limit, struct live_text *ret)
{
    ssize_t got = 1;
    ret->size = 0;
    while (got > 0 && ret->size < limit) {
        void *bytes = ret->bytes;
        if (!array_reserve(&bytes, &ret->capacity, ret->size + READ_AT_ONCE, 1))
            break;
        ret->bytes = bytes;
        got = reader_pread(live->reader, fd, ret->bytes + ret->size, READ_AT_ONCE, ret->size);
        ret->size += got > 0 ? (size_t)got : 0;
    }
    ret->size = got < 0 ? 0 : ret->size;
    if (got < 0 && errno == ETIMEDOUT)
        *ret = (struct live_text){0}; // The reader may still write to it.
    return got >= 0;
}

/* ---- mappings ---- */

/* The next character of a path; a newline is the only one that the kernel writes in another way. */
static char next_character(const char **at, const char *end)
{
    bool newline = end - *at >= 4 && !memcmp(*at, "\\012", 4);
    char character = newline ? '\n' : **at;
    *at += newline ? 4 : 1;
    return character;
}

static char *copy_path(struct arena *arena, const struct live_map *map)
{
    const char *at = map->path, *end = at + map->path_size;
    char *path = arena_alloc(arena, map->path_size + 1);
    for (char *to = path; to && at < end; to++)
        *to = next_character(&at, end);
    return path;
}

/* The path counts, too: a file can have several. " (deleted)" behind it may be new. */
static bool is_same_file(const struct target_file *file, const struct live_file *known_file,
                         const struct live_map *map)
{
    const char *at = map->path, *end = at + map->path_size;
    if (known_file->device != map->device || known_file->inode != map->inode)
        return false;
    for (const char *known = file->path; *known; known++)
        if (at >= end || next_character(&at, end) != *known)
            return false;
    return true;
}

/* The process itself knows only what is below its root (chroot, container). */
static void cut_root(struct live_map *map, const char *root)
{
    size_t length = strlen(root);
    if (length && map->path_size > length && !memcmp(map->path, root, length) &&
        map->path[length] == '/') {
        map->path += length;
        map->path_size -= length;
    }
}

static struct target_file *find_file(struct target *target, struct live_files *files,
                                     const struct live_map *map)
{
    // Mappings of a file follow each other, and so do files that were added for them.
    for (size_t i = files->count; i; i--)
        if (is_same_file(target->files[i - 1], &files->items[i - 1], map))
            return target->files[i - 1];
    void *items = files->items;
    if (!array_reserve(&items, &files->capacity, files->count + 1, sizeof(*files->items)))
        return NULL;
    files->items = items;
    char *path = copy_path(target->arena, map);
    struct target_file *file = path ? target_add_file(target, path) : NULL;
    if (file)
        files->items[files->count++] =
            (struct live_file){.device = map->device, .inode = map->inode};
    return file;
}

enum psc_status live_take_maps(struct target *target, struct live_files *files,
                               const struct live_text *maps, const char *root)
{
    const char *at = maps->bytes;
    const char *end = at + maps->size;
    struct target_mapping *mappings = NULL;
    size_t count = 0, capacity = 0;
    struct live_map map;
    while (at < end && count < MAPPING_LIMIT && parse_next_map(&at, end, &map)) {
        void *grown = mappings;
        if (!array_reserve(&grown, &capacity, count + 1, sizeof(*mappings))) {
            free(mappings);
            return PSC_ERR_MEMORY;
        }
        mappings = grown;
        // The kernel lists them in order; a list that changed while it was read may overlap.
        if (count && map.start < mappings[count - 1].end)
            continue;
        struct target_mapping *mapping = &mappings[count++];
        *mapping = (struct target_mapping){.start = map.start,
                                           .end = map.end,
                                           .offset = map.offset,
                                           .permissions_known = true,
                                           .readable = map.readable,
                                           .writable = map.writable,
                                           .executable = map.executable};
        if (!map.inode || !map.path_size || map.path[0] != '/')
            continue;
        cut_root(&map, root);
        mapping->file = find_file(target, files, &map);
        if (!mapping->file) {
            free(mappings);
            return PSC_ERR_MEMORY;
        }
    }
    free(target->mappings);
    target->mappings = mappings;
    target->chained_count = 0;
    target->mapping_count = count;
    return PSC_OK;
}

/* ---- two lists ---- */

/* Files of code and where they are; data files come and go. */
static bool is_module_mapping(const struct target_mapping *mapping)
{
    return mapping->file && (mapping->executable || mapping->offset == 0);
}

bool live_same_modules(const struct target_mapping *a, size_t a_count,
                       const struct target_mapping *b, size_t b_count)
{
    for (size_t i = 0, j = 0;; i++, j++) {
        while (i < a_count && !is_module_mapping(&a[i]))
            i++;
        while (j < b_count && !is_module_mapping(&b[j]))
            j++;
        if (i == a_count || j == b_count)
            return i == a_count && j == b_count;
        if (a[i].file != b[j].file || a[i].start != b[j].start || a[i].end != b[j].end)
            return false;
    }
}

/* What of the mapping, from `start` on, lies before `end`. */
static void add_part(const struct target_mapping *mapping, psc_addr start, psc_addr end,
                     struct target_mapping *items, size_t *count)
{
    struct target_mapping *part = &items[(*count)++];
    *part = *mapping;
    part->offset += start - mapping->start;
    part->start = start;
    part->end = end;
}

enum psc_status live_join_maps(struct target *target, const struct target_mapping *before,
                               size_t before_count)
{
    const struct target_mapping *now = target->mappings;
    size_t now_count = target->mapping_count, next = 0, count = 0;
    // Each mapping of now cuts one from before into two parts at most.
    struct target_mapping *items = calloc(before_count + 2 * now_count + 1, sizeof(*items));
    if (!items)
        return PSC_ERR_MEMORY;
    for (size_t i = 0; i < before_count; i++) {
        psc_addr start = before[i].start, end = before[i].end;
        while (next < now_count && now[next].end <= start)
            items[count++] = now[next++];
        while (start < end && next < now_count && now[next].start < end) {
            if (now[next].start > start)
                add_part(&before[i], start, now[next].start, items, &count);
            start = now[next].end;
            if (start <= end)
                items[count++] = now[next++];
        }
        if (start < end)
            add_part(&before[i], start, end, items, &count);
    }
    while (next < now_count)
        items[count++] = now[next++];
    free(target->mappings);
    target->mappings = items;
    target->mapping_count = count;
    target->chained_count = 0;
    return PSC_OK;
}
