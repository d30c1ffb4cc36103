/* Symbols of a module: one table sorted by address, one hashed by name. */
#include "modules_private.h"

#include <stdlib.h>
#include <string.h>

/** Symbols that may be looked through for one that is long enough to cover an address. */
#define COVER_SEARCH_LIMIT 1024
#define NO_SYMBOL          UINT32_MAX
/** Slots tried for a name; with a half-empty table and honest names a handful is enough. */
#define PROBE_LIMIT 256

/** A function. 24 bytes: a big library has 100,000 of them. */
struct function_symbol {
    uint64_t address; /**< The file's. */
    uint64_t end;     /**< Equal to address when the size is not known. */
    uint32_t name;    /**< Offset into the names. */
    uint16_t section;
    uint8_t rank; /**< 0 global, 1 weak, 2 local. */
};

struct section_info {
    uint64_t end;
    bool executable;
};

struct symbol_table {
    struct section_bytes symbols; /**< Elf64_Sym, perhaps unaligned. */
    size_t symbol_count;
    const char *names; /**< The last byte is NUL. */
    size_t name_size;
    bool complete; /**< From .symtab, so that a symbol without a size ends at the next one. */

    struct section_info *sections;
    size_t section_count; /**< 0: the file has no section headers. */

    struct function_symbol *functions; /**< Sorted by address, best last. */
    size_t function_count;
    uint64_t *reach; /**< The highest end among the functions up to here. */
    char **plain;    /**< Names without their version, made when asked; or NULL. */

    uint32_t *by_name; /**< Open addressing; NO_SYMBOL: empty. */
    size_t by_name_size;

    /* Of .dynsym, for module_imports(). */
    struct section_bytes dynamic_symbols;
    const char *dynamic_names;
    size_t dynamic_name_size;
};

/* ---- reading the sections ---- */

/** The symbol section of that type and its names. */
static bool find_symbol_section(Elf *elf, uint32_t type, struct section_bytes *ret,
                                const char **ret_names, size_t *ret_name_size)
{
    for (Elf_Scn *section = NULL; elf && (section = elf_nextscn(elf, section)) != NULL;) {
        const Elf64_Shdr *header = elf64_getshdr(section);
        if (!header || header->sh_type != type)
            continue;
        const Elf_Data *symbols = elf_getdata(section, NULL);
        Elf_Scn *name_section = elf_getscn(elf, header->sh_link);
        const Elf_Data *names = name_section ? elf_getdata(name_section, NULL) : NULL;
        if (!symbols || !symbols->d_buf || !names || !names->d_buf || !names->d_size)
            continue;
        const char *last = memrchr(names->d_buf, 0, names->d_size);
        if (!last)
            continue;
        *ret = (struct section_bytes){symbols->d_buf, symbols->d_size};
        *ret_names = names->d_buf;
        *ret_name_size = (size_t)(last + 1 - *ret_names);
        return true;
    }
    return false;
}

static bool list_sections(Elf *elf, struct symbol_table *table)
{
    size_t count;
    if (elf_getshdrnum(elf, &count) != 0 || count == 0)
        return false;
    if (count > SHN_LORESERVE)
        count = SHN_LORESERVE;
    table->sections = calloc(count, sizeof(*table->sections));
    if (!table->sections)
        return false;
    table->section_count = count;
    for (size_t i = 1; i < count; i++) {
        Elf_Scn *section = elf_getscn(elf, i);
        const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
        if (!header || !(header->sh_flags & SHF_ALLOC))
            continue;
        table->sections[i].executable = (header->sh_flags & SHF_EXECINSTR) != 0;
        table->sections[i].end = header->sh_addr + header->sh_size;
    }
    return true;
}

