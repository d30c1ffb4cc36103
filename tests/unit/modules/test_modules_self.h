/**
 * @file
 * Targets for the tests of modules/: this very process, read through
 * /proc/self/mem, and a file as if it were loaded at an address.
 */
#ifndef TEST_MODULES_SELF_H
#define TEST_MODULES_SELF_H

#include "elf.h"
#include "modules.h"
#include "target.h"

#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct self_backend {
    int memory;      /**< /proc/self/mem, or -1. */
    psc_addr hidden; /**< [hidden, hidden + hidden_size) cannot be read. */
    uint64_t hidden_size;
    const uint8_t *image; /**< Of a file that is only said to be loaded. */
    size_t image_size;
};

static inline enum psc_status self_read(struct target *target, psc_addr address, void *buffer,
                                        size_t size)
{
    const struct self_backend *self = target->backend;
    if (address < self->hidden + self->hidden_size && address + size > self->hidden)
        return PSC_ERR_FAULT;
    if (self->memory >= 0)
        return pread(self->memory, buffer, size, (off_t)address) == (ssize_t)size ? PSC_OK
                                                                                  : PSC_ERR_FAULT;
    const struct target_mapping *mapping = target_find_mapping(target, address);
    if (!mapping || !mapping->file)
        return PSC_ERR_FAULT;
    uint64_t offset = mapping->offset + (address - mapping->start);
    if (offset > self->image_size || size > self->image_size - offset)
        return PSC_ERR_FAULT;
    memcpy(buffer, self->image + offset, size);
    return PSC_OK;
}

static inline void self_close(struct target *target)
{
    struct self_backend *self = target->backend;
    if (self->memory >= 0)
        close(self->memory);
    free(self);
}

static const struct target_ops self_ops = {.read = self_read, .close = self_close};

static inline struct target *self_create(void)
{
    struct target *target = calloc(1, sizeof(*target));
    struct self_backend *self = calloc(1, sizeof(*self));
    self->memory = -1;
    target->ops = &self_ops;
    target->machine = target_machine_here();
    target->backend = self;
    target->arena = arena_create();
    target->options.debug_directory = "/usr/lib/debug";
    warnings_init(&target->warnings, target->arena);
    return target;
}

static inline struct target_file *self_file(struct target *target, const char *path)
{
    for (size_t i = 0; i < target->file_count; i++) {
        if (strcmp(target->files[i]->path, path) == 0)
            return target->files[i];
    }
    struct target_file *file = arena_alloc(target->arena, sizeof(*file));
    file->path = arena_strdup(target->arena, path);
    target->files = realloc(target->files, (target->file_count + 1) * sizeof(struct target_file *));
    target->files[target->file_count++] = file;
    return file;
}

static inline struct target_mapping *self_mapping(struct target *target, psc_addr start,
                                                  psc_addr end)
{
    target->mappings =
        realloc(target->mappings, (target->mapping_count + 1) * sizeof(*target->mappings));
    struct target_mapping *mapping = &target->mappings[target->mapping_count++];
    *mapping = (struct target_mapping){.start = start, .end = end};
    return mapping;
}

/** This process, as it is now. */
static inline struct target *self_open(void)
{
    struct target *target = self_create();
    ((struct self_backend *)target->backend)->memory = open("/proc/self/mem", O_RDONLY);
    target->auxv.phdr = getauxval(AT_PHDR);
    target->auxv.entry = getauxval(AT_ENTRY);
    target->auxv.vdso = getauxval(AT_SYSINFO_EHDR);
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[8192];
    while (maps && fgets(line, sizeof(line), maps)) {
        uint64_t start, end, offset;
        char permissions[5];
        int path_at = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start, &end,
                   permissions, &offset, &path_at) < 4)
            continue;
        line[strcspn(line, "\n")] = '\0';
        struct target_mapping *mapping = self_mapping(target, start, end);
        mapping->offset = offset;
        mapping->permissions_known = true;
        mapping->readable = permissions[0] == 'r';
        mapping->writable = permissions[1] == 'w';
        mapping->executable = permissions[2] == 'x';
        if (line[path_at] == '/')
            mapping->file = self_file(target, line + path_at);
    }
    if (maps)
        fclose(maps);
    return target;
}

/** A file as if it were loaded at `bias`; NULL when it cannot be opened. */
static inline struct target *self_open_file(const char *path, psc_addr bias)
{
    int fd = open(path, O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == 0) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    void *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (image == MAP_FAILED)
        return NULL;
    struct target *target = self_create();
    struct self_backend *self = target->backend;
    self->image = image;
    self->image_size = (size_t)status.st_size;

    struct target_file *file = self_file(target, path);
    file->state = TARGET_FILE_FOUND; /* target_close() unmaps it. */
    file->image = image;
    file->size = self->image_size;
    file->local_path = file->path;

    struct elf_header header;
    struct elf_segment segments[ELF_SEGMENT_LIMIT];
    size_t count = 0;
    if (parse_elf_header(image, self->image_size, &header) &&
        header.segments_offset < self->image_size)
        count = parse_elf_segments(self->image + header.segments_offset,
                                   elf_count_segments(self->image, self->image_size, &header) *
                                       ELF_SEGMENT_SIZE,
                                   ELF_SEGMENT_LIMIT, segments);
    for (size_t i = 0; i < count; i++) {
        if (segments[i].type != PT_LOAD)
            continue;
        uint64_t inside = segments[i].offset & 4095;
        psc_addr start = bias + segments[i].address - inside;
        struct target_mapping *mapping =
            self_mapping(target, start, (start + inside + segments[i].file_size + 4095) & ~4095ull);
        mapping->offset = segments[i].offset - inside;
        mapping->file = file;
        mapping->permissions_known = true;
        mapping->readable = true;
        mapping->executable = (segments[i].flags & PF_X) != 0;
    }
    return target;
}

static inline struct modules *self_modules(struct target *target)
{
    struct modules *modules = NULL;
    struct psc_error err;
    return modules_create(target, &modules, &err) == PSC_OK ? modules : NULL;
}

#endif
