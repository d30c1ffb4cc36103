/* Files by libelf: opening, and what a separate debug file is known by. */
#include "elf_private.h"

#include <gelf.h>
#include <unistd.h>

struct Elf *elf_file_open(int fd)
{
    elf_version(EV_CURRENT);
    if (fd < 0)
        return NULL;
    /* Not elf_memory(): elf_compress() changes section headers in place, and only with
       ELF_C_READ_MMAP does libelf copy them out of the (read-only) mapping first. */
    Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf && (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64 ||
                elf_cntl(elf, ELF_C_FDREAD) != 0)) {
        elf_end(elf);
        elf = NULL;
    }
    if (elf)
        elf_cntl(elf, ELF_C_FDDONE);
    close(fd);
    return elf;
}

struct Elf *elf_file_of_bytes(const uint8_t *bytes, size_t size)
{
    elf_version(EV_CURRENT);
    return elf_memory((char *)(uintptr_t)bytes, size);
}

void elf_file_close(struct Elf *elf)
{
    elf_end(elf);
}

struct elf_bytes elf_file_bytes(struct Elf *elf)
{
    size_t size = 0;
    const char *bytes = elf_rawfile(elf, &size);
    return (struct elf_bytes){(const uint8_t *)bytes, bytes ? size : 0};
}

/* ---- which file it is ---- */

bool elf_file_build_id(struct Elf *elf, struct elf_bytes *ret)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        Elf64_Shdr header;
        const Elf_Data *data = elf_section_header(section, &header) && header.sh_type == SHT_NOTE
                                   ? elf_rawdata(section, NULL)
                                   : NULL;
        if (data && data->d_buf &&
            parse_build_id_note(data->d_buf, data->d_size, header.sh_addralign, ret))
            return true;
    }
    struct elf_bytes file = elf_file_bytes(elf);
    return file.data && !elf_file_section_count(elf) && parse_build_id(file.data, file.size, ret);
}

const char *parse_debug_link(const uint8_t *bytes, size_t size, uint32_t *ret_checksum)
{
    /* gdb's manual, "Separate Debug Files": a name, its NUL and padding, then four bytes. */
    if (size < sizeof(*ret_checksum))
        return NULL;
    size_t room = size - sizeof(*ret_checksum);
    if (!room || !memchr(bytes, 0, room))
        return NULL;
    *ret_checksum = load_u32(bytes + room);
    return (const char *)bytes;
}

const char *elf_file_debug_link(struct Elf *elf, uint32_t *ret_checksum)
{
    struct elf_bytes bytes;
    /* Nobody compresses it: no arena is needed. */
    return elf_file_read_section(elf, ".gnu_debuglink", NULL, &bytes)
               ? parse_debug_link(bytes.data, bytes.size, ret_checksum)
               : NULL;
}

uint32_t elf_checksum(const uint8_t *bytes, size_t size)
{
    uint32_t table[256];
    for (uint32_t i = 0; i < PSC_ARRAY_SIZE(table); i++) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
        table[i] = value;
    }
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < size; i++)
        crc = table[(crc ^ bytes[i]) & 0xff] ^ crc >> 8;
    return ~crc;
}
