/* ELF header, program headers, the header of .eh_frame_hdr. */
#include "elf.h"

bool parse_elf_type(const uint8_t *bytes, size_t size, uint16_t *ret)
{
    if (size < ELF_TYPE_SIZE || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return false;
    const uint8_t *type = bytes + EI_NIDENT;
    bool big = bytes[EI_DATA] == ELFDATA2MSB;
    *ret = (uint16_t)(big ? type[0] << 8 | type[1] : type[1] << 8 | type[0]);
    return true;
}

bool elf_is_elf(const uint8_t *bytes, size_t size)
{
    return size >= ELF_HEADER_SIZE && memcmp(bytes, ELFMAG, SELFMAG) == 0;
}

bool parse_elf_header(const uint8_t *bytes, size_t size, struct elf_header *ret)
{
    if (!elf_is_elf(bytes, size) || bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
        return false;
    uint16_t type = load_u16(bytes + offsetof(Elf64_Ehdr, e_type));
    /* As in libelf, a core whose e_phentsize is damaged can still be read. */
    bool usual =
        load_u16(bytes + offsetof(Elf64_Ehdr, e_phentsize)) == ELF_SEGMENT_SIZE || type == ET_CORE;
    *ret = (struct elf_header){
        .type = type,
        .machine = load_u16(bytes + offsetof(Elf64_Ehdr, e_machine)),
        .entry = load_u64(bytes + offsetof(Elf64_Ehdr, e_entry)),
        .segments_offset = load_u64(bytes + offsetof(Elf64_Ehdr, e_phoff)),
        .sections_offset = load_u64(bytes + offsetof(Elf64_Ehdr, e_shoff)),
        .segment_count = usual ? load_u16(bytes + offsetof(Elf64_Ehdr, e_phnum)) : 0,
    };
    return true;
}

bool elf_is_loadable(const struct elf_header *header)
{
    return header->type == ET_EXEC || header->type == ET_DYN;
}

size_t elf_count_segments(const uint8_t *image, size_t size, const struct elf_header *header)
{
    if (!header->segments_offset || header->segments_offset >= size)
        return 0;
    size_t room = (size - (size_t)header->segments_offset) / ELF_SEGMENT_SIZE;
    size_t count = header->segment_count;
    if (count == PN_XNUM) {
        /* gABI: the number is in the first section header. */
        uint64_t sections = header->sections_offset;
        if (sections && size >= sizeof(Elf64_Shdr) && sections <= size - sizeof(Elf64_Shdr))
            count = load_u32(image + sections + offsetof(Elf64_Shdr, sh_info));
    }
    return count < room ? count : room;
}

void parse_elf_segment(const uint8_t bytes[ELF_SEGMENT_SIZE], struct elf_segment *ret)
{
    *ret = (struct elf_segment){
        .type = load_u32(bytes + offsetof(Elf64_Phdr, p_type)),
        .flags = load_u32(bytes + offsetof(Elf64_Phdr, p_flags)),
        .offset = load_u64(bytes + offsetof(Elf64_Phdr, p_offset)),
        .address = load_u64(bytes + offsetof(Elf64_Phdr, p_vaddr)),
        .file_size = load_u64(bytes + offsetof(Elf64_Phdr, p_filesz)),
        .memory_size = load_u64(bytes + offsetof(Elf64_Phdr, p_memsz)),
        .alignment = load_u64(bytes + offsetof(Elf64_Phdr, p_align)),
    };
}

static bool sums_fit(const struct elf_segment *segment)
{
    uint64_t end;
    return !__builtin_add_overflow(segment->offset, segment->file_size, &end) &&
           !__builtin_add_overflow(segment->address, segment->memory_size, &end) &&
           !__builtin_add_overflow(segment->address, segment->file_size, &end);
}

size_t parse_elf_segments(const uint8_t *bytes, size_t size, size_t limit, struct elf_segment *ret)
{
    size_t filled = 0;
    size_t count = size / ELF_SEGMENT_SIZE;
    for (size_t i = 0; i < count && filled < limit; i++) {
        parse_elf_segment(bytes + i * ELF_SEGMENT_SIZE, &ret[filled]);
        filled += sums_fit(&ret[filled]);
    }
    return filled;
}

bool elf_next_segment(const uint8_t *image, size_t size, uint32_t type, size_t *index,
                      struct elf_segment *ret)
{
    struct elf_header header;
    if (!parse_elf_header(image, size, &header))
        return false;
    size_t count = elf_count_segments(image, size, &header);
    while (*index < count) {
        parse_elf_segment(image + header.segments_offset + (*index)++ * ELF_SEGMENT_SIZE, ret);
        if (ret->type == type)
            return true;
    }
    return false;
}

uint64_t parse_eh_frame_header(const uint8_t *bytes, size_t size, uint64_t segment_size)
{
    /* LSB core specification, .eh_frame_hdr: version, then the encodings of the pointer to
       .eh_frame (pcrel sdata4), of the count (udata4) and of the table (datarel sdata4). */
    static const uint8_t expected[4] = {1, 0x1b, 0x03, 0x3b};
    if (size < ELF_EH_FRAME_HEADER_SIZE || segment_size < ELF_EH_FRAME_HEADER_SIZE)
        return 0;
    if (memcmp(bytes, expected, sizeof(expected)) != 0)
        return 0;
    uint64_t count = load_u32(bytes + 8);
    return count <= (segment_size - ELF_EH_FRAME_HEADER_SIZE) / 8 ? count : 0;
}
