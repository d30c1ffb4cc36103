/*
 * All memory of a process, as the kernel would dump it: fs/coredump.c, vma_dump_size(), and
 * core(5), /proc/PID/coredump_filter. Copied into the core file while the process stands still.
 */
#include "live_private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define COPY_AT_ONCE ((size_t)1024 * 1024)
#define SCAN_AT_ONCE ((size_t)65536) /* Pages. */
/* Unreadable pages behind one another, after which a mapping is given up. */
#define UNREADABLE_LIMIT 1024

/* core(5) */
#define FILTER_DEFAULT      0x33u
#define FILTER_PRIVATE      (1u << 0)
#define FILTER_SHARED       (1u << 1)
#define FILTER_PRIVATE_FILE (1u << 2)
#define FILTER_SHARED_FILE  (1u << 3)
#define FILTER_ELF_HEADERS  (1u << 4)
#define FILTER_PRIVATE_HUGE (1u << 5)
#define FILTER_SHARED_HUGE  (1u << 6)

/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGE_OF_FILE (UINT64_C(1) << 61)

/* ---- what only smaps tells ---- */

/* What VmFlags of proc(5) says, where it matters. */
static bool parse_flags(const char *at, const char *end, struct dump_flags *ret)
{
    static const char field[] = "VmFlags:";
    if ((size_t)(end - at) < sizeof(field) - 1 || memcmp(at, field, sizeof(field) - 1) != 0)
        return false;
    for (at += sizeof(field) - 1; end - at >= 3; at += 3) {
        ret->excluded |= !memcmp(at + 1, "dd", 2) || !memcmp(at + 1, "io", 2);
        ret->huge |= !memcmp(at + 1, "ht", 2);
        ret->served |= !memcmp(at + 1, "um", 2);
    }
    return true;
}

bool parse_smaps(const char *text, size_t size, struct dump *dump)
{
    const char *end = text + size;
    struct dump_flags flags = {0};
    dump->flag_count = 0;
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line)), *at = line;
        struct live_map map;
        if (!stop)
            stop = end;
        if (parse_flags(line, stop, &flags)) {
            void *grown = dump->flags;
            if (!array_reserve(&grown, &dump->flag_capacity, dump->flag_count + 1,
                               sizeof(*dump->flags)))
                return false;
            dump->flags = grown;
            if (flags.start)
                dump->flags[dump->flag_count++] = flags;
            flags = (struct dump_flags){0};
        } else if (parse_next_map(&at, stop, &map)) {
            flags = (struct dump_flags){.start = map.start};
        }
        line = stop < end ? stop + 1 : end;
    }
    return true;
}

static const struct dump_flags *find_flags(const struct dump *dump, psc_addr start)
{
    size_t behind = SORTED_UP_TO(dump->flags, start, dump->flag_count, start);
    return behind ? &dump->flags[behind - 1] : NULL;
}

bool dump_is_served(const struct dump *dump, psc_addr start)
{
    const struct dump_flags *flags = find_flags(dump, start);
    return flags && flags->start == start && flags->served;
}

/* ---- before the stop ---- */

bool dump_prepare(struct target *target)
{
    struct live *live = live_of(target);
    struct dump *dump = &live->save.dump;
    struct live_text text = {0};
    char path[64];
    dump->filter = FILTER_DEFAULT;
    snprintf(path, sizeof(path), "/proc/%d/coredump_filter", live->pid);
    if (!live_read_path(AT_FDCWD, path, &text) && text.size) {
        char digits[32] = "";
        memcpy(digits, text.bytes, text.size < 31 ? text.size : 31);
        dump->filter = (unsigned)strtoul(digits, NULL, 16);
    }
    bool fits =
        live_read_path(live->folder, "smaps", &text) || parse_smaps(text.bytes, text.size, dump);
    free(text.bytes);
    if (!dump->buffer)
        dump->buffer = malloc(COPY_AT_ONCE);
    if (!dump->pages)
        dump->pages = malloc(SCAN_AT_ONCE * sizeof(*dump->pages));
    if (!fits || !dump->buffer || !dump->pages)
        return false;
    // Touched now, not while the target waits.
    memset(dump->buffer, 0, COPY_AT_ONCE);
    memset(dump->pages, 0, SCAN_AT_ONCE * sizeof(*dump->pages));
    if (dump->pagemap < 0)
        dump->pagemap = openat(live->folder, "pagemap", O_RDONLY | O_CLOEXEC);
    return true;
}

