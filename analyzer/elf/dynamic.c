/* The dynamic section and the symbols that the loader sees. */
#include "elf.h"

#define SYMBOL_LIMIT ((uint64_t)1 << 22)
/** Bytes of a symbol's name; C++ has long ones. */
#define NAME_LIMIT ((size_t)1 << 14)

/* ---- the section ---- */

bool parse_elf_dynamic_entry(const uint8_t bytes[ELF_DYNAMIC_SIZE], struct elf_dynamic *dynamic)
{
    uint64_t value = load_u64(bytes + offsetof(Elf64_Dyn, d_un));
    switch (load_u64(bytes + offsetof(Elf64_Dyn, d_tag))) {
    case DT_NULL:
        return false;
    case DT_SYMTAB:
        dynamic->symbols = value;
        break;
    case DT_STRTAB:
        dynamic->names = value;
        break;
    case DT_STRSZ:
        dynamic->names_size = value;
        break;
    case DT_HASH:
        dynamic->hash = value;
        break;
    case DT_GNU_HASH:
        dynamic->gnu_hash = value;
        break;
    case DT_RELA:
        dynamic->relocations = value;
        break;
    case DT_RELASZ:
        dynamic->relocations_size = value;
        break;
    case DT_JMPREL:
        dynamic->slots = value;
        break;
    case DT_PLTRELSZ:
        dynamic->slots_size = value;
        break;
    case DT_RELR:
        dynamic->packed = value;
        break;
    case DT_RELRSZ:
        dynamic->packed_size = value;
        break;
    case DT_DEBUG:
        dynamic->debug = value;
        break;
    default:
        break;
    }
    return true;
}

void parse_elf_dynamic(const struct elf_image *image, struct elf_dynamic *ret)
{
    *ret = (struct elf_dynamic){0};
    const struct elf_segment *segment = &image->dynamic;
    size_t count = (size_t)(segment->file_size / ELF_DYNAMIC_SIZE);
    for (size_t i = 0; i < count && i < ELF_DYNAMIC_LIMIT; i++) {
        const uint8_t *entry =
            elf_image_bytes_at(image, segment->address + i * ELF_DYNAMIC_SIZE, ELF_DYNAMIC_SIZE);
        if (!entry || !parse_elf_dynamic_entry(entry, ret))
            return;
    }
}

/* ---- symbols ---- */

static bool read_u32(const struct elf_image *image, uint64_t address, uint32_t *ret)
{
    const uint8_t *bytes = elf_image_bytes_at(image, address, sizeof(*ret));
    if (bytes)
        *ret = load_u32(bytes);
    return bytes != NULL;
}

/**
 * How many symbols a DT_GNU_HASH table knows: one more than the last of the last chain. Its layout
 * is that of glibc, elf/dl-lookup.c; words of the filter have 8 bytes.
 */
static uint64_t count_by_gnu_hash(const struct elf_image *image, uint64_t table)
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
static uint64_t count_symbols(const struct elf_image *image, const struct elf_dynamic *dynamic)
{
    uint32_t count;
    if (dynamic->hash && read_u32(image, dynamic->hash + 4, &count))
        return count;
    return dynamic->gnu_hash ? count_by_gnu_hash(image, dynamic->gnu_hash) : 0;
}

bool parse_dynamic_symbols(const uint8_t *bytes, size_t size, struct elf_symbols *ret)
{
    struct elf_image image;
    struct elf_dynamic dynamic;
    if (!parse_elf_image(bytes, size, &image))
        return false;
    parse_elf_dynamic(&image, &dynamic);
    size_t have = 0, have_names = 0;
    uint64_t count = count_symbols(&image, &dynamic);
    const uint8_t *symbols =
        dynamic.symbols ? elf_image_bytes(&image, dynamic.symbols, &have) : NULL;
    const uint8_t *names =
        dynamic.names ? elf_image_bytes(&image, dynamic.names, &have_names) : NULL;
    if (!symbols || !names || !count || count > have / ELF_SYMBOL_SIZE)
        return false;
    if (dynamic.names_size < have_names)
        have_names = (size_t)dynamic.names_size;
    const uint8_t *last = memrchr(names, 0, have_names);
    if (!last)
        return false;
    *ret = (struct elf_symbols){.symbols = {symbols, (size_t)count * ELF_SYMBOL_SIZE},
                                .names = (const char *)names,
                                .names_size = (size_t)(last + 1 - names)};
    return true;
}

const char *elf_dynamic_symbol(const struct elf_image *image, const struct elf_dynamic *dynamic,
                               uint64_t index, struct elf_symbol *ret)
{
    const uint8_t *bytes =
        elf_image_bytes_at(image, dynamic->symbols + index * ELF_SYMBOL_SIZE, ELF_SYMBOL_SIZE);
    *ret = (struct elf_symbol){0};
    if (!bytes)
        return NULL;
    *ret = parse_elf_symbol(bytes);
    if (ret->section == SHN_UNDEF)
        ret->address = 0;
    size_t have;
    const char *name = (const char *)elf_image_bytes(image, dynamic->names + ret->name, &have);
    if (!name || ret->name >= dynamic->names_size)
        return NULL;
    return memchr(name, '\0', have < NAME_LIMIT ? have : NAME_LIMIT) ? name : NULL;
}
