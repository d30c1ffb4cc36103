#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core.h"
#include "core_writer.h"
#include "target.h"
#include "x86_64_registers.h"

static char path[64];

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct target *open_written(const struct core_writer *writer)
{
    struct target *target = NULL;
    struct psc_error err = {0};
    core_writer_write(writer, path);
    if (core_open(path, NULL, NULL, &target, &err) != PSC_OK)
        fail_msg("%s", err.message);
    return target;
}

static void reads_are_split_at_segments(void **state)
{
    (void)state;
    static uint8_t low[4096], high[4096];
    memset(low, 1, sizeof(low));
    memset(high, 2, sizeof(high));
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 7, 11, 0x1234, 0x5678, 0x9abc);
    core_writer_load(&writer, 0x20000, high, sizeof(high), 8192, PF_R | PF_W);
    core_writer_load(&writer, 0x1f000, low, sizeof(low), 4096, PF_R);
    struct target *target = open_written(&writer);

    uint8_t bytes[16];
    assert_int_equal(target_read(target, 0x1fff8, bytes, 16), PSC_OK);
    assert_int_equal(bytes[7], 1);
    assert_int_equal(bytes[8], 2);
    assert_null(target_peek(target, 0x1fff8, 16));
    assert_non_null(target_peek(target, 0x1fff0, 16));
    // The second segment's file bytes end in the middle of its memory.
    assert_int_equal(target_read(target, 0x20ff8, bytes, 16), PSC_ERR_FAULT);
    assert_int_equal(target_read_some(target, 0x20ff8, bytes, 16), 8);
    assert_int_equal(target_read(target, UINT64_MAX - 3, bytes, 8), PSC_ERR_FAULT);
    assert_int_equal(target->threads[0].tid, 7);
    assert_int_equal(target->threads[0].registers.value[X86_RIP], 0x1234);
    assert_int_equal(target->threads[0].registers.value[X86_RSP], 0x5678);
    assert_int_equal(target->threads[0].thread_pointer, 0x9abc);
    assert_true(target->threads[0].crashed);
    target_close(target);
}

static void strings_end_at_a_bound_or_a_hole(void **state)
{
    (void)state;
    static uint8_t page[4096];
    memset(page, 'x', sizeof(page));
    memcpy(page + 100, "short", 6);
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 7, 0, 0, 0, 0);
    core_writer_load(&writer, 0x10000, page, sizeof(page), sizeof(page), PF_R);
    struct target *target = open_written(&writer);
    char text[32];
    assert_int_equal(target_read_string(target, 0x10000 + 100, text, sizeof(text)), PSC_OK);
    assert_string_equal(text, "short");
    assert_int_equal(target_read_string(target, 0x10000, text, sizeof(text)), PSC_ERR_LIMIT);
    assert_int_equal(strlen(text), 31);
    assert_int_equal(target_read_string(target, 0x10ff0, text, sizeof(text)), PSC_ERR_FAULT);
    assert_int_equal(strlen(text), 16);
    assert_false(target->threads[0].crashed);
    target_close(target);
}

static void file_ranges_and_segments_become_mappings(void **state)
{
    (void)state;
    static uint8_t page[4096];
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 7, 11, 0, 0, 0);
    core_writer_file(&writer, 0x10000, 0x14000, 2, "/no/such/library.so (deleted)");
    core_writer_load(&writer, 0x11000, page, sizeof(page), 0x1000, PF_R | PF_X);
    struct target *target = open_written(&writer);
    assert_int_equal(target->mapping_count, 3);
    const struct target_mapping *middle = target_find_mapping(target, 0x11800);
    assert_non_null(middle);
    assert_int_equal(middle->start, 0x11000);
    assert_int_equal(middle->offset, 0x3000);
    assert_true(middle->permissions_known && middle->executable);
    assert_false(target_find_mapping(target, 0x10000)->permissions_known);
    assert_string_equal(middle->file->path, "/no/such/library.so");
    assert_true(middle->file->deleted);
    assert_true(target_is_executable(target, 0x11000));
    assert_false(target_is_executable(target, 0x12000));
    assert_null(target_find_mapping(target, 0x14000));
    uint8_t byte;
    assert_int_equal(target_read_u8(target, 0x10000, &byte), PSC_ERR_FAULT);
    assert_int_equal(middle->file->state, TARGET_FILE_MISSING);
    target_close(target);
}

static void a_stack_ends_at_its_block_or_with_its_mapping(void **state)
{
    (void)state;
    static uint8_t page[4096];
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 7, 11, 0, 0, 0);
    // A stack in two parts, the guard page of the next one, and that.
    core_writer_load(&writer, 0x10000, page, sizeof(page), 0x1000, PF_R | PF_W);
    core_writer_load(&writer, 0x11000, page, sizeof(page), 0x1000, PF_R | PF_W | PF_X);
    core_writer_load(&writer, 0x12000, page, 0, 0x1000, 0);
    core_writer_load(&writer, 0x13000, page, sizeof(page), 0x1000, PF_R | PF_W);
    struct target *target = open_written(&writer);
    assert_int_equal(target_find_stack_end(target, 0x10800, 0x10c00), 0x10c00);
    assert_int_equal(target_find_stack_end(target, 0x10800, 0x11c00), 0x11c00);
    assert_int_equal(target_find_stack_end(target, 0x10800, 0x12000), 0x12000);
    // The block is elsewhere, below or behind what is no stack, or not known.
    assert_int_equal(target_find_stack_end(target, 0x10800, 0x10400), 0x11000);
    assert_int_equal(target_find_stack_end(target, 0x10800, 0x13c00), 0x11000);
    assert_int_equal(target_find_stack_end(target, 0x10800, 0), 0x11000);
    assert_int_equal(target_find_stack_end(target, 0x9000, 0x10400), UINT64_MAX);
    target_close(target);
}

