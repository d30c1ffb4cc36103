#include "candidate.h"

#include <string.h>

/** Mappings that one segment may be split into (mprotect splits them). */
#define SEGMENT_MAPPING_LIMIT 1024

static uint64_t page_down(uint64_t value)
{
    return value & ~(uint64_t)(CANDIDATE_PAGE - 1);
}

/* ---- headers ---- */

size_t candidate_read_bytes(struct target *target, const struct target_mapping *mapping,
                            uint64_t offset, uint8_t *buffer, size_t size)
{
    uint64_t length = mapping->end - mapping->start;
    size_t got = 0;
    if (offset < length) {
        size_t want = size < length - offset ? size : (size_t)(length - offset);
        got = target_read_some(target, mapping->start + offset, buffer, want);
    }
    if (got == size)
        return got;
    target_file_open(target, mapping->file);
    const struct target_file *file = mapping->file;
    if (!file->image || offset >= file->size)
        return got;
    size_t have = size < file->size - offset ? size : (size_t)(file->size - offset);
    if (have > got) {
        memcpy(buffer, file->image + offset, have);
        got = have;
    }
    return got;
}

enum header_result { HEADER_FOUND, HEADER_OTHER, HEADER_UNREADABLE };

static enum header_result read_segments(struct target *target, struct candidate *candidate)
{
    uint8_t bytes[ELF_SEGMENT_LIMIT * ELF_SEGMENT_SIZE];
    struct elf_header header;
    size_t got = candidate_read_bytes(target, candidate->mapping, 0, bytes, ELF_HEADER_SIZE);
    if (got < ELF_HEADER_SIZE)
        return got ? HEADER_OTHER : HEADER_UNREADABLE;
    if (!parse_elf_header(bytes, got, &header) || !elf_is_loadable(&header))
        return HEADER_OTHER;
    size_t count =
        header.segment_count < ELF_SEGMENT_LIMIT ? header.segment_count : ELF_SEGMENT_LIMIT;
    got = candidate_read_bytes(target, candidate->mapping, header.segments_offset, bytes,
                               count * ELF_SEGMENT_SIZE);
    candidate->segment_count = parse_elf_segments(bytes, got, count, candidate->segments);
    return candidate->segment_count ? HEADER_FOUND : HEADER_OTHER;
}

/* ---- placing ---- */

/** The segment that the file's first page belongs to gives the bias. */
static bool find_bias(struct candidate *candidate)
{
    for (size_t i = 0; i < candidate->segment_count; i++) {
        const struct elf_segment *segment = &candidate->segments[i];
        if (segment->type != PT_LOAD || segment->file_size == 0 ||
            page_down(segment->offset) != candidate->mapping->offset)
            continue;
        candidate->bias = candidate->mapping->start - candidate->mapping->offset -
                          segment->address + segment->offset;
        return true;
    }
    return false;
}

/**
 * The end of the file-backed part of a segment, as it is mapped; 0 when something
 * else lies there. Anonymous memory is accepted: text moved to huge pages.
 */
static psc_addr segment_mapped_end(const struct target *target, const struct candidate *candidate,
                                   const struct elf_segment *segment)
{
    psc_addr address = page_down(candidate->bias + segment->address);
    psc_addr end = candidate->bias + segment->address + segment->file_size;
    psc_addr reached = 0;
    for (size_t i = 0; i < SEGMENT_MAPPING_LIMIT && address < end; i++) {
        const struct target_mapping *mapping = target_find_mapping(target, address);
        if (!mapping)
            break;
        if (mapping->file) {
            uint64_t offset = mapping->offset + (address - mapping->start);
            bool same = mapping->file == candidate->mapping->file &&
                        offset == page_down(segment->offset) +
                                      (address - page_down(candidate->bias + segment->address));
            if (!same)
                break;
        }
        if (i == 0 && (segment->flags & PF_X) && mapping->permissions_known && !mapping->executable)
            break;
        reached = mapping->end;
        address = mapping->end;
    }
    return reached;
}

/** The zero-initialised data behind a segment's file part: anonymous and adjacent. */
static psc_addr extend_over_bss(const struct target *target, psc_addr reached, psc_addr end)
{
    for (size_t i = 0; i < SEGMENT_MAPPING_LIMIT && reached < end; i++) {
        const struct target_mapping *mapping = target_find_mapping(target, reached);
        if (!mapping || mapping->file)
            break;
        /* The heap may follow without a gap: only what the segment asks for belongs to it. */
        reached = mapping->end < end ? mapping->end : page_down(end + CANDIDATE_PAGE - 1);
    }
    return reached;
}

/**
 * True when code and writable data lie in one mapping. The loader gives them
 * different permissions and so different mappings; where the permissions are not
 * known this tells a loaded file from one that is mapped as a whole to be read.
 */
static bool shares_code_mapping(const struct target *target, const struct candidate *candidate)
{
    const struct target_mapping *code = NULL;
    const struct target_mapping *data = NULL;
    for (size_t i = 0; i < candidate->segment_count; i++) {
        const struct elf_segment *segment = &candidate->segments[i];
        if (segment->type != PT_LOAD || segment->file_size == 0)
            continue;
        const struct target_mapping *mapping =
            target_find_mapping(target, candidate->bias + segment->address);
        if (segment->flags & PF_X)
            code = mapping;
        else if (segment->flags & PF_W)
            data = mapping;
    }
    return code && code == data && !code->permissions_known;
}

/**
 * Range of a file that was loaded; false when its segments are not where the
 * loader would have put them (a file that is merely mapped to be read).
 */
static bool find_range(const struct target *target, struct candidate *candidate)
{
    bool any_code = false;
    candidate->start = candidate->mapping->start;
    candidate->end = candidate->mapping->end;
    for (size_t i = 0; i < candidate->segment_count; i++) {
        const struct elf_segment *segment = &candidate->segments[i];
        if (segment->type != PT_LOAD || segment->file_size == 0)
            continue;
        psc_addr end = segment_mapped_end(target, candidate, segment);
        if (end == 0)
            return false;
        any_code |= (segment->flags & PF_X) != 0;
        end =
            extend_over_bss(target, end, candidate->bias + segment->address + segment->memory_size);
        psc_addr start = page_down(candidate->bias + segment->address);
        if (start < candidate->start)
            candidate->start = start;
        if (end > candidate->end)
            candidate->end = end;
    }
    return any_code;
}

/** Neither memory nor file tell anything: the mappings of the file that follow each other. */
static void find_range_by_name(const struct target *target, struct candidate *candidate)
{
    const struct target_mapping *last = candidate->mapping;
    const struct target_mapping *end = target->mappings + target->mapping_count;
    for (const struct target_mapping *next = last + 1; next < end; next++) {
        if (next->file == NULL)
            continue;
        if (next->file != last->file || next->offset <= last->offset)
            break;
        last = next;
    }
    candidate->start = candidate->mapping->start;
    candidate->end = last->end;
    candidate->bias = candidate->mapping->start;
    candidate->segment_count = 0;
}

bool candidate_find_range(struct target *target, struct candidate *candidate, bool named)
{
    switch (read_segments(target, candidate)) {
    case HEADER_FOUND:
        return find_bias(candidate) && !shares_code_mapping(target, candidate) &&
               find_range(target, candidate);
    case HEADER_UNREADABLE:
        if (named)
            find_range_by_name(target, candidate);
        return named;
    case HEADER_OTHER:
        break;
    }
    return false;
}