void dump_deinit(struct dump *dump)
{
    if (dump->pagemap >= 0)
        close(dump->pagemap);
    free(dump->flags);
    free(dump->buffer);
    free(dump->pages);
    *dump = (struct dump){.pagemap = -1};
}

/* ---- while it stands still ---- */

/* Pages that are known to have been written to, or all where nobody knows. */
static void scan(struct dump *dump, psc_addr start, size_t count)
{
    ssize_t got = dump->pagemap < 0 ? -1
                                    : pread(dump->pagemap, dump->pages, count * sizeof(uint64_t),
                                            (off_t)(start / LIVE_PAGE * sizeof(uint64_t)));
    size_t known = got < 0 ? 0 : (size_t)got / sizeof(uint64_t);
    for (size_t i = known; i < count; i++)
        dump->pages[i] = PAGE_PRESENT;
}

static bool is_written(uint64_t page)
{
    return (page & (PAGE_PRESENT | PAGE_SWAPPED)) && !(page & PAGE_OF_FILE);
}

static bool was_written(struct dump *dump, const struct live_map *map)
{
    for (psc_addr at = map->start; at < map->end; at += SCAN_AT_ONCE * LIVE_PAGE) {
        size_t count = (size_t)((map->end - at) / LIVE_PAGE);
        count = count < SCAN_AT_ONCE ? count : SCAN_AT_ONCE;
        scan(dump, at, count);
        for (size_t i = 0; i < count; i++)
            if (is_written(dump->pages[i]))
                return true;
    }
    return false;
}

/* How many bytes of that are in memory, from its beginning on; all, unless a read had to wait. */
static size_t count_there(const struct live *live, psc_addr at, size_t size)
{
    size_t there = 0;
    while (there < size && !reader_may_wait(live->reader, at + there))
        there = reader_was_late(live->reader) ? there + LIVE_PAGE : size;
    return there;
}

/* Into the dump's buffer. One that a read may still write to is left to it. */
static size_t read_memory(struct live *live, psc_addr at, size_t size)
{
    struct dump *dump = &live->save.dump;
    uint8_t *buffer = dump->buffer;
    size = buffer ? count_there(live, at, size) : 0;
    if (!size)
        return 0;
    const struct iovec remote = {(void *)(uintptr_t)at, size};
    ssize_t got = reader_copy(live->reader, live->memory_tid, buffer, size, &remote, 1);
    // Where it is forbidden, and for what cannot be read by its own process.
    if (got < (ssize_t)LIVE_PAGE)
        got = reader_pread(live->reader, live->pages.memory, buffer, size, at);
    if (got < 0 && errno == ETIMEDOUT)
        dump->buffer = malloc(COPY_AT_ONCE);
    if (!dump->buffer)
        live->save.file.error = ENOMEM;
    return got < 0 ? 0 : (size_t)got & ~(size_t)(LIVE_PAGE - 1);
}

static void copy(struct live *live, psc_addr start, psc_addr end)
{
    struct core_file *file = &live->save.file;
    size_t unreadable = 0;
    for (psc_addr at = start; at < end && !file->error && unreadable < UNREADABLE_LIMIT;) {
        size_t size = end - at < COPY_AT_ONCE ? (size_t)(end - at) : COPY_AT_ONCE;
        size_t got = read_memory(live, at, size);
        unreadable = got ? 0 : unreadable + 1;
        core_file_add(file, at, live->save.dump.buffer, got);
        at += got < size ? got + LIVE_PAGE : got;
    }
}

