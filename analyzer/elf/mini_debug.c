/*
 * MiniDebugInfo, as Fedora's libraries have it: in .gnu_debugdata an xz stream with an ELF file of
 * the functions' symbols that .dynsym lacks (gdb's manual, "Debugging information in a special
 * section").
 */
#include "elf_private.h"

#include <lzma.h>
#include <stdlib.h>

/* What is unpacked of one file; libpython's is 300 KB. */
#define DEBUGDATA_LIMIT ((size_t)64 << 20)
/* The same for each byte of it, and beside; symbols become four to eight times as much. */
#define DEBUGDATA_RATIO_LIMIT 24
/* Memory of the decoder: that of "xz -9", and a little more. */
#define DECODER_LIMIT ((uint64_t)128 << 20)
#define FIRST_SIZE    ((size_t)256 << 10)

/* The whole stream into *ret, malloc'd; what is left of it after an error is the caller's, too. */
static bool unpack(const struct elf_bytes *packed, uint8_t **ret, size_t *ret_size)
{
    lzma_stream stream = LZMA_STREAM_INIT;
    lzma_ret result = lzma_stream_decoder(&stream, DECODER_LIMIT, 0);
    size_t size = 0, capacity = 0, most = DEBUGDATA_LIMIT;
    if (packed->size < most / DEBUGDATA_RATIO_LIMIT)
        most = packed->size * DEBUGDATA_RATIO_LIMIT;
    stream.next_in = packed->data;
    stream.avail_in = packed->size;
    while (result == LZMA_OK && capacity < most) {
        capacity = capacity ? capacity * 2 : FIRST_SIZE;
        uint8_t *grown = realloc(*ret, capacity);
        if (!grown)
            break;
        *ret = grown;
        stream.next_out = grown + size;
        stream.avail_out = capacity - size;
        result = lzma_code(&stream, LZMA_FINISH);
        size = capacity - stream.avail_out;
    }
    lzma_end(&stream);
    *ret_size = size;
    return result == LZMA_STREAM_END;
}

struct Elf *elf_file_open_debugdata(struct Elf *elf, uint8_t **ret_bytes)
{
    struct elf_bytes packed;
    size_t size = 0;
    *ret_bytes = NULL;
    struct Elf *found = NULL;
    // Nobody compresses it twice: no arena is needed.
    if (elf_file_read_section(elf, ".gnu_debugdata", NULL, &packed) &&
        unpack(&packed, ret_bytes, &size) && elf_is_elf(*ret_bytes, size))
        found = elf_file_of_bytes(*ret_bytes, size);
    if (!found) {
        free(*ret_bytes);
        *ret_bytes = NULL;
    }
    return found;
}

/* Copies the symbols, with names and sections behind those of another file. */
static void append(const struct elf_symbols *symbols, size_t names, size_t sections, uint8_t *ret)
{
    for (size_t i = 0; i < symbols->symbols.size / ELF_SYMBOL_SIZE; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols->symbols.data + i * ELF_SYMBOL_SIZE, sizeof(symbol));
        if (symbol.st_name && symbol.st_name < symbols->names_size)
            symbol.st_name += (Elf64_Word)names;
        else
            symbol.st_name = 0;
        if (symbol.st_shndx != SHN_UNDEF && symbol.st_shndx < SHN_LORESERVE)
            symbol.st_shndx = (Elf64_Section)(symbol.st_shndx + sections);
        memcpy(ret + i * ELF_SYMBOL_SIZE, &symbol, sizeof(symbol));
    }
}

bool elf_symbols_join(const struct elf_symbols *first, size_t sections,
                      const struct elf_symbols *second, struct arena *arena,
                      struct elf_symbols *ret)
{
    size_t size = first->symbols.size / ELF_SYMBOL_SIZE * ELF_SYMBOL_SIZE;
    size_t names = first->names_size + second->names_size;
    if (names > UINT32_MAX)
        return false;
    uint8_t *symbols = arena_alloc(arena, size + second->symbols.size);
    char *text = arena_alloc(arena, names);
    if (!symbols || !text)
        return false;
    memcpy(symbols, first->symbols.data, size);
    append(second, first->names_size, sections, symbols + size);
    memcpy(text, first->names, first->names_size);
    memcpy(text + first->names_size, second->names, second->names_size);
    *ret = (struct elf_symbols){{symbols, size + second->symbols.size}, text, names};
    return true;
}
