/* All that room elf parses without libelf: the input is the image. */
#include "elf.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const uint8_t *data, size_t size, const uint8_t *part, size_t part_size)
{
    if (part < data || part_size > size || (size_t)(part - data) > size - part_size)
        abort();
}

static void check_headers(const uint8_t *data, size_t size)
{
    struct elf_header header;
    struct elf_segment segments[ELF_SEGMENT_LIMIT], segment;
    uint16_t type;
    bool is_elf = parse_elf_type(data, size, &type);
    if (!parse_elf_header(data, size, &header))
        return;
    if (!is_elf || type != header.type)
        abort();
    size_t count = elf_count_segments(data, size, &header);
    if (count > size / ELF_SEGMENT_SIZE)
        abort();
    for (size_t i = 0; i < count; i++)
        parse_elf_segment(data + header.segments_offset + i * ELF_SEGMENT_SIZE, &segment);
    if (count)
        count = parse_elf_segments(data + header.segments_offset, count * ELF_SEGMENT_SIZE,
                                   ELF_SEGMENT_LIMIT, segments);
    for (size_t i = 0; i < count; i++) {
        if (segments[i].address + segments[i].memory_size < segments[i].address)
            abort();
        if (segments[i].offset < size &&
            parse_eh_frame_header(data + segments[i].offset, size - segments[i].offset,
                                  segments[i].memory_size) > segments[i].memory_size / 8)
            abort();
    }
}

static void check_notes(const uint8_t *data, size_t size)
{
    struct byte_cursor notes = cursor_over(data, size);
    struct elf_note note;
    struct elf_bytes id;
    while (parse_elf_note(&notes, size % 2 ? 4 : 8, &note)) {
        check_inside(data, size, (const uint8_t *)note.name, note.name_size);
        check_inside(data, size, note.bytes.data, note.bytes.size);
    }
    if (parse_build_id_note(data, size, 4, &id))
        check_inside(data, size, id.data, id.size);
    if (parse_build_id(data, size, &id) && (!id.size || id.size > ELF_BUILD_ID_LIMIT))
        abort();
}

struct context {
    const struct elf_image *image;
    const struct elf_dynamic *dynamic;
    size_t left;
};

static bool visit(void *pointer, const struct elf_relocation *relocation)
{
    struct context *context = pointer;
    struct elf_symbol symbol;
    const char *name =
        elf_dynamic_symbol(context->image, context->dynamic, relocation->symbol, &symbol);
    if (name)
        check_inside(context->image->bytes, context->image->size, (const uint8_t *)name,
                     strlen(name) + 1);
    return context->left-- > 0;
}

static void check_image(const uint8_t *data, size_t size)
{
    struct elf_image image;
    struct elf_dynamic dynamic;
    size_t have;
    if (!parse_elf_image(data, size, &image))
        return;
    for (size_t i = 0; i < image.load_count; i++) {
        const uint8_t *bytes = elf_image_bytes(&image, image.loads[i].address, &have);
        if (bytes)
            check_inside(data, size, bytes, have);
    }
    parse_elf_dynamic(&image, &dynamic);
    parse_elf_relocations(&image, &dynamic, visit,
                          &(struct context){.image = &image, .dynamic = &dynamic, .left = 1000});
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_symbols symbols;
    struct elf_dynamic dynamic = {0};
    if (parse_dynamic_symbols(data, size, &symbols)) {
        check_inside(data, size, symbols.symbols.data, symbols.symbols.size);
        if (symbols.names[symbols.names_size - 1])
            abort();
    }
    parse_eh_frame_header(data, size, size);
    if (size >= ELF_DYNAMIC_SIZE)
        parse_elf_dynamic_entry(data, &dynamic);
    if (size >= ELF_SYMBOL_SIZE)
        parse_elf_symbol(data);
    uint32_t checksum;
    const char *link = parse_debug_link(data, size, &checksum);
    if (link)
        check_inside(data, size, (const uint8_t *)link, strlen(link) + 1);
    check_headers(data, size);
    check_notes(data, size);
    check_image(data, size);
    return 0;
}
