#include "unit_index.h"

#define LONG_UNIT 0xffffffffu /* The length has 64 bits then. */

/* DWARF 5, 7.5.1: DW_UT_skeleton to DW_UT_split_type have an id. */
enum { UNIT_TYPE = 2, UNIT_SKELETON = 4, UNIT_SPLIT_COMPILE = 5, UNIT_SPLIT_TYPE = 6 };

bool parse_unit_header(const uint8_t *bytes, size_t size, bool of_types, struct unit_header *ret)
{
    struct byte_cursor cursor = cursor_over(bytes, size);
    uint64_t length = cursor_u32(&cursor);
    uint8_t type = 0;
    size_t offset_size = sizeof(uint32_t);
    if (length == LONG_UNIT) {
        length = cursor_u64(&cursor);
        offset_size = sizeof(uint64_t);
    }
    const size_t begin = size - cursor_left(&cursor);
    if (cursor.failed || length > cursor_left(&cursor))
        return false;
    cursor = cursor_over(bytes + begin, (size_t)length);
    *ret = (struct unit_header){.size = begin + length, .version = cursor_u16(&cursor)};
    if (ret->version < 2 || ret->version > 5)
        return false;
    if (ret->version == 5)
        type = cursor_u8(&cursor);
    cursor_take(&cursor, sizeof(uint8_t) + offset_size); // Size of addresses, and abbreviations.
    ret->is_type = ret->version == 5 ? type == UNIT_TYPE || type == UNIT_SPLIT_TYPE : of_types;
    if (ret->is_type || type == UNIT_SKELETON || type == UNIT_SPLIT_COMPILE)
        ret->id = cursor_u64(&cursor);
    return !cursor.failed;
}
