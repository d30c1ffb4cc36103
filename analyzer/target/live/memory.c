/* The memory of a living process: pages that were read in a snapshot, else as it is now. */
#include "live_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECES_A_LOOK_AT_THE_CLOCK 256

/*
 * The bytes of a file stand for its pages where nothing ever writes to them. While the target
 * stands still no file is looked for: that takes longer than to read the page.
 */
static const uint8_t *live_file_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    const struct live *live = live_of(target);
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping || !mapping->file || mapping->writable)
        return NULL;
    struct target_file *file = mapping->file;
    if (!live->stands)
        target_file_open(target, file);
    size_t left, page = (size_t)(LIVE_PAGE - (address & (LIVE_PAGE - 1)));
    const uint8_t *bytes = target_mapped_bytes(mapping, address, &left);
    if (!bytes || !target_file_offset_is_constant(file, (uint64_t)(bytes - file->image)))
        return NULL;
    *ret_size = left < page ? left : page;
    return bytes;
}

/* What is known already takes time, too, when there is much of it. */
static bool is_over(struct live *live)
{
    if (++live->pieces % PIECES_A_LOOK_AT_THE_CLOCK == 0 && reader_is_over(live->reader))
        live->pages.closed = true;
    return live->pages.closed;
}

/* The bytes at an address and how many lie behind them in its page; NULL when not there. */
static const uint8_t *live_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    struct live *live = live_of(target);
    if (live->held && is_over(live))
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
    if (live->pages.memory >= 0)
        close(live->pages.memory);
    if (live->maps_fd >= 0)
        close(live->maps_fd);
    if (live->folder >= 0)
        close(live->folder);
    pages_deinit(&live->pages);
    stacks_deinit(&live->stacks, live->reader && reader_was_late(live->reader));
    reader_destroy(live->reader);
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

/* The very file that is mapped needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN; of the program only
 * to be let in. */
static bool live_file_path(const struct target *target, const struct target_file *file,
                           size_t index, char *buffer, size_t size)
{
    const struct live *live = live_of(target);
    int length = 0;
    size_t at = 0;
    buffer[0] = '\0';
    while (at < live->files.count && target->files[at] != file)
        at++;
    if (index == 0)
        length = live->root_here ? snprintf(buffer, size, "%s/%s", live->root_here, file->path)
                                 : snprintf(buffer, size, "%s", file->path);
    else if (index == 1 && at < live->files.count)
        length = snprintf(buffer, size, "%s/map_files/%" PRIx64 "-%" PRIx64, live->proc,
                          live->files.items[at].mapped_at, live->files.items[at].mapped_to);
    else if (index == 2 && target_file_is_program(target, file))
        length = snprintf(buffer, size, "%s/exe", live->proc);
    // One that does not fit is none, and is passed over.
    if (length < 0 || (size_t)length >= size)
        buffer[0] = '\0';
    return index <= 2;
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
