/* The index of a .dwp: the id that is looked for comes first. */
#include "unit_index.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct unit_parts parts;
    if (size < sizeof(uint64_t))
        return 0;
    uint64_t id = load_u64(data);
    if (parse_unit_index(data + sizeof(id), size - sizeof(id), id, &parts) &&
        (!parts.count || parts.count > UNIT_INDEX_COLUMNS || !parts.items[parts.count - 1].section))
        abort();
    return 0;
}
