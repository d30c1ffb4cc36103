/*
 * Damage to an ELF file: headers, entries of its tables, contents of its sections; sections of
 * debug information compressed anew, and mini debug information (.gnu_debugdata) in its own xz
 * stream.
 */
#include "mutants.h"

#include <elf.h>
#include <libdeflate.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>

#define IMAGE_MAX ((size_t)64 << 20)

struct elf_view {
    struct choice *choice;
    struct damaged_file *file;
    size_t headers, header_count;
    size_t sections, section_count;
    size_t names; /* Offset of the section names. */
};

static uint64_t section_field(const struct elf_view *view, size_t section, size_t field)
{
    return file_number(view->file, view->sections + section * sizeof(Elf64_Shdr) + field, 8);
}

static size_t section_offset(const struct elf_view *view, size_t section)
{
    return (size_t)section_field(view, section, offsetof(Elf64_Shdr, sh_offset));
}

/* Of what is in the file. */
static size_t section_size(const struct elf_view *view, size_t section)
{
    size_t offset = section_offset(view, section);
    size_t size = (size_t)section_field(view, section, offsetof(Elf64_Shdr, sh_size));
    size_t header = view->sections + section * sizeof(Elf64_Shdr);
    uint64_t type = file_number(view->file, header + offsetof(Elf64_Shdr, sh_type), 4);
    return type == SHT_NOBITS || offset > view->file->size || size > view->file->size - offset
               ? 0
               : size;
}

static const char *section_name(const struct elf_view *view, size_t section)
{
    size_t header = view->sections + section * sizeof(Elf64_Shdr);
    size_t at = view->names + (size_t)file_number(view->file, header, 4);
    return at < view->file->size && memchr(view->file->bytes + at, 0, view->file->size - at)
               ? (const char *)view->file->bytes + at
               : "";
}

static struct elf_view see(struct choice *choice, struct damaged_file *file)
{
    struct elf_view view = {.choice = choice, .file = file};
    view.headers = (size_t)file_number(file, offsetof(Elf64_Ehdr, e_phoff), 8);
    view.header_count = (size_t)file_number(file, offsetof(Elf64_Ehdr, e_phnum), 2);
    view.sections = (size_t)file_number(file, offsetof(Elf64_Ehdr, e_shoff), 8);
    view.section_count = (size_t)file_number(file, offsetof(Elf64_Ehdr, e_shnum), 2);
    view.names =
        section_offset(&view, (size_t)file_number(file, offsetof(Elf64_Ehdr, e_shstrndx), 2));
    return view;
}

static size_t find_section(const struct elf_view *view, const char *name)
{
    for (size_t i = 1; i < view->section_count; i++)
        if (!strcmp(section_name(view, i), name) && section_size(view, i))
            return i;
    return 0;
}

static void damage_number(const struct elf_view *view, size_t at, size_t size)
{
    file_patch_number(view->file, at,
                      choose_number(view->choice, file_number(view->file, at, size)), size);
}

/* ---- headers ---- */

static void damage_file_header(const struct elf_view *view)
{
    static const struct {
        uint8_t at, size;
    } fields[] = {{4, 1},  {5, 1},  {7, 1},  {16, 2}, {18, 2}, {20, 4}, {24, 8}, {32, 8},
                  {40, 8}, {52, 2}, {54, 2}, {56, 2}, {58, 2}, {60, 2}, {62, 2}};
    size_t field = choose_below(view->choice, sizeof(fields) / sizeof(*fields));
    damage_number(view, fields[field].at, fields[field].size);
}

static void damage_header(const struct elf_view *view, size_t table, size_t count, size_t size)
{
    size_t at = table + choose_below(view->choice, count) * size;
    size_t other = table + choose_below(view->choice, count) * size;
    if (choose_one_in(view->choice, 4) && other + size <= view->file->size)
        file_patch(view->file, at, view->file->bytes + other, size);
    else if (choose_one_in(view->choice, 3))
        damage_number(view, at + 4 * choose_below(view->choice, size / 4), 4);
    else
        damage_number(view, at + 8 * choose_below(view->choice, size / 8), 8);
}

