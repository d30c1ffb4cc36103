/* Which modules describe code, and the lists that they keep. */
#include "jit_private.h"

#include "files.h"

/** gdb's manual, "Using JIT Debug Info Readers": the version of the interface. */
#define JIT_VERSION 1

static const char descriptor_name[] = "__jit_debug_descriptor";

psc_addr parse_jit_descriptor(const uint8_t bytes[JIT_DESCRIPTOR_SIZE])
{
    // version, action_flag (32 bits each), relevant_entry, first_entry
    return load_u32(bytes) == JIT_VERSION ? load_u64(bytes + 16) : 0;
}

void parse_jit_entry(const uint8_t bytes[JIT_ENTRY_SIZE], struct jit_entry *ret)
{
    // next_entry, prev_entry, symfile_addr, symfile_size
    *ret = (struct jit_entry){
        .next = load_u64(bytes), .address = load_u64(bytes + 16), .size = load_u64(bytes + 24)};
}

/**
 * Looks for the one name without a table of all: libraries with LLVM in them have a million.
 * @return the file's address, 0 for none.
 */
static uint64_t find_in(const struct elf_symbols *symbols)
{
    const char *name =
        memmem(symbols->names, symbols->names_size, descriptor_name, sizeof(descriptor_name));
    for (size_t at = 0; name && at + ELF_SYMBOL_SIZE <= symbols->symbols.size;
         at += ELF_SYMBOL_SIZE) {
        struct elf_symbol symbol = parse_elf_symbol(symbols->symbols.data + at);
        if (symbol.section != SHN_UNDEF && symbol.section < SHN_LORESERVE &&
            symbol.name < symbols->names_size &&
            !strcmp(symbols->names + symbol.name, descriptor_name))
            return symbol.address;
    }
    return 0;
}

static uint64_t find_descriptor(struct module *module)
{
    struct elf_symbols symbols;
    struct Elf *elf = module_elf(module);
    uint64_t found = 0;
    if (elf_file_find_symbols(elf, SHT_SYMTAB, &symbols))
        found = find_in(&symbols);
    else if (elf_file_find_symbols(module_separate_elf(module), SHT_SYMTAB, &symbols))
        found = find_in(&symbols);
    if (!found && elf_file_find_symbols(elf, SHT_DYNSYM, &symbols))
        found = find_in(&symbols);
    return found;
}

size_t jit_find_descriptors(struct modules *modules, size_t limit, psc_addr *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < modules->count && count < limit; i++) {
        struct module *module = modules->items[i];
        uint64_t found = find_descriptor(module);
        if (found)
            ret[count++] = module->bias + found;
    }
    return count;
}
