/* Objects that a program has loaded itself, and the lists that describe them: the input is the
 * object. */
#include "jit_private.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elf_section_table table;
    struct elf_range code[MODULE_CODE_RANGE_LIMIT];
    struct jit_entry entry;
    if (size >= JIT_ENTRY_SIZE) {
        parse_jit_descriptor(data);
        parse_jit_entry(data, &entry);
    }
    if (parse_elf_section_table(data, size, &table) && table.offset < size) {
        size_t count = parse_elf_code_sections(data + table.offset, size - table.offset,
                                               PSC_ARRAY_SIZE(code), code);
        for (size_t i = 0; i < count; i++)
            if (code[i].start >= code[i].end)
                abort();
    }
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    if (parse_elf_object(copy, size)) {
        struct Elf *elf = elf_file_of_bytes(copy, size);
        struct elf_symbols symbols;
        elf_file_find_symbols(elf, SHT_SYMTAB, &symbols);
        elf_file_close(elf);
    }
    free(copy);
    return 0;
}