static void a_cut_core_says_so(void **state)
{
    (void)state;
    static uint8_t page[4096];
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 7, 11, 0, 0, 0);
    core_writer_load(&writer, 0x10000, page, sizeof(page), 4096, PF_R);
    size_t size = core_writer_write(&writer, path);
    assert_int_equal(truncate(path, (off_t)size - 1000), 0);
    struct target *target = NULL;
    struct psc_error err;
    assert_int_equal(core_open(path, NULL, NULL, &target, &err), PSC_OK);
    bool warned = false;
    for (size_t i = 0; i < target->warnings.count; i++)
        warned |= strcmp(target->warnings.items[i].code, "core-truncated") == 0;
    assert_true(warned);
    uint8_t byte;
    assert_int_equal(target_read_u8(target, 0x10000, &byte), PSC_OK);
    assert_int_equal(target_read_u8(target, 0x10fff, &byte), PSC_ERR_FAULT);
    target_close(target);
}

static void what_is_not_a_core_is_refused(void **state)
{
    (void)state;
    struct target *target = NULL;
    struct psc_error err;
    struct core_writer writer;
    core_writer_init(&writer);
    writer.machine = EM_AARCH64;
    core_writer_thread(&writer, 1, 11, 0, 0, 0);
    core_writer_write(&writer, path);
    assert_int_equal(core_open(path, NULL, NULL, &target, &err), PSC_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.message, "AArch64"));
    unlink(path);
    writer.machine = EM_X86_64;
    writer.type = ET_EXEC;
    core_writer_write(&writer, path);
    assert_int_equal(core_open(path, NULL, NULL, &target, &err), PSC_ERR_FORMAT);
    assert_int_equal(core_open("/", NULL, NULL, &target, &err), PSC_ERR_FORMAT);
    assert_int_equal(core_open("/no/such/file", NULL, NULL, &target, &err), PSC_ERR_IO);
    assert_int_equal(core_open("/dev/null", NULL, NULL, &target, &err), PSC_ERR_FORMAT);
}

/** A library as patchelf leaves it: its build-id is not in the first page. */
struct patched_image {
    Elf64_Ehdr header;
    Elf64_Phdr phdr;
    uint8_t rest[8192 - sizeof(Elf64_Ehdr) - sizeof(Elf64_Phdr)];
    uint32_t note[3];
    char name[4];
    uint8_t id[20];
    uint8_t end[4096 - 36];
};

static const struct patched_image patched = {
    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
               .e_phoff = sizeof(Elf64_Ehdr),
               .e_phnum = 1,
               .e_phentsize = sizeof(Elf64_Phdr)},
    .phdr = {.p_type = PT_NOTE, .p_offset = 8192, .p_filesz = 36, .p_align = 4},
    .note = {4, 20, NT_GNU_BUILD_ID},
    .name = "GNU",
    .id = {1, 2, 3}};

/** The state of the library's file, in a core that holds its first page and maybe its notes. */
static enum target_file_state state_of_patched(const struct patched_image *dumped, bool with_notes)
{
    char library[] = "/tmp/psc-test-library-XXXXXX";
    int fd = mkstemp(library);
    assert_int_equal(write(fd, &patched, sizeof(patched)), sizeof(patched));
    close(fd);
    struct core_writer writer;
    core_writer_init(&writer);
    core_writer_thread(&writer, 7, 11, 0, 0, 0);
    uint8_t note[512];
    uint64_t words[8] = {2, 4096, 0x10000, 0x11000, 0, 0x40000, 0x41000, 2};
    memcpy(note, words, sizeof(words));
    memcpy(note + sizeof(words), library, sizeof(library));
    memcpy(note + sizeof(words) + sizeof(library), library, sizeof(library));
    core_writer_note(&writer, NT_FILE, note, sizeof(words) + 2 * sizeof(library));
    core_writer_load(&writer, 0x10000, dumped, 4096, 4096, PF_R);
    core_writer_load(&writer, 0x40000, &dumped->note, with_notes ? 4096 : 0, 4096, PF_R | PF_W);
    struct target *target = open_written(&writer);
    struct target_file *file = target_find_mapping(target, 0x40000)->file;
    target_file_open(target, file);
    enum target_file_state state = file->state;
    assert_int_equal(file->build_id.size, state == TARGET_FILE_FOUND || with_notes ? 20 : 0);
    target_close(target);
    unlink(path);
    unlink(library);
    return state;
}

static void a_build_id_behind_the_first_page_is_compared(void **state)
{
    (void)state;
    assert_int_equal(state_of_patched(&patched, true), TARGET_FILE_FOUND);
    // Not dumped: the headers are the proof.
    assert_int_equal(state_of_patched(&patched, false), TARGET_FILE_FOUND);
    struct patched_image other = patched;
    other.id[19] = 9;
    assert_int_equal(state_of_patched(&other, true), TARGET_FILE_MISMATCH);
    other.phdr.p_filesz = 40;
    assert_int_equal(state_of_patched(&other, false), TARGET_FILE_MISMATCH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(reads_are_split_at_segments, remove_file),
        cmocka_unit_test_teardown(strings_end_at_a_bound_or_a_hole, remove_file),
        cmocka_unit_test_teardown(file_ranges_and_segments_become_mappings, remove_file),
        cmocka_unit_test_teardown(a_stack_ends_at_its_block_or_with_its_mapping, remove_file),
        cmocka_unit_test_teardown(a_cut_core_says_so, remove_file),
        cmocka_unit_test_teardown(what_is_not_a_core_is_refused, remove_file),
        cmocka_unit_test(a_build_id_behind_the_first_page_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
