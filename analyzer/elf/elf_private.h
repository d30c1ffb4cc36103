/** @file What the files of room `elf` share. */
#ifndef PSC_ELF_PRIVATE_H
#define PSC_ELF_PRIVATE_H

#include "elf.h"

#include <libelf.h>

/**
 * A copy of a section's header: libelf's own stands where the file has it, which need not be a
 * multiple of eight. False: there is none.
 */
bool elf_section_header(Elf_Scn *section, Elf64_Shdr *ret);
/**
 * Decompresses a section if it is compressed: zlib's data into the arena, which *ret tells; what
 * else there is in place.
 */
bool elf_decompress(struct Elf *elf, Elf_Scn *section, struct arena *arena, struct elf_bytes *ret);
/** False when a section that is compressed claims a size that it cannot have; *ret: that size. */
bool elf_compression_is_sane(Elf_Scn *section, uint64_t *ret);

/** How a relocation fills its place: with the symbol plus addend, or with how far away that is. */
struct elf_fill {
    uint8_t size;
    bool relative;
};

/** False for relocations that debug information and .eh_frame do not have. */
bool elf_find_fill(uint16_t machine, uint64_t type, struct elf_fill *ret);

#endif
