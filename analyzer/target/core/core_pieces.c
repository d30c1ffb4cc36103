/* The bytes of a core, where they lie. */
#include "core_private.h"

/* Of a core that is not there as a whole: what is lent at once. */
#define PIECE_SIZE ((size_t)1024 * 1024)

/* Addresses that differ in higher bits alone share a place among the segments that were met last.
 */
#define KEPT_SHIFT 16

/* Where a segment has holes: a page. */
#define SKIPPED_AT_ONCE ((psc_addr)4096)

static const struct core_segment *core_find_segment(struct core *core, psc_addr address)
{
    // Reads go to and fro between stacks, heaps and code.
    size_t *kept =
        &core->last_segments[(address >> KEPT_SHIFT) % PSC_ARRAY_SIZE(core->last_segments)];
    if (*kept < core->segment_count) {
        const struct core_segment *last = &core->segments[*kept];
        if (address >= last->start && address < last->end)
            return last;
    }
    size_t behind = SORTED_UP_TO(core->segments, start, core->segment_count, address);
    if (!behind || address >= core->segments[behind - 1].end)
        return NULL;
    *kept = behind - 1;
    return &core->segments[behind - 1];
}

const uint8_t *core_dumped_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    struct core *core = target->backend;
    const struct core_segment *segment = core_find_segment(core, address);
    if (!segment || address >= segment->file_end)
        return NULL;
    if (core->held.fd >= 0)
        return held_piece(target, address, segment->file_end, ret_size);
    const psc_addr end = slim_find_hole(core, address, segment->file_end);
    const size_t offset = segment->offset + (size_t)(address - segment->start);
    if (end == address)
        return NULL;
    *ret_size = core_image_load(&core->image, offset, (size_t)(end - address), PIECE_SIZE);
    return core->image.bytes + offset;
}

/* The bytes at an address and how many lie behind them in one piece; NULL when not there. */
const uint8_t *core_piece(struct target *target, psc_addr address, size_t *ret_size)
{
    struct core *core = target->backend;
    const uint8_t *bytes = core_dumped_piece(target, address, ret_size);
    if (bytes)
        return bytes;
    const struct target_mapping *mapping = NULL;
    if (core->last_mapping < target->mapping_count) {
        mapping = &target->mappings[core->last_mapping];
        if (address < mapping->start || address >= mapping->end)
            mapping = NULL;
    }
    if (!mapping) {
        mapping = target_find_mapping(target, address);
        if (mapping)
            core->last_mapping = (size_t)(mapping - target->mappings);
    }
    // A private page that was written to would be in the core: what is not may come from the file,
    // but a writable range that the core leaves out may have been changed.
    if (mapping && mapping->file && !(mapping->permissions_known && mapping->writable) &&
        !slim_is_hole(core, address)) {
        target_file_open(target, mapping->file);
        bytes = target_mapped_bytes(mapping, address, ret_size);
    }
    if (!bytes && mapping && core->held.fd >= 0)
        bytes = held_piece(target, address, mapping->end, ret_size);
    return bytes;
}

psc_addr core_skip_missing(struct target *target, psc_addr address)
{
    struct core *core = target->backend;
    const psc_addr page = (address & ~(SKIPPED_AT_ONCE - 1)) + SKIPPED_AT_ONCE;
    const struct core_segment *segment = core_find_segment(core, address);
    if (core->held.fd >= 0 || (segment && address < segment->file_end))
        return page;
    if (segment)
        return segment->end;
    const size_t next = SORTED_UP_TO(core->segments, start, core->segment_count, address);
    return next < core->segment_count ? core->segments[next].start : 0;
}

static void core_advise(struct target *target, psc_addr address, size_t size, bool soon)
{
    struct core *core = target->backend;
    while (size && core->held.fd < 0) {
        const struct core_segment *segment = core_find_segment(core, address);
        if (!segment || address >= segment->file_end)
            return;
        const size_t left = (size_t)(segment->file_end - address);
        const size_t part = size < left ? size : left;
        core_image_advise(&core->image, segment->offset + (size_t)(address - segment->start), part,
                          soon);
        address += part;
        size -= part;
    }
}

void core_prefetch(struct target *target, psc_addr address, size_t size)
{
    core_advise(target, address, size, true);
}

/* The mapping is private and never written to: the pages come back from the file. */
void core_release(struct target *target, psc_addr address, size_t size)
{
    core_advise(target, address, size, false);
}
