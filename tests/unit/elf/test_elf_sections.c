/* Section headers that stand where no linker puts them. */
#include "elf.h"
#include "elf_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* This program with its section headers behind the rest, `odd` bytes off a multiple of eight. */
static int open_with_headers_at(size_t odd)
{
    struct stat status;
    Elf64_Ehdr header;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int to = memfd_create("sections", MFD_CLOEXEC);
    assert_true(from >= 0 && to >= 0 && fstat(from, &status) == 0);
    size_t size = (size_t)status.st_size;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    assert_int_equal(pread(from, bytes, size, 0), size);
    close(from);
    memcpy(&header, bytes, sizeof(header));
    const char *table = bytes + header.e_shoff;
    header.e_shoff = (size + 15) / 8 * 8 + odd;
    assert_int_equal(pwrite(to, bytes, size, 0), size);
    assert_int_equal(pwrite(to, &header, sizeof(header), 0), sizeof(header));
    size_t table_size = (size_t)header.e_shnum * sizeof(Elf64_Shdr);
    assert_int_equal(pwrite(to, table, table_size, (off_t)header.e_shoff), table_size);
    free(bytes);
    return to;
}

static void test_headers_at_any_offset(void **state)
{
    (void)state;
    for (size_t odd = 0; odd < 8; odd++) {
        int file = open_with_headers_at(odd);
        struct Elf *elf = elf_file_open(file);
        struct elf_section section;
        struct elf_symbols symbols;
        struct elf_compression compressed;
        assert_non_null(elf);
        assert_true(elf_file_is_sane(elf, &compressed));
        assert_true(elf_file_find_section(elf, ".text", &section) && section.size > 0);
        assert_true(elf_file_get_section(elf, 1, &section));
        assert_true(elf_file_find_symbols(elf, SHT_DYNSYM, &symbols));
        elf_file_close(elf);
        close(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_headers_at_any_offset)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
