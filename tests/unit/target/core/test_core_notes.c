/* What stands in a core's notes of the auxiliary vector and of mapped files. */
#include "core_private.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void auxv_is_read_up_to_its_end(void **state)
{
    (void)state;
    const uint64_t words[] = {
        AT_PHDR,   0x40, AT_PHNUM, 3, AT_ENTRY, 0x1000, AT_SYSINFO_EHDR, 0x7000, AT_EXECFN, 0x8000,
        AT_PAGESZ, 4096, 77,       1, AT_NULL,  0,      AT_ENTRY,        0x2000};
    struct target_auxv auxv = {0};
    parse_auxv((const uint8_t *)words, sizeof(words), &auxv);
    assert_int_equal(auxv.phdr, 0x40);
    assert_int_equal(auxv.phnum, 3);
    assert_int_equal(auxv.entry, 0x1000);
    assert_int_equal(auxv.vdso, 0x7000);
    assert_int_equal(auxv.execfn, 0x8000);
    assert_int_equal(auxv.page_size, 4096);
    /* Half an entry is none; what is not told stays. */
    auxv.entry = 5;
    parse_auxv((const uint8_t *)(words + 4), 15, &auxv);
    assert_int_equal(auxv.entry, 5);
}

static void check_files(const void *bytes, size_t size, size_t expected)
{
    struct elf_bytes note = {bytes, size};
    struct core_file_range *ranges = NULL;
    size_t count = 99;
    assert_int_equal(parse_core_files(&note, &ranges, &count), PSC_OK);
    assert_int_equal(count, expected);
    if (expected) {
        assert_int_equal(ranges[0].start, 0x1000);
        assert_int_equal(ranges[0].end, 0x2000);
        assert_int_equal(ranges[0].offset, 0x3000);
        assert_string_equal(ranges[0].path, "/a");
    }
    free(ranges);
}

static void file_ranges_are_read(void **state)
{
    (void)state;
    uint64_t words[9] = {2, 0x1000, 0x1000, 0x2000, 3, 0x4000, 0x5000, 0};
    memcpy(words + 8, "/a\0/bc\0", 8);
    check_files(words, sizeof(words), 2);
    check_files(words, sizeof(words) - 2, 1); /* The second path has no end. */
    check_files(words, 64, 0);
    check_files(words, 16, 0);
    check_files(words, 15, 0);
    words[5] = 0x6000; /* It ends before it begins. */
    check_files(words, sizeof(words), 1);
    words[0] = UINT64_MAX;
    check_files(words, 15, 0);
}

/* As AArch64's would: the thread pointer, and which bits of a return address sign it. */
static void take_note(struct target *target, struct target_thread *thread, uint32_t type,
                      const uint8_t *bytes, size_t size)
{
    if (type == 0x401 && size == 8)
        thread->thread_pointer = load_u64(bytes);
    if (type == 0x406 && size == 16)
        target->signed_bits = load_u64(bytes + 8);
}

static void add_note(struct core_notes *notes, const char *owner, uint32_t type, const void *bytes,
                     size_t size)
{
    const struct elf_note note = {
        .type = type, .name = owner, .name_size = strlen(owner) + 1, .bytes = {bytes, size}};
    assert_int_equal(core_notes_add(notes, &note), PSC_OK);
}

static void a_machine_takes_its_own_notes(void **state)
{
    (void)state;
    struct target_machine machine = *target_machine_find(EM_X86_64);
    machine.take_note = take_note;
    struct target target = {.machine = &machine};
    struct core_notes notes = {.target = &target, .tids = HASH_TABLE_OF(uint64_t)};
    uint8_t status[512] = {0};
    const uint64_t pointer = 0x7000, masks[2] = {0, 0x007f000000000000};
    add_note(&notes, "LINUX", 0x401, &pointer, sizeof(pointer)); /* Of no thread. */
    for (uint8_t tid = 1; tid <= 2; tid++) {
        status[32] = tid; /* pr_pid of struct elf_prstatus. */
        add_note(&notes, "CORE", NT_PRSTATUS, status, machine.status_size);
    }
    add_note(&notes, "CORE", 0x401, &pointer, sizeof(pointer));
    assert_int_equal(target.threads[1].thread_pointer, 0);
    add_note(&notes, "LINUX", 0x401, &pointer, sizeof(pointer));
    add_note(&notes, "LINUX", 0x406, masks, sizeof(masks));
    assert_int_equal(target.thread_count, 2);
    assert_int_equal(target.threads[0].thread_pointer, 0);
    assert_int_equal(target.threads[1].thread_pointer, 0x7000);
    assert_int_equal(target_return_address(&target, 0x00760000004d4210), 0x4d4210);
    target.signed_bits = 0;
    assert_int_equal(target_return_address(&target, 0x00760000004d4210), 0x00760000004d4210);
    hash_table_deinit(&notes.tids);
    free(target.threads);
}

static void a_slim_core_says_what_it_is(void **state)
{
    (void)state;
    const struct core_slim_head written = {1, CORE_SLIM_REDACTED, 1 << 30};
    struct core_slim_head head = {0};
    struct elf_bytes note = {(const uint8_t *)&written, sizeof(written)};
    assert_true(parse_slim_head(&note, &head));
    assert_memory_equal(&head, &written, sizeof(head));
    note.size--;
    assert_false(parse_slim_head(&note, &head));
}

