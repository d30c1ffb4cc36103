/**
 * @file
 * Private to modules/: whether a mapped file was loaded as a module, and where it lies.
 */
#ifndef PSC_CANDIDATE_H
#define PSC_CANDIDATE_H

#include "elf.h"
#include "target.h"

#define CANDIDATE_PAGE 4096

/** What is found out about an address range before it is taken as a module. */
struct candidate {
    const struct target_mapping *mapping; /**< The one at offset 0; NULL for the vdso. */
    struct elf_segment segments[ELF_SEGMENT_LIMIT];
    size_t segment_count;
    psc_addr start;
    psc_addr end;
    psc_addr bias;
};

/**
 * Finds segments, range and bias from the file's headers. Where those can not be read and `named`
 * (the file has other mappings) the mappings of that name that follow each other are the range.
 * @return false when it is no ELF file, or was not loaded but merely mapped to be read.
 */
bool candidate_find_range(struct target *target, struct candidate *candidate, bool named);

/**
 * Bytes of the file, from the target's memory or else from the file here.
 * @return how many there are from `offset` on, at most `size`.
 */
size_t candidate_read_bytes(struct target *target, const struct target_mapping *mapping,
                            uint64_t offset, uint8_t *buffer, size_t size);

#endif
