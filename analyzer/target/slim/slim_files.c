/* Files of the dead machine that go into a small core. */
#include "slim_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_SIZE_LIMIT ((uint64_t)2 << 30)

struct files {
    struct core_file *file;
    struct text note;
    struct text parts;
};

/* Behind each other, in memory of their own. */
static uint8_t *join_parts(const struct elf_bytes *bytes, const struct slim_parts *parts,
                           size_t *ret_size)
{
    size_t size = 0;
    for (size_t i = 0; i < parts->count; i++)
        size += (size_t)(parts->items[i].end - parts->items[i].start);
    uint8_t *joined = malloc(size ? size : 1);
    *ret_size = 0;
    for (size_t i = 0; joined && i < parts->count; i++) {
        const struct elf_range *part = &parts->items[i];
        memcpy(joined + *ret_size, bytes->data + part->start, (size_t)(part->end - part->start));
        *ret_size += (size_t)(part->end - part->start);
    }
    return joined;
}

static uint8_t *pack(const struct elf_bytes *bytes, const struct slim_parts *parts,
                     size_t *ret_size)
{
    if (!parts->count)
        return elf_deflate(bytes, ret_size);
    struct elf_bytes some;
    uint8_t *joined = join_parts(bytes, parts, &some.size);
    some.data = joined;
    uint8_t *stored = joined ? elf_deflate(&some, ret_size) : NULL;
    free(joined);
    return stored;
}

/* Without parts all of it. */
static void put(struct files *files, const char *path, const struct elf_bytes *bytes,
                const struct slim_parts *parts)
{
    size_t stored_size, length = strlen(path) + 1;
    if (!bytes->size || bytes->size > FILE_SIZE_LIMIT || files->file->error)
        return;
    uint8_t *stored = pack(bytes, parts, &stored_size);
    if (!stored) {
        files->file->error = ENOMEM;
        return;
    }
    const struct core_slim_file head = {
        .offset = core_file_append(files->file, stored, stored_size),
        .stored = stored_size,
        .size = bytes->size,
        .path_size = (uint32_t)((length + 7) & ~(size_t)7),
    };
    static const char zeros[8];
    text_add(&files->note, (const char *)&head, sizeof(head));
    text_add(&files->note, path, length);
    text_add(&files->note, zeros, head.path_size - length);
    for (size_t i = 0; i < parts->count; i++) {
        const struct core_slim_part part = {head.offset, parts->items[i].start,
                                            parts->items[i].end};
        text_add(&files->parts, (const char *)&part, sizeof(part));
    }
    free(stored);
}

static void put_mapped(struct files *files, const struct target_file *mapped)
{
    struct slim_parts parts;
    const struct elf_bytes bytes = {mapped->image, mapped->size};
    slim_find_parts(&bytes, false, &parts);
    put(files, mapped->path, &bytes, &parts);
    free(parts.items);
}

/* A debug file is mapped as long as it is used, if it is no copy; of text all is read. */
static void put_local(struct target *target, struct files *files,
                      const struct target_needed_file *needed)
{
    struct stat status;
    struct slim_parts parts = {0};
    int fd = target_open_mapped(target, needed->local);
    if (fd < 0)
        return;
    if (!fstat(fd, &status) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *image = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image != MAP_FAILED) {
            const struct elf_bytes bytes = {image, size};
            if (needed->kind == TARGET_NEED_DEBUG && target->options.maps_files)
                slim_find_parts(&bytes, true, &parts);
            put(files, needed->path, &bytes, &parts);
            munmap(image, size);
            free(parts.items);
        }
    }
    close(fd);
}

void slim_put_files(struct target *target, struct core_file *file, struct text *notes)
{
    struct files files = {.file = file};
    for (size_t i = 0; i < target->file_count; i++) {
        const struct target_file *mapped = target->files[i];
        if (mapped->image)
            put_mapped(&files, mapped);
    }
    for (size_t i = 0; i < target->needed.count; i++) {
        const struct target_needed_file *needed = hash_table_at(&target->needed, i);
        if (needed->local)
            put_local(target, &files, needed);
    }
    notes->failed |= files.note.failed | files.parts.failed;
    if (files.note.size && !notes->failed)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_FILES, files.note.data, files.note.size);
    if (files.parts.size && !notes->failed)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_PARTS, files.parts.data, files.parts.size);
    text_deinit(&files.note);
    text_deinit(&files.parts);
}
