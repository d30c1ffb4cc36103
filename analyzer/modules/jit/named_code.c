/*
 * Code that was made at run time, by the names that its program writes for perf(1): the jitdump
 * file that it has mapped, and /tmp/perf-PID.map of a living process. A map proves nothing about a
 * dead one: another process may have had the number since, or before.
 */
#include "code_names.h"
#include "jit_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE_LIMIT ((size_t)256 * 1024 * 1024)
#define NAME_LIMIT      ((size_t)1000000)
/* Bytes of one name. */
#define NAME_SIZE_LIMIT ((size_t)1024)

struct named_code {
    struct code_name *items; /* By start; of one start, the last one written is the last. */
    size_t count;
    size_t capacity;
    char *bytes[2]; /* Of the files, in which the names are. */
};

static bool add_name(struct named_code *code, const struct code_name *name)
{
    if (code->count >= NAME_LIMIT ||
        !array_reserve(&code->items, &code->capacity, code->count + 1, sizeof(*code->items)))
        return false;
    code->items[code->count++] = *name;
    return true;
}

/* What is written at an address later is there instead; the names lie in the order of writing. */
static int compare_names(const void *left, const void *right)
{
    const struct code_name *a = left, *b = right;
    return a->start != b->start ? COMPARE(a->start, b->start) : COMPARE(a->name, b->name);
}

/* "jit-PID.dump", which perf finds by the page of it that the process has mapped. */
static bool is_jit_dump(const struct target *target, const char *path)
{
    const char *slash = strrchr(path, '/');
    int pid = 0, end = 0;
    return slash && sscanf(slash, "/jit-%d.dump%n", &pid, &end) == 1 && end && !slash[end] &&
           pid == target->process.inner_pid;
}

static void take_jit_dump(const struct target *target, struct named_code *code, const char *bytes,
                          size_t size)
{
    struct jit_dump dump;
    struct code_name name;
    const uint8_t *file = (const uint8_t *)bytes;
    // Its e_machine is 0 in those of CPython 3.13.0.
    if (!parse_jit_dump(file, size, &dump) || dump.pid != (uint32_t)target->process.inner_pid)
        return;
    for (size_t at = dump.header_size; parse_next_jit_name(file, size, &at, &name);)
        if (!add_name(code, &name))
            return;
}

static void read_jit_dump(struct target *target, struct named_code *code)
{
    for (size_t i = 0; i < target->file_count && !code->bytes[0]; i++) {
        const char *path = target->files[i]->path;
        const char *local = is_jit_dump(target, path) ? target_find_local_path(target, path) : NULL;
        int fd = local ? target_open_local(target, local) : -1;
        if (fd < 0)
            continue;
        size_t size = 0;
        code->bytes[0] = file_bytes_read(fd, FILE_SIZE_LIMIT, &size);
        close(fd);
        if (code->bytes[0])
            take_jit_dump(target, code, code->bytes[0], size);
    }
}

/* perf believes one only if it is the user's own (tools/perf/util/symbol.c). */
static bool is_of_user(const struct target *target, int fd)
{
    struct stat status;
    return !fstat(fd, &status) && target->process.owner_known &&
           status.st_uid == target->process.user;
}

static void read_perf_map(struct target *target, struct named_code *code)
{
    char path[64];
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", target->process.inner_pid);
    const char *local = target_find_local_path(target, path);
    int fd = local ? target_open_local(target, local) : -1;
    size_t size = 0;
    if (fd < 0)
        return;
    if (is_of_user(target, fd))
        code->bytes[1] = file_bytes_read(fd, FILE_SIZE_LIMIT, &size);
    close(fd);
    const char *at = code->bytes[1], *end = at + size;
    struct code_name name;
    while (at && parse_next_perf_name(&at, end, &name) && add_name(code, &name))
        ;
}

static struct named_code *read_names(struct modules *modules)
{
    struct target *target = modules->target;
    struct named_code *code = calloc(1, sizeof(*code));
    if (!code || target->process.inner_pid <= 0)
        return code;
    read_jit_dump(target, code);
    if (target->kind == TARGET_PROCESS)
        read_perf_map(target, code);
    if (code->count == NAME_LIMIT)
        target_warn(target, "jit-names",
                    "more than %zu pieces of code made at run time have names: the others do not",
                    NAME_LIMIT);
    if (code->count)
        qsort(code->items, code->count, sizeof(*code->items), compare_names);
    return code;
}

const char *modules_find_code_name(struct modules *modules, psc_addr address)
{
    const struct target_mapping *mapping = target_find_mapping(modules->target, address);
    if (!mapping || mapping->file || !target_is_executable(modules->target, address))
        return NULL;
    if (!modules->named)
        modules->named = read_names(modules);
    const struct named_code *code = modules->named;
    size_t behind = code ? SORTED_UP_TO(code->items, start, code->count, address) : 0;
    if (!behind || address >= code->items[behind - 1].end)
        return NULL;
    size_t size = code->items[behind - 1].name_size;
    return arena_strndup(modules->arena, code->items[behind - 1].name,
                         size < NAME_SIZE_LIMIT ? size : NAME_SIZE_LIMIT);
}

void jit_names_destroy(struct named_code *code)
{
    if (!code)
        return;
    free(code->bytes[0]);
    free(code->bytes[1]);
    free(code->items);
    free(code);
}
