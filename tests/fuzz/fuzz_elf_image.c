/* ELF header, program headers and .eh_frame_hdr: the input is the image. */
#include "elf_image.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_header header;
    struct elf_segment segments[ELF_SEGMENT_LIMIT];
    struct elf_symbols symbols;
    if (parse_dynamic_symbols(data, size, &symbols) &&
        (symbols.symbols < data || symbols.symbols + symbols.size > data + size ||
         symbols.names[symbols.names_size - 1]))
        abort();
    parse_eh_frame_header(data, size, size);
    if (!parse_elf_header(data, size, &header))
        return 0;
    if (header.segment_count > ELF_SEGMENT_LIMIT)
        abort();
    if (header.segments_offset >= size)
        return 0;
    size_t count = parse_elf_segments(data + header.segments_offset, size - header.segments_offset,
                                      header.segment_count, segments);
    for (size_t i = 0; i < count; i++) {
        if (segments[i].address + segments[i].memory_size < segments[i].address)
            abort();
        if (segments[i].offset < size &&
            parse_eh_frame_header(data + segments[i].offset, size - segments[i].offset,
                                  segments[i].memory_size) > segments[i].memory_size / 8)
            abort();
    }
    return 0;
}
