/* The one place that compresses and decompresses: libdeflate, which takes half of zlib's time, else
 * libelf. */
#include "elf_private.h"

#include <gelf.h>
#include <libdeflate.h>

#include <stdlib.h>

#define DEFLATE_LEVEL 6

/** zlib cannot do better than about 1 : 1032; a header that claims more is wrong. */
#define COMPRESSION_RATIO_LIMIT 1100

/** Decompresses a zlib stream of exactly `inflated_size` bytes into the arena. */
static bool inflate_bytes(const struct elf_bytes *bytes, uint64_t inflated_size,
                          struct arena *arena, struct elf_bytes *ret)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    uint8_t *inflated = decompressor && arena ? arena_alloc(arena, inflated_size) : NULL;
    // Without room for the actual size, anything but that size is an error.
    bool good = inflated && inflated_size &&
                libdeflate_zlib_decompress(decompressor, bytes->data, bytes->size, inflated,
                                           inflated_size, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(decompressor);
    if (good)
        *ret = (struct elf_bytes){inflated, inflated_size};
    return good;
}

bool elf_inflate(const struct elf_bytes *stored, uint8_t *ret, uint64_t size)
{
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    bool good = decompressor && libdeflate_zlib_decompress(decompressor, stored->data, stored->size,
                                                           ret, size, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(decompressor);
    return good;
}

uint8_t *elf_deflate(const struct elf_bytes *bytes, size_t *ret_size)
{
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(DEFLATE_LEVEL);
    size_t most = compressor ? libdeflate_zlib_compress_bound(compressor, bytes->size) : 0;
    uint8_t *stored = most ? malloc(most) : NULL;
    *ret_size =
        stored ? libdeflate_zlib_compress(compressor, bytes->data, bytes->size, stored, most) : 0;
    libdeflate_free_compressor(compressor);
    if (*ret_size)
        return stored;
    free(stored);
    return NULL;
}

static bool read_compression(Elf_Scn *section, GElf_Chdr *ret)
{
    Elf64_Shdr header;
    return elf_section_header(section, &header) && gelf_getchdr(section, ret) &&
           ret->ch_size / COMPRESSION_RATIO_LIMIT <= header.sh_size;
}

bool elf_compression_is_sane(Elf_Scn *section)
{
    GElf_Chdr compressed;
    return read_compression(section, &compressed);
}

static bool decompress_flagged(Elf_Scn *section, struct arena *arena, struct elf_bytes *ret)
{
    GElf_Chdr compressed;
    if (!read_compression(section, &compressed))
        return false;
    const Elf_Data *raw = elf_rawdata(section, NULL);
    if (compressed.ch_type == ELFCOMPRESS_ZLIB && raw && raw->d_buf &&
        raw->d_size > sizeof(Elf64_Chdr)) {
        struct elf_bytes stream = {(const uint8_t *)raw->d_buf + sizeof(Elf64_Chdr),
                                   raw->d_size - sizeof(Elf64_Chdr)};
        return inflate_bytes(&stream, compressed.ch_size, arena, ret);
    }
    return elf_compress(section, 0, 0) >= 0;
}

bool elf_decompress(struct Elf *elf, Elf_Scn *section, struct arena *arena, struct elf_bytes *ret)
{
    Elf64_Shdr header;
    size_t names;
    if (!elf_section_header(section, &header))
        return false;
    if (header.sh_flags & SHF_COMPRESSED)
        return decompress_flagged(section, arena, ret);
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    const char *name = elf_strptr(elf, names, header.sh_name);
    if (!name || strncmp(name, ".zdebug", 7) != 0)
        return true;
    /* "ZLIB" and the size, big-endian. */
    const Elf_Data *data = elf_rawdata(section, NULL);
    if (!data || !data->d_buf || data->d_size < 12)
        return false;
    const uint8_t *bytes = data->d_buf;
    uint64_t size = 0;
    for (size_t i = 4; i < 12; i++)
        size = size << 8 | bytes[i];
    return size / COMPRESSION_RATIO_LIMIT <= data->d_size && elf_compress_gnu(section, 0, 0) >= 0;
}