static void ranges_without_a_size_are_passed_over(void **state)
{
    (void)state;
    const struct core_slim_segment segments[] = {
        {8, 4, 1, 0}, {0x1000, 0x3000, 5, 0}, {1, 1, 1, 0}};
    const struct core_hole holes[] = {{9, 9}, {0x10, 0x20}, {3, 2}};
    struct core_segment segment;
    struct core_hole hole;
    struct byte_cursor note = cursor_over(segments, sizeof(segments));
    assert_true(parse_slim_segment(&note, &segment));
    assert_int_equal(segment.start, 0x1000);
    assert_int_equal(segment.end, 0x3000);
    assert_int_equal(segment.flags, 5);
    assert_false(parse_slim_segment(&note, &segment));
    note = cursor_over(holes, sizeof(holes) - 1);
    assert_true(parse_slim_hole(&note, &hole));
    assert_int_equal(hole.end, 0x20);
    assert_false(parse_slim_hole(&note, &hole));
}

static void files_lie_within_the_core(void **state)
{
    (void)state;
    struct {
        struct core_slim_file head;
        char path[8];
    } files[2] = {{{90, 11, 500, 8, 0}, "/bin/a"}, {{90, 10, 500, 8, 0}, "/bin/b"}};
    struct core_packed_file file;
    struct byte_cursor note = cursor_over(files, sizeof(files));
    assert_true(parse_slim_file(&note, 100, &file)); /* The first one ends behind it. */
    assert_string_equal(file.path, "/bin/b");
    assert_int_equal(file.offset, 90);
    assert_int_equal(file.stored, 10);
    assert_int_equal(file.size, 500);
    assert_int_equal(file.fd, -1);
    assert_false(parse_slim_file(&note, 100, &file));
    files[1].path[7] = 'x'; /* No end. */
    note = cursor_over(files, sizeof(files));
    assert_false(parse_slim_file(&note, 100, &file));
    files[1].path[7] = 0;
    files[1].head.path_size = 16; /* Behind the note. */
    note = cursor_over(files, sizeof(files));
    assert_false(parse_slim_file(&note, 100, &file));
}

static void parts_without_a_size_are_passed_over(void **state)
{
    (void)state;
    const struct core_slim_part parts[] = {
        {90, 4096, 4096}, {90, 0, (UINT64_C(2) << 30) + 1}, {90, 4096, 8192}, {7, 2, 1}};
    struct core_slim_part part;
    struct byte_cursor note = cursor_over(parts, sizeof(parts));
    assert_true(parse_slim_part(&note, &part));
    assert_memory_equal(&part, &parts[2], sizeof(part));
    assert_false(parse_slim_part(&note, &part));
    note = cursor_over(parts, 3 * sizeof(*parts) - 1);
    assert_false(parse_slim_part(&note, &part));
}

static void packages_have_three_texts(void **state)
{
    (void)state;
    static const char bytes[] = "/a.so\0numpy\0001.2\0/b.so\0\0003";
    struct target_package package;
    struct byte_cursor note = cursor_over(bytes, sizeof(bytes));
    assert_true(parse_slim_package(&note, &package));
    assert_string_equal(package.path, "/a.so");
    assert_string_equal(package.name, "numpy");
    assert_string_equal(package.version, "1.2");
    assert_false(parse_slim_package(&note, &package)); /* It has no name. */
    note = cursor_over(bytes, 14);
    assert_false(parse_slim_package(&note, &package)); /* No end. */
}

static void names_of_threads_need_no_end(void **state)
{
    (void)state;
    const char bytes[] = "\7\0\0\0main\0\0\0\0\0\0\0\0\0\0\0\0\10\0\0\0sixteen-letters!half";
    struct core_thread_name name;
    struct byte_cursor note = cursor_over(bytes, sizeof(bytes) - 1);
    assert_true(parse_thread_name(&note, &name));
    assert_int_equal(name.tid, 7);
    assert_int_equal(name.length, 4);
    assert_true(parse_thread_name(&note, &name));
    assert_int_equal(name.tid, 8);
    assert_int_equal(name.length, 16);
    assert_memory_equal(name.name, "sixteen-letters!", 16);
    assert_false(parse_thread_name(&note, &name));
}

static void arguments_are_left_out(void **state)
{
    (void)state;
    uint8_t bytes[CORE_PROCESS_SIZE] = {0}, copy[CORE_PROCESS_SIZE];
    struct elf_bytes note = {bytes, sizeof(bytes)};
    memcpy(bytes + 56, "python secret word", 18);
    assert_true(parse_redacted_process(&note, copy));
    assert_string_equal((const char *)copy + 56, "python");
    assert_null(memmem(copy, sizeof(copy), "secret", 6));
    note.size--;
    assert_false(parse_redacted_process(&note, copy));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auxv_is_read_up_to_its_end),
        cmocka_unit_test(a_machine_takes_its_own_notes),
        cmocka_unit_test(file_ranges_are_read),
        cmocka_unit_test(a_slim_core_says_what_it_is),
        cmocka_unit_test(ranges_without_a_size_are_passed_over),
        cmocka_unit_test(files_lie_within_the_core),
        cmocka_unit_test(parts_without_a_size_are_passed_over),
        cmocka_unit_test(packages_have_three_texts),
        cmocka_unit_test(names_of_threads_need_no_end),
        cmocka_unit_test(arguments_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
