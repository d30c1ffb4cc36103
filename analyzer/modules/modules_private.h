/**
 * @file
 * Private to modules/: what a module keeps besides its door, and what its
 * files give each other.
 */
#ifndef PSC_MODULES_PRIVATE_H
#define PSC_MODULES_PRIVATE_H

#include "modules.h"

#include "debug_line.h"
#include "elf.h"

#include <elfutils/libdw.h>
#include <libelf.h>

/** Executable segments remembered per module. */
#define MODULE_CODE_RANGE_LIMIT 8

struct modules {
    struct target *target;
    struct arena *arena;
    struct module *items; /**< Sorted by start, not overlapping. */
    size_t count;
    size_t capacity;
};

/** Where the program headers say things are, in the file's virtual addresses. */
struct module_layout {
    struct code_range code[MODULE_CODE_RANGE_LIMIT];
    size_t code_count;
    uint64_t eh_frame_address;
    uint64_t eh_frame_size;
};

struct line_cache;
struct inline_index;
struct type_table;
struct variable_cache;

struct module_debug {
    struct module_layout layout;
    bool eh_frame_checked;

    bool file_opened;
    Elf *elf;

    bool separate_searched;
    Elf *separate; /**< The separate debug file. */

    bool dwarf_opened;
    Dwarf *dwarf;
    Elf *shared_elf; /**< What dwz moved into a file of its own. */
    Dwarf *shared;
    const char *split_missing; /**< A file with the DIEs of a unit that was asked for. */
    bool split_warned;

    struct line_cache *lines;
    struct inline_index *inlines;
    struct type_table *types;
    struct variable_cache *variables;
};

/* ---- debug_file.c ---- */

/** Whether it is an ELF file of whose sections none claims a size that it cannot have. */
bool elf_file_is_sane(const char *path);
/** The separate debug file, looked for once; NULL when there is none. */
Elf *module_separate_elf(struct module *module);
/** Whichever of the two files has debug information; else the module's own. */
Elf *module_debug_elf(struct module *module);
/** module_dwarf(), but NULL where opening it means to decompress every section. */
struct Dwarf *module_dwarf_if_cheap(struct module *module);
/** The bytes of a debug section, decompressed (into the arena) if need be. */
bool elf_read_debug_section(Elf *elf, const char *name, struct arena *arena,
                            struct section_bytes *ret);
/** Closes everything that was opened. */
void module_close_files(struct module *module);

/* ---- inflate.c ---- */

/** Decompresses a zlib stream of exactly `inflated_size` bytes into the arena. */
bool inflate_bytes(const uint8_t *bytes, size_t size, uint64_t inflated_size, struct arena *arena,
                   struct section_bytes *ret);

/* ---- lines.c ---- */

void line_cache_destroy(struct line_cache *cache);
/** The name of a file in a line table's unit; NULL when it has none. Owned by the module. */
const char *module_line_file(struct module *module, uint64_t unit, uint32_t file);
/** Offset of a unit's line program; false when it has none. */
bool unit_statement_list(Dwarf_Die *unit, uint64_t *ret);
/** The unit that covers a file address, as .debug_aranges tells; false when it does not. */
bool module_find_unit_by_aranges(struct module *module, Dwarf *dwarf, uint64_t address,
                                 Dwarf_Die *ret);

/* ---- inlines.c ---- */

/** Depth of calls inlined into each other, with the lexical blocks between them. */
#define SCOPE_DEPTH_LIMIT 128

void inline_index_destroy(struct inline_index *index);
/**
 * The DIEs that hold an address of the file: the function, then what is nested in it.
 * @return how many.
 */
size_t module_find_scope_dies(struct module *module, uint64_t file_address, Dwarf_Die *ret_unit,
                              Dwarf_Die ret[SCOPE_DEPTH_LIMIT]);
/** The next DIE of the same parent; a reference back (only in a broken file) ends the list. */
bool die_next_sibling(Dwarf_Die *die);
/** DW_AT_linkage_name else DW_AT_name, or NULL. */
const char *die_function_name(Dwarf_Die *die);

/* ---- debug_split.c ---- */

/** The unit's DIE in a file of its own (-gsplit-dwarf); false when there is none, or no such file.
 */
bool unit_find_split(struct module *module, Dwarf_Die *unit, Dwarf_Die *ret);
/** Says once what was not there. */
void module_warn_split(struct module *module);

/* ---- debug_types.c ---- */

void type_table_destroy(struct type_table *table);
/** The type that a DIE's DW_AT_type names; NULL when there is none. */
const struct debug_type *module_type_of(struct module *module, Dwarf_Die *die);
/** Kind (of what can be computed with) and size of the base type of a typed operation. */
bool debug_base_type(Dwarf_Die *type, uint8_t *ret_encoding, uint64_t *ret_size);
/** A number, whichever form it has; false when there is none. */
bool die_get_number(Dwarf_Die *die, unsigned int name, uint64_t *ret);

/* ---- debug_variables.c ---- */

void variable_cache_destroy(struct variable_cache *cache);

/* ---- debug_expressions.c ---- */

/** An attribute's expression (a list's: that for the address) in the arena; NULL for none. */
const struct debug_expression *module_copy_expression(struct module *module,
                                                      Dwarf_Attribute *attribute, uint64_t address);

/* ---- symbols.c ---- */

void symbol_table_destroy(struct symbol_table *table);

#endif
