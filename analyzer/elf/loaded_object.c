/* Relocatable objects that a program has loaded itself: sections, and what refers to them. */
#include "elf_private.h"

/** Relocations of one section that are looked at. */
#define OBJECT_RELOCATION_LIMIT ((uint64_t)1 << 21)

struct object {
    uint8_t *bytes;
    size_t size;
    uint16_t machine;
    struct elf_section_table sections;
};

struct object_section {
    uint32_t type;
    uint32_t link;
    uint32_t info;
    uint64_t flags;
    uint64_t address;
    uint64_t offset;
    uint64_t size;
};

bool parse_elf_section_table(const uint8_t *bytes, size_t size, struct elf_section_table *ret)
{
    struct elf_header header;
    if (!parse_elf_header(bytes, size, &header) ||
        load_u16(bytes + offsetof(Elf64_Ehdr, e_shentsize)) != ELF_SECTION_SIZE)
        return false;
    ret->offset = load_u64(bytes + offsetof(Elf64_Ehdr, e_shoff));
    ret->count = load_u16(bytes + offsetof(Elf64_Ehdr, e_shnum));
    // gABI, "Data Representation": aligned by their size. libelf reads them in place.
    return ret->offset && ret->offset % sizeof(uint64_t) == 0 && ret->count;
}

static struct object_section parse_section(const uint8_t bytes[ELF_SECTION_SIZE])
{
    return (struct object_section){
        .type = load_u32(bytes + offsetof(Elf64_Shdr, sh_type)),
        .link = load_u32(bytes + offsetof(Elf64_Shdr, sh_link)),
        .info = load_u32(bytes + offsetof(Elf64_Shdr, sh_info)),
        .flags = load_u64(bytes + offsetof(Elf64_Shdr, sh_flags)),
        .address = load_u64(bytes + offsetof(Elf64_Shdr, sh_addr)),
        .offset = load_u64(bytes + offsetof(Elf64_Shdr, sh_offset)),
        .size = load_u64(bytes + offsetof(Elf64_Shdr, sh_size)),
    };
}

size_t parse_elf_code_sections(const uint8_t *bytes, size_t size, size_t limit,
                               struct elf_range *ret)
{
    const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
    size_t count = 0;
    for (size_t i = 0; i < size / ELF_SECTION_SIZE && count < limit; i++) {
        struct object_section section = parse_section(bytes + i * ELF_SECTION_SIZE);
        uint64_t end;
        if ((section.flags & wanted) == wanted && section.address && section.size &&
            !__builtin_add_overflow(section.address, section.size, &end))
            ret[count++] = (struct elf_range){section.address, end};
    }
    return count;
}

/* ---- references that the loader of the object has left as they were ---- */

static uint8_t *header_of(const struct object *object, size_t index)
{
    return object->bytes + object->sections.offset + index * ELF_SECTION_SIZE;
}

/** False when the section has no bytes, or not all of them. */
static bool find_section(const struct object *object, size_t index, struct object_section *ret)
{
    if (index >= object->sections.count)
        return false;
    *ret = parse_section(header_of(object, index));
    return ret->type != SHT_NOBITS && ret->offset <= object->size &&
           ret->size <= object->size - ret->offset;
}

/** Where the symbol's section was put; 0 for one that was not, such as debug information. */
static uint64_t address_of_section(const struct object *object, uint16_t index)
{
    if (index == SHN_UNDEF || index >= object->sections.count)
        return 0;
    struct object_section section = parse_section(header_of(object, index));
    return section.flags & SHF_ALLOC ? section.address : 0;
}

static void place_symbols(const struct object *object, const struct object_section *table)
{
    for (uint64_t at = 0; at + ELF_SYMBOL_SIZE <= table->size; at += ELF_SYMBOL_SIZE) {
        uint8_t *bytes = object->bytes + table->offset + at;
        struct elf_symbol symbol = parse_elf_symbol(bytes);
        uint64_t address = symbol.address + address_of_section(object, symbol.section);
        memcpy(bytes + offsetof(Elf64_Sym, st_value), &address, sizeof(address));
    }
}

static void relocate(const struct object *object, const struct object_section *symbols,
                     const struct object_section *section, const uint8_t *entry)
{
    uint64_t at = load_u64(entry + offsetof(Elf64_Rela, r_offset));
    uint64_t info = load_u64(entry + offsetof(Elf64_Rela, r_info));
    uint64_t index = ELF64_R_SYM(info);
    struct elf_fill fill;
    if (!elf_find_fill(object->machine, ELF64_R_TYPE(info), &fill) ||
        index >= symbols->size / ELF_SYMBOL_SIZE || section->size < fill.size ||
        at > section->size - fill.size)
        return;
    struct elf_symbol symbol =
        parse_elf_symbol(object->bytes + symbols->offset + index * ELF_SYMBOL_SIZE);
    if (symbol.section == SHN_UNDEF || symbol.section >= object->sections.count)
        return;
    uint64_t value = symbol.address + load_u64(entry + offsetof(Elf64_Rela, r_addend));
    if (fill.relative)
        value -= section->address + at;
    memcpy(object->bytes + section->offset + at, &value, fill.size);
}

/** Of debug information, which is not loaded, and of data: machine code is read in the target. */
static void relocate_section(const struct object *object, const struct object_section *table)
{
    struct object_section symbols, section;
    if (!find_section(object, table->link, &symbols) || symbols.type != SHT_SYMTAB ||
        !find_section(object, table->info, &section) || section.flags & SHF_EXECINSTR ||
        section.flags & SHF_COMPRESSED)
        return;
    uint64_t count = table->size / sizeof(Elf64_Rela);
    for (uint64_t i = 0; i < count && i < OBJECT_RELOCATION_LIMIT; i++)
        relocate(object, &symbols, &section,
                 object->bytes + table->offset + i * sizeof(Elf64_Rela));
}

static void each_section(const struct object *object, uint32_t type,
                         void (*visit)(const struct object *object,
                                       const struct object_section *section))
{
    struct object_section section;
    for (size_t i = 1; i < object->sections.count; i++)
        if (find_section(object, i, &section) && section.type == type)
            visit(object, &section);
}

/** LLVM gives .eh_frame the type that the AMD64 supplement has for it; others have PROGBITS. */
static void rename_unwind_sections(const struct object *object)
{
    const uint32_t usual = SHT_PROGBITS;
    for (size_t i = 1; i < object->sections.count; i++) {
        uint8_t *header = header_of(object, i);
        if (object->machine == EM_X86_64 &&
            load_u32(header + offsetof(Elf64_Shdr, sh_type)) == SHT_X86_64_UNWIND)
            memcpy(header + offsetof(Elf64_Shdr, sh_type), &usual, sizeof(usual));
    }
}

bool parse_elf_object(uint8_t *bytes, size_t size)
{
    static const uint16_t linked = ET_EXEC;
    struct elf_header header;
    struct object object = {.bytes = bytes, .size = size};
    if (!parse_elf_header(bytes, size, &header) ||
        !parse_elf_section_table(bytes, size, &object.sections) || object.sections.offset > size ||
        object.sections.count > (size - object.sections.offset) / ELF_SECTION_SIZE)
        return false;
    object.machine = header.machine;
    if (header.type == ET_REL) {
        each_section(&object, SHT_SYMTAB, place_symbols);
        each_section(&object, SHT_RELA, relocate_section);
        memcpy(bytes + offsetof(Elf64_Ehdr, e_type), &linked, sizeof(linked));
    }
    rename_unwind_sections(&object);
    return true;
}
