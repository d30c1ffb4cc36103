/**
 * @file
 * Room `elf`: ELF files of 64 bits and little-endian, parsed from bytes of which any part may be
 * missing or wrong. Nothing here knows of targets; parse_* allocate nothing and give pointers
 * into the bytes. `<elf.h>`, with its constants, is the system's.
 *
 * Also the only room that knows libelf, for what needs section headers: elf_file.h.
 */
#ifndef PSC_ELF_H
#define PSC_ELF_H

#include "base.h"

#include "elf_file.h"

#include <elf.h>

/* Of the generic ABI and the x86-64 psABI; musl 1.2.3 does not name them. */
#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR   36
#endif
#ifndef SHT_X86_64_UNWIND
#define SHT_X86_64_UNWIND 0x70000001
#endif

/** Bytes of an ELF64 header, of one program header, and of one symbol. */
#define ELF_HEADER_SIZE  sizeof(Elf64_Ehdr)
#define ELF_SEGMENT_SIZE sizeof(Elf64_Phdr)
#define ELF_SYMBOL_SIZE  sizeof(Elf64_Sym)

/** Bytes that belong to something else. */
struct elf_bytes {
    const uint8_t *data; /**< NULL: none. */
    size_t size;
};

/** Unpacks a stream of zlib(3), which must give exactly so many bytes. */
bool elf_inflate(const struct elf_bytes *stored, uint8_t *ret, uint64_t size);
/** Packs bytes into such a stream, malloc'd; NULL: out of memory. */
uint8_t *elf_deflate(const struct elf_bytes *bytes, size_t *ret_size);

/** [start, end) */
struct elf_range {
    uint64_t start;
    uint64_t end;
};

/* ---- headers ---- */

/** Program headers that are looked at in a program or library; linkers write about a dozen. */
#define ELF_SEGMENT_LIMIT 64

struct elf_header {
    uint16_t type;    /**< ET_... */
    uint16_t machine; /**< EM_... */
    uint64_t entry;
    uint64_t segments_offset;
    uint64_t sections_offset; /**< Of the section headers; 0: none. */
    /** As the header has it; 0 when they are not of the usual size, unless in a core file. */
    size_t segment_count;
};

struct elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t file_size;
    uint64_t memory_size;
    uint64_t alignment;
};

/** Bytes up to the type, which ELF files of any class and byte order have at the same place. */
#define ELF_TYPE_SIZE (EI_NIDENT + sizeof(uint16_t))

/** ET_... of what begins as an ELF file of any class and byte order; false for what does not. */
bool parse_elf_type(const uint8_t *bytes, size_t size, uint16_t *ret);
/** Whether bytes begin as an ELF file of any kind, with a whole header. */
bool elf_is_elf(const uint8_t *bytes, size_t size);
/** False unless it is a whole header of a little-endian 64-bit file. */
bool parse_elf_header(const uint8_t *bytes, size_t size, struct elf_header *ret);
/** True for what can be mapped to run: ET_EXEC and ET_DYN. */
bool elf_is_loadable(const struct elf_header *header);
/**
 * How many whole program headers the image holds, of which the header is the beginning. Core
 * files may have more than the header can say (PN_XNUM).
 */
size_t elf_count_segments(const uint8_t *image, size_t size, const struct elf_header *header);
void parse_elf_segment(const uint8_t bytes[ELF_SEGMENT_SIZE], struct elf_segment *ret);
/**
 * Program headers, as many whole ones as `size` holds, at most `limit`. Those whose
 * sums overflow are left out.
 * @return how many were filled.
 */
size_t parse_elf_segments(const uint8_t *bytes, size_t size, size_t limit, struct elf_segment *ret);
/** The next program header of a type from *index on, which is moved behind it; false for none. */
bool elf_next_segment(const uint8_t *image, size_t size, uint32_t type, size_t *index,
                      struct elf_segment *ret);

/** Bytes of .eh_frame_hdr in front of its binary search table. */
#define ELF_EH_FRAME_HEADER_SIZE 12

/**
 * Checks version and encodings (1, 1b 03 3b: what every linker writes and every
 * unwinder can search) and that the table fits into the segment.
 * @return the number of table entries, 0 when the table is not usable.
 */
uint64_t parse_eh_frame_header(const uint8_t *bytes, size_t size, uint64_t segment_size);

/* ---- notes ---- */

/** Bytes of a build-id at most; a longer one is none. */
#define ELF_BUILD_ID_LIMIT 64

struct elf_note {
    uint32_t type;
    const char *name; /**< `name_size` bytes, with its NUL if it has one. */
    size_t name_size;
    struct elf_bytes bytes;
};

/**
 * The next note of a segment or section (gABI, "Note Section").
 * @param alignment  the segment's: 8 only for NT_GNU_PROPERTY; all others are taken as 4.
 * @return false at the end, and when a note is cut: notes->failed then.
 */
bool parse_elf_note(struct byte_cursor *notes, uint64_t alignment, struct elf_note *ret);
/** NT_GNU_BUILD_ID among the notes of a segment; false when there is none. */
bool parse_build_id_note(const uint8_t *bytes, size_t size, uint64_t alignment,
                         struct elf_bytes *ret);
/** The same of an image, of which the first `size` bytes are at hand. */
bool parse_build_id(const uint8_t *image, size_t size, struct elf_bytes *ret);

/* ---- what the loader sees ---- */

/** Bytes that PT_LOAD takes from the file. */
struct elf_load {
    uint64_t address;
    uint64_t size; /**< That the file has. */
    uint64_t offset;
    bool executable;
    bool writable;
};

