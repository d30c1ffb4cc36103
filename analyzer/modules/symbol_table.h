/**
 * @file
 * Private to modules/: the symbols of a module, chosen among those that its files have.
 */
#ifndef PSC_SYMBOL_TABLE_H
#define PSC_SYMBOL_TABLE_H

#include "modules_private.h"

/** A function. 24 bytes: a big library has 100,000 of them. */
struct function_symbol {
    uint64_t address; /**< The file's. */
    uint64_t end;     /**< Equal to address when the size is not known. */
    uint32_t name;    /**< Offset into the names. */
    uint16_t section;
    uint8_t rank; /**< 0 global, 1 weak, 2 local. */
};

struct section_bounds {
    uint64_t end;
    bool executable;
};

struct symbol_table {
    struct elf_symbols all;
    size_t symbol_count;
    bool complete; /**< From .symtab, so that a symbol without a size ends at the next one. */

    struct section_bounds *sections;
    size_t section_count; /**< 0: the file has no section headers. */

    bool listed;                       /**< The functions were, by module_functions(). */
    struct function_symbol *functions; /**< Sorted by address, best last. */
    size_t function_count;
    uint64_t *reach; /**< The highest end among the functions up to here. */
    char **plain;    /**< Names without their version, made when asked; or NULL. */

    size_t name_limit; /**< Bytes of one name that are looked at. */
    size_t name_bytes; /**< Of all that were looked at. */

    unsigned scans;            /**< Names that were looked for before by_name was made. */
    bool named;                /**< by_name was made. */
    struct hash_table by_name; /**< Numbers of symbols. */

    struct elf_symbols dynamic; /**< .dynsym, for module_imports(). */
};

/** Made on first need; NULL when out of memory. */
struct symbol_table *module_symbols(struct module *module);
/** The same, with its functions by address; there are none when memory did not suffice. */
struct symbol_table *module_functions(struct module *module);
/** The same, with its names in a table: for a module that many are going to ask. */
void module_list_names(struct module *module);
/** NULL is none. */
void symbol_table_destroy(struct symbol_table *table);

struct elf_symbol symbol_table_get(const struct symbol_table *table, size_t index);
/** Whether a symbol has a name and a place here. */
bool symbol_is_defined(const struct symbol_table *table, const struct elf_symbol *symbol);
/** 0 global, 1 weak, 2 local. */
uint8_t symbol_rank(const struct elf_symbol *symbol);
/** Bytes of a name without its version ("@@GLIBC_2.34"); of a very long one those in front. */
size_t symbol_plain_length(const struct symbol_table *table, const char *name);
/** The same where all symbols are gone through: names of a hostile file may share their bytes. */
size_t symbol_count_name(struct symbol_table *table, const char *name);

#endif
