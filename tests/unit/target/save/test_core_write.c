#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core.h"
#include "save.h"
#include "x86_64_registers.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u

static char path[64];

static int make_file(struct core_file *file)
{
    strcpy(path, "/tmp/psc-test-written-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    memset(file, 0, sizeof(*file));
    core_file_begin(file, target_machine_here(), fd);
    return fd;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static struct target *open_written(int fd)
{
    struct target *target = NULL;
    struct psc_error err = {0};
    close(fd);
    if (core_open(path, NULL, NULL, &target, &err) != PSC_OK)
        fail_msg("%s", err.message);
    return target;
}

static void put_thread(struct text *notes, int32_t tid, uint64_t rip)
{
    const char *const arguments[] = {"python3", "a b.py"};
    const struct core_identity identity = {.machine = target_machine_here(),
                                           .pid = 70,
                                           .parent = 60,
                                           .group = 50,
                                           .session = 40,
                                           .user = 1000,
                                           .user_group = 100,
                                           .nice = -5,
                                           .state = 'S',
                                           .name = "python3",
                                           .arguments = arguments,
                                           .argument_count = 2};
    uint8_t registers[TARGET_USER_REGISTERS_LIMIT] = {0};
    memcpy(registers + 8 * 16, &rip, sizeof(rip));
    core_put_status(notes, &identity, tid, registers, true);
    if (tid == 70)
        core_put_process(notes, &identity);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct core_file file;
    struct text notes = {0};
    static uint8_t pages[3 * PAGE];
    memset(pages, 1, PAGE);
    memset(pages + 2 * PAGE, 3, PAGE);
    struct target_file library = {.path = "/lib/libx.so", .deleted = true};
    const struct target_mapping mappings[] = {
        {.start = 0x10000,
         .end = 0x18000,
         .offset = 0x2000,
         .file = &library,
         .permissions_known = true,
         .readable = true,
         .executable = true},
        {.start = 0x20000,
         .end = 0x28000,
         .permissions_known = true,
         .readable = true,
         .writable = true},
        {.start = 0x30000, .end = 0x31000, .permissions_known = true},
    };
    const struct target_thread threads[] = {
        {.tid = 70, .name = "python3"}, {.tid = 71}, {.tid = 72, .name = "sixteen-letters!"}};
    int fd = make_file(&file);
    core_file_add(&file, 0x21000, pages, sizeof(pages));
    core_file_add(&file, 0x26000, pages, PAGE);
    core_file_add(&file, 0x26000, pages + 2 * PAGE, PAGE); // The first one counts.
    core_file_add(&file, 0x11000, pages, PAGE);
    core_file_add(&file, 0x40000, pages, PAGE); // Mapped nowhere.
    put_thread(&notes, 70, 0x1234);
    put_thread(&notes, 71, 0x5678);
    put_thread(&notes, 72, 0x9abc);
    core_put_files(&notes, mappings, 3);
    core_put_names(&notes, threads, 3);
    core_file_finish(&file, mappings, 3, &notes);
    assert_int_equal(file.error, 0);
    core_file_deinit(&file);
    text_deinit(&notes);

    struct target *target = open_written(fd);
    assert_int_equal(target->thread_count, 3);
    assert_int_equal(target->threads[1].tid, 71);
    assert_int_equal(target->threads[1].registers.value[X86_RIP], 0x5678);
    assert_string_equal(target->threads[0].name, "python3");
    assert_null(target->threads[1].name);
    assert_string_equal(target->threads[2].name, "sixteen-letters!");
    assert_false(target->threads[0].crashed);
    assert_int_equal(target->process.pid, 70);
    assert_int_equal(target->process.signal.number, 0);
    assert_string_equal(target->process.name, "python3");

    uint8_t bytes[3 * PAGE];
    assert_int_equal(target_read(target, 0x21000, bytes, sizeof(bytes)), PSC_OK);
    assert_memory_equal(bytes, pages, sizeof(pages));
    assert_int_equal(target_read(target, 0x20000, bytes, 1), PSC_ERR_FAULT);
    assert_int_equal(target_read(target, 0x24000, bytes, 1), PSC_ERR_FAULT);
    assert_int_equal(target_read(target, 0x26000, bytes, 1), PSC_OK);
    assert_int_equal(bytes[0], 1);
    assert_int_equal(target_read(target, 0x40000, bytes, 1), PSC_ERR_FAULT);

    const struct target_mapping *mapping = target_find_mapping(target, 0x17000);
    assert_non_null(mapping);
    assert_true(mapping->executable && !mapping->writable && mapping->file->deleted);
    assert_int_equal(mapping->offset + (0x17000 - mapping->start), 0x2000 + 0x7000);
    assert_string_equal(mapping->file->path, "/lib/libx.so");
    assert_true(target_find_mapping(target, 0x21000)->writable);
    target_close(target);
}

static void zeros_take_no_room(void **state)
{
    (void)state;
    struct core_file file;
    struct text notes = {0};
    struct stat status;
    const uint64_t size = UINT64_C(1) << 32;
    const struct target_mapping mapping = {
        .start = 0x100000000, .end = 0x100000000 + size, .readable = true};
    static uint8_t pages[16 * PAGE];
    pages[9 * PAGE] = 1;
    int fd = make_file(&file);
    core_file_add(&file, mapping.start, pages, sizeof(pages));
    core_file_add_zeros(&file, mapping.start + sizeof(pages), size - sizeof(pages));
    assert_int_equal(file.count, 1);
    assert_true(core_file_holds(&file, 1, mapping.end - PAGE));
    assert_false(core_file_holds(&file, 1, mapping.end));
    assert_false(core_file_holds(&file, 1, mapping.start - PAGE));
    put_thread(&notes, 70, 0);
    core_file_finish(&file, &mapping, 1, &notes);
    assert_int_equal(fstat(fd, &status), 0);
    assert_true(status.st_size > (off_t)size);
    assert_true(status.st_blocks * 512 < 1024 * 1024);
    core_file_deinit(&file);
    text_deinit(&notes);
    struct target *target = open_written(fd);
    uint8_t byte;
    assert_int_equal(target_read_u8(target, mapping.start + 9 * PAGE, &byte), PSC_OK);
    assert_int_equal(byte, 1);
    assert_int_equal(target_read_u8(target, mapping.end - 1, &byte), PSC_OK);
    assert_int_equal(byte, 0);
    target_close(target);
}

static void more_segments_than_the_header_can_count(void **state)
{
    (void)state;
    const size_t count = 70000;
    struct target_mapping *mappings = calloc(count, sizeof(*mappings));
    struct core_file file;
    struct text notes = {0};
    static uint8_t page[PAGE];
    int fd = make_file(&file);
    for (size_t i = 0; i < count; i++) {
        mappings[i] = (struct target_mapping){
            .start = 0x10000 + i * 2 * PAGE, .end = 0x10000 + (i * 2 + 1) * PAGE, .readable = true};
        page[0] = (uint8_t)(i + 1);
        core_file_add(&file, mappings[i].start, page, PAGE);
    }
    put_thread(&notes, 70, 0);
    core_file_finish(&file, mappings, count, &notes);
    assert_int_equal(file.error, 0);
    core_file_deinit(&file);
    text_deinit(&notes);

    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    size_t segments;
    GElf_Phdr last;
    assert_int_equal(elf_getphdrnum(elf, &segments), 0);
    assert_int_equal(segments, count + 1);
    assert_non_null(gelf_getphdr(elf, (int)count, &last));
    assert_int_equal(last.p_vaddr, mappings[count - 1].start);
    elf_end(elf);
    struct target *target = open_written(fd);
    uint8_t byte;
    assert_int_equal(target_read_u8(target, mappings[count - 1].start, &byte), PSC_OK);
    assert_int_equal(byte, (uint8_t)count);
    target_close(target);
    free(mappings);
}

/* Every note as libelf reads it. */
static void notes_are_laid_out_as_the_kernels(void **state)
{
    (void)state;
    struct core_file file;
    struct text notes = {0};
    const struct target_mapping mapping = {.start = 0x1000, .end = 0x2000, .readable = true};
    int fd = make_file(&file);
    put_thread(&notes, 70, 0x1234);
    core_put_note(&notes, CORE_OWNER_LINUX, NT_X86_XSTATE, "abcde", 5);
    core_put_note(&notes, CORE_OWNER, NT_FPREGSET, "abcdefgh", 8);
    core_file_finish(&file, &mapping, 1, &notes);
    core_file_deinit(&file);
    text_deinit(&notes);

    static const struct {
        const char *owner;
        uint32_t type, size;
    } wanted[] = {{"CORE", NT_PRSTATUS, 336},
                  {"CORE", NT_PRPSINFO, 136},
                  {"LINUX", NT_X86_XSTATE, 5},
                  {"CORE", NT_FPREGSET, 8}};
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    GElf_Phdr header;
    GElf_Ehdr ehdr;
    assert_non_null(gelf_getehdr(elf, &ehdr));
    assert_int_equal(ehdr.e_type, ET_CORE);
    assert_int_equal(ehdr.e_machine, EM_X86_64);
    assert_non_null(gelf_getphdr(elf, 0, &header));
    assert_int_equal(header.p_type, PT_NOTE);
    Elf_Data *data =
        elf_getdata_rawchunk(elf, (int64_t)header.p_offset, header.p_filesz, ELF_T_NHDR);
    GElf_Nhdr note;
    size_t at = 0, name_at, desc_at, seen = 0;
    while ((at = gelf_getnote(data, at, &note, &name_at, &desc_at))) {
        assert_true(seen < PSC_ARRAY_SIZE(wanted));
        assert_string_equal((char *)data->d_buf + name_at, wanted[seen].owner);
        assert_int_equal(note.n_type, wanted[seen].type);
        assert_int_equal(note.n_descsz, wanted[seen].size);
        if (note.n_type == NT_PRPSINFO) {
            const uint8_t *info = (uint8_t *)data->d_buf + desc_at;
            assert_int_equal(info[1], 'S');
            assert_int_equal((int8_t)info[3], -5);
            assert_int_equal(load_u32(info + 16), 1000);
            assert_int_equal(load_u32(info + 28), 60);
            assert_string_equal((const char *)info + 56, "python3 a b.py");
        }
        seen++;
    }
    assert_int_equal(seen, PSC_ARRAY_SIZE(wanted));
    elf_end(elf);
    close(fd);
}

static void a_full_disk_is_named(void **state)
{
    (void)state;
    struct core_file file;
    struct text notes = {0};
    static uint8_t pages[64 * PAGE];
    memset(pages, 1, sizeof(pages));
    const struct target_mapping mapping = {.start = 0x10000, .end = 0x10000 + sizeof(pages)};
    const struct rlimit none = {16 * PAGE, RLIM_INFINITY};
    struct rlimit before;
    int fd = make_file(&file);
    getrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    core_file_add(&file, 0x10000, pages, sizeof(pages));
    core_file_finish(&file, &mapping, 1, &notes);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(file.error, EFBIG);
    core_file_deinit(&file);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_is_written_is_read, remove_file),
        cmocka_unit_test_teardown(zeros_take_no_room, remove_file),
        cmocka_unit_test_teardown(more_segments_than_the_header_can_count, remove_file),
        cmocka_unit_test_teardown(notes_are_laid_out_as_the_kernels, remove_file),
        cmocka_unit_test_teardown(a_full_disk_is_named, remove_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
