#include "unit_index.h"

#define HEADER_SIZE 16
#define SLOT_SIZE   (sizeof(uint64_t) + sizeof(uint32_t)) /* A unit's id, and its row. */
#define CELL_SIZE   sizeof(uint32_t)

enum { VERSION_GNU = 2, VERSION_DWARF_5 = 5 };

struct index_header {
    uint32_t version, columns, units, slots;
    const uint8_t *ids, *rows, *names, *offsets, *sizes;
};

/* DW_SECT_...; NULL: no section that units have. */
static const char *section_name(uint32_t version, uint32_t number)
{
    static const char *const gnu[] = {NULL,
                                      ".debug_info.dwo",
                                      ".debug_types.dwo",
                                      ".debug_abbrev.dwo",
                                      ".debug_line.dwo",
                                      ".debug_loc.dwo",
                                      ".debug_str_offsets.dwo",
                                      ".debug_macinfo.dwo",
                                      ".debug_macro.dwo"};
    static const char *const dwarf_5[] = {NULL,
                                          ".debug_info.dwo",
                                          NULL,
                                          ".debug_abbrev.dwo",
                                          ".debug_line.dwo",
                                          ".debug_loclists.dwo",
                                          ".debug_str_offsets.dwo",
                                          ".debug_macro.dwo",
                                          ".debug_rnglists.dwo"};
    if (number >= PSC_ARRAY_SIZE(gnu))
        return NULL;
    return version == VERSION_GNU ? gnu[number] : dwarf_5[number];
}

static bool read_header(const uint8_t *bytes, size_t size, struct index_header *ret)
{
    if (size < HEADER_SIZE)
        return false;
    // In version 5 two bytes, and two of padding.
    *ret = (struct index_header){load_u32(bytes),
                                 load_u32(bytes + 4),
                                 load_u32(bytes + 8),
                                 load_u32(bytes + 12),
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL,
                                 NULL};
    uint64_t cells = (uint64_t)ret->units * ret->columns;
    if ((ret->version != VERSION_GNU && ret->version != VERSION_DWARF_5) || !ret->slots ||
        (ret->slots & (ret->slots - 1)) || ret->columns > UNIT_INDEX_COLUMNS ||
        (size - HEADER_SIZE) / SLOT_SIZE < ret->slots)
        return false;
    uint64_t left = size - HEADER_SIZE - (uint64_t)ret->slots * SLOT_SIZE;
    if (left / CELL_SIZE < ret->columns + 2 * cells)
        return false;
    ret->ids = bytes + HEADER_SIZE;
    ret->rows = ret->ids + (size_t)ret->slots * sizeof(uint64_t);
    ret->names = ret->rows + (size_t)ret->slots * sizeof(uint32_t);
    ret->offsets = ret->names + ret->columns * CELL_SIZE;
    ret->sizes = ret->offsets + (size_t)cells * CELL_SIZE;
    return true;
}

/* From 1 on; 0: the unit is not there. */
static uint32_t find_row(const struct index_header *header, uint64_t id)
{
    uint32_t mask = header->slots - 1;
    uint32_t slot = (uint32_t)id & mask, step = ((uint32_t)(id >> 32) & mask) | 1;
    // An odd step leads to all slots of a table whose size is a power of two.
    for (uint32_t tried = 0; tried < header->slots; tried++, slot = (slot + step) & mask) {
        uint32_t row = load_u32(header->rows + (size_t)slot * sizeof(uint32_t));
        if (!row)
            return 0;
        if (load_u64(header->ids + (size_t)slot * sizeof(uint64_t)) == id)
            return row <= header->units ? row : 0;
    }
    return 0;
}

bool parse_unit_index(const uint8_t *bytes, size_t size, uint64_t id, struct unit_parts *ret)
{
    struct index_header header;
    ret->count = 0;
    uint32_t row = read_header(bytes, size, &header) ? find_row(&header, id) : 0;
    for (uint32_t i = 0; row && i < header.columns; i++) {
        size_t cell = ((size_t)(row - 1) * header.columns + i) * CELL_SIZE;
        const char *name = section_name(header.version, load_u32(header.names + i * CELL_SIZE));
        if (name)
            ret->items[ret->count++] = (struct unit_part){name, load_u32(header.offsets + cell),
                                                          load_u32(header.sizes + cell)};
    }
    return ret->count;
}