/* ---- contents ---- */

static void damage_entry(const struct elf_view *view, size_t section)
{
    size_t size = section_size(view, section);
    size_t entry = (size_t)section_field(view, section, offsetof(Elf64_Shdr, sh_entsize));
    entry = entry && entry <= size ? entry : 8;
    for (size_t times = 1 + choose_below(view->choice, 8); times; times--) {
        size_t at =
            section_offset(view, section) + entry * choose_below(view->choice, size / entry);
        size_t width = (size_t)1 << choose_below(view->choice, 4);
        damage_number(view, at + width * choose_below(view->choice, entry / width), width);
    }
}

static void damage_contents(const struct elf_view *view, size_t section)
{
    size_t size = section_size(view, section), offset = section_offset(view, section);
    for (size_t times = 1 + choose_below(view->choice, 16); times; times--) {
        size_t at = offset + choose_below(view->choice, size);
        damage_number(view, at, (size_t)1 << choose_below(view->choice, 3));
    }
}

/* No end of a text, or nothing at all. */
static void damage_filled(const struct elf_view *view, size_t section)
{
    uint8_t filling[4096];
    size_t size = section_size(view, section), from = choose_below(view->choice, size);
    memset(filling, choose_one_in(view->choice, 2) ? 0x41 : 0, sizeof(filling));
    for (size_t at = from; at < size && at - from < 16 * sizeof(filling); at += sizeof(filling))
        file_patch(view->file, section_offset(view, section) + at, filling,
                   size - at < sizeof(filling) ? size - at : sizeof(filling));
}

static void damage_section(const struct elf_view *view)
{
    static const char *const wanted[] = {
        ".symtab",        ".dynsym",           ".dynamic",     ".eh_frame",
        ".eh_frame_hdr",  ".strtab",           ".dynstr",      ".note.gnu.build-id",
        ".gnu_debugdata", ".gnu_debuglink",    ".text",        ".rela.dyn",
        ".rela.plt",      ".gnu_debugaltlink", ".gnu.version", ".gnu.hash",
        ".debug_frame",   ".rodata",           ".data.rel.ro", ".plt",
        ".got",           ".debug_gdb_scripts"};
    size_t section = 0;
    for (int tries = 0; tries < 20 && !section; tries++)
        section = find_section(
            view, wanted[choose_below(view->choice, sizeof(wanted) / sizeof(*wanted))]);
    if (!section || choose_one_in(view->choice, 8))
        section = choose_below(view->choice, view->section_count);
    if (!section_size(view, section))
        return;
    switch (choose_below(view->choice, 6)) {
    case 0:
        damage_filled(view, section);
        break;
    case 1:
    case 2:
        damage_contents(view, section);
        break;
    default:
        damage_entry(view, section);
    }
}

/* ---- compressed sections ---- */

/* Appends bytes to the file, damaged as it is, as the contents of a section. */
static void replace_section(const struct elf_view *view, size_t section, const void *bytes,
                            size_t size, uint64_t more_flags)
{
    struct damaged_file *file = view->file;
    size_t header = view->sections + section * sizeof(Elf64_Shdr);
    uint8_t *image = size < IMAGE_MAX ? malloc(file->size + size) : NULL;
    if (!image || header + sizeof(Elf64_Shdr) > file->size) {
        free(image);
        return;
    }
    file_now(file, 0, image, file->size);
    memcpy(image + file->size, bytes, size);
    uint64_t offset = file->size, length = size, flags;
    memcpy(&flags, image + header + offsetof(Elf64_Shdr, sh_flags), 8);
    flags |= more_flags;
    memcpy(image + header + offsetof(Elf64_Shdr, sh_flags), &flags, 8);
    memcpy(image + header + offsetof(Elf64_Shdr, sh_offset), &offset, 8);
    memcpy(image + header + offsetof(Elf64_Shdr, sh_size), &length, 8);
    file_rewrite(file, image, file->size + size);
    free(image);
}

