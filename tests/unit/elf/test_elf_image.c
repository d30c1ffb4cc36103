#include "elf.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A relocation of this program, a position-independent one, leads here. */
extern const char *const pointed_to;
const char *const pointed_to = "what a relocated pointer points to";

static const uint8_t *map_self(size_t *ret_size)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    struct stat status;
    assert_true(fd >= 0 && !fstat(fd, &status));
    const uint8_t *image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    assert_ptr_not_equal(image, MAP_FAILED);
    *ret_size = (size_t)status.st_size;
    return image;
}

struct seen {
    const struct elf_image *image;
    const struct elf_dynamic *dynamic;
    size_t count;
    bool text;
    bool import;
};

static bool see(void *context, const struct elf_relocation *relocation)
{
    struct seen *seen = context;
    struct elf_symbol symbol;
    seen->count++;
    size_t have;
    const char *text = NULL;
    if (relocation->kind == ELF_RELOCATION_BASE)
        text = (const char *)elf_image_bytes(seen->image, relocation->addend, &have);
    if (text && have > strlen(pointed_to) && !strcmp(text, pointed_to))
        seen->text = true;
    const char *name =
        relocation->kind == ELF_RELOCATION_BASE
            ? NULL
            : elf_dynamic_symbol(seen->image, seen->dynamic, relocation->symbol, &symbol);
    if (name && !strcmp(name, "memcpy"))
        seen->import = !symbol.address;
    return true;
}

static bool stop(void *context, const struct elf_relocation *relocation)
{
    (void)relocation;
    ++*(size_t *)context;
    return false;
}

static void a_program_is_read_as_the_loader_does(void **state)
{
    (void)state;
    size_t size, have, calls = 0;
    const uint8_t *bytes = map_self(&size);
    struct elf_image image;
    struct elf_dynamic dynamic;
    assert_true(parse_elf_image(bytes, size, &image));
    assert_int_equal(image.machine, EM_X86_64);
    assert_true(image.load_count >= 2);
    assert_ptr_equal(elf_image_bytes(&image, image.loads[0].address, &have),
                     bytes + image.loads[0].offset);
    assert_int_equal(have, image.loads[0].size);
    assert_null(elf_image_bytes_at(&image, image.loads[0].address, have + 1));
    assert_null(elf_image_bytes(&image, UINT64_MAX, &have));
    assert_int_equal(have, 0);
    parse_elf_dynamic(&image, &dynamic);
    assert_true(dynamic.symbols && dynamic.names && dynamic.names_size);
    struct seen seen = {.image = &image, .dynamic = &dynamic};
    assert_true(parse_elf_relocations(&image, &dynamic, see, &seen));
    assert_true(seen.count > 1);
    assert_true(seen.text);
    assert_false(parse_elf_relocations(&image, &dynamic, stop, &calls));
    assert_int_equal(calls, 1);
    munmap((void *)(uintptr_t)bytes, size);
}

static void dynamic_symbols_are_found(void **state)
{
    (void)state;
    size_t size;
    const uint8_t *bytes = map_self(&size);
    struct elf_symbols symbols;
    bool found = false;
    assert_true(parse_dynamic_symbols(bytes, size, &symbols));
    assert_int_equal(symbols.names[symbols.names_size - 1], 0);
    for (size_t i = 0; i < symbols.symbols.size / ELF_SYMBOL_SIZE; i++) {
        struct elf_symbol symbol = parse_elf_symbol(symbols.symbols.data + i * ELF_SYMBOL_SIZE);
        found |= symbol.name < symbols.names_size && symbol.section == SHN_UNDEF &&
                 !strncmp(symbols.names + symbol.name, "_cmocka_run_group_tests", 23);
    }
    assert_true(found);
    assert_false(parse_dynamic_symbols(bytes, ELF_HEADER_SIZE, &symbols));
    munmap((void *)(uintptr_t)bytes, size);
}

/* An image made by hand: addresses, then a bit map of the words behind the last one. */
static void packed_relocations_are_read(void **state)
{
    (void)state;
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr load;
        uint64_t table[2];
        uint64_t words[8];
    } file = {.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_phoff = sizeof(Elf64_Ehdr),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1},
              .load = {.p_type = PT_LOAD, .p_filesz = sizeof(file), .p_memsz = sizeof(file)},
              .table = {offsetof(__typeof__(file), words), 1 | 1 << 1 | 1 << 3},
              .words = {10, 11, 12, 13}};
    struct elf_image image;
    struct elf_dynamic dynamic = {.packed = offsetof(__typeof__(file), table),
                                  .packed_size = sizeof(file.table)};
    assert_true(parse_elf_image((const uint8_t *)&file, sizeof(file), &image));
    struct seen seen = {.image = &image, .dynamic = &dynamic};
    assert_true(parse_elf_relocations(&image, &dynamic, see, &seen));
    assert_int_equal(seen.count, 3);
    file.header.e_machine = EM_AARCH64;
    file.header.e_type = ET_REL;
    assert_false(parse_elf_image((const uint8_t *)&file, sizeof(file), &image));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_is_read_as_the_loader_does),
        cmocka_unit_test(dynamic_symbols_are_found),
        cmocka_unit_test(packed_relocations_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
