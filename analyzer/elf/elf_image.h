/**
 * @file
 * Private to modules/: ELF header, program headers and .eh_frame_hdr, parsed
 * from bytes of which any part may be missing or wrong.
 */
#ifndef PSC_ELF_IMAGE_H
#define PSC_ELF_IMAGE_H

#include "base.h"

/** Program headers looked at; linkers write about a dozen. */
#define ELF_SEGMENT_LIMIT 64

/** Bytes of an ELF64 header and of one program header. */
#define ELF_HEADER_SIZE  64
#define ELF_SEGMENT_SIZE 56

struct elf_header {
    uint16_t type; /**< ET_EXEC or ET_DYN. */
    uint64_t entry;
    uint64_t segments_offset;
    size_t segment_count; /**< At most ELF_SEGMENT_LIMIT. */
};

struct elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
};

/** False unless it is the header of a little-endian 64-bit program or shared object. */
bool parse_elf_header(const uint8_t *bytes, size_t size, struct elf_header *ret);

/**
 * Program headers, as many whole ones as `size` holds, at most `limit`. Those whose
 * sums overflow are left out.
 * @return how many were filled.
 */
size_t parse_elf_segments(const uint8_t *bytes, size_t size, size_t limit, struct elf_segment *ret);

/** The dynamic symbols of a file, all in its bytes. */
struct elf_symbols {
    const uint8_t *symbols; /**< Elf64_Sym, perhaps unaligned. */
    size_t size;            /**< Of all, in bytes. */
    const char *names;
    size_t names_size; /**< The last byte is NUL. */
};

/** What the loader finds by PT_DYNAMIC and a hash table; false when there is no such. */
bool parse_dynamic_symbols(const uint8_t *bytes, size_t size, struct elf_symbols *ret);

/** Bytes of .eh_frame_hdr in front of its binary search table. */
#define EH_FRAME_HEADER_SIZE 12

/**
 * Checks version and encodings (1, 1b 03 3b: what every linker writes and every
 * unwinder can search) and that the table fits into the segment.
 * @return the number of table entries, 0 when the table is not usable.
 */
uint64_t parse_eh_frame_header(const uint8_t *bytes, size_t size, uint64_t segment_size);

#endif
