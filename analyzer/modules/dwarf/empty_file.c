/*
 * What stands for a file that .gnu_debugaltlink names and that is not at hand. Without one libdw
 * opens whatever has that name, and waits for it if it is a FIFO (elfutils 0.188,
 * libdw/dwarf_getalt.c).
 */
#include "dwarf_private.h"

#include <elf.h>
#include <stddef.h>

#define NAMES "\0.debug_info\0.debug_str\0.shstrtab"

/* A section of one byte at least is needed, else libdw says that the file has no DWARF. */
static const struct {
    Elf64_Ehdr header;
    Elf64_Shdr sections[4];
    char names[sizeof(NAMES)];
} image = {
    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
               .e_type = ET_REL,
               .e_version = EV_CURRENT,
               .e_shoff = sizeof(Elf64_Ehdr),
               .e_ehsize = sizeof(Elf64_Ehdr),
               .e_shentsize = sizeof(Elf64_Shdr),
               .e_shnum = 4,
               .e_shstrndx = 3},
    .sections = {{0},
                 {.sh_name = 1,
                  .sh_type = SHT_PROGBITS,
                  .sh_offset = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr),
                  .sh_size = 1,
                  .sh_addralign = 1},
                 {.sh_name = 13,
                  .sh_type = SHT_PROGBITS,
                  .sh_offset = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr),
                  .sh_size = 1,
                  .sh_addralign = 1},
                 {.sh_name = 24,
                  .sh_type = SHT_STRTAB,
                  .sh_offset = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr),
                  .sh_size = sizeof(NAMES),
                  .sh_addralign = 1}},
    .names = NAMES,
};

struct Elf *open_empty_file(void)
{
    return elf_file_of_bytes((const uint8_t *)&image, sizeof(image));
}
