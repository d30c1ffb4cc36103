#include "core_image.h"

#include "foreign_file.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Read at once, and asked for at once: a power of two, some pages. */
#define WINDOW_SIZE ((size_t)256 * 1024)
#define PAGE_BYTES  ((size_t)4096)

static size_t count_windows(const struct core_image *image)
{
    return (image->size + WINDOW_SIZE - 1) / WINDOW_SIZE;
}

static bool map_windows(int fd, struct core_image *image)
{
    image->loaded = calloc(count_windows(image) / 8 + 1, 1);
    if (!image->loaded) {
        errno = ENOMEM;
        return false;
    }
    void *bytes = mmap(NULL, image->size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return false;
    image->bytes = bytes;
    image->file = fd;
    return true;
}

bool core_image_open(int fd, bool maps, struct core_image *ret)
{
    struct stat status;
    *ret = (struct core_image){.file = -1};
    int copy = maps ? fd : foreign_file_copy(fd);
    bool all = maps || copy != fd;
    // The copy may be shorter by now than the file was.
    ret->size = fstat(copy, &status) || status.st_size < 0 ? 0 : (size_t)status.st_size;
    if (!all && ret->size && map_windows(copy, ret))
        return true;
    if (all) {
        void *bytes = mmap(NULL, ret->size, PROT_READ, MAP_PRIVATE, copy, 0);
        ret->bytes = bytes == MAP_FAILED ? NULL : bytes;
    }
    int error = errno;
    close(copy);
    if (!ret->bytes) {
        core_image_close(ret);
        errno = error;
    }
    return ret->bytes != NULL;
}

void core_image_close(struct core_image *image)
{
    if (image->bytes)
        munmap((void *)(uintptr_t)image->bytes, image->size);
    if (image->file >= 0)
        close(image->file);
    free(image->loaded);
    *image = (struct core_image){.file = -1};
}

static void load_window(struct core_image *image, size_t window)
{
    size_t at = window * WINDOW_SIZE;
    size_t end = image->size - at < WINDOW_SIZE ? image->size : at + WINDOW_SIZE;
    uint8_t *bytes = (uint8_t *)(uintptr_t)image->bytes;
    image->loaded[window / 8] |= (uint8_t)(1u << window % 8);
    while (at < end) {
        ssize_t got = pread(image->file, bytes + at, end - at, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        at += (size_t)got;
    }
}

size_t core_image_load(struct core_image *image, size_t offset, size_t size, size_t most)
{
    if (offset >= image->size)
        return 0;
    if (size > image->size - offset)
        size = image->size - offset;
    if (image->file < 0)
        return size;
    size = size < most ? size : most;
    for (size_t i = offset / WINDOW_SIZE; size && i <= (offset + size - 1) / WINDOW_SIZE; i++)
        if (!(image->loaded[i / 8] >> i % 8 & 1))
            load_window(image, i);
    return size;
}

void core_image_advise(struct core_image *image, size_t offset, size_t size, bool soon)
{
    // Windows stay: somebody may have been lent one, and their pages come back from nowhere.
    if (offset >= image->size || image->file >= 0)
        return;
    if (size > image->size - offset)
        size = image->size - offset;
    size_t page = offset & ~(PAGE_BYTES - 1);
    madvise((void *)(uintptr_t)(image->bytes + page), size + (offset - page),
            soon ? MADV_WILLNEED : MADV_DONTNEED);
}