/** Of a file without section headers: what the loader sees. */
static bool find_dynamic(struct module *module, struct section_bytes *ret, const char **ret_names,
                         size_t *ret_name_size)
{
    struct elf_symbols found;
    size_t count;
    Elf *elf = module_elf(module);
    if (!elf || elf_getshdrnum(elf, &count) != 0 || count ||
        !parse_dynamic_symbols(module->image, module->image_size, &found))
        return false;
    *ret = (struct section_bytes){found.symbols.data, found.symbols.size};
    *ret_names = found.names;
    *ret_name_size = found.names_size;
    return true;
}

/** .symtab of the file, of the separate debug file, or .dynsym. */
static bool choose_source(struct module *module, struct symbol_table *table)
{
    Elf *elf = module_elf(module);
    table->complete = true;
    if (find_symbol_section(elf, SHT_SYMTAB, &table->symbols, &table->names, &table->name_size))
        return list_sections(elf, table);
    Elf *separate = module_separate_elf(module);
    if (find_symbol_section(separate, SHT_SYMTAB, &table->symbols, &table->names,
                            &table->name_size))
        return list_sections(separate, table);
    table->complete = false;
    if (find_dynamic(module, &table->symbols, &table->names, &table->name_size))
        return true;
    return find_symbol_section(elf, SHT_DYNSYM, &table->symbols, &table->names,
                               &table->name_size) &&
           list_sections(elf, table);
}

/* ---- the table by address ---- */

static bool is_defined(const struct symbol_table *table, const struct elf_symbol *symbol)
{
    size_t limit = table->section_count ? table->section_count : SHN_LORESERVE;
    return symbol->section != SHN_UNDEF && symbol->section < limit && symbol->name != 0 &&
           symbol->name < table->name_size && table->names[symbol->name] != '\0';
}

static bool is_function(const struct symbol_table *table, const struct elf_symbol *symbol)
{
    bool type = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC;
    if (!is_defined(table, symbol))
        return false;
    return table->section_count
               ? (type || symbol->type == STT_NOTYPE) && table->sections[symbol->section].executable
               : type;
}

static uint8_t rank_of(const struct elf_symbol *symbol)
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

static int compare_functions(const void *left, const void *right)
{
    const struct function_symbol *a = left;
    const struct function_symbol *b = right;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    return (b->rank > a->rank) - (b->rank < a->rank);
}

static bool list_functions(struct symbol_table *table)
{
    table->functions = malloc((table->symbol_count + 1) * sizeof(*table->functions));
    if (!table->functions)
        return false;
    for (size_t i = 0; i < table->symbol_count; i++) {
        struct elf_symbol symbol = parse_elf_symbol(table->symbols.data + i * ELF_SYMBOL_SIZE);
        uint64_t end;
        if (!is_function(table, &symbol) ||
            __builtin_add_overflow(symbol.address, symbol.size, &end))
            continue;
        table->functions[table->function_count++] = (struct function_symbol){
            symbol.address, end, symbol.name, symbol.section, rank_of(&symbol)};
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
    bool made = choose_source(module, table);
    table->symbol_count = made ? table->symbols.size / ELF_SYMBOL_SIZE : 0;
    if (table->symbol_count >= NO_SYMBOL || !list_functions(table)) {
        table->symbol_count = 0;
        table->function_count = 0;
    }
    if (!find_symbol_section(module_elf(module), SHT_DYNSYM, &table->dynamic_symbols,
                             &table->dynamic_names, &table->dynamic_name_size))
        find_dynamic(module, &table->dynamic_symbols, &table->dynamic_names,
                     &table->dynamic_name_size);
    return table;
}

void symbol_table_destroy(struct symbol_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; table->plain && i < table->function_count; i++)
        free(table->plain[i]);
    free(table->plain);
    free(table->by_name);
    free(table->reach);
    free(table->functions);
    free(table->sections);
    free(table);
}

static struct symbol_table *module_symbols(struct module *module)
{
    if (!module->symbols)
        module->symbols = symbol_table_create(module);
    return module->symbols;
}

