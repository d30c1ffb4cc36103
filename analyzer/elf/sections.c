/* Sections, by libelf. */
#include "elf_private.h"

#include <gelf.h>

size_t elf_file_section_count(struct Elf *elf)
{
    size_t count;
    return elf && elf_getshdrnum(elf, &count) == 0 ? count : 0;
}

static void describe(const Elf64_Shdr *header, struct elf_section *ret)
{
    *ret = (struct elf_section){.type = header->sh_type,
                                .flags = header->sh_flags,
                                .address = header->sh_addr,
                                .size = header->sh_size};
}

bool elf_file_get_section(struct Elf *elf, size_t index, struct elf_section *ret)
{
    Elf_Scn *section = elf_getscn(elf, index);
    Elf64_Shdr header;
    if (!elf_section_header(section, &header))
        return false;
    describe(&header, ret);
    return true;
}

static bool is_gnu_compressed(const char *found, const char *name)
{
    return strncmp(name, ".debug_", 7) == 0 && found[0] == '.' && found[1] == 'z' &&
           strcmp(found + 2, name + 1) == 0;
}

static bool has_name(struct Elf *elf, Elf_Scn *section, const char *name, bool *ret_gnu_compressed)
{
    size_t names;
    Elf64_Shdr header;
    const char *found = elf_section_header(section, &header) && elf_getshdrstrndx(elf, &names) == 0
                            ? elf_strptr(elf, names, header.sh_name)
                            : NULL;
    *ret_gnu_compressed = found && is_gnu_compressed(found, name);
    return found && (*ret_gnu_compressed || strcmp(found, name) == 0);
}

static Elf_Scn *find_section(struct Elf *elf, const char *name, bool *ret_gnu_compressed)
{
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section)) != NULL;)
        if (has_name(elf, section, name, ret_gnu_compressed))
            return section;
    return NULL;
}

static Elf_Scn *find_section_with_bytes(struct Elf *elf, const char *name)
{
    bool gnu_compressed;
    Elf_Scn *section = find_section(elf, name, &gnu_compressed);
    Elf64_Shdr header;
    return elf_section_header(section, &header) && header.sh_type != SHT_NOBITS &&
                   header.sh_size > 0
               ? section
               : NULL;
}

bool elf_file_find_section(struct Elf *elf, const char *name, struct elf_section *ret)
{
    bool gnu_compressed;
    Elf64_Shdr header;
    if (!elf_section_header(find_section(elf, name, &gnu_compressed), &header))
        return false;
    describe(&header, ret);
    ret->gnu_compressed = gnu_compressed;
    return true;
}

bool elf_file_has_debug_info(struct Elf *elf)
{
    return find_section_with_bytes(elf, ".debug_line") ||
           find_section_with_bytes(elf, ".debug_info");
}

static bool read_section(struct Elf *elf, Elf_Scn *section, struct arena *arena,
                         struct elf_bytes *ret)
{
    struct elf_bytes inflated = {0};
    if (!section || !elf_decompress(elf, section, arena, &inflated))
        return false;
    if (inflated.data) {
        *ret = inflated;
        return true;
    }
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size == 0)
        return false;
    *ret = (struct elf_bytes){data->d_buf, data->d_size};
    return true;
}

bool elf_file_read_section(struct Elf *elf, const char *name, struct arena *arena,
                           struct elf_bytes *ret)
{
    return read_section(elf, find_section_with_bytes(elf, name), arena, ret);
}

bool elf_file_read_section_at(struct Elf *elf, size_t index, const char *name, struct arena *arena,
                              struct elf_bytes *ret)
{
    bool gnu_compressed;
    Elf64_Shdr header;
    Elf_Scn *section = elf_getscn(elf, index);
    return elf_section_header(section, &header) && header.sh_type != SHT_NOBITS &&
           header.sh_size > 0 && has_name(elf, section, name, &gnu_compressed) &&
           read_section(elf, section, arena, ret);
}

bool elf_file_replace_section(struct Elf *elf, const char *name, uint8_t *bytes, size_t size)
{
    Elf_Scn *section = find_section_with_bytes(elf, name);
    Elf64_Shdr header;
    if (!elf_section_header(section, &header) || header.sh_flags & SHF_COMPRESSED)
        return false;
    // libdw takes the one or the other, as its version has it.
    Elf_Data *raw = elf_rawdata(section, NULL);
    Elf_Data *data = elf_getdata(section, NULL);
    if (!raw || !data)
        return false;
    raw->d_buf = data->d_buf = bytes;
    raw->d_size = data->d_size = size;
    return true;
}

bool elf_file_find_symbols(struct Elf *elf, uint32_t type, struct elf_symbols *ret)
{
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section)) != NULL;) {
        Elf64_Shdr header;
        if (!elf_section_header(section, &header) || header.sh_type != type)
            continue;
        const Elf_Data *symbols = elf_getdata(section, NULL);
        Elf_Scn *name_section = elf_getscn(elf, header.sh_link);
        const Elf_Data *names = name_section ? elf_getdata(name_section, NULL) : NULL;
        if (!symbols || !symbols->d_buf || !names || !names->d_buf || !names->d_size)
            continue;
        const char *last = memrchr(names->d_buf, 0, names->d_size);
        if (!last)
            continue;
        *ret = (struct elf_symbols){.symbols = {symbols->d_buf, symbols->d_size},
                                    .names = names->d_buf};
        ret->names_size = (size_t)(last + 1 - ret->names);
        return true;
    }
    return false;
}

bool elf_file_is_sane(struct Elf *elf, struct elf_compression *ret)
{
    *ret = (struct elf_compression){0};
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names) != 0)
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        Elf64_Shdr header;
        const char *name =
            elf_section_header(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || header.sh_type == SHT_NOBITS ||
            (strncmp(name, ".zdebug", 7) != 0 && !(header.sh_flags & SHF_COMPRESSED)))
            continue;
        uint64_t inflated = 0;
        ret->stored += header.sh_size;
        if (!elf_compression_is_sane(section, &inflated))
            return false;
        ret->inflated += inflated;
    }
    return true;
}
