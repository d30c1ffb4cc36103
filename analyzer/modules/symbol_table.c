/* The symbols of a module: which of its files has the best ones, and its functions by address. */
#include "symbol_table.h"

#include "files.h"

#include <stdlib.h>

/* Bytes of one name, as demangle_symbol() takes them. */
#define NAME_LIMIT ((size_t)8192)
/* Those of all are this much, and more for each byte of the file's names; a linker lets few of them
 * share their ends. Behind that each is short. */
#define NAME_BYTES_FREE     ((size_t)16 << 20)
#define NAME_BYTES_PER_BYTE ((size_t)4)
#define SHORT_NAME_LIMIT    ((size_t)64)

/* ---- where they come from ---- */

/* Behind those that are listed already. */
static bool list_sections(struct Elf *elf, struct symbol_table *table)
{
    size_t count = elf_file_section_count(elf), known = table->section_count;
    if (count > SHN_LORESERVE - known)
        count = SHN_LORESERVE - known;
    struct section_bounds *sections =
        count ? realloc(table->sections, (known + count) * sizeof(*sections)) : NULL;
    if (!sections)
        return false;
    table->sections = sections;
    table->section_count = known + count;
    memset(sections + known, 0, count * sizeof(*sections));
    for (size_t i = 1; i < count; i++) {
        struct elf_section section;
        if (!elf_file_get_section(elf, i, &section) || !(section.flags & SHF_ALLOC))
            continue;
        sections[known + i].executable = (section.flags & SHF_EXECINSTR) != 0;
        sections[known + i].end = section.address + section.size;
    }
    return true;
}

/** Of a file without section headers: what the loader sees. */
static bool find_dynamic(struct module *module, struct elf_symbols *ret)
{
    struct Elf *elf = module_elf(module);
    return elf && !elf_file_section_count(elf) &&
           parse_dynamic_symbols(module->image, module->image_size, ret);
}

/* .dynsym, and what .gnu_debugdata has beside it. */
static bool join_mini(struct module *module, struct symbol_table *table)
{
    struct Elf *mini = module_mini_elf(module);
    struct elf_symbols more;
    size_t own = table->section_count;
    return own && elf_file_find_symbols(mini, SHT_SYMTAB, &more) && list_sections(mini, table) &&
           elf_symbols_join(&table->all, own, &more, module->owner->target->arena, &table->all);
}

/** .symtab of the file, of the separate debug file, or .dynsym with .gnu_debugdata. */
static bool choose_source(struct module *module, struct symbol_table *table)
{
    struct Elf *elf = module_elf(module);
    table->complete = true;
    if (elf_file_find_symbols(elf, SHT_SYMTAB, &table->all))
        return list_sections(elf, table);
    struct Elf *separate = module_separate_elf(module);
    if (elf_file_find_symbols(separate, SHT_SYMTAB, &table->all))
        return list_sections(separate, table);
    table->complete = false;
    if (find_dynamic(module, &table->all))
        return true;
    if (!elf_file_find_symbols(elf, SHT_DYNSYM, &table->all) || !list_sections(elf, table))
        return false;
    table->complete = join_mini(module, table);
    return true;
}

/* ---- one symbol ---- */

struct elf_symbol symbol_table_get(const struct symbol_table *table, size_t index)
{
    return parse_elf_symbol(table->all.symbols.data + index * ELF_SYMBOL_SIZE);
}

bool symbol_is_defined(const struct symbol_table *table, const struct elf_symbol *symbol)
{
    size_t limit = table->section_count ? table->section_count : SHN_LORESERVE;
    return symbol->section != SHN_UNDEF && symbol->section < limit && symbol->name != 0 &&
           symbol->name < table->all.names_size && table->all.names[symbol->name] != '\0';
}

uint8_t symbol_rank(const struct elf_symbol *symbol)
{
    switch (symbol->binding) {
    case STB_GLOBAL:
    case STB_GNU_UNIQUE:
        return 0;
    case STB_WEAK:
        return 1;
    default:
        return 2;
    }
}

