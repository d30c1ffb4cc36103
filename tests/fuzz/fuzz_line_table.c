/* The three line tables, and that of the handlers. The input: 4 bytes of lasti, 4 of the first
 * line, then the table. */
#include "line_table.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct py_position position;
    if (size < 8)
        return 0;
    int32_t lasti = (int32_t)(load_u32(data) & 0x800fffff);
    int32_t first_line = (int32_t)load_u32(data + 4);
    const uint8_t *table = data + 8;
    size -= 8;
    if (parse_lnotab(table, size, first_line, lasti, true) > INT32_MAX ||
        parse_lnotab(table, size, first_line, lasti, false) > INT32_MAX ||
        parse_linetable_310(table, size, first_line, lasti) > INT32_MAX)
        abort();
    if (parse_handler_depth(table, size, lasti) > UINT32_MAX / 2)
        abort();
    parse_locations_311(table, size, first_line, lasti, &position);
    if (position.line > INT32_MAX || position.end_line > INT32_MAX || position.column < -1 ||
        position.end_column < -1 || (!position.line && position.column != -1))
        abort();
    return 0;
}
