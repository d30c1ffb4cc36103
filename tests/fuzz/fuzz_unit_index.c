/* The index of a .dwp: the id that is looked for comes first; and units, one behind the other. */
#include "unit_index.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_units(const uint8_t *data, size_t size, bool of_types)
{
    struct unit_header unit;
    for (size_t at = 0; parse_unit_header(data + at, size - at, of_types, &unit); at += unit.size)
        if (unit.size < 7 || unit.size > size - at)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unit_parts parts;
    parse_units(data, size, false);
    parse_units(data, size, true);
    if (size < sizeof(uint64_t))
        return 0;
    uint64_t id = load_u64(data);
    if (parse_unit_index(data + sizeof(id), size - sizeof(id), id, &parts) &&
        (!parts.count || parts.count > UNIT_INDEX_COLUMNS || !parts.items[parts.count - 1].section))
        abort();
    return 0;
}