size_t symbol_plain_length(const struct symbol_table *table, const char *name)
{
    size_t size = strnlen(name, table->name_limit);
    const char *at = memchr(name, '@', size);
    return at && at != name ? (size_t)(at - name) : size;
}

size_t symbol_count_name(struct symbol_table *table, const char *name)
{
    size_t size = symbol_plain_length(table, name);
    table->name_bytes += size;
    if (table->name_bytes > NAME_BYTES_FREE &&
        (table->name_bytes - NAME_BYTES_FREE) / NAME_BYTES_PER_BYTE > table->all.names_size)
        table->name_limit = SHORT_NAME_LIMIT;
    return size;
}

/* ---- the table ---- */

static bool is_function(const struct symbol_table *table, const struct elf_symbol *symbol)
{
    bool type = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
    if (!symbol_is_defined(table, symbol))
        return false;
    return table->section_count
               ? (type || symbol->type == STT_NOTYPE) && table->sections[symbol->section].executable
               : type;
}

static int compare_functions(const void *left, const void *right)
{
    const struct function_symbol *a = left;
    const struct function_symbol *b = right;
    return a->address == b->address ? COMPARE(b->rank, a->rank) : COMPARE(a->address, b->address);
}

static bool list_functions(struct symbol_table *table)
{
    table->functions = malloc((table->symbol_count + 1) * sizeof(*table->functions));
    if (!table->functions)
        return false;
    for (size_t i = 0; i < table->symbol_count; i++) {
        struct elf_symbol symbol = symbol_table_get(table, i);
        uint64_t end;
        if (!is_function(table, &symbol) ||
            __builtin_add_overflow(symbol.address, symbol.size, &end))
            continue;
        (void)symbol_count_name(table, table->all.names + symbol.name);
        table->functions[table->function_count++] = (struct function_symbol){
            symbol.address, end, symbol.name, symbol.section, symbol_rank(&symbol)};
    }
    qsort(table->functions, table->function_count, sizeof(*table->functions), compare_functions);

    table->reach = malloc((table->function_count + 1) * sizeof(*table->reach));
    if (!table->reach)
        return false;
    uint64_t reach = 0;
    for (size_t i = 0; i < table->function_count; i++) {
        if (table->functions[i].end > reach)
            reach = table->functions[i].end;
        table->reach[i] = reach;
    }
    return true;
}

static struct symbol_table *symbol_table_create(struct module *module)
{
    struct symbol_table *table = calloc(1, sizeof(*table));
    if (!table)
        return NULL;
    hash_table_init(&table->by_name, sizeof(uint32_t));
    table->name_limit = NAME_LIMIT;
    bool made = choose_source(module, table);
    table->symbol_count = made ? table->all.symbols.size / ELF_SYMBOL_SIZE : 0;
    if (table->symbol_count >= UINT32_MAX)
        table->symbol_count = 0;
    if (!elf_file_find_symbols(module_elf(module), SHT_DYNSYM, &table->dynamic))
        find_dynamic(module, &table->dynamic);
    return table;
}

void symbol_table_destroy(struct symbol_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; table->plain && i < table->function_count; i++)
        free(table->plain[i]);
    free(table->plain);
    hash_table_deinit(&table->by_name);
    free(table->reach);
    free(table->functions);
    free(table->sections);
    free(table);
}

struct symbol_table *module_symbols(struct module *module)
{
    if (!module->symbols)
        module_elf(module); // It may come with what is kept of the file.
    if (!module->symbols) {
        module->symbols = symbol_table_create(module);
        if (module->asked)
            module->asked->symbols = true;
    }
    return module->symbols;
}

struct symbol_table *module_functions(struct module *module)
{
    struct symbol_table *table = module_symbols(module);
    if (table && !table->listed && !list_functions(table))
        table->function_count = 0;
    if (table)
        table->listed = true;
    return table;
}
