/* Memory of a process that the kernel holds while it dumps its core: fs/coredump.c, do_coredump();
 * core(5), "Piping core dumps to a program". */
#include "core_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE             ((psc_addr)4096)
#define HELD_PAGES_LIMIT ((size_t)128 * 1024) /* Half a gigabyte of copies. */
#define THREADS_LIMIT    100000u
/* Pages in a row of one segment that cannot be read, 64 MB: the others of it are taken to be like
 * them. */
#define MISSED_IN_ROW_LIMIT 16384u
#define HELD_MISSED_LIMIT   ((size_t)1024 * 1024)

struct held_page {
    uint64_t address;
    const uint8_t *bytes;
};

enum psc_status held_open(struct target *target, struct core *core, struct psc_error *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mem", target->options.held_pid);
    core->held.pages = HASH_TABLE_OF(struct held_page);
    core->held.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (core->held.fd < 0)
        return psc_fail(err, PSC_ERR_IO, "%s: cannot be opened: %s", path,
                        describe_errno(errno, &(struct errno_text){0}));
    return PSC_OK;
}

const uint8_t *held_find_page(const struct core *core, psc_addr page)
{
    const struct held_page *found = hash_table_find(&core->held.pages, page);
    return found ? found->bytes : NULL;
}

static bool is_missing(const struct core_held *held, psc_addr page)
{
    return held->missed >= HELD_MISSED_LIMIT ||
           (page >= held->missing_start && page < held->missing_end);
}

/*
 * A segment is one mapping of the process (fs/coredump.c, elf_core_dump() in fs/binfmt_elf.c), and
 * all of it can be read, or, as memory of a device, nothing. A head that lies may have terabytes.
 */
static void note_missed(struct core_held *held, psc_addr page, psc_addr end)
{
    held->missed++;
    held->missed_in_row = page == held->missed_next ? held->missed_in_row + 1 : 1;
    held->missed_next = page + PAGE;
    if (held->missed_in_row < MISSED_IN_ROW_LIMIT)
        return;
    held->missing_start = page;
    held->missing_end = end;
}

/* Up to `end` it is one segment. NULL when it is not there. */
static const uint8_t *read_page(struct target *target, struct core *core, psc_addr page,
                                psc_addr end)
{
    uint8_t copy[PAGE];
    if (core->held.pages.count >= HELD_PAGES_LIMIT || is_missing(&core->held, page))
        return NULL;
    if (pread(core->held.fd, copy, sizeof(copy), (off_t)page) != (ssize_t)sizeof(copy)) {
        note_missed(&core->held, page, end);
        return NULL;
    }
    uint8_t *bytes = arena_alloc(target->arena, sizeof(copy));
    struct held_page *kept = bytes ? hash_table_add(&core->held.pages, page) : NULL;
    if (!kept)
        return NULL;
    memcpy(bytes, copy, sizeof(copy));
    kept->bytes = bytes;
    return bytes;
}

const uint8_t *held_piece(struct target *target, psc_addr address, psc_addr end, size_t *ret_size)
{
    struct core *core = target->backend;
    psc_addr page = address & ~(PAGE - 1);
    const uint8_t *bytes = held_find_page(core, page);
    if (!bytes)
        bytes = read_page(target, core, page, end);
    if (!bytes)
        return NULL;
    uint64_t inside = address - page, left = end - address;
    *ret_size = (size_t)(left < PAGE - inside ? left : PAGE - inside);
    return bytes + inside;
}

void held_deinit(struct core *core)
{
    if (core->held.fd >= 0)
        close(core->held.fd);
    hash_table_deinit(&core->held.pages);
    core->held.fd = -1;
}

/* ---- names of threads ---- */

/* The rest of a line of /proc/PID/status that begins so, in place; NULL: there is none. */
static char *find_line(char *text, const char *begins)
{
    for (char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
        if (!strncmp(line, begins, strlen(begins)))
            return line + strlen(begins);
    return NULL;
}

/* The core has ids of the process's own namespace: the last ones of "NSpid:" (proc(5)). */
static void take_name(struct target *target, const char *name)
{
    char path[64], text[4096];
    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", target->options.held_pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return;
    text[got] = '\0';
    char *ids = find_line(text, "NSpid:"), *comm = find_line(text, "Name:\t");
    if (!ids || !comm)
        return;
    ids[strcspn(ids, "\n")] = '\0';
    comm[strcspn(comm, "\n")] = '\0';
    const char *last = ids;
    for (const char *at = ids; *at; at++)
        if ((*at == '\t' || *at == ' ') && at[1] >= '0' && at[1] <= '9')
            last = at + 1;
    int32_t tid = (int32_t)strtol(last, NULL, 10);
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].tid == tid && !target->threads[i].name)
            target->threads[i].name = arena_strdup(target->arena, comm);
}

void held_read_names(struct target *target)
{
    char path[64];
    if (!target->options.held_pid)
        return;
    snprintf(path, sizeof(path), "/proc/%d/task", target->options.held_pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    for (size_t i = 0; folder && i < THREADS_LIMIT && (entry = readdir(folder)); i++)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            take_name(target, entry->d_name);
    if (folder)
        closedir(folder);
}
