/* The memory of a living process: pages that were read in a snapshot, else as it is now. */
#include "live_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Mappings of a file that are tried, one of which may have changed meanwhile. */
#define MAPPED_FILE_LIMIT 16
#define NAMED_FILE_COUNT  2

/*
 * The bytes of a file stand for its pages where nothing ever writes to them. While the target
 * stands still no file is looked for: that takes longer than to read the page.
 */
static const uint8_t *live_file_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping || !mapping->file || mapping->writable)
        return NULL;
    struct target_file *file = mapping->file;
    if (!target->stands)
        target_file_open(target, file);
    size_t left, page = (size_t)(LIVE_PAGE - (address & (LIVE_PAGE - 1)));
    const uint8_t *bytes = target_mapped_bytes(mapping, address, &left);
    if (!bytes || !target_file_offset_is_constant(file, (uint64_t)(bytes - file->image)))
        return NULL;
    *ret_size = left < page ? left : page;
    return bytes;
}

/* The bytes at an address and how many lie behind them in its page; NULL when not there. */
static const uint8_t *live_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    struct live *live = live_of(target);
    // It has been let go: who looks may have much to do before it asks for nothing more.
    if (live->held && live->pages.closed)
        return NULL;
    psc_addr page = address & ~(LIVE_PAGE - 1);
    const uint8_t *bytes = pages_find(&live->pages, page);
    const uint8_t *constant = bytes ? NULL : live_file_piece(target, address, ret_size);
    if (constant)
        return constant;
    if (!bytes)
        bytes = pages_read(&live->pages, page);
    if (!bytes)
        return NULL;
    *ret_size = (size_t)(page + LIVE_PAGE - address);
    return bytes + (address - page);
}

static void live_close(struct target *target)
{
    struct live *live = live_of(target);
    if (!live)
        return;
    live_drop_core(target);
    live_forget_seen(live);
    if (live->pages.memory >= 0)
        close(live->pages.memory);
    if (live->maps_fd >= 0)
        close(live->maps_fd);
    if (live->environment >= 0)
        close(live->environment);
    if (live->folder >= 0)
        close(live->folder);
    sampler_destroy(live);
    pages_deinit(&live->pages);
    stacks_deinit(&live->stacks, live->reader && reader_was_late(live->reader));
    reader_destroy(live->reader);
    sleeping_forget(&live->stop);
    stop_deinit(&live->stop);
    free(live->wanted);
    free(live->files.items);
    free(live->maps.bytes);
    free(live);
}

static const char *live_root(const struct target *target)
{
    return live_of(target)->root_here;
}

/* The mapping of a file by its number, and how many it has, at most MAPPED_FILE_LIMIT. */
static size_t find_mapping_of(const struct target *target, const struct target_file *file,
                              size_t number, const struct target_mapping **ret)
{
    size_t count = 0;
    *ret = NULL;
    for (size_t i = 0; i < target->mapping_count && count < MAPPED_FILE_LIMIT; i++)
        if (target->mappings[i].file == file && count++ == number)
            *ret = &target->mappings[i];
    return count;
}

/*
 * The very file that is mapped, also where its name is gone or another file's. The kernel has the
 * folder for each process and not below task/ (fs/proc/base.c, tgid_base_stuff); the id of any
 * thread finds it, too. It needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
 */
static void print_mapped_file(const struct target *target, const struct target_mapping *mapping,
                              char *buffer, size_t size)
{
    snprintf(buffer, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, live_of(target)->memory_tid,
             mapping->start, mapping->end);
}

/* By its name; of the program all who may look at the process may open its link. */
static bool print_named_file(const struct target *target, const struct target_file *file,
                             size_t number, char *buffer, size_t size)
{
    const struct live *live = live_of(target);
    int length = 0;
    buffer[0] = '\0';
    if (!number)
        length = live->root_here ? snprintf(buffer, size, "%s/%s", live->root_here, file->path)
                                 : snprintf(buffer, size, "%s", file->path);
    else if (target_file_is_program(target, file))
        length = snprintf(buffer, size, "%s/exe", live->proc);
    // One that does not fit is none, and is passed over.
    if (length < 0 || (size_t)length >= size)
        buffer[0] = '\0';
    return number < NAMED_FILE_COUNT;
}

static bool live_file_path(const struct target *target, const struct target_file *file,
                           size_t index, char *buffer, size_t size)
{
    const struct target_mapping *mapping;
    // The name of a deleted file may be another's by now.
    size_t before = file->deleted ? 0 : NAMED_FILE_COUNT;
    size_t count = find_mapping_of(target, file, index - before, &mapping);
    if (index < before)
        return print_named_file(target, file, index, buffer, size);
    if (mapping)
        print_mapped_file(target, mapping, buffer, size);
    return mapping ||
           (file->deleted && print_named_file(target, file, index - count, buffer, size));
}

const struct target_ops live_ops = {.silent = true,
                                    .piece = live_piece,
                                    .root = live_root,
                                    .file_path = live_file_path,
                                    .close = live_close};

const char *live_get_refusal(const struct target *target)
{
    return live_of(target)->refusal;
}

const struct live_pause *live_get_pause(const struct target *target)
{
    return &live_of(target)->pause;
}
