/* Files of the dead machine that are in a slim core, whole or the parts that were needed. */
#include "core_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES_LIMIT 100000u

/* ---- unpacking ---- */

static bool write_all(int fd, const uint8_t *bytes, uint64_t size, uint64_t offset)
{
    while (size) {
        ssize_t written = pwrite(fd, bytes, (size_t)size, (off_t)offset);
        if (written <= 0)
            return false;
        bytes += written;
        offset += (uint64_t)written;
        size -= (uint64_t)written;
    }
    return true;
}

static bool write_parts(const struct core_packed_file *file, const uint8_t *bytes)
{
    if (!file->part_count)
        return write_all(file->fd, bytes, file->size, 0);
    if (ftruncate(file->fd, (off_t)file->size) != 0)
        return false;
    for (size_t i = 0; i < file->part_count; i++) {
        const struct core_slim_part *part = &file->parts[i];
        if (!write_all(file->fd, bytes, part->end - part->start, part->start))
            return false;
        bytes += part->end - part->start;
    }
    return true;
}

/*
 * Whether memory was made for a page that is no part of it, as is when a mapping of it is looked
 * at there (mm/shmem.c, shmem_fault()).
 */
static bool has_more(const struct core_packed_file *file)
{
    const off_t place = lseek(file->fd, 0, SEEK_CUR);
    bool more = false;
    for (size_t i = 0; i <= file->part_count && !more; i++) {
        uint64_t start = i ? file->parts[i - 1].end : 0;
        uint64_t end = i < file->part_count ? file->parts[i].start : file->size;
        off_t data = start < end ? lseek(file->fd, (off_t)start, SEEK_DATA) : -1;
        more = data >= 0 && (uint64_t)data < end;
    }
    // Whoever reads it by another descriptor of it has the same place.
    lseek(file->fd, place, SEEK_SET);
    return more;
}

/* Into memory that has a path, as all files have that are looked for. */
static void unpack(struct core *core, struct core_packed_file *file)
{
    const size_t offset = (size_t)file->offset;
    const uint64_t size = file->part_count ? file->part_size : file->size;
    core_image_load(&core->image, offset, (size_t)file->stored, SIZE_MAX);
    struct elf_bytes stored = {core->image.bytes + offset, file->stored};
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    file->is_bad = true;
    if (bytes == MAP_FAILED)
        return;
    if (elf_inflate(&stored, bytes, size))
        file->fd = memfd_create("pystack-core file", MFD_CLOEXEC);
    if (file->fd >= 0)
        file->is_bad = !write_parts(file, bytes);
    munmap(bytes, size);
    file->is_watched = !file->is_bad && file->part_count && !has_more(file);
    snprintf(file->own_path, sizeof(file->own_path), "/proc/self/fd/%d", file->fd);
}

/* As psc_open_options.find_file has it: what is in the core comes first. */
static const char *find_packed(void *context, const char *path)
{
    struct core *core = context;
    for (size_t i = 0; i < core->file_count; i++) {
        struct core_packed_file *file = &core->files[i];
        if (strcmp(file->path, path) != 0)
            continue;
        if (file->fd < 0 && !file->is_bad)
            unpack(core, file);
        if (!file->is_bad)
            return file->own_path;
    }
    return core->find_file ? core->find_file(core->find_file_context, path) : NULL;
}

/* ---- the notes ---- */

static enum psc_status take_files(struct core *core, const struct elf_bytes *note)
{
    size_t capacity = 0;
    struct byte_cursor cursor = cursor_over(note->data, note->size);
    struct core_packed_file file;
    while (core->file_count < FILES_LIMIT && parse_slim_file(&cursor, core->image.size, &file)) {
        void *files = core->files;
        if (!array_reserve(&files, &capacity, core->file_count + 1, sizeof(*core->files)))
            return PSC_ERR_MEMORY;
        core->files = files;
        core->files[core->file_count++] = file;
    }
    return PSC_OK;
}

/* The next part of a file; one that does not come behind the last makes it useless. */
static void add_part(struct core_packed_file *file, const struct core_slim_part *part)
{
    const uint64_t behind = file->part_count ? file->parts[file->part_count - 1].end : 0;
    if (part->start < behind || part->end > file->size)
        file->is_bad = true;
    if (!file->part_count)
        file->parts = part;
    file->part_count++;
    file->part_size += part->end - part->start;
}

/* Both stand in the order of the files. */
static enum psc_status take_parts(struct core *core, const struct elf_bytes *note)
{
    struct byte_cursor cursor = cursor_over(note->data, note->size);
    size_t count = 0, file = 0;
    core->parts = calloc(note->size / sizeof(*core->parts) + 1, sizeof(*core->parts));
    if (!core->parts)
        return PSC_ERR_MEMORY;
    while (parse_slim_part(&cursor, &core->parts[count])) {
        while (file < core->file_count && core->files[file].offset != core->parts[count].file)
            file++;
        if (file == core->file_count)
            break;
        add_part(&core->files[file], &core->parts[count++]);
    }
    return PSC_OK;
}

enum psc_status packed_files_take(struct target *target, struct core *core,
                                  const struct core_notes *notes)
{
    enum psc_status status = take_files(core, &notes->slim_files);
    if (status == PSC_OK)
        status = take_parts(core, &notes->slim_parts);
    if (core->file_count) {
        core->find_file = target->options.find_file;
        core->find_file_context = target->options.find_file_context;
        target->options.find_file = find_packed;
        target->options.find_file_context = core;
    }
    return status;
}

void packed_files_warn(struct target *target)
{
    struct core *core = target->backend;
    for (size_t i = 0; i < core->file_count; i++) {
        struct core_packed_file *file = &core->files[i];
        if (!file->is_watched || !has_more(file))
            continue;
        file->is_watched = false;
        target_warn(target, "core-slim-file",
                    "%s: parts were looked at that are not in the core file, which holds what a "
                    "report needed when it was made smaller; names, lines and variables may be "
                    "missing",
                    file->path);
    }
}

void packed_files_deinit(struct core *core)
{
    for (size_t i = 0; i < core->file_count; i++)
        if (core->files[i].fd >= 0)
            close(core->files[i].fd);
    free(core->files);
    free(core->parts);
}
