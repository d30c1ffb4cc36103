/** @file What the files of room `dwarf` share. */
#ifndef PSC_DWARF_PRIVATE_H
#define PSC_DWARF_PRIVATE_H

#include "debug_line.h"
#include "dwarf.h"
#include "files.h"
#include "modules_private.h"

#include <elfutils/libdw.h>

struct line_cache;
struct inline_index;
struct type_table;
struct type_units;
struct variable_cache;

/** Where libdw will read the names of split units' files; see split_names.c. */
struct split_names {
    uint8_t *strings; /**< .debug_str with room for paths; NULL: the names cannot be changed. */
    size_t strings_size;
    size_t strings_used;
    uint8_t *units; /**< .debug_info */
    size_t units_size;
    uint8_t *offsets; /**< .debug_str_offsets, or NULL. */
    size_t offsets_size;
};

struct module_dwarf {
    bool opened;
    Dwarf *dwarf;
    struct Elf *shared_elf; /**< What dwz moved into a file of its own. */
    Dwarf *shared;
    struct split_names split_names;
    const char *split_missing; /**< A file with the DIEs of a unit that was asked for. */
    const char *split_package; /**< A .dwp that is here, but does not have it. */
    bool split_warned;

    /* Each made and read by one file. */
    struct line_cache *lines;
    struct inline_index *inlines;
    struct type_table *types;
    struct type_units *type_units;
    struct variable_cache *variables;
};

/* ---- opened_dwarf.c ---- */

/** An ELF file whose debug information says nothing; NULL when out of memory. */
struct Elf *open_empty_file(void);
/** Made on first need; NULL when out of memory. */
struct module_dwarf *dwarf_of(struct module *module);
/**
 * Whether a file may be decompressed, as libdw does with all sections when it opens one; what it
 * becomes counts from then on. false: warned of, if anything in it is compressed.
 */
bool dwarf_may_inflate(struct module *module, struct Elf *elf);
/** module_dwarf(), but NULL where opening it means to decompress every section. */
Dwarf *module_dwarf_if_cheap(struct module *module);

/* ---- dies.c ---- */

/** Before each DIE or range of a walk; false (and once a warning) when there were too many. */
bool module_walk_step(struct module *module, uint64_t steps);
/**
 * Before attributes of a unit's own DIE are asked for: libdw reads the abbreviations up to that of
 * the DIE, which is the first one in what compilers write. False (and once a warning) when there
 * were too many.
 */
bool unit_is_read_soon(struct module *module, Dwarf_Die *unit);

/**
 * Before the first walk in a unit.
 * @param ret_end  where the unit ends.
 * @return the steps that a DIE of it counts for; 0: it is so damaged that it is not walked.
 */
uint64_t unit_open_walk(struct module *module, Dwarf_Die *unit, Dwarf_Off *ret_end);
/** The steps that it took to find what comes behind a DIE and its children, at offset `next`. */
uint64_t die_skip_steps(Dwarf_Die *die, Dwarf_Off next);
/** The next DIE of the same parent; a reference back (only in a broken file) ends the list. */
bool die_next_sibling(Dwarf_Die *die);
/** A number, whichever form it has; false when there is none. */
bool die_get_number(Dwarf_Die *die, unsigned int name, uint64_t *ret);
/** DW_AT_name, or NULL. */
const char *die_name(Dwarf_Die *die);
/** DW_AT_linkage_name else DW_AT_name, or NULL. */
const char *die_function_name(Dwarf_Die *die);
/** Offset of a unit's line program; false when it has none. */
bool unit_statement_list(Dwarf_Die *unit, uint64_t *ret);

/* ---- dwarf_lines.c ---- */

void line_cache_destroy(struct line_cache *cache);
/** The name of a file in a line table's unit; NULL when it has none. Owned by the module. */
const char *module_line_file(struct module *module, uint64_t unit, uint32_t file);
/** The unit that covers a file address, as .debug_aranges tells; false when it does not. */
bool module_find_unit_by_aranges(struct module *module, Dwarf *dwarf, uint64_t address,
                                 Dwarf_Die *ret);

/* ---- line_rows.c: line tables of whole units, for who asks often ---- */

struct line_rows;
/** NULL: out of memory. */
struct line_rows *line_rows_create(void);
/** NULL is allowed. */
void line_rows_destroy(struct line_rows *rows);
/** Keeps the table of a unit, unless it is kept already or there is no room for more. */
void line_rows_keep(struct line_rows *rows, const struct debug_line_sections *sections,
                    uint64_t unit, const struct module_layout *layout);
/** Answers by a unit that is kept; false: it is not, or does not have the address. */
bool line_rows_find(const struct line_rows *rows, uint64_t unit, struct debug_line_row *row);
/** The same by any unit. */
bool line_rows_find_anywhere(const struct line_rows *rows, struct debug_line_row *row);

/* ---- inlines.c ---- */

void inline_index_destroy(struct inline_index *index);
/** Depth of calls inlined into each other, with the lexical blocks between them. */
#define SCOPE_DEPTH_LIMIT 128

/**
 * The DIEs that hold an address of the file: the function, then what is nested in it.
 * @return how many.
 */
size_t module_find_scope_dies(struct module *module, uint64_t file_address, Dwarf_Die *ret_unit,
                              Dwarf_Die ret[SCOPE_DEPTH_LIMIT]);

/* ---- split_units.c ---- */

/** The unit's DIE in a file of its own (-gsplit-dwarf); false when there is none, or no such file.
 */
bool unit_find_split(struct module *module, Dwarf_Die *unit, Dwarf_Die *ret);
/** Says once what was not there. */
void module_warn_split(struct module *module);

/* ---- type_units.c ---- */

void type_units_destroy(struct type_units *units);
/** Type units are looked for in that file, too: a .dwo or a .dwp on this machine. */
void module_add_split_file(struct module *module, const char *local);
/**
 * The unit of that id out of such a file, as a .dwo file in memory.
 * @return its descriptor, to be closed; -1: it is not in it, or damaged.
 */
int module_extract_unit(struct module *module, const char *local, uint64_t id);
/** The type of a type unit by its signature; false, and once a warning, when it is not at hand. */
bool module_find_type_unit(struct module *module, uint64_t signature, Dwarf_Die *ret);

/* ---- split_names.c ---- */

/** Before libdw opens the file. Copies belong to the target. */
void split_names_prepare(struct module *module, struct Elf *elf, struct split_names *ret);
/** Replaces a unit's DW_AT_dwo_name (`name`) by an absolute path; false where it cannot. */
bool split_names_set(struct split_names *names, Dwarf_Attribute *name, Dwarf_Die *unit,
                     const char *path);

/* ---- types.c ---- */

void type_table_destroy(struct type_table *table);
/** The type that a DIE's DW_AT_type names; NULL when there is none. */
const struct debug_type *module_type_of(struct module *module, Dwarf_Die *die);
/** Kind (of what can be computed with) and size of the base type of a typed operation. */
bool debug_base_type(Dwarf_Die *type, uint8_t *ret_encoding, uint64_t *ret_size);

/* ---- scopes.c ---- */

void variable_cache_destroy(struct variable_cache *cache);

/** An attribute's expression (a list's: that for the address) in the arena; NULL for none. */
const struct debug_expression *module_copy_expression(struct module *module,
                                                      Dwarf_Attribute *attribute, uint64_t address);

#endif
