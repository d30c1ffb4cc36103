/**
 * @file
 * Private to debug_line/: the header of a unit of .debug_line, DWARF 2 to 5.
 */
#ifndef PSC_LINE_HEADER_H
#define PSC_LINE_HEADER_H

#include "debug_line.h"

/** A unit's header (DWARF 5, 6.2.4). */
struct line_header {
    uint16_t version;
    uint8_t offset_size;
    uint8_t address_size;
    uint8_t minimum_instruction_length;
    uint8_t maximum_operations;
    int8_t line_base;
    uint8_t line_range;
    uint8_t opcode_base;
    const uint8_t *opcode_lengths; /**< opcode_base - 1 of them. */
    struct byte_cursor tables;     /**< Directories and files. */
    struct byte_cursor program;
    uint64_t next_unit; /**< 0: this is the last. */
};

/** False when it makes no sense; next_unit is set all the same. */
bool parse_line_header(const struct elf_bytes *section, uint64_t offset, struct line_header *ret);

#endif
