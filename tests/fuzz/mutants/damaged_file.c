/* A file that is changed in place, and made again what it was. */
#include "mutants.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_all(const struct damaged_file *file, size_t at, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t wrote = pwrite(file->descriptor, (const uint8_t *)bytes + done, size - done,
                               (off_t)(at + done));
        if (wrote <= 0) {
            perror(file->path);
            exit(2);
        }
        done += (size_t)wrote;
    }
}

void file_open(const char *path, const char *original, struct damaged_file *ret)
{
    struct stat status, copied;
    memset(ret, 0, sizeof(*ret));
    ret->path = path;
    ret->descriptor = open(path, O_RDWR | O_CLOEXEC);
    int from = open(original, O_RDONLY | O_CLOEXEC);
    if (ret->descriptor < 0 || from < 0 || fstat(from, &status) ||
        fstat(ret->descriptor, &copied)) {
        perror(path);
        exit(2);
    }
    if (status.st_size != copied.st_size || status.st_size == 0) {
        fprintf(stderr, "%s is no copy of %s\n", path, original);
        exit(2);
    }
    ret->size = (size_t)status.st_size;
    ret->bytes = mmap(NULL, ret->size, PROT_READ, MAP_PRIVATE, from, 0);
    close(from);
    if (ret->bytes == MAP_FAILED) {
        perror(original);
        exit(2);
    }
}

void file_patch(struct damaged_file *file, size_t at, const void *bytes, size_t size)
{
    if (at >= file->size || file->patch_count >= PATCHES_MAX)
        return;
    if (size > file->size - at)
        size = file->size - at;
    file->patches[file->patch_count].at = at;
    file->patches[file->patch_count++].size = size;
    write_all(file, at, bytes, size);
}

void file_patch_number(struct damaged_file *file, size_t at, uint64_t value, size_t size)
{
    file_patch(file, at, &value, size);
}

void file_truncate(struct damaged_file *file, size_t size)
{
    file->rewritten = true;
    if (size <= file->size && ftruncate(file->descriptor, (off_t)size))
        perror(file->path);
}

void file_rewrite(struct damaged_file *file, const void *bytes, size_t size)
{
    file->rewritten = true;
    if (ftruncate(file->descriptor, 0))
        perror(file->path);
    write_all(file, 0, bytes, size);
}

void file_mend(struct damaged_file *file)
{
    if (file->rewritten)
        file_rewrite(file, file->bytes, file->size);
    for (size_t i = 0; i < file->patch_count; i++)
        write_all(file, file->patches[i].at, file->bytes + file->patches[i].at,
                  file->patches[i].size);
    file->rewritten = false;
    file->patch_count = 0;
}

void file_now(const struct damaged_file *file, size_t at, void *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got =
            pread(file->descriptor, (uint8_t *)buffer + done, size - done, (off_t)(at + done));
        if (got <= 0) {
            memset((uint8_t *)buffer + done, 0, size - done);
            break;
        }
        done += (size_t)got;
    }
}

uint64_t file_number(const struct damaged_file *file, size_t at, size_t size)
{
    uint64_t value = 0;
    if (size <= sizeof(value) && at <= file->size && size <= file->size - at)
        memcpy(&value, file->bytes + at, size);
    return value;
}
