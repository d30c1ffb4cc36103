/*
 * The symbols that the loader sees, found as it finds them: by the program headers. It needs no
 * section headers, and some strip them too (`strip --strip-section-headers`, `sstrip`).
 */
#include "elf_image.h"

#include <elf.h>
#include <string.h>

/** Entries of the dynamic section; linkers write a few dozen. */
#define DYNAMIC_LIMIT 512
#define SYMBOL_LIMIT  ((uint64_t)1 << 22)

struct image {
    const uint8_t *bytes;
    size_t size;
    struct elf_segment segments[ELF_SEGMENT_LIMIT];
    size_t segment_count;
};

/** What the dynamic section leads to: addresses of the file, 0 for what it has not. */
struct dynamic_part {
    uint64_t symbols;
    uint64_t names;
    uint64_t names_size;
    uint64_t hash;
    uint64_t gnu_hash;
};

/** The bytes at an address of the file, and how many there are; NULL outside of it. */
static const uint8_t *bytes_at(const struct image *image, uint64_t address, uint64_t *ret_size)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        if (segment->type != PT_LOAD || address < segment->address ||
            address - segment->address >= segment->file_size)
            continue;
        uint64_t into = address - segment->address;
        uint64_t offset = segment->offset + into;
        if (offset >= image->size)
            return NULL;
        uint64_t have = image->size - offset;
        *ret_size = segment->file_size - into < have ? segment->file_size - into : have;
        return image->bytes + offset;
    }
    return NULL;
}

static bool read_u32(const struct image *image, uint64_t address, uint32_t *ret)
{
    uint64_t have;
    const uint8_t *bytes = bytes_at(image, address, &have);
    if (!bytes || have < 4)
        return false;
    *ret = load_u32(bytes);
    return true;
}

static bool read_segments(struct image *image)
{
    struct elf_header header;
    if (!parse_elf_header(image->bytes, image->size, &header) ||
        header.segments_offset >= image->size)
        return false;
    image->segment_count = parse_elf_segments(image->bytes + header.segments_offset,
                                              image->size - (size_t)header.segments_offset,
                                              header.segment_count, image->segments);
    return true;
}

static void take_entry(struct dynamic_part *part, uint64_t tag, uint64_t value)
{
    switch (tag) {
    case DT_SYMTAB:
        part->symbols = value;
        break;
    case DT_STRTAB:
        part->names = value;
        break;
    case DT_STRSZ:
        part->names_size = value;
        break;
    case DT_HASH:
        part->hash = value;
        break;
    case DT_GNU_HASH:
        part->gnu_hash = value;
        break;
    default:
        break;
    }
}

static struct dynamic_part read_dynamic(const struct image *image)
{
    struct dynamic_part part = {0};
    for (size_t i = 0; i < image->segment_count; i++) {
        uint64_t have = 0;
        if (image->segments[i].type != PT_DYNAMIC)
            continue;
        const uint8_t *bytes = bytes_at(image, image->segments[i].address, &have);
        for (size_t k = 0; k < DYNAMIC_LIMIT && (k + 1) * sizeof(Elf64_Dyn) <= have; k++) {
            const uint8_t *entry = bytes + k * sizeof(Elf64_Dyn);
            if (load_u64(entry) == DT_NULL)
                break;
            take_entry(&part, load_u64(entry), load_u64(entry + 8));
        }
        break;
    }
    return part;
}

/**
 * How many symbols a DT_GNU_HASH table knows: one more than the last of the last chain. Its layout
 * is that of glibc, elf/dl-lookup.c; words of the filter have 8 bytes.
 */
static uint64_t count_by_gnu_hash(const struct image *image, uint64_t table)
{
    uint32_t buckets, first, words, last = 0;
    if (!read_u32(image, table, &buckets) || !read_u32(image, table + 4, &first) ||
        !read_u32(image, table + 8, &words))
        return 0;
    uint64_t at = table + 16 + UINT64_C(8) * words;
    uint64_t chains = at + UINT64_C(4) * buckets;
    for (uint64_t i = 0; i < buckets && i < SYMBOL_LIMIT; i++) {
        uint32_t begin;
        if (!read_u32(image, at + 4 * i, &begin))
            return 0;
        last = begin > last ? begin : last;
    }
    if (last < first)
        return first;
    for (uint64_t i = last; i < SYMBOL_LIMIT; i++) {
        uint32_t hash;
        if (!read_u32(image, chains + 4 * (i - first), &hash))
            return 0;
        if (hash & 1)
            return i + 1;
    }
    return 0;
}

/** The other table has one chain entry for each symbol. */
static uint64_t count_symbols(const struct image *image, const struct dynamic_part *part)
{
    uint32_t count;
    if (part->hash && read_u32(image, part->hash + 4, &count))
        return count;
    return part->gnu_hash ? count_by_gnu_hash(image, part->gnu_hash) : 0;
}

bool parse_dynamic_symbols(const uint8_t *bytes, size_t size, struct elf_symbols *ret)
{
    struct image image = {.bytes = bytes, .size = size};
    if (!read_segments(&image))
        return false;
    struct dynamic_part part = read_dynamic(&image);
    uint64_t have, have_names, count = count_symbols(&image, &part);
    const uint8_t *symbols = part.symbols ? bytes_at(&image, part.symbols, &have) : NULL;
    const uint8_t *names = part.names ? bytes_at(&image, part.names, &have_names) : NULL;
    if (!symbols || !names || !count || count > have / sizeof(Elf64_Sym))
        return false;
    if (part.names_size < have_names)
        have_names = part.names_size;
    const uint8_t *last = memrchr(names, 0, (size_t)have_names);
    if (!last)
        return false;
    *ret = (struct elf_symbols){.symbols = symbols,
                                .size = (size_t)count * sizeof(Elf64_Sym),
                                .names = (const char *)names,
                                .names_size = (size_t)(last + 1 - names)};
    return true;
}
