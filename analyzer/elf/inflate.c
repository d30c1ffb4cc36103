/* The one place that compresses and decompresses: libdeflate, which takes half of zlib's time, else
 * libelf. */
#include "elf_private.h"

#include <gelf.h>
#include <libdeflate.h>

#include <stdlib.h>

#define DEFLATE_LEVEL 6

/* Bytes that a section may become, for each of it and beside. Debug information becomes three to
 * eight times as much, that of some assembler files eighty times. */
#define COMPRESSION_RATIO_LIMIT 16
#define COMPRESSION_FREE        ((uint64_t)4 << 20)

static bool is_sane_size(uint64_t inflated, uint64_t stored)
{
    return inflated <= COMPRESSION_FREE ||
           (inflated - COMPRESSION_FREE) / COMPRESSION_RATIO_LIMIT <= stored;
}

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
           is_sane_size(ret->ch_size, header.sh_size);
}

/*
 * "ZLIB" and the size, big-endian (elf_compress_gnu.c of elfutils); 0: it is not compressed, or not
 * any more.
 */
static uint64_t gnu_compressed_size(Elf_Scn *section)
{
    const Elf_Data *data = elf_rawdata(section, NULL);
    uint64_t size = 0;
    if (!data || !data->d_buf || data->d_size < 12 || memcmp(data->d_buf, "ZLIB", 4) != 0)
        return 0;
    const uint8_t *bytes = data->d_buf;
    for (size_t i = 4; i < 12; i++)
        size = size << 8 | bytes[i];
    return size;
}

bool elf_compression_is_sane(Elf_Scn *section, uint64_t *ret)
{
    GElf_Chdr compressed = {0};
    Elf64_Shdr header;
    if (!elf_section_header(section, &header))
        return false;
    if (header.sh_flags & SHF_COMPRESSED) {
        if (!read_compression(section, &compressed))
            return false;
        *ret = compressed.ch_size;
        return true;
    }
    *ret = gnu_compressed_size(section);
    return is_sane_size(*ret, header.sh_size);
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
    uint64_t size;
    return elf_compression_is_sane(section, &size) && size && elf_compress_gnu(section, 0, 0) >= 0;
}
