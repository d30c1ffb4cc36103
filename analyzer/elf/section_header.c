/* The header of a section, wherever the file has it. */
#include "elf_private.h"

#include <gelf.h>

bool elf_section_header(Elf_Scn *section, Elf64_Shdr *ret)
{
    return section && gelf_getshdr(section, ret);
}
