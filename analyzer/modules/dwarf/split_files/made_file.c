/* A file of one unit, in memory. */
#include "split_files.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of one unit with the texts of all: more is not copied. */
#define UNIT_SIZE_LIMIT ((size_t)256 << 20)
#define MADE_SECTIONS   (UNIT_PIECE_LIMIT + 3) /* With none, what libdw asks for, and the names. */
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
static bool finish(struct made_file *file)
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
    header->e_machine = EM_X86_64;
    header->e_version = EV_CURRENT;
    header->e_ehsize = sizeof(*header);
    header->e_shoff = file->size;
    header->e_shentsize = sizeof(Elf64_Shdr);
    header->e_shnum = (Elf64_Half)file->count;
    header->e_shstrndx = (Elf64_Half)(file->count - 1);
    return put(file, file->sections, file->count * sizeof(*file->sections)) &&
           pwrite(file->fd, header, sizeof(*header), 0) == sizeof(*header);
}

int unit_pieces_write(const struct unit_pieces *pieces)
{
    struct made_file file = {
        .fd = memfd_create("pystack-core-dwo", MFD_CLOEXEC), .count = 1, .names_size = 1};
    bool good = file.fd >= 0 && put(&file, &file.header, sizeof(file.header));
    for (size_t i = 0; good && i < pieces->count; i++) {
        const struct unit_piece *piece = &pieces->items[i];
        good = put_section(&file, piece->section, piece->bytes.data, piece->bytes.size);
    }
    if (good && finish(&file))
        return file.fd;
    if (file.fd >= 0)
        close(file.fd);
    return -1;
}

/* ---- without copies ---- */

/* Each section has one byte of the header until it gets its own. */
struct image {
    Elf64_Ehdr header;
    Elf64_Shdr sections[MADE_SECTIONS];
    char names[NAMES_SIZE];
};

static void add_section(struct image *image, const char *name, size_t *names_size)
{
    size_t length = strlen(name) + 1;
    if (length > sizeof(image->names) - *names_size)
        return;
    memcpy(image->names + *names_size, name, length);
    image->sections[image->header.e_shnum++] = (Elf64_Shdr){.sh_name = (Elf64_Word)*names_size,
                                                            .sh_type = SHT_PROGBITS,
                                                            .sh_size = 1,
                                                            .sh_addralign = 1};
    *names_size += length;
}

static struct image *make_image(const struct unit_pieces *pieces, struct arena *arena)
{
    size_t names_size = 1;
    struct image *image = arena_alloc(arena, sizeof(*image));
    if (!image)
        return NULL;
    *image = (struct image){.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
                                                   ELFDATA2LSB, EV_CURRENT},
                                       .e_type = ET_REL,
                                       .e_machine = EM_X86_64,
                                       .e_version = EV_CURRENT,
                                       .e_shoff = offsetof(struct image, sections),
                                       .e_ehsize = sizeof(Elf64_Ehdr),
                                       .e_shentsize = sizeof(Elf64_Shdr),
                                       .e_shnum = 1}};
    for (size_t i = 0; i < pieces->count; i++)
        add_section(image, pieces->items[i].section, &names_size);
    // Of a file with .debug_types.dwo alone libdw says that it has no DWARF.
    add_section(image, ".debug_frame.dwo", &names_size);
    image->header.e_shstrndx = image->header.e_shnum;
    add_section(image, ".shstrtab", &names_size);
    Elf64_Shdr *names = &image->sections[image->header.e_shstrndx];
    names->sh_type = SHT_STRTAB;
    names->sh_offset = offsetof(struct image, names);
    names->sh_size = sizeof(image->names);
    return image;
}

struct Elf *unit_pieces_open(const struct unit_pieces *pieces, struct arena *arena)
{
    struct image *image = make_image(pieces, arena);
    struct Elf *elf = image ? elf_file_of_bytes((const uint8_t *)image, sizeof(*image)) : NULL;
    for (size_t i = 0; elf && i < pieces->count; i++) {
        const struct unit_piece *piece = &pieces->items[i];
        // libdw only reads them.
        if (elf_file_replace_section(elf, piece->section, (uint8_t *)(uintptr_t)piece->bytes.data,
                                     piece->bytes.size))
            continue;
        elf_file_close(elf);
        elf = NULL;
    }
    return elf;
}
