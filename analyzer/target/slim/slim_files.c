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
};

static void put(struct files *files, const char *path, const struct elf_bytes *bytes)
{
    size_t stored_size, length = strlen(path) + 1;
    if (!bytes->size || bytes->size > FILE_SIZE_LIMIT || files->file->error)
        return;
    uint8_t *stored = elf_deflate(bytes, &stored_size);
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
    free(stored);
}

static void put_local(struct target *target, struct files *files,
                      const struct target_needed_file *needed)
{
    struct stat status;
    int fd = target_open_mapped(target, needed->local);
    if (fd < 0)
        return;
    if (!fstat(fd, &status) && status.st_size > 0) {
        size_t size = (size_t)status.st_size;
        void *image = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image != MAP_FAILED) {
            put(files, needed->path, &(struct elf_bytes){image, size});
            munmap(image, size);
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
            put(&files, mapped->path, &(struct elf_bytes){mapped->image, mapped->size});
    }
    for (size_t i = 0; i < target->needed.count; i++) {
        const struct target_needed_file *needed = hash_table_at(&target->needed, i);
        if (needed->local)
            put_local(target, &files, needed);
    }
    notes->failed |= files.note.failed;
    if (files.note.size && !files.note.failed)
        core_put_note(notes, CORE_OWNER_OURS, CORE_NOTE_FILES, files.note.data, files.note.size);
    text_deinit(&files.note);
}
