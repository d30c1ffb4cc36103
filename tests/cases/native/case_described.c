/*
 * A compiler at run time, as far as debuggers see one: loads an object file into memory of its
 * own, tells debuggers of it, and calls the code (gdb's manual, "JIT Compilation Interface").
 *
 *     case_described OBJECT abort | wait
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM 65536

struct jit_code_entry {
    struct jit_code_entry *next_entry;
    struct jit_code_entry *prev_entry;
    const char *symfile_addr;
    uint64_t symfile_size;
};

struct jit_descriptor {
    uint32_t version;
    uint32_t action_flag;
    struct jit_code_entry *relevant_entry;
    struct jit_code_entry *first_entry;
};

__attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}
struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

static const char *way;
static volatile int sink;

__attribute__((noinline)) int program_inner(int number)
{
    if (strcmp(way, "abort") == 0)
        abort();
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
    return number;
}

static char *read_object(const char *path, size_t *ret_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0)
        exit(64);
    char *bytes = malloc(*ret_size = (size_t)status.st_size);
    if (!bytes || read(fd, bytes, *ret_size) != (ssize_t)*ret_size)
        exit(65);
    close(fd);
    return bytes;
}

/* Gives each section that is to be loaded a place, and the section header its address. */
static void *load(char *object, char *memory)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object;
    Elf64_Shdr *sections = (Elf64_Shdr *)(object + header->e_shoff);
    const char *names = object + sections[header->e_shstrndx].sh_offset;
    void *code = NULL;
    for (int i = 1; i < header->e_shnum; i++) {
        if (!(sections[i].sh_flags & SHF_ALLOC) || !sections[i].sh_size)
            continue;
        memcpy(memory, object + sections[i].sh_offset, sections[i].sh_size);
        sections[i].sh_addr = (uintptr_t)memory;
        if (strcmp(names + sections[i].sh_name, ".text") == 0)
            code = memory;
        memory += (sections[i].sh_size + 63) & ~63ul;
    }
    return code;
}

static void describe(const char *object, size_t size)
{
    static struct jit_code_entry wrong, entry;
    /* One that is none, and a list that does not end. */
    wrong = (struct jit_code_entry){&entry, NULL,
                                    "no image at all, but long enough to be one, "
                                    "if it had a header of the right kind",
                                    64};
    entry = (struct jit_code_entry){&wrong, &wrong, object, size};
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.first_entry = &wrong;
    if (getenv("CASE_DESCRIBED_WELL")) {
        entry.next_entry = entry.prev_entry = NULL;
        __jit_debug_descriptor.first_entry = &entry;
    }
    __jit_debug_descriptor.action_flag = 1;
    __jit_debug_register_code();
}

static Elf64_Sym *find_symbol(char *object, const char *name)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(object + header->e_shoff);
    for (int i = 1; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB)
            continue;
        const char *names = object + sections[sections[i].sh_link].sh_offset;
        Elf64_Sym *symbols = (Elf64_Sym *)(object + sections[i].sh_offset);
        for (size_t j = 0; j < sections[i].sh_size / sizeof(*symbols); j++)
            if (strcmp(names + symbols[j].st_name, name) == 0)
                return &symbols[j];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    size_t size;
    char *memory =
        mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (argc < 3 || memory == MAP_FAILED)
        return 64;
    way = argv[2];
    char *object = read_object(argv[1], &size);
    char *code = load(object, memory);
    const Elf64_Sym *symbol = find_symbol(object, "described_outer");
    if (!code || !symbol)
        return 66;
    describe(object, size);
    int (*outer)(int (*)(int), int) =
        (int (*)(int (*)(int), int))(uintptr_t)(code + symbol->st_value);
    sink = outer(program_inner, 5);
    return sink;
}
