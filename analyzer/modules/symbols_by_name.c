/* A module's symbols by name. */
#include "symbol_table.h"

/*
 * Names of a module that are looked for one by one, before all that it has are put in a table: that
 * costs as much as some hundred of these.
 */
#define SCAN_LIMIT 48u

static bool is_named_data_or_code(const struct symbol_table *table, const struct elf_symbol *symbol)
{
    bool type = symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC ||
                symbol->type == STT_OBJECT || symbol->type == STT_NOTYPE;
    return type && symbol_is_defined(table, symbol);
}

/** Global before weak before local, typed before untyped, else the first. */
static bool is_better(const struct elf_symbol *symbol, const struct elf_symbol *than)
{
    if (symbol_rank(symbol) != symbol_rank(than))
        return symbol_rank(symbol) < symbol_rank(than);
    return symbol->type != STT_NOTYPE && than->type == STT_NOTYPE;
}

struct wanted_name {
    const struct symbol_table *table;
    const char *name;
    size_t length;
};

static bool has_name(const void *item, const void *key)
{
    const struct wanted_name *wanted = key;
    struct elf_symbol symbol = symbol_table_get(wanted->table, *(const uint32_t *)item);
    const char *found = wanted->table->all.names + symbol.name;
    return strncmp(found, wanted->name, wanted->length) == 0 &&
           symbol_plain_length(wanted->table, found) == wanted->length;
}

static uint32_t *find_index(const struct symbol_table *table, const char *name, size_t length)
{
    return hash_table_find_by(&table->by_name, hash_text(name, length), has_name,
                              &(struct wanted_name){table, name, length});
}

static bool make_name_table(struct symbol_table *table)
{
    table->named = hash_table_reserve(&table->by_name, table->symbol_count);
    for (uint32_t i = 0; table->named && i < table->symbol_count; i++) {
        struct elf_symbol symbol = symbol_table_get(table, i);
        if (!is_named_data_or_code(table, &symbol))
            continue;
        const char *name = table->all.names + symbol.name;
        size_t length = symbol_count_name(table, name);
        uint32_t *index = find_index(table, name, length);
        if (index) {
            struct elf_symbol there = symbol_table_get(table, *index);
            if (!is_better(&symbol, &there))
                continue;
        } else {
            /* Names that were made to collide are left out. */
            index = hash_table_add_by(&table->by_name, hash_text(name, length));
        }
        if (index)
            *index = i;
    }
    return table->named;
}

/*
 * Whether a symbol has that name, but for a version behind it. Nearly all differ in their first
 * bytes already; this is called for each symbol that there is.
 */
static inline bool is_called(const struct symbol_table *table, size_t index, const char *name,
                             size_t length)
{
    uint32_t at =
        load_u32(table->all.symbols.data + index * ELF_SYMBOL_SIZE + offsetof(Elf64_Sym, st_name));
    if (at >= table->all.names_size || table->all.names_size - at <= length)
        return false;
    const char *found = table->all.names + at;
    size_t first = length < sizeof(uint32_t) ? 1 : sizeof(uint32_t);
    if (first == 1 ? *found != *name
                   : load_u32((const uint8_t *)found) != load_u32((const uint8_t *)name))
        return false;
    return !memcmp(found, name, length) && symbol_plain_length(table, found) == length;
}

/* The number of the best symbol of that name, symbol_count when there is none. */
static size_t scan_for(const struct symbol_table *table, const char *name, size_t length)
{
    size_t best = table->symbol_count;
    struct elf_symbol there = {0};
    for (size_t i = 0; i < table->symbol_count; i++) {
        if (!is_called(table, i, name, length))
            continue;
        struct elf_symbol symbol = symbol_table_get(table, i);
        if (!is_named_data_or_code(table, &symbol) ||
            (best != table->symbol_count && !is_better(&symbol, &there)))
            continue;
        best = i;
        there = symbol;
    }
    return best;
}

/* As scan_for(); false when out of memory. */
static bool find_named(struct symbol_table *table, const char *name, size_t length, size_t *ret)
{
    *ret = table->symbol_count;
    if (!table->named && table->scans < SCAN_LIMIT) {
        table->scans++;
        *ret = scan_for(table, name, length);
        return true;
    }
    if (!table->named && !make_name_table(table))
        return false;
    const uint32_t *index = find_index(table, name, length);
    if (index)
        *ret = *index;
    return true;
}

void module_list_names(struct module *module)
{
    struct symbol_table *table = module_symbols(module);
    if (table && table->symbol_count && !table->named && !make_name_table(table))
        hash_table_deinit(&table->by_name);
}

bool module_find_symbol_named(struct module *module, const char *name, struct module_symbol *ret)
{
    struct symbol_table *table = module_symbols(module);
    if (!table || table->symbol_count == 0)
        return false;
    if (!table->named && module->asked)
        module->asked->names = true;
    size_t length = strlen(name);
    size_t index;
    if (!length || !find_named(table, name, length, &index) || index == table->symbol_count)
        return false;
    struct elf_symbol symbol = symbol_table_get(table, index);
    const char *found = table->all.names + symbol.name;
    ret->name = found[length] == '\0' ? found : NULL;
    if (!ret->name)
        ret->name = arena_strndup(module->owner->arena, found, length);
    ret->address = symbol.address + module->bias;
    ret->size = symbol.size;
    return ret->name != NULL;
}

bool module_find_exported(struct module *module, const char *name, struct module_symbol *ret)
{
    struct elf_symbols dynamic;
    module_open(module);
    if (!module->image || !parse_dynamic_symbols(module->image, module->image_size, &dynamic))
        return false;
    for (size_t at = 0; at + ELF_SYMBOL_SIZE <= dynamic.symbols.size; at += ELF_SYMBOL_SIZE) {
        struct elf_symbol symbol = parse_elf_symbol(dynamic.symbols.data + at);
        if (symbol.section == SHN_UNDEF || symbol.name >= dynamic.names_size ||
            strcmp(dynamic.names + symbol.name, name) != 0)
            continue;
        *ret = (struct module_symbol){.name = dynamic.names + symbol.name,
                                      .address = symbol.address + module->bias,
                                      .size = symbol.size};
        return true;
    }
    return false;
}

bool module_imports(struct module *module, const char *name)
{
    const struct symbol_table *table = module_symbols(module);
    size_t count = table ? table->dynamic.symbols.size / ELF_SYMBOL_SIZE : 0;
    for (size_t i = 0; i < count; i++) {
        struct elf_symbol symbol =
            parse_elf_symbol(table->dynamic.symbols.data + i * ELF_SYMBOL_SIZE);
        if (symbol.section == SHN_UNDEF && symbol.name < table->dynamic.names_size &&
            strcmp(table->dynamic.names + symbol.name, name) == 0)
            return true;
    }
    return false;
}