/** A whole file by its program headers. Addresses are the file's own. */
struct elf_image {
    const uint8_t *bytes;
    size_t size;
    uint16_t machine;
    struct elf_load loads[ELF_SEGMENT_LIMIT];
    size_t load_count;
    struct elf_segment dynamic;  /**< PT_DYNAMIC; file_size 0: none. */
    struct elf_segment eh_frame; /**< PT_GNU_EH_FRAME. */
};

/** False when it is not loadable, or loads nothing. Keeps `bytes`. */
bool parse_elf_image(const uint8_t *bytes, size_t size, struct elf_image *ret);
/** The bytes at an address, and how many there are; NULL outside of what is loaded. */
const uint8_t *elf_image_bytes(const struct elf_image *image, uint64_t address, size_t *ret_size);
/** The bytes at an address when there are so many, else NULL. */
const uint8_t *elf_image_bytes_at(const struct elf_image *image, uint64_t address, size_t size);

/** Entries of the dynamic section that are looked at; linkers write a few dozen. */
#define ELF_DYNAMIC_LIMIT 1024
#define ELF_DYNAMIC_SIZE  sizeof(Elf64_Dyn)

/** What the dynamic section leads to: addresses and sizes, 0 for what it has not. */
struct elf_dynamic {
    uint64_t symbols;
    uint64_t names;
    uint64_t names_size;
    uint64_t hash;
    uint64_t gnu_hash;
    uint64_t relocations; /**< DT_RELA */
    uint64_t relocations_size;
    uint64_t slots; /**< DT_JMPREL */
    uint64_t slots_size;
    uint64_t packed; /**< DT_RELR */
    uint64_t packed_size;
    uint64_t debug; /**< DT_DEBUG, filled in the memory of a program that runs. */
};

/** Takes one entry of the section; false for DT_NULL, which ends it. */
bool parse_elf_dynamic_entry(const uint8_t bytes[ELF_DYNAMIC_SIZE], struct elf_dynamic *dynamic);
void parse_elf_dynamic(const struct elf_image *image, struct elf_dynamic *ret);

struct elf_symbol {
    uint64_t address; /**< 0 for what is undefined. */
    uint64_t size;
    uint32_t name; /**< Offset into the names. */
    uint16_t section;
    uint8_t type;    /**< STT_... */
    uint8_t binding; /**< STB_... */
};

static inline struct elf_symbol parse_elf_symbol(const uint8_t bytes[ELF_SYMBOL_SIZE])
{
    uint8_t info = bytes[offsetof(Elf64_Sym, st_info)];
    return (struct elf_symbol){
        .address = load_u64(bytes + offsetof(Elf64_Sym, st_value)),
        .size = load_u64(bytes + offsetof(Elf64_Sym, st_size)),
        .name = load_u32(bytes + offsetof(Elf64_Sym, st_name)),
        .section = load_u16(bytes + offsetof(Elf64_Sym, st_shndx)),
        .type = ELF64_ST_TYPE(info),
        .binding = ELF64_ST_BIND(info),
    };
}

/** A symbol table, all in the bytes of its file. */
struct elf_symbols {
    struct elf_bytes symbols; /**< ELF_SYMBOL_SIZE each, perhaps unaligned. */
    const char *names;
    size_t names_size; /**< The last byte is NUL. */
};

/**
 * The dynamic symbols, found as the loader finds them: by PT_DYNAMIC and a hash table. It needs
 * no section headers, and some strip them too (`strip --strip-section-headers`, `sstrip`).
 */
bool parse_dynamic_symbols(const uint8_t *bytes, size_t size, struct elf_symbols *ret);
/**
 * One of the dynamic symbols by its number.
 * @return its name, or NULL when it has none; *ret is filled when there is such a symbol, else 0.
 */
const char *elf_dynamic_symbol(const struct elf_image *image, const struct elf_dynamic *dynamic,
                               uint64_t index, struct elf_symbol *ret);

enum elf_relocation_kind {
    ELF_RELOCATION_BASE,          /**< addend, moved with the file. */
    ELF_RELOCATION_SYMBOL,        /**< The symbol. */
    ELF_RELOCATION_SYMBOL_ADDEND, /**< The symbol plus addend. */
};

/** A pointer that the loader fills. */
struct elf_relocation {
    uint64_t address;
    uint64_t addend;
    uint32_t symbol;
    enum elf_relocation_kind kind;
};

/**
 * Calls `visit` for each pointer that is relocated, in the order of the tables, until it returns
 * false; other kinds of relocation are left out.
 * @return false when `visit` did.
 */
bool parse_elf_relocations(const struct elf_image *image, const struct elf_dynamic *dynamic,
                           bool (*visit)(void *context, const struct elf_relocation *relocation),
                           void *context);

/* ---- objects that a program has loaded itself ---- */

/** Bytes of one section header. */
#define ELF_SECTION_SIZE sizeof(Elf64_Shdr)

struct elf_section_table {
    uint64_t offset;
    size_t count;
};

/** Where a header says that the section headers are; false for none, and when not aligned. */
bool parse_elf_section_table(const uint8_t *bytes, size_t size, struct elf_section_table *ret);
/**
 * The executable sections that have an address, at most `limit`.
 * @param bytes  section headers, as many whole ones as `size` holds.
 * @return how many were filled.
 */
size_t parse_elf_code_sections(const uint8_t *bytes, size_t size, size_t limit,
                               struct elf_range *ret);
/**
 * Makes of an object (ET_REL), whose section headers have the addresses at which it was loaded,
 * what a linker would make of it: symbols get their addresses, and references to them are filled
 * in, but in machine code. Other files are hardly changed.
 * @return false when it has no section headers, or not all of them.
 */
bool parse_elf_object(uint8_t *bytes, size_t size);

#endif
