/* What a slim core says of itself, and of the core that it was made of. */
#include "core_private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLIM_VERSION 1u
#define FILES_LIMIT  100000u

/* ---- segments and holes ---- */

static enum psc_status take_segments(struct core *core, const struct elf_bytes *note)
{
    struct byte_cursor cursor = cursor_over(note->data, note->size);
    core->declared =
        calloc(note->size / sizeof(struct core_slim_segment) + 1, sizeof(*core->declared));
    if (!core->declared)
        return PSC_ERR_MEMORY;
    while (parse_slim_segment(&cursor, &core->declared[core->declared_count]))
        core->declared_count++;
    core->declared_count =
        target_sort_ranges(core->declared, core->declared_count, sizeof(*core->declared));
    return PSC_OK;
}

static enum psc_status take_holes(struct core *core, const struct elf_bytes *note)
{
    struct byte_cursor cursor = cursor_over(note->data, note->size);
    core->holes = calloc(note->size / sizeof(struct core_hole) + 1, sizeof(*core->holes));
    if (!core->holes)
        return PSC_ERR_MEMORY;
    while (parse_slim_hole(&cursor, &core->holes[core->hole_count]))
        core->hole_count++;
    core->hole_count = target_sort_ranges(core->holes, core->hole_count, sizeof(*core->holes));
    return PSC_OK;
}

bool slim_is_hole(const struct core *core, psc_addr address)
{
    size_t behind = SORTED_UP_TO(core->holes, start, core->hole_count, address);
    return behind && address < core->holes[behind - 1].end;
}

psc_addr slim_find_hole(const struct core *core, psc_addr address, psc_addr end)
{
    if (!core->hole_count)
        return end;
    size_t behind = SORTED_UP_TO(core->holes, start, core->hole_count, address);
    if (behind && address < core->holes[behind - 1].end)
        return address;
    return behind < core->hole_count && core->holes[behind].start < end ? core->holes[behind].start
                                                                        : end;
}

/* ---- files ---- */

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

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written <= 0)
            return false;
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Into memory that has a path, as all files have that are looked for. */
static void unpack(struct core *core, struct core_packed_file *file)
{
    const size_t offset = (size_t)file->offset;
    core_image_load(&core->image, offset, (size_t)file->stored, SIZE_MAX);
    struct elf_bytes stored = {core->image.bytes + offset, file->stored};
    uint8_t *bytes = mmap(NULL, file->size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    file->is_bad = true;
    if (bytes == MAP_FAILED)
        return;
    if (elf_inflate(&stored, bytes, file->size))
        file->fd = memfd_create("pystack-core file", MFD_CLOEXEC);
    if (file->fd >= 0)
        file->is_bad = !write_all(file->fd, bytes, file->size);
    munmap(bytes, file->size);
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

/* ---- all ---- */

enum psc_status slim_take_notes(struct target *target, struct core *core,
                                const struct core_notes *notes)
{
    struct core_slim_head head;
    if (!parse_slim_head(&notes->slim, &head))
        return PSC_OK;
    if (head.version != SLIM_VERSION)
        target_warn(target, "core-slim-version",
                    "the core file was made smaller by a newer version of this program; what it "
                    "says of itself is not understood");
    if (head.version != SLIM_VERSION)
        return PSC_OK;
    core->slim_flags = head.flags;
    target->is_slim = true;
    core->truncated |= (head.flags & CORE_SLIM_TRUNCATED) != 0;
    enum psc_status status = take_segments(core, &notes->slim_segments);
    if (status == PSC_OK)
        status = take_holes(core, &notes->slim_holes);
    if (status == PSC_OK)
        status = take_files(core, &notes->slim_files);
    if (core->file_count) {
        core->find_file = target->options.find_file;
        core->find_file_context = target->options.find_file_context;
        target->options.find_file = find_packed;
        target->options.find_file_context = core;
    }
    return status;
}

void slim_warn(struct target *target, const struct core *core)
{
    if (core->slim_flags & CORE_SLIM_REDACTED)
        target_warn(target, "core-redacted",
                    "text of values and the environment were left out of the core file when it "
                    "was made");
    if (core->slim_flags & CORE_SLIM_CUT)
        target_warn(target, "core-slim-cut",
                    "the core file was made smaller, and does not hold all that a report reads");
}

void slim_deinit(struct core *core)
{
    for (size_t i = 0; i < core->file_count; i++)
        if (core->files[i].fd >= 0)
            close(core->files[i].fd);
    free(core->files);
    free(core->holes);
    free(core->declared);
}