/* ---- by address ---- */

/** Length of a name without its version. */
static size_t plain_length(const char *name)
{
    const char *at = strchr(name, '@');
    return at && at != name ? (size_t)(at - name) : strlen(name);
}

/** Index behind the last function that begins at or before the address. */
static size_t find_position(const struct symbol_table *table, uint64_t address)
{
    return SORTED_UP_TO(table->functions, address, table->function_count, address);
}

/** The best of those that begin at one address and cover; they end at index `last`. */
static size_t choose_alias(const struct symbol_table *table, size_t last, uint64_t address,
                           bool sized)
{
    uint64_t start = table->functions[last].address;
    size_t best = SIZE_MAX;
    size_t best_length = 0;
    for (size_t i = last, step = 0; step < COVER_SEARCH_LIMIT; i--, step++) {
        const struct function_symbol *symbol = &table->functions[i];
        if (symbol->address != start)
            break;
        bool fits = sized ? symbol->end > address : symbol->end == symbol->address;
        size_t length = fits ? plain_length(table->names + symbol->name) : 0;
        if (fits && (best == SIZE_MAX || symbol->rank < table->functions[best].rank ||
                     (symbol->rank == table->functions[best].rank && length < best_length))) {
            best = i;
            best_length = length;
        }
        if (i == 0)
            break;
    }
    return best;
}

/** Index of the function that covers the address, SIZE_MAX when none does. */
static size_t find_function(const struct symbol_table *table, uint64_t address)
{
    size_t position = find_position(table, address);
    for (size_t step = 0; step < COVER_SEARCH_LIMIT && position > step; step++) {
        size_t i = position - 1 - step;
        if (table->reach[i] <= address)
            break;
        if (table->functions[i].end > address)
            return choose_alias(table, i, address, true);
    }
    if (position == 0 || !table->complete)
        return SIZE_MAX;
    /* Without a size: up to the next symbol, but not out of its section. */
    size_t alias = choose_alias(table, position - 1, address, false);
    if (alias == SIZE_MAX || address >= table->sections[table->functions[alias].section].end)
        return SIZE_MAX;
    return alias;
}

/** The name without its version; owned by the table. */
static const char *plain_name(struct symbol_table *table, size_t index)
{
    const char *name = table->names + table->functions[index].name;
    size_t length = plain_length(name);
    if (name[length] == '\0')
        return name;
    if (!table->plain)
        table->plain = calloc(table->function_count, sizeof(*table->plain));
    if (!table->plain)
        return name;
    if (!table->plain[index])
        table->plain[index] = strndup(name, length);
    return table->plain[index] ? table->plain[index] : name;
}

static void fill_symbol(const struct module *module, size_t index, struct module_symbol *ret)
{
    const struct function_symbol *symbol = &module->symbols->functions[index];
    ret->name = plain_name(module->symbols, index);
    ret->address = symbol->address + module->bias;
    ret->size = symbol->end - symbol->address;
}

bool module_find_symbol(struct module *module, psc_addr address, struct module_symbol *ret)
{
    struct symbol_table *table = module_symbols(module);
    size_t index = table ? find_function(table, address - module->bias) : SIZE_MAX;
    if (index == SIZE_MAX)
        return false;
    fill_symbol(module, index, ret);
    return true;
}

void module_each_symbol(struct module *module,
                        bool (*visit)(void *context, const struct module_symbol *symbol),
                        void *context)
{
    struct symbol_table *table = module_symbols(module);
    for (size_t i = 0; table && i < table->function_count; i++) {
        struct module_symbol symbol;
        fill_symbol(module, i, &symbol);
        if (!visit(context, &symbol))
            return;
    }
}

/* ---- by name ---- */

static uint32_t hash_name(const char *name, size_t length)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return hash;
}

static bool is_named_data_or_code(const struct symbol_table *table, const struct elf_symbol *symbol)
{
    bool type = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC ||
                symbol->type == STT_OBJECT || symbol->type == STT_NOTYPE;
    return type && is_defined(table, symbol);
}

