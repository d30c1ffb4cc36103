/**
 * @file
 * Part of the door of elf/: files by their section headers, as libelf reads them. Bytes are good
 * until the file is closed.
 */
#ifndef PSC_ELF_FILE_H
#define PSC_ELF_FILE_H

#include "base.h"

struct elf_bytes;
struct elf_symbols;
/** libelf's handle. */
struct Elf;

/**
 * Opens a 64-bit ELF file; NULL when it is none.
 * @param fd  closed in any case; -1: there is no file.
 */
struct Elf *elf_file_open(int fd);
/** The same of bytes that outlive it. */
struct Elf *elf_file_of_bytes(const uint8_t *bytes, size_t size);
/** `elf` may be NULL. */
void elf_file_close(struct Elf *elf);
/** The whole file; no data when libelf does not have it. */
struct elf_bytes elf_file_bytes(struct Elf *elf);

/* ---- sections: `elf` may be NULL, which has none ---- */

struct elf_section {
    uint32_t type;  /**< SHT_... */
    uint64_t flags; /**< SHF_... */
    uint64_t address;
    uint64_t size;
    bool gnu_compressed; /**< It was found as ".zdebug_x". */
};

/** 0 for a file without section headers. */
size_t elf_file_section_count(struct Elf *elf);
/** False for a number that is not there. */
bool elf_file_get_section(struct Elf *elf, size_t index, struct elf_section *ret);
/** By name; ".debug_x" also finds ".zdebug_x", which is how GNU tools named compressed ones. */
bool elf_file_find_section(struct Elf *elf, const char *name, struct elf_section *ret);
/** True when .debug_line or .debug_info is in it, compressed or not. */
bool elf_file_has_debug_info(struct Elf *elf);
/** The bytes of a section, decompressed (into the arena) if need be; false when it has none. */
bool elf_file_read_section(struct Elf *elf, const char *name, struct arena *arena,
                           struct elf_bytes *ret);
/** The same of the section of a number, when it has that name. */
bool elf_file_read_section_at(struct Elf *elf, size_t index, const char *name, struct arena *arena,
                              struct elf_bytes *ret);
/**
 * Gives a section that is not compressed other bytes, for whoever reads it by libelf from then on.
 * They must outlive the file. False when there is none.
 */
bool elf_file_replace_section(struct Elf *elf, const char *name, uint8_t *bytes, size_t size);
/** The first symbol section of a type (SHT_SYMTAB, SHT_DYNSYM), with its names. */
bool elf_file_find_symbols(struct Elf *elf, uint32_t type, struct elf_symbols *ret);
/**
 * The file that is packed in .gnu_debugdata: symbols of functions, and no other bytes of them. NULL
 * when there is none.
 * @param ret_bytes  what it lies in, malloc'd; to be freed behind elf_file_close().
 */
struct Elf *elf_file_open_debugdata(struct Elf *elf, uint8_t **ret_bytes);
/**
 * The symbols of two files, the second ones behind, whose sections are counted on from `sections`.
 * In the arena; false without memory for it.
 */
bool elf_symbols_join(const struct elf_symbols *first, size_t sections,
                      const struct elf_symbols *second, struct arena *arena,
                      struct elf_symbols *ret);
/** Bytes of a file that would have to be decompressed, and what they say they become. */
struct elf_compression {
    uint64_t stored, inflated;
};
/**
 * False when a section claims a size that it cannot have when it is decompressed, or that nobody
 * needs: libdw would believe it.
 */
bool elf_file_is_sane(struct Elf *elf, struct elf_compression *ret);

/* ---- which file it is ---- */

/** The build-id, by the sections with notes; of a file without sections by its segments. */
bool elf_file_build_id(struct Elf *elf, struct elf_bytes *ret);
/** The name and checksum of the separate debug file, by .gnu_debuglink; NULL for none. */
const char *elf_file_debug_link(struct Elf *elf, uint32_t *ret_checksum);
/** The same of the section's bytes. */
const char *parse_debug_link(const uint8_t *bytes, size_t size, uint32_t *ret_checksum);
/** The checksum that .gnu_debuglink has of the other file: CRC-32 (ISO 3309, reflected). */
uint32_t elf_checksum(const uint8_t *bytes, size_t size);

#endif
