/*
 * The file of a module as the target's memory has it, where no file is at hand: what the loader has
 * mapped, without section headers. Enough for the exported names, unwind tables and code.
 */
#include "files_private.h"

#include <stdlib.h>
#include <string.h>

/* Larger modules go without; the largest that people write themselves have some ten megabytes. */
#define IMAGE_LIMIT ((uint64_t)64 << 20)
/* Linkers put the program headers right behind the header. */
#define HEADERS_LIMIT 4096u

/* The program headers that memory has; 0: not all of them, or it is none. */
static size_t read_segments(const struct module *module,
                            struct elf_segment segments[ELF_SEGMENT_LIMIT])
{
    uint8_t bytes[ELF_SEGMENT_LIMIT * ELF_SEGMENT_SIZE];
    struct elf_header header;
    struct target *target = module->owner->target;
    if (target_read(target, module->start, bytes, ELF_HEADER_SIZE) != PSC_OK ||
        !parse_elf_header(bytes, ELF_HEADER_SIZE, &header) || !elf_is_loadable(&header) ||
        header.segment_count > ELF_SEGMENT_LIMIT || header.segments_offset > HEADERS_LIMIT ||
        target_read(target, module->start + header.segments_offset, bytes,
                    header.segment_count * ELF_SEGMENT_SIZE) != PSC_OK)
        return 0;
    return parse_elf_segments(bytes, header.segment_count * ELF_SEGMENT_SIZE, header.segment_count,
                              segments);
}

static bool is_loaded(const struct elf_segment *segment)
{
    return segment->type == PT_LOAD && segment->file_size;
}

/* Bytes of the file that are loaded; 0: too many. */
static size_t find_size(const struct elf_segment *segments, size_t count)
{
    uint64_t size = 0;
    for (size_t i = 0; i < count; i++) {
        const struct elf_segment *segment = &segments[i];
        if (!is_loaded(segment))
            continue;
        if (segment->file_size > IMAGE_LIMIT || segment->offset > IMAGE_LIMIT - segment->file_size)
            return 0;
        if (segment->offset + segment->file_size > size)
            size = segment->offset + segment->file_size;
    }
    return (size_t)size;
}

/* The loader has moved the pointers that data has into its own module; they are moved back. */
static void undo_relocations(const struct module *module, uint8_t *bytes, uint64_t size)
{
    for (uint64_t at = 0; at + 8 <= size; at += 8) {
        uint64_t word = load_u64(bytes + at);
        if (word < module->start || word >= module->end)
            continue;
        word -= module->bias;
        memcpy(bytes + at, &word, sizeof(word));
    }
}

static bool read_image(const struct module *module, const struct elf_segment *segments,
                       size_t count, uint8_t *image)
{
    struct target *target = module->owner->target;
    for (size_t i = 0; i < count; i++) {
        const struct elf_segment *segment = &segments[i];
        if (!is_loaded(segment))
            continue;
        psc_addr address = module->bias + segment->address;
        if (address < module->start || address >= module->end ||
            segment->file_size > module->end - address ||
            target_read(target, address, image + segment->offset, (size_t)segment->file_size) !=
                PSC_OK)
            return false;
        if (segment->flags & PF_W)
            undo_relocations(module, image + segment->offset, segment->file_size);
    }
    return true;
}

/* Where they would be nothing was loaded. */
static void forget_sections(uint8_t *image)
{
    memset(image + offsetof(Elf64_Ehdr, e_shoff), 0, sizeof(Elf64_Off));
    memset(image + offsetof(Elf64_Ehdr, e_shnum), 0, sizeof(Elf64_Half));
    memset(image + offsetof(Elf64_Ehdr, e_shstrndx), 0, sizeof(Elf64_Half));
}

uint8_t *files_read_memory(const struct module *module, size_t *ret_size)
{
    struct elf_segment segments[ELF_SEGMENT_LIMIT];
    // A debugger may have it at the other end of a slow line.
    if (module->owner->target->kind == TARGET_DEBUGGER)
        return NULL;
    size_t count = read_segments(module, segments);
    size_t size = find_size(segments, count);
    uint8_t *image = size >= ELF_HEADER_SIZE ? calloc(1, size) : NULL;
    if (!image)
        return NULL;
    if (!read_image(module, segments, count, image) || !elf_is_elf(image, size)) {
        free(image);
        return NULL;
    }
    forget_sections(image);
    *ret_size = size;
    return image;
}