static struct elf_symbol symbol_at(const struct symbol_table *table, uint32_t index)
{
    return parse_elf_symbol(table->symbols.data + index * ELF_SYMBOL_SIZE);
}

/** Global before weak before local, typed before untyped, else the first. */
static bool is_better(const struct elf_symbol *symbol, const struct elf_symbol *than)
{
    if (rank_of(symbol) != rank_of(than))
        return rank_of(symbol) < rank_of(than);
    return symbol->type != STT_NOTYPE && than->type == STT_NOTYPE;
}

/** The slot of the name: it holds it, or is the empty one where it belongs; SIZE_MAX: neither. */
static size_t find_slot(const struct symbol_table *table, const char *name, size_t length)
{
    size_t mask = table->by_name_size - 1;
    size_t slot = hash_name(name, length) & mask;
    for (size_t probe = 0; probe < PROBE_LIMIT; probe++) {
        if (table->by_name[slot] == NO_SYMBOL)
            return slot;
        struct elf_symbol symbol = symbol_at(table, table->by_name[slot]);
        const char *found = table->names + symbol.name;
        if (strncmp(found, name, length) == 0 && plain_length(found) == length)
            return slot;
        slot = (slot + 1) & mask;
    }
    return SIZE_MAX;
}

static bool make_name_table(struct symbol_table *table)
{
    size_t size = 16;
    while (size < table->symbol_count * 2)
        size *= 2;
    table->by_name = malloc(size * sizeof(*table->by_name));
    if (!table->by_name)
        return false;
    table->by_name_size = size;
    memset(table->by_name, 0xff, size * sizeof(*table->by_name)); /* NO_SYMBOL */
    for (uint32_t i = 0; i < table->symbol_count; i++) {
        struct elf_symbol symbol = symbol_at(table, i);
        if (!is_named_data_or_code(table, &symbol))
            continue;
        const char *name = table->names + symbol.name;
        size_t slot = find_slot(table, name, plain_length(name));
        if (slot == SIZE_MAX)
            continue;
        if (table->by_name[slot] != NO_SYMBOL) {
            struct elf_symbol there = symbol_at(table, table->by_name[slot]);
            if (!is_better(&symbol, &there))
                continue;
        }
        table->by_name[slot] = i;
    }
    return true;
}

bool module_find_symbol_named(struct module *module, const char *name, struct module_symbol *ret)
{
    struct symbol_table *table = module_symbols(module);
    if (!table || table->symbol_count == 0 || (!table->by_name && !make_name_table(table)))
        return false;
    size_t slot = find_slot(table, name, strlen(name));
    uint32_t index = slot == SIZE_MAX ? NO_SYMBOL : table->by_name[slot];
    if (index == NO_SYMBOL)
        return false;
    struct elf_symbol symbol = symbol_at(table, index);
    size_t length = strlen(name);
    const char *found = table->names + symbol.name;
    ret->name = found[length] == '\0' ? found : NULL;
    if (!ret->name)
        ret->name = arena_strndup(module->owner->arena, found, length);
    ret->address = symbol.address + module->bias;
    ret->size = symbol.size;
    return ret->name != NULL;
}

bool module_imports(struct module *module, const char *name)
{
    const struct symbol_table *table = module_symbols(module);
    size_t count = table ? table->dynamic_symbols.size / ELF_SYMBOL_SIZE : 0;
    for (size_t i = 0; i < count; i++) {
        struct elf_symbol symbol =
            parse_elf_symbol(table->dynamic_symbols.data + i * ELF_SYMBOL_SIZE);
        if (symbol.section == SHN_UNDEF && symbol.name < table->dynamic_name_size &&
            strcmp(table->dynamic_names + symbol.name, name) == 0)
            return true;
    }
    return false;
}
