/** @file Room `modules/dwarf/unit_index`: the index of a .dwp: where in its sections the parts of a
 * unit are; and the headers of units, by which they are found where there is no index. */
#ifndef PSC_UNIT_INDEX_H
#define PSC_UNIT_INDEX_H

#include "base.h"

/** More columns than any version has. */
#define UNIT_INDEX_COLUMNS 16

/** A part of one section. */
struct unit_part {
    const char *section; /**< Its name, ".debug_info.dwo". */
    uint32_t offset;
    uint32_t size;
};

struct unit_parts {
    struct unit_part items[UNIT_INDEX_COLUMNS];
    size_t count;
};

/**
 * The parts of the unit of that id, by .debug_cu_index (DWARF 5, 7.3.5.3; GNU's for DWARF 4 is
 * version 2 of it, https://gcc.gnu.org/wiki/DebugFissionDWP). False when it is not there.
 */
bool parse_unit_index(const uint8_t *bytes, size_t size, uint64_t id, struct unit_parts *ret);

/** A unit as its header has it. */
struct unit_header {
    uint64_t size; /**< With the header. */
    uint16_t version;
    bool is_type; /**< A type unit. */
    uint64_t id;  /**< Of a split unit of DWARF 5, or the signature of a type unit; else 0. */
};

/**
 * The unit at the beginning of bytes (DWARF 5, 7.5.1; DWARF 4, 7.5.1). False when it is damaged, or
 * of another version than 2 to 5.
 * @param of_types  they are of .debug_types.dwo.
 */
bool parse_unit_header(const uint8_t *bytes, size_t size, bool of_types, struct unit_header *ret);

#endif
