/*
 * Units out of a .dwp, in which dwp(1) and llvm-dwp put all .dwo files of a program. libdw 0.188
 * does not read these: what belongs to one unit is written as a .dwo file into memory, which it
 * does.
 */
#include "dwarf_private.h"
#include "unit_index.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of one unit with the texts of all: more is not copied. */
#define UNIT_SIZE_LIMIT ((size_t)256 << 20)
#define MADE_SECTIONS   (UNIT_INDEX_COLUMNS + 3) /* With none, the texts, and the names. */
#define NAMES_SIZE      512

/* A file that is being made. */
struct made_file {
    int fd;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr sections[MADE_SECTIONS];
    size_t count;
    char names[NAMES_SIZE];
    size_t names_size;
};

static bool put(struct made_file *file, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = write(file->fd, (const char *)bytes + done, size - done);
        if (written <= 0)
            return false;
        done += (size_t)written;
    }
    file->size += size;
    return true;
}

static bool put_section(struct made_file *file, const char *name, const void *bytes, size_t size)
{
    size_t length = strlen(name) + 1;
    if (file->count == MADE_SECTIONS || length > sizeof(file->names) - file->names_size ||
        size > UNIT_SIZE_LIMIT - file->size)
        return false;
    file->sections[file->count++] = (Elf64_Shdr){.sh_name = (Elf64_Word)file->names_size,
                                                 .sh_type = SHT_PROGBITS,
                                                 .sh_offset = file->size,
                                                 .sh_size = size,
                                                 .sh_addralign = 1};
    memcpy(file->names + file->names_size, name, length);
    file->names_size += length;
    return put(file, bytes, size);
}

/* The names, the headers of the sections, and at the beginning that of the file. */
static bool finish(struct made_file *file, uint16_t machine)
{
    Elf64_Ehdr *header = &file->header;
    if (!put_section(file, ".shstrtab", file->names, sizeof(file->names)))
        return false;
    file->sections[file->count - 1].sh_type = SHT_STRTAB;
    // The name that was put last came behind what was written.
    if (pwrite(file->fd, file->names, sizeof(file->names),
               (off_t)file->sections[file->count - 1].sh_offset) != sizeof(file->names))
        return false;
    static const char padding[sizeof(uint64_t)];
    if (!put(file, padding, -file->size % sizeof(padding)))
        return false;
    memcpy(
        header->e_ident,
        (unsigned char[]){ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        EI_VERSION + 1);
    header->e_type = ET_REL;
    header->e_machine = machine;
    header->e_version = EV_CURRENT;
    header->e_ehsize = sizeof(*header);
    header->e_shoff = file->size;
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_shnum = (Elf64_Half)file->count;
    header->e_shstrndx = (Elf64_Half)(file->count - 1);
    return put(file, file->sections, file->count * sizeof(*file->sections)) &&
           pwrite(file->fd, header, sizeof(*header), 0) == sizeof(*header);
}

static bool put_parts(struct made_file *file, struct module *module, const struct unit_parts *parts)
{
    struct Elf *package = module->dwarf->package;
    struct arena *arena = module->owner->target->arena;
    struct elf_bytes bytes;
    for (size_t i = 0; i < parts->count; i++) {
        const struct unit_part *part = &parts->items[i];
        if (!part->size)
            continue;
        if (!elf_file_read_section(package, part->section, arena, &bytes) ||
            part->offset > bytes.size || part->size > bytes.size - part->offset ||
            !put_section(file, part->section, bytes.data + part->offset, part->size))
            return false;
    }
    // Its texts are those of all units.
    return !elf_file_read_section(package, ".debug_str.dwo", arena, &bytes) ||
           put_section(file, ".debug_str.dwo", bytes.data, bytes.size);
}

bool split_package_open(struct module *module, const char *path)
{
    struct module_dwarf *dwarf = module->dwarf;
    struct elf_compression compressed;
    if (dwarf->package)
        return true;
    dwarf->package = elf_file_open(target_open_mapped(module->owner->target, path));
    if (dwarf->package && elf_file_is_sane(dwarf->package, &compressed))
        return true;
    elf_file_close(dwarf->package);
    dwarf->package = NULL;
    return false;
}

int split_package_extract(struct module *module, uint64_t id)
{
    struct elf_bytes index;
    struct unit_parts parts;
    if (!elf_file_read_section(module->dwarf->package, ".debug_cu_index",
                               module->owner->target->arena, &index) ||
        !parse_unit_index(index.data, index.size, id, &parts))
        return -1;
    struct made_file file = {
        .fd = memfd_create("pystack-core-dwo", MFD_CLOEXEC), .count = 1, .names_size = 1};
    if (file.fd >= 0 && put(&file, &file.header, sizeof(file.header)) &&
        put_parts(&file, module, &parts) && finish(&file, EM_X86_64))
        return file.fd;
    if (file.fd >= 0)
        close(file.fd);
    return -1;
}