/* A few numbers of bytes that are compressed afterwards, or that were. */
static void damage_bytes(struct choice *choice, uint8_t *bytes, size_t size)
{
    for (size_t times = choose_below(choice, 4); times && size >= 8; times--) {
        size_t at = choose_below(choice, size - 7), width = (size_t)1 << choose_below(choice, 4);
        uint64_t value;
        memcpy(&value, bytes + at, 8);
        value = choose_number(choice, value);
        memcpy(bytes + at, &value, width);
    }
}

void damage_elf_compressed(struct choice *choice, struct damaged_file *file)
{
    const struct elf_view view = see(choice, file);
    size_t section = 0;
    for (int tries = 0; tries < 40 && !section; tries++) {
        size_t one = choose_below(choice, view.section_count);
        if (!strncmp(section_name(&view, one), ".debug_", 7) && section_size(&view, one))
            section = one;
    }
    size_t size = section ? section_size(&view, section) : 0;
    struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(1);
    size_t bound = libdeflate_zlib_compress_bound(compressor, size);
    uint8_t *plain = malloc(size + 1), *packed = malloc(sizeof(Elf64_Chdr) + bound);
    if (section && compressor && plain && packed) {
        Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_size = size, .ch_addralign = 1};
        file_now(file, section_offset(&view, section), plain, size);
        size_t length =
            libdeflate_zlib_compress(compressor, plain, size, packed + sizeof(header), bound);
        memcpy(packed, &header, sizeof(header));
        if (choose_one_in(choice, 2))
            damage_bytes(choice, packed,
                         choose_one_in(choice, 2) ? sizeof(header) : sizeof(header) + length);
        replace_section(&view, section, packed, sizeof(header) + length, SHF_COMPRESSED);
    }
    libdeflate_free_compressor(compressor);
    free(plain);
    free(packed);
}

/* The symbols that Debian's and Fedora's files have in .gnu_debugdata: an ELF file in an xz stream.
 */
static void damage_mini_debug(const struct elf_view *view)
{
    size_t section = find_section(view, ".gnu_debugdata");
    size_t size = section ? section_size(view, section) : 0;
    size_t capacity = (size_t)1 << 20, in = 0, out = 0;
    uint64_t memory = (uint64_t)64 << 20;
    uint8_t *plain = malloc(capacity), *packed = malloc(2 * capacity);
    if (size && plain && packed &&
        lzma_stream_buffer_decode(&memory, 0, NULL,
                                  view->file->bytes + section_offset(view, section), &in, size,
                                  plain, &out, capacity) == LZMA_OK) {
        size_t length = 0;
        damage_bytes(view->choice, plain, choose_one_in(view->choice, 2) && out > 64 ? 64 : out);
        damage_bytes(view->choice, plain, out);
        if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, plain, out, packed, &length,
                                    2 * capacity) == LZMA_OK)
            replace_section(view, section, packed, length, 0);
    }
    free(plain);
    free(packed);
}

void damage_elf(struct choice *choice, struct damaged_file *file)
{
    const struct elf_view view = see(choice, file);
    for (size_t times = 1 + choose_below(choice, 3); times; times--)
        switch (choose_below(choice, 8)) {
        case 0:
            damage_file_header(&view);
            break;
        case 1:
            damage_header(&view, view.headers, view.header_count, sizeof(Elf64_Phdr));
            break;
        case 2:
            damage_header(&view, view.sections, view.section_count, sizeof(Elf64_Shdr));
            break;
        default:
            damage_section(&view);
        }
    if (choose_one_in(choice, 6) && find_section(&view, ".gnu_debugdata"))
        damage_mini_debug(&view);
    else if (choose_one_in(choice, 10))
        damage_elf_compressed(choice, file);
    else if (choose_one_in(choice, 12))
        file_truncate(file, choose_below(choice, file->size));
}
