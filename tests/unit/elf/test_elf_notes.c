#include "elf.h"

#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

static size_t put_note(uint8_t *at, uint32_t type, const char *name, size_t size, size_t alignment)
{
    Elf64_Nhdr head = {(uint32_t)strlen(name) + 1, (uint32_t)size, type};
    size_t bytes_at = (sizeof(head) + head.n_namesz + alignment - 1) / alignment * alignment;
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), name, head.n_namesz);
    memset(at + bytes_at, (int)type, size);
    return (bytes_at + size + alignment - 1) / alignment * alignment;
}

static void notes_of_both_alignments_are_read(void **state)
{
    (void)state;
    for (size_t alignment = 4; alignment <= 8; alignment += 4) {
        uint8_t bytes[256] = {0};
        size_t size = put_note(bytes, 5, "GNU", 3, alignment);
        size += put_note(bytes + size, 6, "CORE", 16, alignment);
        struct byte_cursor notes = cursor_over(bytes, size);
        struct elf_note note;
        assert_true(parse_elf_note(&notes, alignment, &note));
        assert_int_equal(note.type, 5);
        assert_string_equal(note.name, "GNU");
        assert_int_equal(note.bytes.size, 3);
        assert_int_equal(note.bytes.data[2], 5);
        assert_true(parse_elf_note(&notes, alignment, &note));
        assert_int_equal(note.name_size, 5);
        assert_int_equal(note.bytes.size, 16);
        assert_int_equal(note.bytes.data[0], 6);
        assert_false(parse_elf_note(&notes, alignment, &note));
        assert_false(notes.failed);
        notes = cursor_over(bytes, size - 1);
        assert_true(parse_elf_note(&notes, alignment, &note));
        assert_false(parse_elf_note(&notes, alignment, &note));
        assert_true(notes.failed);
    }
}

static void the_build_id_is_found_in_an_image(void **state)
{
    (void)state;
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr phdr;
        uint32_t note[3];
        char name[4];
        uint8_t id[20];
    } image = {
        .header = {.e_phoff = sizeof(Elf64_Ehdr), .e_phnum = 1, .e_phentsize = sizeof(Elf64_Phdr)},
        .note = {4, 20, NT_GNU_BUILD_ID},
        .name = "GNU",
        .id = {1, 2, 3}};
    memcpy(image.header.e_ident, ELFMAG, SELFMAG);
    image.header.e_ident[EI_CLASS] = ELFCLASS64;
    image.header.e_ident[EI_DATA] = ELFDATA2LSB;
    image.phdr = (Elf64_Phdr){.p_type = PT_NOTE,
                              .p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
                              .p_filesz = 36,
                              .p_align = 4};
    struct elf_bytes id;
    assert_true(parse_build_id((const uint8_t *)&image, sizeof(image), &id));
    assert_int_equal(id.size, 20);
    assert_ptr_equal(id.data, image.id);
    assert_true(parse_build_id_note((const uint8_t *)image.note, 36, 4, &id));
    assert_ptr_equal(id.data, image.id);
    assert_false(parse_build_id_note((const uint8_t *)image.note, 35, 4, &id));
    // Every shorter image has none, and is not read beyond its end.
    for (size_t size = 0; size < sizeof(image) - 4; size++) {
        uint8_t *exact = malloc(size + 1);
        memcpy(exact, &image, size);
        assert_false(parse_build_id(exact, size, &id));
        free(exact);
    }
}

static void a_debug_link_is_a_name_and_a_checksum(void **state)
{
    (void)state;
    static const uint8_t section[] = "a.debug\0\x78\x56\x34\x12";
    uint32_t checksum;
    assert_string_equal(parse_debug_link(section, 12, &checksum), "a.debug");
    assert_int_equal(checksum, 0x12345678);
    for (size_t size = 0; size < 12; size++) {
        const char *name = parse_debug_link(section, size, &checksum);
        assert_true(!name || strlen(name) + 1 + sizeof(checksum) <= size);
    }
    assert_null(parse_debug_link((const uint8_t *)"abcdefgh", 8, &checksum));
    /* The check value of the catalogues. */
    assert_int_equal(elf_checksum((const uint8_t *)"123456789", 9), 0xcbf43926);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notes_of_both_alignments_are_read),
        cmocka_unit_test(the_build_id_is_found_in_an_image),
        cmocka_unit_test(a_debug_link_is_a_name_and_a_checksum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
