/**
 * @file
 * Room `debug_line`: .debug_line of DWARF 2 to 5, in one bounded pass and
 * without .debug_info.
 *
 * Knows nothing of targets or files: bytes in, rows out. Nothing here
 * allocates; the strings that it finds lie in the sections.
 */
#ifndef PSC_DEBUG_LINE_H
#define PSC_DEBUG_LINE_H

#include "elf.h"

struct debug_line_sections {
    struct elf_bytes line;
    struct elf_bytes line_strings; /**< .debug_line_str */
    struct elf_bytes strings;      /**< .debug_str */
};

/** A question, and what was found for it. */
struct debug_line_row {
    uint64_t address;
    uint64_t unit; /**< Offset of the unit in .debug_line. */
    uint32_t file; /**< Number in the unit's file table. */
    uint32_t line; /**< 0: compiler-made code that belongs to no line. */
    bool found;
};

/** The questions for a line table, sorted by address. */
struct debug_line_query {
    struct debug_line_row *rows;
    size_t count;
    /** Where code may lie; sequences elsewhere answer nothing. No range: anywhere but at 0. */
    const struct elf_range *code;
    size_t code_count;
};

/**
 * Runs the line program at `offset` for the rows that are not found yet. Sequences that begin at
 * address 0, or outside of the code, are what the linker left of discarded functions.
 * @return the offset of the next unit, or 0 when there is none behind this one.
 */
uint64_t parse_debug_line_unit(const struct debug_line_sections *sections, uint64_t offset,
                               const struct debug_line_query *query);

/** Code of one line, [start, end). */
struct debug_line_extent {
    uint64_t start;
    uint64_t end;
    uint32_t file; /**< As in struct debug_line_row. */
    uint32_t line;
};

/** Who is given the extents of a unit, in the order of its line program. */
struct debug_line_taker {
    /** @return false: no more are wanted. */
    bool (*take)(void *context, const struct debug_line_extent *extent);
    void *context;
};

/**
 * Runs the line program at `offset` once, for all that it has. Where extents overlap,
 * parse_debug_line_unit() answers with the first one.
 * @param code  as in struct debug_line_query.
 */
void parse_debug_line_extents(const struct debug_line_sections *sections, uint64_t offset,
                              const struct elf_range *code, size_t code_count,
                              const struct debug_line_taker *taker);

/** Runs the units until all rows are found. */
void parse_debug_line(const struct debug_line_sections *sections,
                      const struct debug_line_query *query);

/**
 * A file of a unit: name, relative to directory, relative to base, relative to
 * the unit's DW_AT_comp_dir. A part that is absolute ends the search.
 */
struct debug_line_file {
    const char *name;
    const char *directory; /**< NULL: none. */
    const char *base;      /**< The compilation directory as DWARF 5 has it here, or NULL. */
};

/** False when the unit has no such file. */
bool parse_debug_line_file(const struct debug_line_sections *sections, uint64_t unit, uint32_t file,
                           struct debug_line_file *ret);

#endif