/* Anonymous memory: what was never touched is zeros, and touching it would only make it large. */
static void copy_touched(struct live *live, const struct live_map *map)
{
    struct dump *dump = &live->save.dump;
    struct core_file *file = &live->save.file;
    bool served = dump_is_served(dump, map->start);
    for (psc_addr at = map->start; at < map->end && !file->error;) {
        size_t count = (size_t)((map->end - at) / LIVE_PAGE);
        count = count < SCAN_AT_ONCE ? count : SCAN_AT_ONCE;
        scan(dump, at, count);
        for (size_t i = 0; i < count;) {
            size_t run = i;
            bool there = dump->pages[i] & (PAGE_PRESENT | PAGE_SWAPPED);
            while (run < count &&
                   there == ((dump->pages[run] & (PAGE_PRESENT | PAGE_SWAPPED)) != 0))
                run++;
            if (there)
                copy(live, at + i * LIVE_PAGE, at + run * LIVE_PAGE);
            else if (!served)
                core_file_add_zeros(file, at + i * LIVE_PAGE, (run - i) * LIVE_PAGE);
            i = run;
        }
        at += count * LIVE_PAGE;
    }
}

static bool ends_with_deleted(const struct live_map *map)
{
    static const char suffix[] = " (deleted)";
    size_t size = sizeof(suffix) - 1;
    return map->path_size >= size && !memcmp(map->path + map->path_size - size, suffix, size);
}

static bool has_name(const struct live_map *map, const char *name)
{
    return map->path_size == strlen(name) && !memcmp(map->path, name, map->path_size);
}

enum dump_part dump_choose(const struct live_map *map, const struct dump_flags *flags,
                           unsigned filter, bool written)
{
    if (has_name(map, "[vdso]"))
        return DUMP_ALL;
    if (!map->readable || (flags && flags->excluded))
        return DUMP_NOTHING;
    if (flags && flags->huge)
        return filter & (map->shared ? FILTER_SHARED_HUGE : FILTER_PRIVATE_HUGE) ? DUMP_ALL
                                                                                 : DUMP_NOTHING;
    if (map->shared)
        return filter & (ends_with_deleted(map) ? FILTER_SHARED : FILTER_SHARED_FILE)
                   ? DUMP_ALL
                   : DUMP_NOTHING;
    if (written && (filter & FILTER_PRIVATE))
        return map->inode ? DUMP_ALL : DUMP_TOUCHED;
    if (!map->inode)
        return DUMP_NOTHING;
    if (filter & FILTER_PRIVATE_FILE)
        return DUMP_ALL;
    return (filter & FILTER_ELF_HEADERS) && !map->offset ? DUMP_FIRST_PAGE : DUMP_NOTHING;
}

/* Of what is mapped from its beginning only the header of an ELF file, as the kernel has it. */
static void copy_header(struct live *live, psc_addr start)
{
    if (read_memory(live, start, LIVE_PAGE) == LIVE_PAGE &&
        !memcmp(live->save.dump.buffer, ELFMAG, SELFMAG))
        core_file_add(&live->save.file, start, live->save.dump.buffer, LIVE_PAGE);
}

void dump_copy(struct target *target)
{
    struct live *live = live_of(target);
    struct dump *dump = &live->save.dump;
    const char *at = live->maps.bytes, *end = at + live->maps.size;
    struct live_map map;
    while (parse_next_map(&at, end, &map) && !live->save.file.error) {
        const struct dump_flags *flags = find_flags(dump, map.start);
        bool scanned = map.readable && !map.shared && !(flags && flags->excluded);
        switch (dump_choose(&map, flags, dump->filter, scanned && was_written(dump, &map))) {
        case DUMP_NOTHING:
            break;
        case DUMP_FIRST_PAGE:
            copy_header(live, map.start);
            break;
        case DUMP_TOUCHED:
            copy_touched(live, &map);
            break;
        case DUMP_ALL:
            copy(live, map.start, map.end);
            break;
        }
    }
}
