/* The bytes of a file at the addresses at which the loader puts them. */
#include "elf.h"

static void add_load(struct elf_image *image, const struct elf_segment *segment)
{
    if (segment->file_size == 0 || segment->offset > image->size)
        return;
    uint64_t have = image->size - segment->offset;
    image->loads[image->load_count++] = (struct elf_load){
        .address = segment->address,
        .size = segment->file_size < have ? segment->file_size : have,
        .offset = segment->offset,
        .executable = segment->flags & PF_X,
        .writable = segment->flags & PF_W,
    };
}

bool parse_elf_image(const uint8_t *bytes, size_t size, struct elf_image *ret)
{
    struct elf_header header;
    struct elf_segment segments[ELF_SEGMENT_LIMIT];
    *ret = (struct elf_image){.bytes = bytes, .size = size};
    if (!parse_elf_header(bytes, size, &header) || !elf_is_loadable(&header))
        return false;
    ret->machine = header.machine;
    size_t count = elf_count_segments(bytes, size, &header);
    if (count)
        count = parse_elf_segments(bytes + header.segments_offset, count * ELF_SEGMENT_SIZE,
                                   ELF_SEGMENT_LIMIT, segments);
    for (size_t i = 0; i < count; i++) {
        if (segments[i].type == PT_LOAD)
            add_load(ret, &segments[i]);
        else if (segments[i].type == PT_DYNAMIC)
            ret->dynamic = segments[i];
        else if (segments[i].type == PT_GNU_EH_FRAME)
            ret->eh_frame = segments[i];
    }
    return ret->load_count > 0;
}

const uint8_t *elf_image_bytes(const struct elf_image *image, uint64_t address, size_t *ret_size)
{
    for (size_t i = 0; i < image->load_count; i++) {
        const struct elf_load *load = &image->loads[i];
        uint64_t into = address - load->address;
        if (address < load->address || into >= load->size)
            continue;
        *ret_size = (size_t)(load->size - into);
        return image->bytes + load->offset + into;
    }
    *ret_size = 0;
    return NULL;
}

const uint8_t *elf_image_bytes_at(const struct elf_image *image, uint64_t address, size_t size)
{
    size_t have;
    const uint8_t *bytes = elf_image_bytes(image, address, &have);
    return bytes && have >= size ? bytes : NULL;
}
