#include "elf_image.h"

#include <elf.h>
#include <string.h>

bool parse_elf_header(const uint8_t *bytes, size_t size, struct elf_header *ret)
{
    if (size < ELF_HEADER_SIZE || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    if (bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
        return false;

    uint16_t type = load_u16(bytes + offsetof(Elf64_Ehdr, e_type));
    if (type != ET_EXEC && type != ET_DYN)
        return false;
    if (load_u16(bytes + offsetof(Elf64_Ehdr, e_phentsize)) != ELF_SEGMENT_SIZE)
        return false;

    uint16_t count = load_u16(bytes + offsetof(Elf64_Ehdr, e_phnum));
    ret->type = type;
    ret->entry = load_u64(bytes + offsetof(Elf64_Ehdr, e_entry));
    ret->segments_offset = load_u64(bytes + offsetof(Elf64_Ehdr, e_phoff));
    ret->segment_count = count < ELF_SEGMENT_LIMIT ? count : ELF_SEGMENT_LIMIT;
    return true;
}

static bool parse_elf_segment(const uint8_t *bytes, struct elf_segment *ret)
{
    ret->type = load_u32(bytes + offsetof(Elf64_Phdr, p_type));
    ret->flags = load_u32(bytes + offsetof(Elf64_Phdr, p_flags));
    ret->offset = load_u64(bytes + offsetof(Elf64_Phdr, p_offset));
    ret->address = load_u64(bytes + offsetof(Elf64_Phdr, p_vaddr));
    ret->file_size = load_u64(bytes + offsetof(Elf64_Phdr, p_filesz));
    ret->memory_size = load_u64(bytes + offsetof(Elf64_Phdr, p_memsz));

    uint64_t end;
    return !__builtin_add_overflow(ret->offset, ret->file_size, &end) &&
           !__builtin_add_overflow(ret->address, ret->memory_size, &end) &&
           !__builtin_add_overflow(ret->address, ret->file_size, &end);
}

size_t parse_elf_segments(const uint8_t *bytes, size_t size, size_t limit, struct elf_segment *ret)
{
    size_t filled = 0;
    size_t count = size / ELF_SEGMENT_SIZE;
    for (size_t i = 0; i < count && filled < limit; i++)
        filled += parse_elf_segment(bytes + i * ELF_SEGMENT_SIZE, &ret[filled]);
    return filled;
}

uint64_t parse_eh_frame_header(const uint8_t *bytes, size_t size, uint64_t segment_size)
{
    /* LSB core specification, .eh_frame_hdr: version, then the encodings of the pointer to
       .eh_frame (pcrel sdata4), of the count (udata4) and of the table (datarel sdata4). */
    static const uint8_t expected[4] = {1, 0x1b, 0x03, 0x3b};
    if (size < EH_FRAME_HEADER_SIZE || segment_size < EH_FRAME_HEADER_SIZE)
        return 0;
    if (memcmp(bytes, expected, sizeof(expected)) != 0)
        return 0;
    uint64_t count = load_u32(bytes + 8);
    return count <= (segment_size - EH_FRAME_HEADER_SIZE) / 8 ? count : 0;
}
