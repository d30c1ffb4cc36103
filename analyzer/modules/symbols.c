/* A module's functions by address. */
#include "symbol_table.h"

#include <stdlib.h>

/** Symbols that may be looked through for one that is long enough to cover an address. */
#define COVER_SEARCH_LIMIT 1024

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
        size_t length = fits ? symbol_plain_length(table, table->all.names + symbol->name) : 0;
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

/** The name without its version, and of a very long one the front; owned by the table. */
static const char *plain_name(struct symbol_table *table, size_t index)
{
    const char *name = table->all.names + table->functions[index].name;
    size_t length = symbol_plain_length(table, name);
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
    struct symbol_table *table = module_functions(module);
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
    struct symbol_table *table = module_functions(module);
    for (size_t i = 0; table && i < table->function_count; i++) {
        struct module_symbol symbol;
        fill_symbol(module, i, &symbol);
        if (!visit(context, &symbol))
            return;
    }
}
