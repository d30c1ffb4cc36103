#include "elf.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static void elf_type_of_any_class_and_order(void **state)
{
    (void)state;
    uint8_t bytes[ELF_TYPE_SIZE] = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, 1};
    uint16_t type = 0;
    bytes[16] = ET_CORE;
    assert_true(parse_elf_type(bytes, sizeof(bytes), &type));
    assert_int_equal(type, ET_CORE);
    bytes[EI_DATA] = ELFDATA2MSB;
    assert_true(parse_elf_type(bytes, sizeof(bytes), &type));
    assert_int_equal(type, ET_CORE << 8);
    assert_false(parse_elf_type(bytes, sizeof(bytes) - 1, &type));
    bytes[0] = 0;
    assert_false(parse_elf_type(bytes, sizeof(bytes), &type));
}

static void elf_header_is_checked(void **state)
{
    (void)state;
    uint8_t bytes[ELF_HEADER_SIZE] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1};
    struct elf_header header;
    bytes[16] = ET_DYN;
    bytes[54] = ELF_SEGMENT_SIZE;
    bytes[56] = 3;
    assert_true(parse_elf_header(bytes, sizeof(bytes), &header));
    assert_int_equal(header.segment_count, 3);
    bytes[56] = bytes[57] = 0xff;
    assert_true(parse_elf_header(bytes, sizeof(bytes), &header));
    assert_int_equal(header.segment_count, 0xffff);
    assert_int_equal(elf_count_segments(bytes, sizeof(bytes), &header), 0);
    assert_true(elf_is_loadable(&header));
    assert_false(parse_elf_header(bytes, sizeof(bytes) - 1, &header));
    bytes[16] = ET_CORE;
    assert_true(parse_elf_header(bytes, sizeof(bytes), &header));
    assert_false(elf_is_loadable(&header));
    bytes[54] = ELF_SEGMENT_SIZE - 1;
    assert_true(parse_elf_header(bytes, sizeof(bytes), &header));
    assert_int_equal(header.segment_count, 0xffff);
    bytes[16] = ET_DYN;
    assert_true(parse_elf_header(bytes, sizeof(bytes), &header));
    assert_int_equal(header.segment_count, 0);
    bytes[4] = ELFCLASS32;
    assert_true(elf_is_elf(bytes, sizeof(bytes)));
    assert_false(parse_elf_header(bytes, sizeof(bytes), &header));

    struct elf_segment segments[2];
    uint8_t raw[2 * ELF_SEGMENT_SIZE] = {PT_LOAD};
    memset(raw + 16, 0xff, 8); /* p_vaddr: the sum with p_memsz overflows. */
    raw[40] = 1;
    raw[ELF_SEGMENT_SIZE] = PT_NOTE;
    assert_int_equal(parse_elf_segments(raw, sizeof(raw), 2, segments), 1);
    assert_int_equal(segments[0].type, PT_NOTE);
    assert_int_equal(parse_elf_segments(raw, ELF_SEGMENT_SIZE - 1, 2, segments), 0);
}

static void a_segment_and_a_dynamic_entry_are_read(void **state)
{
    (void)state;
    const Elf64_Phdr raw = {PT_LOAD, PF_R | PF_X, 0x1000, 0x400000, 0, 0x20, 0x30, 0x1000};
    struct elf_segment segment;
    parse_elf_segment((const uint8_t *)&raw, &segment);
    assert_int_equal(segment.type, PT_LOAD);
    assert_int_equal(segment.flags, PF_R | PF_X);
    assert_int_equal(segment.offset, 0x1000);
    assert_int_equal(segment.address, 0x400000);
    assert_int_equal(segment.file_size, 0x20);
    assert_int_equal(segment.memory_size, 0x30);
    assert_int_equal(segment.alignment, 0x1000);

    const Elf64_Dyn entries[] = {
        {DT_SYMTAB, {0x500}}, {DT_STRSZ, {7}}, {0x6fff0000, {1}}, {DT_NULL, {0}}};
    struct elf_dynamic dynamic = {0};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(entries); i++)
        assert_int_equal(parse_elf_dynamic_entry((const uint8_t *)&entries[i], &dynamic), i < 3);
    assert_int_equal(dynamic.symbols, 0x500);
    assert_int_equal(dynamic.names_size, 7);
}

static void eh_frame_header_is_checked(void **state)
{
    (void)state;
    uint8_t bytes[ELF_EH_FRAME_HEADER_SIZE] = {1, 0x1b, 0x03, 0x3b, 0, 0, 0, 0, 2};
    assert_int_equal(parse_eh_frame_header(bytes, sizeof(bytes), 12 + 16), 2);
    assert_int_equal(parse_eh_frame_header(bytes, sizeof(bytes), 12 + 15), 0);
    assert_int_equal(parse_eh_frame_header(bytes, sizeof(bytes), 11), 0);
    assert_int_equal(parse_eh_frame_header(bytes, 11, 12 + 16), 0);
    memset(bytes + 8, 0xff, 4);
    assert_int_equal(parse_eh_frame_header(bytes, sizeof(bytes), 12 + 16), 0);
    bytes[8] = 1;
    bytes[9] = bytes[10] = bytes[11] = 0;
    bytes[1] = 0;
    assert_int_equal(parse_eh_frame_header(bytes, sizeof(bytes), 12 + 16), 0);
}

/* gABI: more program headers than the header can say. */
static void many_segments_are_counted(void **state)
{
    (void)state;
    enum { COUNT = 70000 };
    size_t size = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + COUNT * sizeof(Elf64_Phdr);
    uint8_t *image = calloc(1, size);
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                       .e_type = ET_CORE,
                       .e_phoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr),
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = PN_XNUM,
                       .e_shoff = sizeof(Elf64_Ehdr)};
    Elf64_Shdr section = {.sh_info = COUNT};
    assert_non_null(image);
    memcpy(image, &head, sizeof(head));
    memcpy(image + sizeof(head), &section, sizeof(section));
    struct elf_header header;
    assert_true(parse_elf_header(image, size, &header));
    assert_int_equal(elf_count_segments(image, size, &header), COUNT);
    assert_int_equal(elf_count_segments(image, size - 1, &header), COUNT - 1);
    assert_int_equal(elf_count_segments(image, head.e_phoff, &header), 0);
    Elf64_Phdr last = {.p_type = PT_NOTE, .p_filesz = 7, .p_align = 8};
    memcpy(image + size - sizeof(last), &last, sizeof(last));
    size_t index = 0;
    struct elf_segment segment;
    assert_true(elf_next_segment(image, size, PT_NOTE, &index, &segment));
    assert_int_equal(index, COUNT);
    assert_int_equal(segment.file_size, 7);
    assert_int_equal(segment.alignment, 8);
    assert_false(elf_next_segment(image, size, PT_NOTE, &index, &segment));
    free(image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elf_type_of_any_class_and_order),
        cmocka_unit_test(elf_header_is_checked),
        cmocka_unit_test(many_segments_are_counted),
        cmocka_unit_test(a_segment_and_a_dynamic_entry_are_read),
        cmocka_unit_test(eh_frame_header_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
