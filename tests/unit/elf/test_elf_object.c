#include "elf.h"

#include <setjmp.h>

#include <cmocka.h>

#define CODE_ADDRESS   UINT64_C(0x7f0000001000)
#define UNWIND_ADDRESS UINT64_C(0x7f0000002000)
#define FUNCTION       0x10u

enum { NONE, CODE, UNWIND, LINES, SYMBOLS, OF_CODE, OF_UNWIND, OF_LINES, SECTIONS };

/* As a compiler writes it, with the addresses that its loader has put into the section headers. */
struct object {
    Elf64_Ehdr header;
    uint64_t code[2];
    uint64_t unwind[2];
    uint64_t lines[3];
    Elf64_Sym symbols[3];
    Elf64_Rela of_code[1];
    Elf64_Rela of_unwind[1];
    Elf64_Rela of_lines[3];
    Elf64_Shdr sections[SECTIONS];
};

static Elf64_Shdr section(uint32_t type, uint64_t flags, uint64_t address, size_t offset,
                          size_t size)
{
    return (Elf64_Shdr){.sh_type = type,
                        .sh_flags = flags,
                        .sh_addr = address,
                        .sh_offset = offset,
                        .sh_size = size};
}

#define SECTION(type, flags, address, member)                      \
    section(type, flags, address, offsetof(struct object, member), \
            sizeof(((struct object *)0)->member))

static struct object make_object(void)
{
    struct object object = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_REL,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_shoff = offsetof(struct object, sections),
                   .e_shentsize = sizeof(Elf64_Shdr),
                   .e_shnum = SECTIONS},
        .symbols = {[1] = {.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION), .st_shndx = CODE},
                    [2] = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                           .st_shndx = CODE,
                           .st_value = FUNCTION,
                           .st_size = 4}},
        .of_code = {{0, ELF64_R_INFO(2, R_X86_64_64), 0}},
        .of_unwind = {{4, ELF64_R_INFO(1, R_X86_64_PC32), 2}},
        .of_lines = {{0, ELF64_R_INFO(2, R_X86_64_64), 1},
                     {8, ELF64_R_INFO(1, R_X86_64_TPOFF64), 0},
                     {17, ELF64_R_INFO(2, R_X86_64_64), 0}},
    };
    Elf64_Shdr *sections = object.sections;
    sections[CODE] = SECTION(SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, CODE_ADDRESS, code);
    sections[UNWIND] = SECTION(SHT_X86_64_UNWIND, SHF_ALLOC, UNWIND_ADDRESS, unwind);
    sections[LINES] = SECTION(SHT_PROGBITS, 0, 0, lines);
    sections[SYMBOLS] = SECTION(SHT_SYMTAB, 0, 0, symbols);
    sections[OF_CODE] = SECTION(SHT_RELA, 0, 0, of_code);
    sections[OF_UNWIND] = SECTION(SHT_RELA, 0, 0, of_unwind);
    sections[OF_LINES] = SECTION(SHT_RELA, 0, 0, of_lines);
    for (uint32_t i = OF_CODE; i <= OF_LINES; i++) {
        sections[i].sh_link = SYMBOLS;
        sections[i].sh_info = CODE + (i - OF_CODE);
    }
    return object;
}

static void references_are_filled_in(void **state)
{
    (void)state;
    struct object object = make_object();
    assert_true(parse_elf_object((uint8_t *)&object, sizeof(object)));
    assert_int_equal(object.header.e_type, ET_EXEC);
    assert_int_equal(object.symbols[2].st_value, CODE_ADDRESS + FUNCTION);
    assert_int_equal(object.symbols[1].st_value, CODE_ADDRESS);
    assert_int_equal(object.lines[0], CODE_ADDRESS + FUNCTION + 1);
    /* 32 bits, from their own place on. */
    assert_int_equal((int32_t)(object.unwind[0] >> 32),
                     (int64_t)(CODE_ADDRESS + 2) - (int64_t)(UNWIND_ADDRESS + 4));
    assert_int_equal(object.sections[UNWIND].sh_type, SHT_PROGBITS);
}

static void what_is_not_meant_stays(void **state)
{
    (void)state;
    struct object object = make_object();
    assert_true(parse_elf_object((uint8_t *)&object, sizeof(object)));
    assert_int_equal(object.code[0], 0);  /* Machine code is read in the target. */
    assert_int_equal(object.lines[1], 0); /* Another kind of relocation. */
    assert_int_equal(object.lines[2], 0); /* It would not fit. */
    struct object linked = make_object();
    linked.header.e_type = ET_DYN;
    assert_true(parse_elf_object((uint8_t *)&linked, sizeof(linked)));
    assert_int_equal(linked.symbols[2].st_value, FUNCTION);
    assert_int_equal(linked.lines[0], 0);
}

static void what_is_cut_is_refused(void **state)
{
    (void)state;
    struct object object = make_object();
    for (size_t size = 0; size < sizeof(object); size += 8)
        assert_false(parse_elf_object((uint8_t *)&object, size));
    object.header.e_shnum = 0;
    assert_false(parse_elf_object((uint8_t *)&object, sizeof(object)));
    object = make_object();
    object.header.e_shoff = UINT64_MAX - 8;
    assert_false(parse_elf_object((uint8_t *)&object, sizeof(object)));
}

static void code_has_an_address(void **state)
{
    (void)state;
    struct object object = make_object();
    struct elf_section_table table;
    struct elf_range code[2];
    assert_true(parse_elf_section_table((uint8_t *)&object, sizeof(object.header), &table));
    assert_int_equal(table.offset, offsetof(struct object, sections));
    assert_int_equal(table.count, SECTIONS);
    const uint8_t *headers = (const uint8_t *)object.sections;
    assert_int_equal(parse_elf_code_sections(headers, sizeof(object.sections), 2, code), 1);
    assert_int_equal(code[0].start, CODE_ADDRESS);
    assert_int_equal(code[0].end, CODE_ADDRESS + sizeof(object.code));
    object.sections[CODE].sh_size = UINT64_MAX;
    assert_int_equal(parse_elf_code_sections(headers, sizeof(object.sections), 2, code), 0);
    object = make_object();
    object.sections[CODE].sh_addr = 0;
    assert_int_equal(parse_elf_code_sections(headers, sizeof(object.sections), 2, code), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_are_filled_in),
        cmocka_unit_test(what_is_not_meant_stays),
        cmocka_unit_test(what_is_cut_is_refused),
        cmocka_unit_test(code_has_an_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
