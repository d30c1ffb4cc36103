/* Pointers that the loader fills. */
#include "elf_private.h"

/** Entries of one table that are looked at. */
#define RELOCATION_LIMIT ((uint64_t)1 << 21)

typedef bool relocation_visitor(void *context, const struct elf_relocation *relocation);

/** System V ABI, AMD64 supplement, table 4.9. */
static bool kind_of_x86_64(uint64_t type, enum elf_relocation_kind *ret)
{
    switch (type) {
    case R_X86_64_RELATIVE:
        *ret = ELF_RELOCATION_BASE;
        return true;
    case R_X86_64_64:
        *ret = ELF_RELOCATION_SYMBOL_ADDEND;
        return true;
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT:
        *ret = ELF_RELOCATION_SYMBOL;
        return true;
    default:
        return false;
    }
}

/** Of objects: the same table. */
static bool fill_of_x86_64(uint64_t type, struct elf_fill *ret)
{
    switch (type) {
    case R_X86_64_64:
        *ret = (struct elf_fill){.size = 8};
        return true;
    case R_X86_64_PC64:
        *ret = (struct elf_fill){.size = 8, .relative = true};
        return true;
    case R_X86_64_32:
    case R_X86_64_32S:
        *ret = (struct elf_fill){.size = 4};
        return true;
    case R_X86_64_PC32:
        *ret = (struct elf_fill){.size = 4, .relative = true};
        return true;
    default:
        return false;
    }
}

/* The only place of the room that depends on the machine. */
static bool kind_of(uint16_t machine, uint64_t type, enum elf_relocation_kind *ret)
{
    return machine == EM_X86_64 && kind_of_x86_64(type, ret);
}

bool elf_find_fill(uint16_t machine, uint64_t type, struct elf_fill *ret)
{
    return machine == EM_X86_64 && fill_of_x86_64(type, ret);
}

static bool visit_table(const struct elf_image *image, uint64_t address, uint64_t size,
                        relocation_visitor *visit, void *context)
{
    for (uint64_t i = 0; i < size / sizeof(Elf64_Rela) && i < RELOCATION_LIMIT; i++) {
        const uint8_t *bytes =
            elf_image_bytes_at(image, address + i * sizeof(Elf64_Rela), sizeof(Elf64_Rela));
        if (!bytes)
            return true;
        uint64_t info = load_u64(bytes + offsetof(Elf64_Rela, r_info));
        struct elf_relocation relocation = {
            .address = load_u64(bytes + offsetof(Elf64_Rela, r_offset)),
            .addend = load_u64(bytes + offsetof(Elf64_Rela, r_addend)),
            .symbol = (uint32_t)ELF64_R_SYM(info),
        };
        if (kind_of(image->machine, ELF64_R_TYPE(info), &relocation.kind) &&
            !visit(context, &relocation))
            return false;
    }
    return true;
}

/** A packed relative relocation: the pointer stands in the place itself. */
static bool visit_packed(const struct elf_image *image, uint64_t address, relocation_visitor *visit,
                         void *context)
{
    const uint8_t *bytes = elf_image_bytes_at(image, address, 8);
    struct elf_relocation relocation = {.address = address, .kind = ELF_RELOCATION_BASE};
    if (!bytes)
        return true;
    relocation.addend = load_u64(bytes);
    return visit(context, &relocation);
}

/** DT_RELR of the generic ABI: addresses, each followed by bit maps of the next 63 words. */
static bool visit_packed_table(const struct elf_image *image, const struct elf_dynamic *dynamic,
                               relocation_visitor *visit, void *context)
{
    uint64_t next = 0;
    for (uint64_t i = 0; i < dynamic->packed_size / 8 && i < RELOCATION_LIMIT; i++) {
        const uint8_t *bytes = elf_image_bytes_at(image, dynamic->packed + i * 8, 8);
        if (!bytes)
            return true;
        uint64_t entry = load_u64(bytes);
        if (!(entry & 1)) {
            if (!visit_packed(image, entry, visit, context))
                return false;
            next = entry + 8;
            continue;
        }
        for (uint64_t bit = 0; bit < 63; bit++)
            if (entry >> (bit + 1) & 1 && !visit_packed(image, next + 8 * bit, visit, context))
                return false;
        next += UINT64_C(63) * 8;
    }
    return true;
}

bool parse_elf_relocations(const struct elf_image *image, const struct elf_dynamic *dynamic,
                           relocation_visitor *visit, void *context)
{
    return visit_table(image, dynamic->relocations, dynamic->relocations_size, visit, context) &&
           visit_table(image, dynamic->slots, dynamic->slots_size, visit, context) &&
           visit_packed_table(image, dynamic, visit, context);
}
